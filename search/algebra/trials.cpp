#include "search/algebra/trials.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ir/error.h"
#include "ir/evaluate.h"
#include "ir/known_scalars.h"
#include "verify/gate_inputs.h"

namespace axrun::search::algebra {
namespace {

constexpr int count = 3;
constexpr int64_t most_trial_elements = 20000;
/// Different sizes differ, and are none of those that literals in operators often are.
constexpr std::array<int64_t, 10> sizes = {5, 4, 7, 6, 3, 8, 2, 9, 10, 11};

bool close(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) return true;
  return std::abs(a - b) <= 1e-9 * std::max({1.0, std::abs(a), std::abs(b)});
}

}  // namespace

Trials::Trials(const Terms& terms, uint64_t seed) : terms_(terms), seed_(seed), trials_(count) {}

ir::Dim Trials::size_of(Trial& trial, const std::string& name) {
  const auto index = static_cast<size_t>(&trial - trials_.data());
  const size_t number = trial.sizes.size();
  return trial.sizes.emplace(name, ir::Dim(sizes[(number + 3 * index) % sizes.size()])).first->second;
}

std::optional<ir::Shape> Trials::shape_of(Trial& trial, const ir::Dims& dims) {
  for (const ir::Dim& dim : dims) {
    std::vector<std::string> names;
    dim.collect_symbols(names);
    for (const std::string& name : names) size_of(trial, name);
  }
  ir::Shape shape;
  int64_t elements = 1;
  for (const ir::Dim& dim : dims) {
    const auto extent = dim.substitute(trial.sizes).constant();
    if (!extent || *extent < 0 || *extent > most_trial_elements) return std::nullopt;
    elements *= std::max<int64_t>(*extent, 1);
    if (elements > most_trial_elements) return std::nullopt;
    shape.push_back(*extent);
  }
  return shape;
}

const ir::Tensor* Trials::value(Trial& trial, TermId id) {
  const auto [place, added] = trial.values.emplace(id, std::nullopt);
  if (!added) return place->second ? &*place->second : nullptr;
  std::optional<ir::Tensor>& result = place->second;
  const Term& term = terms_[id];
  const auto shape = shape_of(trial, term.facts.dims);
  if (!shape) return nullptr;
  const bool wide = term.facts.type == ir::ElementType::f32;
  if (term.operation < 0) {
    ir::Tensor tensor = ir::Tensor::allocate(wide ? ir::ElementType::f64 : term.facts.type, *shape);
    const auto index = static_cast<uint64_t>(&trial - trials_.data());
    verify::Random random(seed_ * 1000003 + static_cast<uint64_t>(id) * 7919 + index);
    for (int64_t k = 0; k < tensor.size(); ++k) {
      if (term.literal) {
        tensor.set_real(k, *term.literal);
      } else if (!ir::is_float(term.facts.type)) {
        tensor.set_int(k, random.below(2));
      } else {
        // The first trial is of positive numbers, for roots and logarithms.
        tensor.set_real(k, index == 0 ? 0.1 + random.unit() : 4 * random.unit() - 2);
      }
    }
    result = tensor;
    return &*result;
  }
  std::vector<ir::Tensor> operands;
  for (const TermId child : term.children) {
    const ir::Tensor* operand = value(trial, child);
    if (operand == nullptr) return nullptr;
    operands.push_back(*operand);
  }
  try {
    ++evaluations_;
    const ir::Program program = ir::with_known_sizes(*term.program, trial.sizes);
    ir::EvaluateOptions options;
    options.wide = true;
    for (size_t k = 0; k < operands.size(); ++k)
      if (program.operands[k] == ir::none) operands[k] = {};
    result = ir::evaluate(program, operands, options)[0];
  } catch (const Error&) {
    return nullptr;
  }
  return &*result;
}

bool Trials::meaningful(TermId id) {
  for (Trial& trial : trials_) {
    const ir::Tensor* result = value(trial, id);
    if (result == nullptr) return false;
    for (int64_t k = 0; k < result->size(); ++k)
      if (std::isfinite(result->get_real(k))) return true;
  }
  return false;
}

bool Trials::same(TermId a, TermId b) {
  for (Trial& trial : trials_) {
    const ir::Tensor *left = value(trial, a), *right = value(trial, b);
    if (left == nullptr || right == nullptr || left->shape() != right->shape()) return false;
    for (int64_t k = 0; k < left->size(); ++k)
      if (!close(left->get_real(k), right->get_real(k))) return false;
  }
  return true;
}

}  // namespace axrun::search::algebra
