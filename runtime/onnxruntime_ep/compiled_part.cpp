#include "runtime/onnxruntime_ep/compiled_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "ir/lasting.h"
#include "onnx_import/names.h"
#include "runtime/onnxruntime_ep/host_pool.h"
#include "runtime/onnxruntime_ep/host_value.h"

namespace axrun::ort {
namespace {

CompiledPart* part_of(void* state) { return static_cast<CompiledPart*>(state); }

/// What differs; empty where nothing does.
std::string difference(const ir::Tensor& want, const ir::Tensor& got, double tolerance) {
  if (want.type() != got.type() || want.shape() != got.shape()) {
    return fmt::format("it is {} {}, the reference is {} {}", ir::name_of(got.type()),
                       ir::to_string(got.shape()), ir::name_of(want.type()), ir::to_string(want.shape()));
  }
  if (want.type() == ir::ElementType::string) {
    return std::equal(want.strings(), want.strings() + want.size(), got.strings()) ? "" : "strings differ";
  }
  double scale = 0.01;
  for (std::int64_t k = 0; k < want.size(); ++k) {
    if (const double value = std::fabs(want.get_real(k)); std::isfinite(value))
      scale = std::max(scale, value);
  }
  const double allowed = ir::is_float(want.type()) ? tolerance * scale : 0;
  for (std::int64_t k = 0; k < want.size(); ++k) {
    const double w = want.get_real(k);
    const double g = got.get_real(k);
    if (w == g || (std::isnan(w) && std::isnan(g)) || std::fabs(w - g) <= allowed) continue;
    return fmt::format("element {} is {}, the reference is {} (tolerance {})", k, g, w, allowed);
  }
  return "";
}

/// Where each port is among the runtime's values. These come in another order where a context is restored.
std::vector<std::size_t> numbers_of(const Host& host, const std::vector<runtime::Port>& ports,
                                    const std::vector<const ValueInfo*>& values) {
  std::vector<std::string> names;
  for (const ValueInfo* value : values) names.push_back(onnx_import::printable(name_of(host, value)));
  std::vector<std::size_t> numbers;
  for (const runtime::Port& port : ports) {
    const auto found = std::find(names.begin(), names.end(), port.name);
    if (found == names.end()) {
      throw Error(Fault::model, fmt::format("ONNX Runtime has no value '{}' for the part", port.name));
    }
    numbers.push_back(static_cast<std::size_t>(found - names.begin()));
  }
  if (ports.size() != values.size()) {
    throw Error(Fault::model, fmt::format("the part has {} inputs or outputs where ONNX Runtime has {}",
                                          ports.size(), values.size()));
  }
  return numbers;
}

std::int64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

}  // namespace

CompiledPart::CompiledPart(const Host& host, const ProviderOptions& options, const WrittenModel& model,
                           const std::vector<const ValueInfo*>& inputs,
                           const std::vector<const ValueInfo*>& outputs, std::shared_ptr<Trace> trace)
    : host_(host), budget_seconds_(options.budget_seconds), tolerance_(options.tolerance) {
  create_state = [](NodeComputeInfo* self, NodeComputeContext*, void** state) -> Status* {
    *state = static_cast<CompiledPart*>(self);
    return nullptr;
  };
  compute = [](NodeComputeInfo*, void* state, KernelContext* context) -> Status* {
    CompiledPart* const part = part_of(state);
    return guarded(part->host_, [&] { part->run(context); });
  };
  release_state = [](NodeComputeInfo*, void*) {};

  runtime::SessionOptions settings = options.session;
  if (trace && trace->is_on()) trace_ = std::move(trace);
  settings.profile = trace_ != nullptr;
  settings.plans_aside = true;
  settings.make_pool = [&host](int threads) { return make_host_pool(host, threads); };
  session_ = runtime::Session::load_model(model.import(), settings);
  if (options.verify) {
    settings.tier = runtime::Tier::reference;
    reference_ = runtime::Session::load_model(model.import(), settings);
  }
  inputs_ = numbers_of(host, session_->inputs(), inputs);
  outputs_ = numbers_of(host, session_->outputs(), outputs);
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    const runtime::Port& port = session_->outputs()[k];
    const int type = tensor_type(host, outputs[outputs_[k]]);
    type_is_known_.push_back(port.type != ir::ElementType::undefined);
    if (port.type == ir::ElementType::undefined || port.type == shared_type(type)) continue;
    throw Error(Fault::model, fmt::format("output '{}' is {}, ONNX Runtime expects element type {}",
                                          port.name, ir::name_of(port.type), type));
  }
}

/// A call for the length of a run. One that fails is not used again.
class CompiledPart::Lent {
 public:
  explicit Lent(CompiledPart& part) : part_(part) {
    {
      const std::lock_guard lock(part.calls_mutex_);
      if (!part.calls_.empty()) {
        call_ = std::move(part.calls_.back());
        part.calls_.pop_back();
      }
    }
    if (call_) return;
    call_ = std::make_unique<Call>();
    call_->inputs.resize(part.inputs_.size());
    call_->outputs.resize(part.outputs_.size());
  }
  Call& operator*() const { return *call_; }
  void give_back() {
    static const auto& none = lasting(ir::Tensor());
    // Assigned from a tensor that stays, a tensor keeps the memory of its shape.
    for (ir::Tensor& output : call_->outputs) output = none;
    const std::lock_guard lock(part_.calls_mutex_);
    part_.calls_.push_back(std::move(call_));
  }

 private:
  CompiledPart& part_;
  std::unique_ptr<Call> call_;
};

void CompiledPart::run(KernelContext* context) {
  const RunScope scope(context);
  Lent lent(*this);
  Call& call = *lent;
  call.context = context;
  for (std::size_t k = 0; k < inputs_.size(); ++k) {
    const Value* value = nullptr;
    host_.call(context_input, static_cast<const KernelContext*>(context), inputs_[k], &value);
    if (value == nullptr)
      throw Error(Fault::user, fmt::format("input '{}' is missing", session_->inputs()[k].name));
    borrow_into(host_, value, call.inputs[k]);
  }
  call.in_place.assign(outputs_.size(), 0);
  // Small enough for a std::function to hold it without memory.
  const auto make = [this, &call](std::size_t k, ir::ElementType type, const ir::Shape& shape) {
    call.in_place[k] = 1;
    return output_buffer(host_, call.context, outputs_[k], type, shape, type_is_known_[k] != 0);
  };
  run_session(call, make);
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    if (!call.in_place[k]) copy_output(host_, context, outputs_[k], call.outputs[k]);
  }
  if (reference_) compare(call.inputs, call.outputs);
  if (budget_seconds_ > 0) stop_at_budget();
  lent.give_back();
}

void CompiledPart::stop_at_budget() {
  if (stopped_.load(std::memory_order_relaxed)) return;
  std::int64_t none = 0;
  const std::int64_t time = now();
  if (first_run_.compare_exchange_strong(none, time)) return;
  const std::chrono::steady_clock::duration gone(time - none);
  if (std::chrono::duration<double>(gone).count() < budget_seconds_ || stopped_.exchange(true)) return;
  session_->freeze();
}

void CompiledPart::compare(const std::vector<ir::Tensor>& inputs, const std::vector<ir::Tensor>& outputs) {
  std::vector<ir::Tensor> expected;
  reference_->run_into(inputs, expected);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const std::string what = difference(expected[k], outputs[k], tolerance_);
    if (what.empty()) continue;
    throw Error(Fault::internal, fmt::format("verify: output '{}' differs from the reference: {}",
                                             session_->outputs()[k].name, what));
  }
}

}  // namespace axrun::ort
