// What one run of a model has to compute and to move, as one JSON object: the model's side of the direct
// floor (perf/comparison/limits.py). Counted on a real run, so that loops and shapes that depend on data are
// those of the inputs, which are the same as the host programs feed.
#include <string>
#include <vector>

#include "perf/axrun_values.h"
#include "perf/host/inputs.h"
#include "perf/host/json.h"
#include "perf/host/options.h"
#include "perf/host/tool_main.h"
#include "perf/limits/counting_executor.h"
#include "runtime/session.h"

namespace axrun::perf {
namespace {

using runtime::RuntimeValue;

constexpr const char* help =
    "usage: model_costs MODEL.onnx [--data DIR] [--shape NAME:1x3x..] [--dim NAME=N] [--seed N] [--threads "
    "N]\n"
    "\n"
    "Prints what one run of the model has to compute (operations) and to read and write (compulsory bytes).\n"
    "Without --data the inputs are made up from the seed, open sizes being 1. --threads speeds up the "
    "counting.\n";

double bytes_of(const RuntimeValue& value) {
  double bytes = 0;
  if (value.items) {
    for (const RuntimeValue& item : *value.items) bytes += bytes_of(item);
  }
  if (value.tensor.defined() && value.tensor.type() != ir::ElementType::string) {
    bytes += static_cast<double>(value.tensor.size()) * ir::bits_of(value.tensor.type()) / 8.0;
  }
  return bytes;
}

double bytes_of(const std::vector<RuntimeValue>& values) {
  double bytes = 0;
  for (const RuntimeValue& value : values) bytes += bytes_of(value);
  return bytes;
}

std::string operations_json(const CountingExecutor& executor) {
  JsonObject object;
  for (const auto& [name, operations] : executor.operators()) object.number(name, operations);
  return object.str();
}

std::string costs_json(const Options& options) {
  // The reference tier keeps the graph as the file has it: weights in their stored types, nothing fused.
  runtime::SessionOptions settings;
  settings.tier = runtime::Tier::reference;
  settings.threads = options.threads;
  const auto session = translated([&] { return runtime::Session::load(options.model, settings); });
  const std::vector<InputDeclaration> declared = declarations_of(*session);
  const std::vector<Tensor> tensors = options.data.empty()
                                          ? make_up_inputs(declared, options.choices, options.seed)
                                          : read_inputs(options.data, declared);
  std::vector<RuntimeValue> inputs;
  for (const Tensor& tensor : tensors) inputs.emplace_back(to_axrun(tensor));

  const ir::Graph& graph = *session->model().graph;
  const auto pool = runtime::ThreadPool::make(options.threads);
  CountingExecutor executor(graph, *pool);
  const std::vector<RuntimeValue> outputs = translated([&] { return executor.run(graph, inputs, {}); });

  const ir::OperationCount& count = executor.operations();
  const double input_bytes = bytes_of(inputs), output_bytes = bytes_of(outputs);
  return JsonObject()
      .text("model", options.model)
      .number("operations", count.floating())
      .raw("operations_by_kind", JsonObject()
                                     .number("contraction", count.contraction)
                                     .number("arithmetic", count.arithmetic)
                                     .number("transcendental", count.transcendental)
                                     .str())
      .number("integer_operations", count.integer())
      .raw("integer_operations_by_kind", JsonObject()
                                             .number("contraction", count.integer_contraction)
                                             .number("arithmetic", count.integer_arithmetic)
                                             .str())
      .raw("operations_by_operator", operations_json(executor))
      .raw("uncounted",
           json_array(count.uncounted, [](const std::string& name) { return json_string(name); }))
      .number("compulsory_bytes", input_bytes + output_bytes + executor.weight_bytes())
      .raw("bytes_by_kind", JsonObject()
                                .number("inputs", input_bytes)
                                .number("outputs", output_bytes)
                                .number("weights", executor.weight_bytes())
                                .str())
      .str();
}

}  // namespace
}  // namespace axrun::perf

int main(int argc, char** argv) {
  using namespace axrun::perf;
  return tool_main(argc, argv, "model_costs", help, {}, costs_json);
}
