#include "jit/phase_work.h"

#include <algorithm>
#include <variant>

namespace axrun::jit {

using ir::loop::Loop;
using ir::loop::LoopKind;

namespace {

constexpr double lanes_of_scalar_statement = 8;

double lanes_in(const Loop& loop, std::map<std::string, ir::Dim>& known) {
  const int64_t extent = std::max<int64_t>(0, loop.extent.substitute(known).constant().value_or(1));
  const auto iterations = static_cast<double>((extent + loop.step - 1) / loop.step);
  known[loop.variable] = 0;
  double lanes = 0;
  for (const ir::loop::Statement& statement : loop.body) {
    if (const auto* inner = std::get_if<Loop>(&statement)) {
      lanes += lanes_in(*inner, known);
    } else if (std::holds_alternative<ir::loop::Compute>(statement)) {
      lanes += loop.kind == LoopKind::vector ? 1 : lanes_of_scalar_statement;
    }
  }
  return iterations * lanes;
}

}  // namespace

double lanes_computed(const Loop& loop, const std::map<std::string, ir::Dim>& sizes) {
  std::map<std::string, ir::Dim> known = sizes;
  return lanes_in(loop, known);
}

}  // namespace axrun::jit
