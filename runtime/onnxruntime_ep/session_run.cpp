// What a part does with its inputs once ONNX Runtime has given them. By itself, so that perf/idle_provider
// can put a part that computes nothing in its place.
#include "runtime/onnxruntime_ep/compiled_part.h"

namespace axrun::ort {

void CompiledPart::run_session(Call& call, const runtime::Session::OutputMaker& make) {
  if (!trace_ || !trace_->is_on()) return session_->run_into(call.inputs, call.outputs, nullptr, &make);
  const std::lock_guard lock(trace_mutex_);
  session_->reset_profile();
  const Trace::Clock::time_point begin = Trace::Clock::now();
  session_->run_into(call.inputs, call.outputs, nullptr, &make);
  trace_->add(begin, session_->profile());
}

}  // namespace axrun::ort
