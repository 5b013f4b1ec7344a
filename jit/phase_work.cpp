#include "jit/phase_work.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace axrun::jit {

using ir::loop::Loop;
using ir::loop::LoopKind;

namespace {

constexpr double lanes_of_scalar_statement = 8;

/// Those without loops are one.
void add(std::vector<LaneTerm>& terms, LaneTerm term) {
  const auto same = std::find_if(terms.begin(), terms.end(), [&](const LaneTerm& one) {
    return one.loops.empty() && term.loops.empty();
  });
  if (same != terms.end()) {
    same->lanes += term.lanes;
  } else {
    terms.push_back(std::move(term));
  }
}

std::vector<LaneTerm> terms_of(const Loop& loop, std::map<std::string, ir::Dim>& known) {
  const ir::Dim extent = loop.extent.substitute(known);
  known[loop.variable] = 0;
  std::vector<LaneTerm> terms;
  for (const ir::loop::Statement& statement : loop.body) {
    if (const auto* inner = std::get_if<Loop>(&statement)) {
      for (LaneTerm& term : terms_of(*inner, known)) add(terms, std::move(term));
    } else if (std::holds_alternative<ir::loop::Compute>(statement)) {
      add(terms, {loop.kind == LoopKind::vector ? 1 : lanes_of_scalar_statement, {}});
    }
  }
  for (LaneTerm& term : terms) {
    if (extent.is_constant()) {
      term.lanes *= iterations_of(extent.value(), loop.step);
    } else {
      term.loops.push_back({extent, loop.step});
    }
  }
  return terms;
}

}  // namespace

double iterations_of(int64_t extent, int64_t step) {
  return extent <= 0 ? 0 : static_cast<double>((extent - 1) / step + 1);
}

std::vector<LaneTerm> lanes_of(const Loop& loop, const std::map<std::string, ir::Dim>& fixed) {
  std::map<std::string, ir::Dim> known = fixed;
  return terms_of(loop, known);
}

}  // namespace axrun::jit
