#include "runtime/optimizer/status_board.h"

namespace axrun::runtime {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// More than anybody reads; a session may live for months.
constexpr size_t most_swaps = 256;

}  // namespace

const char* name_of(OptimizedKernel::State state) {
  switch (state) {
    case OptimizedKernel::State::waiting:
      return "waiting";
    case OptimizedKernel::State::refused:
      return "refused";
    case OptimizedKernel::State::slower:
      return "slower";
    case OptimizedKernel::State::accepted:
      return "accepted";
  }
  return "unknown";
}

const char* name_of(LoadProgram::State state) {
  switch (state) {
    case LoadProgram::State::waiting:
      return "waiting";
    case LoadProgram::State::fallback:
      return "fallback";
    case LoadProgram::State::verified:
      return "verified";
  }
  return "";
}

const char* name_of(OptimizerStatus::State state) {
  switch (state) {
    case OptimizerStatus::State::off:
      return "off";
    case OptimizerStatus::State::waiting:
      return "waiting";
    case OptimizerStatus::State::working:
      return "working";
    case OptimizerStatus::State::paused:
      return "paused";
    case OptimizerStatus::State::frozen:
      return "frozen";
    case OptimizerStatus::State::stopped:
      return "stopped";
  }
  return "unknown";
}

void StatusBoard::set_state_locked(State state, const std::string& reason) {
  // Nothing follows these two but a better reason.
  if (status_.state == State::stopped && state != State::stopped) return;
  if (frozen_ && state != State::stopped) state = State::frozen;
  status_.state = state;
  status_.reason = reason;
}

void StatusBoard::set_state(State state, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  set_state_locked(state, reason);
}

void StatusBoard::update(const std::function<void(OptimizerStatus&)>& change) {
  const std::lock_guard lock(mutex_);
  change(status_);
}

void StatusBoard::add_swap(PlanSwap swap) {
  const std::lock_guard lock(mutex_);
  swap.seconds = seconds_since(start_);
  if (status_.swaps.size() == most_swaps) status_.swaps.erase(status_.swaps.begin());
  status_.swaps.push_back(std::move(swap));
}

OptimizerStatus StatusBoard::snapshot() const {
  const std::lock_guard lock(mutex_);
  OptimizerStatus status = status_;
  status.seconds = seconds_since(start_);
  return status;
}

bool StatusBoard::swap_unless_frozen(const std::function<bool()>& swap) {
  const std::lock_guard lock(mutex_);
  return !frozen_ && swap();
}

void StatusBoard::freeze() {
  const std::lock_guard lock(mutex_);
  frozen_ = true;
  set_state_locked(State::frozen, "");
}

bool StatusBoard::frozen() const {
  const std::lock_guard lock(mutex_);
  return frozen_;
}

}  // namespace axrun::runtime
