#include "runtime/warm/expression_image.h"

#include <string>
#include <vector>

#include "runtime/warm/lists.h"

namespace axrun::runtime {
namespace {

using cache::Reader;
using cache::Writer;

void put(Writer& out, const std::vector<bool>& flags) {
  put_count(out, flags.size());
  for (const bool flag : flags) out.put(flag);
}
std::vector<bool> get_flags(Reader& in) {
  std::vector<bool> flags(in.count(1));
  for (size_t k = 0; k < flags.size(); ++k) flags[k] = in.get<bool>();
  return flags;
}

void put(Writer& out, const std::vector<LinearDims>& list) {
  put_count(out, list.size());
  for (const LinearDims& dims : list) {
    put_count(out, dims.size());
    for (const LinearDim& dim : dims) {
      out.put(dim.constant);
      put_count(out, dim.terms.size());
      for (const auto& [symbol, factor] : dim.terms) out.put(symbol).put(factor);
    }
  }
}
std::vector<LinearDims> get_dims(Reader& in, size_t symbols) {
  std::vector<LinearDims> list(in.count(4));
  for (LinearDims& dims : list) {
    dims.resize(in.count(12));
    for (LinearDim& dim : dims) {
      dim.constant = in.get<int64_t>();
      dim.terms.resize(in.count(12));
      for (auto& [symbol, factor] : dim.terms) {
        symbol = in.get<int>();
        factor = in.get<int64_t>();
        if (symbol < 0 || static_cast<size_t>(symbol) >= symbols || factor == 0) in.fail();
      }
    }
  }
  return list;
}

}  // namespace

void write(Writer& out, const StepExpression& expression) {
  out.put(expression.text);
  put(out, expression.constant);
  std::vector<bool> read;
  for (const ir::TensorId id : expression.program.operands) read.push_back(id != ir::none);
  put(out, read);
  put_count(out, expression.symbols.size());
  for (const std::string& symbol : expression.symbols) out.put(symbol);
  put(out, expression.operand_dims);
  put(out, expression.output_dims);
}

StepExpression read_expression(Reader& in) {
  StepExpression expression;
  expression.text = in.text(longest_text);
  expression.constant = get_flags(in);
  for (const bool read : get_flags(in)) expression.program.operands.push_back(read ? 0 : ir::none);
  expression.symbols.resize(in.count(4));
  for (std::string& symbol : expression.symbols) symbol = in.text(longest_name);
  expression.operand_dims = get_dims(in, expression.symbols.size());
  expression.output_dims = get_dims(in, expression.symbols.size());
  const size_t operands = expression.program.operands.size();
  if (expression.constant.size() != operands || expression.operand_dims.size() != operands) in.fail();
  return expression;
}

void write(Writer& out, const search::Sizes& ranges) {
  put_count(out, ranges.size());
  for (const ir::loop::Size& range : ranges)
    out.put(range.name).put(range.low).put(range.high).put(range.divisor);
}

search::Sizes read_ranges(Reader& in) {
  search::Sizes ranges(in.count(28));
  for (ir::loop::Size& range : ranges) {
    range.name = in.text(longest_name);
    range.low = in.get<int64_t>();
    range.high = in.get<int64_t>();
    range.divisor = in.get<int64_t>();
    if (range.divisor < 1 || range.low < 0 || range.high < range.low) in.fail();
  }
  return ranges;
}

}  // namespace axrun::runtime
