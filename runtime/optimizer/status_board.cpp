#include "runtime/optimizer/status_board.h"

#include <fmt/format.h>

#include "runtime/log.h"
#include "runtime/seconds_since.h"

namespace axrun::runtime {
namespace {

/// Work that begins is of no interest to operators: it does so with every new shape.
void tell_state(const OptimizerStatus& status) {
  using State = OptimizerStatus::State;
  const bool begins = status.state == State::working || (status.state == State::waiting && status.tried == 0);
  const bool resting = status.state == State::paused || status.state == State::stopped;
  LogRecord record{begins    ? LogLevel::debug
                   : resting ? LogLevel::warn
                             : LogLevel::info,
                   "optimizer",
                   {{"state", name_of(status.state)}}};
  if (!status.reason.empty()) record.fields.emplace_back("reason", status.reason);
  record.fields.emplace_back("tried", std::to_string(status.tried));
  record.fields.emplace_back("left", std::to_string(status.left));
  record.fields.emplace_back("generated", fmt::format("{}/{}", status.swapped, status.steps));
  if (status.speedup > 0) record.fields.emplace_back("speedup", fmt::format("{:.3f}", status.speedup));
  log(std::move(record));
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
  OptimizerStatus now;
  {
    const std::lock_guard lock(mutex_);
    const State before = status_.state;
    set_state_locked(state, reason);
    if (status_.state == before) return;
    if (logs(LogLevel::warn)) {
      now.state = status_.state;
      now.reason = status_.reason;
      now.tried = status_.tried;
      now.left = status_.left;
      now.steps = status_.steps;
      now.swapped = status_.swapped;
      now.speedup = status_.speedup;
    }
  }
  // Outside of the lock: a sink may ask for the status.
  if (logs(LogLevel::warn)) tell_state(now);
}

void StatusBoard::update(const std::function<void(OptimizerStatus&)>& change) {
  const std::lock_guard lock(mutex_);
  change(status_);
}

void StatusBoard::add_swap(PlanSwap swap) {
  if (logs(LogLevel::info)) {
    log({LogLevel::info,
         "plan_swap",
         {{"what", swap.what},
          {"shapes", swap.shapes},
          {"generated", std::to_string(swap.generated)},
          {"speedup", fmt::format("{:.3f}", swap.speedup)}}});
  }
  const std::lock_guard lock(mutex_);
  swap.seconds = seconds_since(start_);
  swap.tried = status_.tried;
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
