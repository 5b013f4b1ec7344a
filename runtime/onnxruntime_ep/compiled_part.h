#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/onnxruntime_ep/host.h"
#include "runtime/onnxruntime_ep/model_writer.h"
#include "runtime/onnxruntime_ep/provider_options.h"
#include "runtime/onnxruntime_ep/trace.h"

namespace axrun::ort {

/// A partition that runs: what ONNX Runtime calls in its place. Runs may come from many threads at once.
class CompiledPart final : public NodeComputeInfo {
 public:
  /// `inputs` and `outputs`: as ONNX Runtime will number them. `trace`: gets the steps of every run; only
  /// one that is on when the part is made. Throws Error.
  CompiledPart(const Host& host, const ProviderOptions& options, const WrittenModel& model,
               const std::vector<const ValueInfo*>& inputs, const std::vector<const ValueInfo*>& outputs,
               std::shared_ptr<Trace> trace = {});

  /// Runs once: inputs are read, and outputs written, where the runtime has them.
  void run(KernelContext* context);

  const runtime::Session& session() const { return *session_; }

 private:
  /// What one run needs, kept for the next one: nothing is allocated for runs whose inputs look like those
  /// before.
  struct Call {
    KernelContext* context = nullptr;
    std::vector<ir::Tensor> inputs, outputs;
    std::vector<char> in_place;  ///< outputs that were written where the runtime has them
  };
  class Lent;
  /// Computes the call's outputs, in `make`'s memory where that is possible.
  void run_session(Call& call, const runtime::Session::OutputMaker& make);
  void stop_at_budget();
  void compare(const std::vector<ir::Tensor>& inputs, const std::vector<ir::Tensor>& outputs);

  const Host& host_;
  const double budget_seconds_;
  const double tolerance_;
  std::unique_ptr<runtime::Session> session_;
  std::vector<std::size_t> inputs_, outputs_;  ///< ONNX Runtime's number of each of the session's
  std::vector<char> type_is_known_;            ///< of outputs: the runtime's is the session's
  std::mutex calls_mutex_;
  std::vector<std::unique_ptr<Call>> calls_;     ///< that no run uses
  std::unique_ptr<runtime::Session> reference_;  ///< null unless runs are verified
  std::shared_ptr<Trace> trace_;                 ///< null where nobody listens
  std::mutex trace_mutex_;                       ///< runs that are traced come one after another
  std::atomic<std::int64_t> first_run_{0};       ///< when, in ticks of the steady clock; 0: none yet
  std::atomic<bool> stopped_{false};
};

}  // namespace axrun::ort
