#include "tests/fuzz/graphs/judgement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "ir/error.h"
#include "ir/evaluate.h"
#include "ir/operator.h"
#include "runtime/node_executor.h"
#include "tests/fuzz/graphs/operator_exactness.h"
#include "tests/fuzz/graphs/rounded_expressions.h"

namespace axrun::tests {
namespace {

using ir::ElementType;
using ir::Tensor;
using runtime::RuntimeValue;

double unit_of(ElementType type) {
  switch (type) {
    case ElementType::f64:
      return 0x1p-52;
    case ElementType::f32:
      return 0x1p-23;
    case ElementType::f16:
      return 0x1p-10;
    case ElementType::bf16:
      return 0x1p-7;
    default:
      return 0x1p-2;
  }
}

/// Sums of few products of such numbers are exact in their type, in any order.
bool is_coarse(const Tensor& tensor) {
  const double finest = tensor.type() == ElementType::f32 || tensor.type() == ElementType::f64 ? 0.0625 : 0.5;
  const double largest = finest < 0.5 ? 64 : 2;
  if (tensor.type() != ElementType::f32 && tensor.type() != ElementType::f64 && tensor.size() > 16)
    return false;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const double value = tensor.get_real(i);
    if (!(std::fabs(value) <= largest) || std::floor(value / finest) * finest != value) return false;
  }
  return true;
}

Tensor shaken(const Tensor& tensor, runtime::Random& random) {
  if (!tensor.defined() || !ir::is_float(tensor.type())) return tensor;
  Tensor result = tensor.clone();
  constexpr double roundings = 4;
  for (int64_t i = 0; i < result.size(); ++i) {
    const double value = result.get_real(i);
    if (std::isfinite(value))
      result.set_real(i, value * (1 + roundings * unit_of(tensor.type()) * random.real()));
  }
  return result;
}

/// Half of the zeros with the other sign.
Tensor other_zeros(const Tensor& tensor, runtime::Random& random) {
  if (!tensor.defined() || !ir::is_float(tensor.type())) return tensor;
  Tensor result = tensor.clone();
  for (int64_t i = 0; i < result.size(); ++i) {
    if (result.get_real(i) == 0 && random.chance(50)) result.set_real(i, -result.get_real(i));
  }
  return result;
}

/// Kernels that compute several nodes at once keep float32 between them, whose range is wider: half of the
/// infinities of float16 become numbers.
Tensor in_range(const Tensor& tensor, runtime::Random& random) {
  if (!tensor.defined() || tensor.type() != ElementType::f16) return tensor;
  constexpr double largest = 65504;
  Tensor result = tensor.clone();
  for (int64_t i = 0; i < result.size(); ++i) {
    const double value = result.get_real(i);
    if (std::isinf(value) && random.chance(50)) result.set_real(i, std::copysign(largest, value));
  }
  return result;
}

bool all_finite(const std::vector<Tensor>& tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [](const Tensor& tensor) {
    if (!tensor.defined() || !ir::is_float(tensor.type())) return true;
    for (int64_t i = 0; i < tensor.size(); ++i) {
      if (!std::isfinite(tensor.get_real(i))) return false;
    }
    return true;
  });
}

/// Noise as large as a few roundings of the largest element: of fast transforms in their own type.
Tensor noised(const Tensor& tensor, runtime::Random& random) {
  if (!tensor.defined() || !ir::is_float(tensor.type())) return tensor;
  Tensor result = tensor.clone();
  constexpr double roundings = 4;
  double largest = 0;
  for (int64_t i = 0; i < result.size(); ++i) {
    const double size = std::fabs(result.get_real(i));
    if (std::isfinite(size)) largest = std::max(largest, size);
  }
  for (int64_t i = 0; i < result.size(); ++i)
    result.set_real(i, result.get_real(i) + roundings * unit_of(tensor.type()) * largest * random.real());
  return result;
}

Tensor no_infinities(const Tensor& tensor) {
  if (!tensor.defined() || !ir::is_float(tensor.type())) return tensor;
  Tensor result = tensor.clone();
  for (int64_t i = 0; i < result.size(); ++i) {
    const double value = result.get_real(i);
    if (!std::isfinite(value)) result.set_real(i, std::isnan(value) ? 0 : std::nan(""));
  }
  return result;
}

/// The reference, but what rounds is given other numbers nearby and gives others nearby.
class ShakenExecutor final : public runtime::NodeExecutor {
 public:
  /// Seeds of 0 and 1 move nothing: expressions are rounded where kernels round them, without terms
  /// that they leave out; with 0 what sums otherwise has no infinities. That is all.
  ShakenExecutor(runtime::ThreadPool& pool, uint64_t seed, Transforms transforms)
      : NodeExecutor(pool),
        random_(seed),
        moves_(seed > 1),
        has_infinities_(seed != 0),
        transforms_(transforms) {}

 protected:
  std::vector<RuntimeValue> compute(const ir::Node& node, const std::vector<RuntimeValue>& inputs) override {
    std::vector<Tensor> storage;
    ir::Program program;
    try {
      program = ir::define_node(node, runtime::operands_of(inputs, storage));
    } catch (const ir::NotYetKnown& unknown) {
      throw Error(Fault::unsupported, unknown.what);
    }
    std::vector<Tensor> operands(program.operands.size());
    for (size_t k = 0; k < operands.size(); ++k) {
      if (program.operands[k] != ir::none) operands[k] = inputs[k].tensor;
    }
    const bool coarse = std::all_of(operands.begin(), operands.end(), [](const Tensor& operand) {
      return !operand.defined() || !ir::is_float(operand.type()) || is_coarse(operand);
    });
    std::vector<Tensor> results;
    if ((is_exact(node.op) && !accumulates(node)) || (is_ring(node.op) && coarse)) {
      results = ir::evaluate(program, operands);
    } else if (!moves_) {
      results = ir::evaluate(with_rounded_expressions(without_hidden_terms(program), 0, random_), operands);
      if (sums_otherwise(node.op) && !has_infinities_)
        std::transform(results.begin(), results.end(), results.begin(), no_infinities);
    } else {
      results = moved(program, operands);
      if (transforms_ == Transforms::in_their_type && (node.op == "DFT" || node.op == "STFT")) {
        for (Tensor& result : results) result = noised(result, random_);
      }
    }
    const bool signs_are_free = !(is_exact(node.op) && !accumulates(node)) && !signs_zeros(node.op);
    if (moves_ && (signs_are_free || chooses_zeros(node.op, operands))) {
      for (Tensor& result : results) result = other_zeros(result, random_);
    }
    std::vector<RuntimeValue> outputs;
    for (Tensor& tensor : results) outputs.emplace_back(std::move(tensor));
    return outputs;
  }

 private:
  std::vector<Tensor> moved(const ir::Program& program, std::vector<Tensor>& operands) {
    const std::vector<Tensor> exact = ir::evaluate(program, operands);
    const bool may_overflow = all_finite(operands);
    for (Tensor& operand : operands) operand = shaken(operand, random_);
    std::vector<Tensor> results = ir::evaluate(with_rounded_expressions(program, 2, random_), operands);
    for (size_t k = 0; k < results.size(); ++k) {
      results[k] = shaken(results[k], random_);
      if (results[k].defined() && ir::is_float(results[k].type()) && results[k].shape() == exact[k].shape())
        results[k] = perhaps_equal(perhaps_coarse(results[k], exact[k]));
      if (may_overflow) results[k] = in_range(results[k], random_);
    }
    return results;
  }

  /// Half of the elements that are a few roundings from the next larger one become it: which are equal is
  /// asked by Unique, Equal and what breaks ties.
  Tensor perhaps_equal(const Tensor& tensor) {
    constexpr double few = 4;
    std::vector<int64_t> order;
    for (int64_t i = 0; i < tensor.size(); ++i) {
      if (std::isfinite(tensor.get_real(i))) order.push_back(i);
    }
    std::sort(order.begin(), order.end(),
              [&](int64_t a, int64_t b) { return tensor.get_real(a) < tensor.get_real(b); });
    Tensor result = tensor.clone();
    for (size_t k = 1; k < order.size(); ++k) {
      const double value = tensor.get_real(order[k - 1]), next = tensor.get_real(order[k]);
      const bool close = next - value <= few * unit_of(tensor.type()) * std::fabs(next);
      if (close && random_.chance(50)) result.set_real(order[k - 1], next);
    }
    return result;
  }

  /// Half of the elements that are so close to a coarse number that rounding may give it become it: numbers
  /// are compared with one another, with 0 and with keys.
  Tensor perhaps_coarse(const Tensor& tensor, const Tensor& exact) {
    constexpr double coarse = 0.0625, margin = 16;
    Tensor result = tensor.clone();
    for (int64_t i = 0; i < result.size(); ++i) {
      const double value = result.get_real(i), near = std::nearbyint(value / coarse) * coarse;
      const double noise = std::fabs(value - exact.get_real(i));
      if (std::fabs(value - near) <= margin * noise && random_.chance(50)) result.set_real(i, near);
    }
    return result;
  }

 private:
  runtime::Random random_;
  bool moves_, has_infinities_;
  Transforms transforms_;
};

/// The tensors in a value, those of items one after another; null for one that is not there.
void list_tensors(const RuntimeValue& value, std::vector<const Tensor*>& tensors) {
  if (!value.items) {
    tensors.push_back(value.tensor.defined() ? &value.tensor : nullptr);
    return;
  }
  for (const RuntimeValue& item : *value.items) list_tensors(item, tensors);
}

std::string form_of(const Tensor& tensor) {
  return fmt::format("{} {}", ir::name_of(tensor.type()), ir::to_string(ir::to_dims(tensor.shape())));
}

/// How the two differ but for their elements; empty: they do not.
std::string other_form(const RuntimeValue& got, const RuntimeValue& want) {
  if (got.kind != want.kind || (got.items != nullptr) != (want.items != nullptr))
    return "another kind of value";
  if (want.items != nullptr) {
    if (got.items->size() != want.items->size())
      return fmt::format("{} elements, not {}", got.items->size(), want.items->size());
    for (size_t k = 0; k < want.items->size(); ++k) {
      const std::string why = other_form((*got.items)[k], (*want.items)[k]);
      if (!why.empty()) return fmt::format("item {}: {}", k, why);
    }
    return {};
  }
  if (got.tensor.defined() != want.tensor.defined())
    return want.tensor.defined() ? "nothing, not a tensor" : "a tensor, not nothing";
  if (!want.tensor.defined()) return {};
  const std::string has = form_of(got.tensor), wanted = form_of(want.tensor);
  return has == wanted ? "" : fmt::format("{}, not {}", has, wanted);
}

/// The distance of two elements: infinite for texts, integers and infinities that are not the same.
double distance(const Tensor& got, const Tensor& want, int64_t i) {
  if (want.type() == ElementType::string) return got.strings()[i] == want.strings()[i] ? 0 : HUGE_VAL;
  if (!ir::is_float(want.type())) return got.get_int(i) == want.get_int(i) ? 0 : HUGE_VAL;
  const double g = got.get_real(i), w = want.get_real(i);
  if (g == w || (std::isnan(g) && std::isnan(w))) return 0;
  return std::isfinite(g) && std::isfinite(w) ? std::fabs(g - w) : HUGE_VAL;
}

std::string shown(const Tensor& tensor, int64_t i) {
  if (tensor.type() == ElementType::string) return fmt::format("'{}'", tensor.strings()[i]);
  return ir::is_float(tensor.type()) ? fmt::format("{}", tensor.get_real(i))
                                     : fmt::format("{}", tensor.get_int(i));
}

/// Calls visit(number of the element in the value, got's tensor, want's tensor, number in them) for values of
/// one form.
template <class Visit>
void for_elements(const RuntimeValue& got, const RuntimeValue& want, const Visit& visit) {
  std::vector<const Tensor*> mine, theirs;
  list_tensors(got, mine);
  list_tensors(want, theirs);
  size_t number = 0;
  for (size_t k = 0; k < theirs.size(); ++k) {
    if (theirs[k] == nullptr) continue;
    for (int64_t i = 0; i < theirs[k]->size(); ++i) visit(number++, *mine[k], *theirs[k], i);
  }
}

/// Compares values of one form.
Judgement judge_elements(const RuntimeValue& got, const RuntimeValue& want, size_t output,
                         Roundings& roundings) {
  constexpr double few = 16, margin = 16;
  Judgement worst;
  for_elements(got, want, [&](size_t number, const Tensor& g, const Tensor& w, int64_t i) {
    const double gap = distance(g, w, i);
    if (gap == 0 || worst.verdict == Verdict::different) return;
    const double room = ir::is_float(w.type()) ? few * unit_of(w.type()) * std::fabs(w.get_real(i)) : 0;
    if (gap <= room) return;
    const Roundings::Output& rounded = roundings.outputs()[output];
    const double spread = rounded.decided ? HUGE_VAL : rounded.spreads[number];
    const Verdict verdict = std::isinf(spread)              ? Verdict::decided_by_rounding
                            : gap <= room + margin * spread ? Verdict::explained
                                                            : Verdict::different;
    if (verdict <= worst.verdict) return;
    worst = {verdict, fmt::format("output {}: element {} is {}, not {} (rounding explains {})", output,
                                  number, shown(g, i), shown(w, i), spread)};
  });
  return worst;
}

}  // namespace

Roundings::Roundings(const ir::Graph& graph, const std::vector<RuntimeValue>& inputs, Transforms transforms)
    : graph_(graph), inputs_(inputs), transforms_(transforms) {}

const std::vector<Roundings::Output>& Roundings::outputs() {
  constexpr uint64_t few = 8;
  if (tried_ == 0) try_until(few);
  return outputs_;
}

bool Roundings::try_more() {
  constexpr uint64_t most = 32;
  if (tried_ == 0 || tried_ >= most) return false;
  try_until(2 * tried_);
  return true;
}

void Roundings::try_until(uint64_t end) {
  const auto pool = runtime::ThreadPool::make(1);
  const auto run_with = [&](runtime::NodeExecutor&& executor) -> std::vector<RuntimeValue> {
    try {
      return executor.run(graph_, inputs_, {});
    } catch (const Error&) {
      return {};
    }
  };
  if (tried_ == 0) {
    outputs_.resize(graph_.outputs.size());
    exact_ = run_with(runtime::ReferenceExecutor(*pool));
  }
  for (; tried_ < end; ++tried_) {
    const std::vector<RuntimeValue> values = run_with(ShakenExecutor(*pool, tried_, transforms_));
    for (size_t k = 0; k < outputs_.size(); ++k) {
      Output& output = outputs_[k];
      output.decided = output.decided || values.size() != exact_.size() ||
                       (!values.empty() && !other_form(values[k], exact_[k]).empty());
      if (output.decided || values.empty()) continue;
      for_elements(values[k], exact_[k], [&](size_t number, const Tensor& g, const Tensor& w, int64_t i) {
        if (number >= output.spreads.size()) output.spreads.resize(number + 1, 0);
        output.spreads[number] = std::max(output.spreads[number], distance(g, w, i));
      });
    }
  }
}

bool make_mistake(Outcome& outcome, runtime::Random& random) {
  if (outcome.values.empty()) return false;
  RuntimeValue& value =
      outcome.values[static_cast<size_t>(random.integer(0, static_cast<int64_t>(outcome.values.size()) - 1))];
  if (!value.tensor.defined() || value.tensor.size() == 0) return false;
  Tensor tensor = value.tensor.clone();
  const int64_t i = random.integer(0, tensor.size() - 1);
  if (tensor.type() == ElementType::string) {
    tensor.strings()[i] += "?";
  } else if (!ir::is_float(tensor.type())) {
    tensor.set_int(i, tensor.get_int(i) == 0 ? 1 : 0);
  } else {
    const double real = tensor.get_real(i);
    const double wrong = real == 0 ? 1 : real * (1 + 256 * unit_of(tensor.type()));
    tensor.set_real(i, std::isfinite(real) ? wrong : 1);
  }
  value.tensor = std::move(tensor);
  return true;
}

namespace {

Judgement judge_by_tries(const Outcome& reference, const Outcome& other, Roundings& roundings) {
  if (other.internal) return {Verdict::different, other.refusal};
  if (reference.internal) return {Verdict::different, "reference: " + reference.refusal};
  if (reference.refused() && other.refused()) return {Verdict::both_refuse, reference.refusal};
  if (reference.refused() || other.refused()) {
    const std::string why = reference.refused() ? "answers, the reference refuses: " + reference.refusal
                                                : "refuses, the reference answers: " + other.refusal;
    const auto& all = roundings.outputs();
    const bool decided =
        !all.empty() && std::all_of(all.begin(), all.end(), [](const auto& one) { return one.decided; });
    return {decided ? Verdict::decided_by_rounding : Verdict::different, why};
  }
  Judgement worst;
  for (size_t k = 0; k < reference.values.size(); ++k) {
    Judgement judgement;
    const std::string form = other_form(other.values[k], reference.values[k]);
    if (form.empty()) {
      judgement = judge_elements(other.values[k], reference.values[k], k, roundings);
    } else {
      const bool decided = roundings.outputs()[k].decided;
      judgement = {decided ? Verdict::decided_by_rounding : Verdict::different,
                   fmt::format("output {}: {}", k, form)};
    }
    if (judgement.verdict > worst.verdict) worst = std::move(judgement);
  }
  return worst;
}

}  // namespace

Judgement judge(const Outcome& reference, const Outcome& other, Roundings& roundings) {
  Judgement judgement = judge_by_tries(reference, other, roundings);
  while (judgement.verdict == Verdict::different && roundings.try_more())
    judgement = judge_by_tries(reference, other, roundings);
  return judgement;
}

}  // namespace axrun::tests
