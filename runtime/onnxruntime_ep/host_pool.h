#pragma once

#include <memory>

#include "runtime/onnxruntime_ep/host.h"
#include "runtime/parallel.h"

namespace axrun::ort {

/// Spreads work over the threads of the ONNX Runtime session whose run is going on: `threads` says into how
/// many parts, the session how many threads there are. Outside of a run, and inside of work that is spread
/// already, everything runs on the calling thread.
std::unique_ptr<runtime::ThreadPool> make_host_pool(const Host& host, int threads);

/// The run that the calling thread works for, as long as this lives.
class RunScope {
 public:
  explicit RunScope(const KernelContext* context);
  ~RunScope();
  RunScope(const RunScope&) = delete;
  RunScope& operator=(const RunScope&) = delete;

 private:
  const KernelContext* before_;
};

}  // namespace axrun::ort
