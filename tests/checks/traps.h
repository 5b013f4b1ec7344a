#pragma once

#include <functional>
#include <string>
#include <vector>

#include "verify/checks.h"
#include "verify/evidence.h"

namespace axrun::tests {

/// Something wrong that verify/ refuses because of one check, and of no other; or of several, of which each
/// alone is enough: these are named, too.
struct Trap {
  std::vector<verify::checks::Id> ids;  ///< the first is the check whose trap it is
  std::string reason;                   ///< part of what is said where all checks are there
  std::function<verify::Evidence()> tried;
};

/// `program` is said to compute `expression`.
Trap loop_trap(std::vector<verify::checks::Id> ids, std::string reason, std::string expression,
               std::string program);
/// `rewritten` is said to mean the same as `original`, where n is any size from 1 to 9.
Trap rewrite_trap(std::vector<verify::checks::Id> ids, std::string reason, std::string original,
                  std::string rewritten);
/// The text with one part, which is there once, replaced.
std::string changed(std::string text, const std::string& from, const std::string& to);

std::vector<Trap> loop_traps();
std::vector<Trap> write_traps();
std::vector<Trap> rescaled_traps();
std::vector<Trap> value_traps();
std::vector<Trap> rewrite_traps();
std::vector<Trap> equality_traps();
std::vector<Trap> safety_traps();
std::vector<Trap> gate_traps();
std::vector<Trap> function_traps();

}  // namespace axrun::tests
