#include "verify/ulp_store.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "ir/error.h"
#include "ir/lane/text.h"

namespace axrun::verify {
namespace {

/// Changes whenever references or the definition of an error do.
constexpr int measurement_version = 1;

/// FNV-1a, 64 bits.
uint64_t hash(const std::string& text) {
  uint64_t state = 0xcbf29ce484222325U;
  for (const char c : text) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return state;
}

std::string numbers(const UlpReport& r) {
  return fmt::format("{} {} {:a} {:a} {:08x} {} {}\n", r.inputs, r.finite, r.most_ulp, r.mean_ulp, r.worst,
                     r.special_wrong, r.first_wrong ? fmt::format("{:08x}", *r.first_wrong) : "none");
}

/// Followed by the numbers' line. The whole text of the program guards against equal hashes.
std::string heading(const ir::lane::Program& program) {
  return fmt::format("axrun ulp report {}\n{}", measurement_version, ir::lane::print(program));
}

std::optional<UlpReport> read_numbers(const std::string& line) {
  UlpReport r;
  unsigned long long inputs = 0;
  unsigned long long finite = 0;
  unsigned long long wrong = 0;
  char first[16] = "";
  if (std::sscanf(line.c_str(), "%llu %llu %la %la %x %llu %15s", &inputs, &finite, &r.most_ulp, &r.mean_ulp,
                  &r.worst, &wrong, first) != 7) {
    return {};
  }
  r.inputs = inputs;
  r.finite = finite;
  r.special_wrong = wrong;
  unsigned first_wrong = 0;
  if (std::sscanf(first, "%8x", &first_wrong) == 1) r.first_wrong = first_wrong;
  if (numbers(r) != line) return {};
  return r;
}

}  // namespace

std::string UlpStore::path(const ir::lane::Program& program) const {
  return fmt::format("{}/{}-{:016x}.ulp", folder_, program.name, hash(heading(program)));
}

std::optional<UlpReport> UlpStore::load(const ir::lane::Program& program) const {
  std::ifstream file(path(program), std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::string expected = heading(program);
  if (text.compare(0, expected.size(), expected) != 0) return {};
  return read_numbers(text.substr(expected.size()));
}

void UlpStore::save(const ir::lane::Program& program, const UlpReport& report) const {
  const std::string target = path(program);
  const std::string aside = fmt::format("{}.{}", target, getpid());
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  {
    std::ofstream file(aside, std::ios::binary);
    file << heading(program) << numbers(report);
    if (!file.flush()) throw Error(Fault::user, "cannot write '" + aside + "'");
  }
  std::filesystem::rename(aside, target, error);
  if (error) throw Error(Fault::user, "cannot write '" + target + "': " + error.message());
}

}  // namespace axrun::verify
