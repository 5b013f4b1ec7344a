#pragma once

#include <memory>
#include <string>

#include "runtime/onnxruntime_ep/examined_parts.h"
#include "runtime/onnxruntime_ep/host.h"
#include "runtime/onnxruntime_ep/model_writer.h"
#include "runtime/onnxruntime_ep/provider_options.h"
#include "runtime/onnxruntime_ep/trace.h"

namespace axrun::ort {

/// The provider of one session.
class Provider final : public Ep {
 public:
  Provider(const Host& host, const Logger* logger, ProviderOptions options);

 private:
  void claim(const Graph* graph, EpGraphSupportInfo* info);
  /// contexts: null, or a place for each part's context node.
  void compile_all(const Graph** graphs, const Node** fused, std::size_t count, NodeComputeInfo** infos,
                   Node** contexts);
  WrittenModel written(const GraphPart& part) const;
  void log(int level, const std::string& message) const;

  const Host& host_;
  const Logger* logger_;
  const ProviderOptions options_;
  ExaminedParts examined_;
  const std::shared_ptr<Trace> trace_ = std::make_shared<Trace>();
  bool has_claimed_ = false;
  std::size_t contexts_ = 0;  ///< made so far
};

}  // namespace axrun::ort
