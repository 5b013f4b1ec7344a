#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace axrun::verify {

/// What is known about a claim. Only `proved` and `tested` let a kernel live, and they are told apart
/// everywhere.
enum class Verdict : uint8_t {
  proved,   ///< for every input and size that is claimed
  tested,   ///< on the inputs and sizes that the text names
  refuted,  ///< the text holds the counterexample
  unknown,  ///< the text says why; never counts as proved
};
std::string_view name_of(Verdict verdict);

struct Evidence {
  Verdict verdict = Verdict::unknown;
  std::string text;
  double seconds = 0;

  bool accepted() const { return verdict == Verdict::proved || verdict == Verdict::tested; }
};

}  // namespace axrun::verify
