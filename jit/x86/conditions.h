#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/loop/loop_program.h"
#include "jit/facts.h"

namespace axrun::jit::x86 {

/// Longer loops are not written out.
constexpr int64_t most_unrolled = 4096;

/// What must hold (each >= 0) so that minima, guards and extents in a loop's body have one value: that of a
/// whole tile. Conditions mention the loop's variable (empty: sizes only) and nothing that is decided inside
/// the body; those that are known to hold, known not to, or implied by others are left out.
std::vector<ir::Dim> conditions_of(const std::vector<const ir::loop::Statement*>& body,
                                   const ir::loop::LoopProgram& program, const Facts& facts,
                                   const std::map<std::string, ir::Dim>& literals,
                                   const std::string& variable);

/// What is not negative exactly where a comparison of indices holds; nothing for other values.
std::optional<ir::Dim> margin_of(const ir::loop::LoopProgram& program, const ir::loop::Value& comparison);

}  // namespace axrun::jit::x86
