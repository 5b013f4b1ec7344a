#include "tests/onnx_suite/derived_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ir/error.h"
#include "ir/operator.h"
#include "onnx_import/import.h"
#include "verify/error_bound.h"

namespace axrun::tests {
namespace {

using ir::ElementType;
using ir::Tensor;

/// The program with everything that is computed in a wider float computed in `type`. Constants stay as they
/// are: the analysis rounds what is made of them.
ir::Program computed_in(ElementType type, ir::Program program) {
  const auto narrow = [type](ElementType& of) {
    if (ir::is_float(of) && ir::bits_of(of) > ir::bits_of(type)) of = type;
  };
  for (ir::Expr& expression : program.exprs) narrow(expression.type);
  for (ir::TensorDecl& tensor : program.tensors) narrow(tensor.type);
  return program;
}

std::vector<Tensor> operands_of(const ir::Graph& graph, const ir::Node& node,
                                const std::vector<runtime::RuntimeValue>& inputs) {
  std::vector<Tensor> operands;
  for (const ir::ValueId id : node.inputs) {
    if (id == ir::absent) {
      operands.emplace_back();
      continue;
    }
    const auto input = std::find(graph.inputs.begin(), graph.inputs.end(), id);
    operands.push_back(input == graph.inputs.end()
                           ? graph.value(id).constant
                           : inputs[static_cast<size_t>(input - graph.inputs.begin())].tensor);
  }
  return operands;
}

std::vector<verify::Interval> intervals_of(const ir::Graph& graph,
                                           const std::vector<runtime::RuntimeValue>& inputs, size_t output,
                                           ElementType type) {
  const ir::Node& node = graph.nodes.front();
  const std::vector<Tensor> tensors = operands_of(graph, node, inputs);
  std::vector<ir::OperandInfo> infos(tensors.size());
  for (size_t k = 0; k < tensors.size(); ++k) {
    if (!tensors[k].defined()) continue;
    infos[k] = {true, tensors[k].type(), ir::to_dims(tensors[k].shape()), &tensors[k], nullptr};
  }
  const ir::Program program = computed_in(type, ir::define_node(node, infos));
  verify::ErrorBound bound(program, {}, tensors);
  const auto place = std::find(node.outputs.begin(), node.outputs.end(), graph.outputs[output]);
  const auto number = static_cast<size_t>(place - node.outputs.begin());
  std::vector<int64_t> positions(static_cast<size_t>(ir::element_count(bound.output_shape(number))));
  std::iota(positions.begin(), positions.end(), 0);
  return bound.at(number, positions);
}

/// How much of its bound the answer uses; `outside` says which element is not within it.
DerivedBound::Use judge(const char* whose, const std::vector<verify::Interval>& intervals,
                        const Tensor& answer, std::string& outside) {
  DerivedBound::Use use;
  for (int64_t i = 0; i < answer.size(); ++i) {
    const verify::Interval& interval = intervals.at(static_cast<size_t>(i));
    const double value = answer.get_real(i);
    if (value == interval.value || (interval.is_nan() && std::isnan(value))) continue;
    if (!(value >= interval.low && value <= interval.high)) {
      outside = fmt::format("{} at element {}, {}, is not between {} and {}", whose, i, value, interval.low,
                            interval.high);
      return use;
    }
    const double end = value > interval.value ? interval.high : interval.low;
    use.bound = std::max(use.bound, std::fabs(end - interval.value));
    use.share = std::max(use.share, std::fabs(value - interval.value) / std::fabs(end - interval.value));
  }
  return use;
}

}  // namespace

DerivedBound derived_bound(const std::string& folder, const std::vector<runtime::RuntimeValue>& inputs,
                           size_t output, const Tensor& got, const Tensor& want) {
  DerivedBound result;
  constexpr std::string_view expanded = "_expanded";
  const std::string of =
      folder.ends_with(expanded) ? folder.substr(0, folder.size() - expanded.size()) : folder;
  try {
    const auto graph = onnx_import::import_file(of + "/model.onnx").graph;
    if (graph->nodes.size() != 1) {
      result.why_none = "the model is not one operator";
      return result;
    }
    const auto of_stored = intervals_of(*graph, inputs, output, want.type());
    const auto of_ours = of == folder ? intervals_of(*graph, inputs, output, ElementType::f64) : of_stored;
    result.stored = judge("the stored answer", of_stored, want, result.outside);
    result.ours = judge("ours", of_ours, got, result.outside);
  } catch (const Error& error) {
    result.why_none = error.what();
  } catch (const verify::NoBound& missing) {
    result.why_none = missing.reason;
  } catch (const ir::NotYetKnown& missing) {
    result.why_none = missing.what + " is not known";
  }
  return result;
}

}  // namespace axrun::tests
