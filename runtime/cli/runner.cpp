#include "runtime/cli/runner.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace axrun::cli {

using runtime::RuntimeValue;

namespace {

bool plain(const std::vector<RuntimeValue>& values) {
  return std::all_of(values.begin(), values.end(), [](const RuntimeValue& value) {
    return value.kind == ir::ValueKind::tensor && value.tensor.defined() &&
           value.type != ir::ElementType::string;
  });
}

}  // namespace

void Runner::bind() {
  if (!plain(inputs_) || !plain(outputs_)) return;
  for (const RuntimeValue& value : inputs_) bound_inputs_.push_back(value.tensor);
  for (const RuntimeValue& value : outputs_) bound_outputs_.push_back(value.tensor.clone());
  bound_ = true;
}

double Runner::timed_ms() {
  const auto start = std::chrono::steady_clock::now();
  if (bound_) {
    session_.run_into(bound_inputs_, bound_outputs_);
  } else {
    outputs_ = session_.run(inputs_);
  }
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

std::vector<RuntimeValue> Runner::take_outputs() {
  if (bound_) outputs_.assign(bound_outputs_.begin(), bound_outputs_.end());
  return std::move(outputs_);
}

}  // namespace axrun::cli
