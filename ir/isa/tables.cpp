#include "ir/isa/tables.h"

#include <algorithm>

#include "ir/error.h"
#include "ir/isa/semantics.h"
#include "ir/lasting.h"

namespace axrun::ir::isa {
namespace {

std::vector<Row> parse_tables() {
  std::vector<Row> rows;
  for (const Table& table : tables()) {
    std::string_view rest = table.text;
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
      if (line.empty() || line[0] == '#') continue;
      rows.push_back(parse_row(line, table.encoding));
      check(rows.back());
    }
  }
  return rows;
}

}  // namespace

const std::vector<Table>& tables() {
  static const auto& all = lasting<std::vector<Table>>({{"x86_sse2", Encoding::legacy, x86_sse2_rows},
                                                        {"x86_avx2", Encoding::vex, x86_avx2_rows},
                                                        {"x86_avx_vnni", Encoding::vex, x86_avx_vnni_rows},
                                                        {"x86_masks", Encoding::vex, x86_mask_rows},
                                                        {"x86_avx512", Encoding::evex, x86_avx512_rows},
                                                        {"x86_vnni_bf16", Encoding::evex, x86_vnni_rows}});
  return all;
}

const std::vector<Row>& rows() {
  static const auto& all = lasting(parse_tables());
  return all;
}

const Row& find_row(std::string_view name, Encoding encoding) {
  for (const Row& row : rows())
    if (row.name == name && row.encoding == encoding) return row;
  throw Error(Fault::user,
              "no instruction " + std::string(name) + " of encoding " + std::string(name_of(encoding)));
}

}  // namespace axrun::ir::isa
