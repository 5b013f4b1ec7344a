#include "runtime/onnxruntime_ep/provider.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/onnxruntime_ep/capability.h"
#include "runtime/onnxruntime_ep/compiled_part.h"
#include "runtime/onnxruntime_ep/context_model.h"

namespace axrun::ort {
namespace {

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Provider::Provider(const Host& host, const Logger* logger, ProviderOptions options)
    : host_(host), logger_(logger), options_(std::move(options)), examined_(options_.session) {
  get_name = [](const Ep*) { return provider_name; };
  get_capability = [](Ep* self, const Graph* graph, EpGraphSupportInfo* info) {
    auto* const provider = static_cast<Provider*>(self);
    return guarded(provider->host_, [&] { provider->claim(graph, info); });
  };
  compile = [](Ep* self, const Graph** graphs, const Node** fused, std::size_t count, NodeComputeInfo** infos,
               Node** contexts) {
    auto* const provider = static_cast<Provider*>(self);
    return guarded(provider->host_, [&] { provider->compile_all(graphs, fused, count, infos, contexts); });
  };
  get_compiled_model_compatibility_info = [](Ep*, const Graph*) { return context_compatibility(); };
  if (host_.version() >= 25) {
    create_profiler = [](Ep* self, EpProfiler** profiler) {
      auto* const provider = static_cast<Provider*>(self);
      return guarded(provider->host_, [&] { *profiler = make_profiler(provider->host_, provider->trace_); });
    };
  }
  release_node_compute_infos = [](Ep*, NodeComputeInfo** infos, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) delete static_cast<CompiledPart*>(infos[k]);
  };
}

void Provider::log(int level, const std::string& message) const {
  if (level >= options_.log_level) host_.log(logger_, level, message);
}

void Provider::claim(const Graph* graph, EpGraphSupportInfo* info) {
  const auto start = std::chrono::steady_clock::now();
  Claims claims = claims_of(host_, graph, examined_);
  // ONNX Runtime 1.23 gives the parts of each graph of a model the same names, and fails where two meet.
  if (host_.version() < 24 && has_claimed_) {
    claims.parts.clear();
    claims.claimed = 0;
  }
  has_claimed_ |= !claims.parts.empty();
  NodeFusionOptions fusion;
  fusion.drop_constant_initializers = true;
  for (const GraphPart& part : claims.parts) {
    host_.call_ep(add_nodes_to_fuse, info, part.nodes.data(), part.nodes.size(), &fusion);
  }
  log(log_info, fmt::format("axrun: {} of {} nodes claimed, in {} parts ({:.1f} ms)", claims.claimed,
                            claims.nodes, claims.parts.size(), milliseconds_since(start)));
  for (const LeftNode& node : claims.left)
    log(log_info, fmt::format("axrun: {} '{}' stays with ONNX Runtime: {}", node.op, node.name, node.reason));
}

WrittenModel Provider::written(const GraphPart& part) const {
  if (part.nodes.size() == 1 && is_context(host_, part.nodes[0])) {
    return read_context(host_, part.graph, part.nodes[0], options_.context);
  }
  return write_model(host_, part, options_.context.make ? Constants::inside : Constants::kept);
}

void Provider::compile_all(const Graph** graphs, const Node** fused, std::size_t count,
                           NodeComputeInfo** infos, Node** contexts) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::unique_ptr<CompiledPart>> made;
  for (std::size_t k = 0; k < count; ++k) {
    GraphPart part;
    part.graph = graphs[k];
    part.nodes = host_.list(graph_node_count, graph_nodes, graphs[k]);
    part.inputs = host_.list(node_input_count, node_inputs, fused[k]);
    part.outputs = host_.list(node_output_count, node_outputs, fused[k]);
    const WrittenModel model = written(part);
    made.push_back(std::make_unique<CompiledPart>(host_, options_, model, part.inputs, part.outputs, trace_));
    if (!options_.context.make || contexts == nullptr) continue;
    contexts[k] = make_context(host_, graphs[k], fused[k], model, options_.context, contexts_++);
  }
  for (std::size_t k = 0; k < count; ++k) infos[k] = made[k].release();
  log(log_info, fmt::format("axrun: {} parts ready ({:.1f} ms)", count, milliseconds_since(start)));
}

}  // namespace axrun::ort
