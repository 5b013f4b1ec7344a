#include "tests/fuzz/graphs/judgement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "ir/error.h"
#include "ir/evaluate.h"
#include "ir/operator.h"
#include "runtime/node_executor.h"
#include "tests/operators/random.h"

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

/// What hands elements on, chooses among them or compares them: its floats are exact.
bool is_exact(std::string_view op) {
  static const std::set<std::string_view> exact = {"Abs",
                                                   "ArgMax",
                                                   "ArgMin",
                                                   "Cast",
                                                   "CastLike",
                                                   "Ceil",
                                                   "Clip",
                                                   "Compress",
                                                   "Concat",
                                                   "ConstantOfShape",
                                                   "CenterCropPad",
                                                   "DepthToSpace",
                                                   "Equal",
                                                   "Expand",
                                                   "ExpandDims",
                                                   "EyeLike",
                                                   "Flatten",
                                                   "Floor",
                                                   "Gather",
                                                   "GatherElements",
                                                   "GatherND",
                                                   "GlobalMaxPool",
                                                   "Greater",
                                                   "GreaterOrEqual",
                                                   "Hardmax",
                                                   "Identity",
                                                   "IsInf",
                                                   "IsNaN",
                                                   "LabelEncoder",
                                                   "Less",
                                                   "LessOrEqual",
                                                   "Max",
                                                   "MaxPool",
                                                   "Min",
                                                   "Neg",
                                                   "NonZero",
                                                   "OneHot",
                                                   "OneHotEncoder",
                                                   "Pad",
                                                   "ReduceMax",
                                                   "ReduceMin",
                                                   "Relu",
                                                   "Reshape",
                                                   "ReverseSequence",
                                                   "Round",
                                                   "ScatterElements",
                                                   "ScatterND",
                                                   "Shape",
                                                   "Sign",
                                                   "Size",
                                                   "Slice",
                                                   "SpaceToDepth",
                                                   "Split",
                                                   "Squeeze",
                                                   "Tile",
                                                   "TopK",
                                                   "Transpose",
                                                   "Trilu",
                                                   "Unique",
                                                   "Unsqueeze",
                                                   "Where",
                                                   "Binarizer",
                                                   "ArrayFeatureExtractor",
                                                   "UnfoldTensor",
                                                   "Imputer",
                                                   "FeatureVectorizer",
                                                   "ThresholdedRelu"};
  return exact.count(op) > 0;
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

bool is_ring(std::string_view op) {
  static const std::set<std::string_view> ring = {"Add",    "Sub",       "Mul",    "Sum",
                                                  "MatMul", "ReduceSum", "CumSum", "Gemm"};
  return ring.count(op) > 0;
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

/// These subtract numbers that are close to one another, on the way from operands around 1 to results near 0.
bool cancels(std::string_view op) {
  static const std::set<std::string_view> cancelling = {
      "Gelu", "FastGelu", "BiasGelu",   "QuickGelu", "Mish", "Celu", "Elu",
      "Selu", "Softplus", "LogSoftmax", "Erf",       "Tanh", "Log",  "ReduceLogSumExp"};
  return cancelling.count(op) > 0;
}

/// What makes bytes or other integers of floats: of those that are no finite numbers it may make anything.
bool makes_integers(std::string_view op) {
  return op == "Cast" || op == "CastLike" || op.find("Quantize") != std::string_view::npos ||
         op.find("QLinear") != std::string_view::npos;
}

bool has_infinities(const Tensor& tensor) {
  for (int64_t i = 0; tensor.defined() && ir::is_float(tensor.type()) && i < tensor.size(); ++i) {
    if (!std::isfinite(tensor.get_real(i))) return true;
  }
  return false;
}

Tensor anything(const Tensor& tensor, runtime::Random& random) {
  if (!tensor.defined() || !ir::is_integer(tensor.type())) return tensor;
  return random.tensor(tensor.type(), tensor.shape(), 0, 100);
}

/// Moved by a few roundings of numbers around 1.
Tensor moved(const Tensor& tensor, runtime::Random& random) {
  if (!tensor.defined() || !ir::is_float(tensor.type())) return tensor;
  Tensor result = tensor.clone();
  for (int64_t i = 0; i < result.size(); ++i)
    result.set_real(i, result.get_real(i) + unit_of(tensor.type()) * random.real());
  return result;
}

/// The reference, but what rounds is given other numbers nearby and gives others nearby.
class ShakenExecutor final : public runtime::NodeExecutor {
 public:
  ShakenExecutor(runtime::ThreadPool& pool, uint64_t seed) : NodeExecutor(pool), random_(seed) {}

 protected:
  std::vector<RuntimeValue> compute(const ir::Node& node, const std::vector<RuntimeValue>& inputs) override {
    const bool coarse = std::all_of(inputs.begin(), inputs.end(), [](const RuntimeValue& input) {
      return !input.tensor.defined() || !ir::is_float(input.tensor.type()) || is_coarse(input.tensor);
    });
    const bool rounds = !is_exact(node.op) && !(is_ring(node.op) && coarse);
    std::vector<Tensor> storage;
    ir::Program program;
    try {
      program = ir::define_node(node, runtime::operands_of(inputs, storage));
    } catch (const ir::NotYetKnown& unknown) {
      throw Error(Fault::unsupported, unknown.what);
    }
    std::vector<Tensor> operands(program.operands.size());
    for (size_t k = 0; k < operands.size(); ++k) {
      if (program.operands[k] == ir::none) continue;
      operands[k] = rounds ? shaken(inputs[k].tensor, random_) : inputs[k].tensor;
    }
    const bool undetermined =
        makes_integers(node.op) && std::any_of(operands.begin(), operands.end(), has_infinities);
    std::vector<RuntimeValue> outputs;
    for (Tensor& tensor : ir::evaluate(program, operands)) {
      if (rounds) tensor = shaken(tensor, random_);
      if (cancels(node.op)) tensor = moved(tensor, random_);
      if (undetermined) tensor = anything(tensor, random_);
      outputs.emplace_back(std::move(tensor));
    }
    return outputs;
  }

 private:
  runtime::Random random_;
};

/// What is different in form, or in values that are not rounded; empty: nothing. `gap` becomes the largest
/// difference of floats, infinite where one of two is no finite number.
std::string different(const Tensor& got, const Tensor& want, double& gap, double& scale) {
  if (got.defined() != want.defined())
    return want.defined() ? "nothing, not a tensor" : "a tensor, not nothing";
  if (!want.defined()) return {};
  if (got.type() != want.type() || got.shape() != want.shape()) {
    return fmt::format("{} {}, not {} {}", ir::name_of(got.type()), ir::to_string(ir::to_dims(got.shape())),
                       ir::name_of(want.type()), ir::to_string(ir::to_dims(want.shape())));
  }
  for (int64_t i = 0; i < want.size(); ++i) {
    if (want.type() == ElementType::string) {
      if (got.strings()[i] == want.strings()[i]) continue;
      return fmt::format("element {} is '{}', not '{}'", i, got.strings()[i], want.strings()[i]);
    }
    if (!ir::is_float(want.type())) {
      if (got.get_int(i) == want.get_int(i)) continue;
      return fmt::format("element {} is {}, not {}", i, got.get_int(i), want.get_int(i));
    }
    const double g = got.get_real(i), w = want.get_real(i);
    if (std::isfinite(w)) scale = std::max(scale, std::fabs(w));
    if (g == w || (std::isnan(g) && std::isnan(w))) continue;
    gap = std::max(gap, std::isfinite(g) && std::isfinite(w) ? std::fabs(g - w) : HUGE_VAL);
  }
  return {};
}

std::string different(const RuntimeValue& got, const RuntimeValue& want, double& gap, double& scale) {
  if (got.kind != want.kind) return "another kind of value";
  const bool has_items = want.items != nullptr;
  if ((got.items != nullptr) != has_items) return "another kind of value";
  if (!has_items) return different(got.tensor, want.tensor, gap, scale);
  if (got.items->size() != want.items->size())
    return fmt::format("{} elements, not {}", got.items->size(), want.items->size());
  for (size_t k = 0; k < want.items->size(); ++k) {
    const std::string why = different((*got.items)[k], (*want.items)[k], gap, scale);
    if (!why.empty()) return fmt::format("item {}: {}", k, why);
  }
  return {};
}

ElementType float_type_in(const RuntimeValue& value) {
  if (value.tensor.defined()) return value.tensor.type();
  return value.items && !value.items->empty() ? float_type_in(value.items->front()) : ElementType::f32;
}

}  // namespace

Roundings::Roundings(const ir::Graph& graph, const std::vector<RuntimeValue>& inputs)
    : graph_(graph), inputs_(inputs) {}

const std::vector<Roundings::Output>& Roundings::outputs() {
  if (!outputs_.empty() || graph_.outputs.empty()) return outputs_;
  constexpr uint64_t tries = 8;
  const auto pool = runtime::ThreadPool::make(1);
  outputs_.resize(graph_.outputs.size());
  std::vector<RuntimeValue> first;
  for (uint64_t seed = 0; seed < tries; ++seed) {
    std::vector<RuntimeValue> values;
    try {
      values = seed == 0 ? runtime::ReferenceExecutor(*pool).run(graph_, inputs_, {})
                         : ShakenExecutor(*pool, seed).run(graph_, inputs_, {});
    } catch (const Error&) {
    }
    if (seed == 0) first = values;
    for (size_t k = 0; k < outputs_.size(); ++k) {
      double gap = 0, scale = 0;
      outputs_[k].decided = outputs_[k].decided || values.size() != first.size() ||
                            (!values.empty() && !different(values[k], first[k], gap, scale).empty());
      outputs_[k].spread = std::max(outputs_[k].spread, gap);
    }
  }
  return outputs_;
}

Judgement judge(const Outcome& reference, const Outcome& other, bool may_skip, Roundings& roundings) {
  if (other.internal) return {Verdict::different, other.refusal};
  if (reference.internal) return {Verdict::different, "reference: " + reference.refusal};
  if (reference.refused() && other.refused()) return {Verdict::both_refuse, reference.refusal};
  if (reference.refused() || other.refused()) {
    const std::string why = reference.refused() ? "answers, the reference refuses: " + reference.refusal
                                                : "refuses, the reference answers: " + other.refusal;
    if (reference.refused() && may_skip) return {Verdict::both_refuse, why};
    const auto& all = roundings.outputs();
    const bool decided =
        !all.empty() && std::all_of(all.begin(), all.end(), [](const auto& one) { return one.decided; });
    return {decided ? Verdict::decided_by_rounding : Verdict::different, why};
  }
  Judgement judgement;
  for (size_t k = 0; k < reference.values.size(); ++k) {
    double gap = 0, scale = 0;
    std::string why = different(other.values[k], reference.values[k], gap, scale);
    const double unit = unit_of(float_type_in(reference.values[k]));
    constexpr double few = 16;
    if (why.empty() && gap <= few * unit * scale) continue;
    const Roundings::Output& rounded = roundings.outputs()[k];
    constexpr double margin = 16;
    if (why.empty() && gap <= few * unit * scale + margin * rounded.spread) continue;
    if (why.empty()) why = fmt::format("off by {} (of {}, rounding explains {})", gap, scale, rounded.spread);
    why = fmt::format("output {}: {}", k, why);
    if (!rounded.decided) return {Verdict::different, why};
    judgement = {Verdict::decided_by_rounding, why};
  }
  return judgement;
}

}  // namespace axrun::tests
