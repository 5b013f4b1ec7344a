// For differential.py: case_bounds FOLDER reads FOLDER/model.onnx, nodes that depend on nothing but inputs
// (FOLDER/input_K.pb) and constants, and writes FOLDER/bound_K for output K: what verify/error_bound.h
// derives for its elements, doubles, all the lowest ones before all the highest. No file where it derives
// nothing: integers, and stages that it does not follow.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "ir/error.h"
#include "ir/operator.h"
#include "onnx_import/import.h"
#include "onnx_import/tensor_file.h"
#include "verify/error_bound.h"

namespace {

using axrun::ir::Graph;
using axrun::ir::Node;
using axrun::ir::Tensor;
namespace ir = axrun::ir;

Tensor value_of(const Graph& graph, ir::ValueId id, const std::string& folder) {
  if (id == ir::absent) return {};
  const auto input = std::find(graph.inputs.begin(), graph.inputs.end(), id);
  if (input == graph.inputs.end()) return graph.value(id).constant;
  const std::string file = folder + "/input_" + std::to_string(input - graph.inputs.begin()) + ".pb";
  return axrun::onnx_import::read_tensor_file(file).tensor;
}

/// Definitions that compute results of f32 in f64 leave it to a kernel to do so in f32.
void compute_in_f32(ir::Program& program) {
  using ir::ElementType;
  const auto has = [&](ElementType type, const std::vector<ir::TensorId>& ids) {
    return std::any_of(ids.begin(), ids.end(), [&](ir::TensorId id) {
      return id != ir::none && program.tensors[static_cast<size_t>(id)].type == type;
    });
  };
  if (has(ElementType::f64, program.operands) || has(ElementType::f64, program.outputs)) return;
  const auto narrow = [](ElementType& type) {
    if (type == ElementType::f64) type = ElementType::f32;
  };
  for (ir::Expr& expression : program.exprs) narrow(expression.type);
  for (ir::TensorDecl& tensor : program.tensors) narrow(tensor.type);
}

void write_bounds(const Graph& graph, const Node& node, const std::string& folder) {
  if (ir::find_operator(node.domain, node.op, node.version) == nullptr) return;
  std::vector<Tensor> tensors;
  std::vector<ir::OperandInfo> infos;
  for (const ir::ValueId id : node.inputs) tensors.push_back(value_of(graph, id, folder));
  for (const Tensor& tensor : tensors) {
    ir::OperandInfo info;
    if (tensor.defined()) info = {true, tensor.type(), ir::to_dims(tensor.shape()), &tensor, nullptr};
    infos.push_back(info);
  }
  ir::Program program = ir::define_node(node, infos);
  compute_in_f32(program);
  axrun::verify::ErrorBound bound(program, {}, tensors);
  for (size_t k = 0; k < node.outputs.size() && k < program.outputs.size(); ++k) {
    const auto place = std::find(graph.outputs.begin(), graph.outputs.end(), node.outputs[k]);
    if (place == graph.outputs.end() || program.outputs[k] == ir::none) continue;
    if (!ir::is_float(program.tensors[static_cast<size_t>(program.outputs[k])].type)) continue;
    std::vector<int64_t> positions(static_cast<size_t>(ir::element_count(bound.output_shape(k))));
    std::iota(positions.begin(), positions.end(), 0);
    const auto intervals = bound.at(k, positions);
    std::vector<double> numbers;
    for (const auto& interval : intervals) numbers.push_back(interval.low);
    for (const auto& interval : intervals) numbers.push_back(interval.high);
    std::ofstream(folder + "/bound_" + std::to_string(place - graph.outputs.begin()), std::ios::binary)
        .write(reinterpret_cast<const char*>(numbers.data()),
               static_cast<std::streamsize>(numbers.size() * sizeof(double)));
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("case_bounds FOLDER\n", stderr);
    return 1;
  }
  const std::string folder = arguments[1];
  try {
    const auto graph = axrun::onnx_import::import_file(folder + "/model.onnx").graph;
    for (const Node& node : graph->nodes) {
      try {
        write_bounds(*graph, node, folder);
      } catch (const axrun::verify::NoBound&) {
        continue;
      } catch (const ir::NotYetKnown&) {
        continue;
      } catch (const axrun::Error&) {
        continue;  // the run says it
      }
    }
  } catch (const axrun::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}
