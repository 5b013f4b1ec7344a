#include "runtime/optimizer/optimizer.h"

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

#include "ir/error.h"
#include "runtime/log.h"
#include "runtime/optimizer/freed_memory.h"
#include "runtime/optimizer/searching.h"
#include "runtime/warm/warm_start.h"

namespace axrun::runtime {
namespace {

using State = OptimizerStatus::State;
using std::chrono::milliseconds;

/// Shapes that wait for the optimiser; their inputs are held meanwhile.
constexpr size_t most_jobs = 4;
/// How often swaps are looked after while no job comes.
constexpr auto nap = milliseconds(200);
/// What real runs have confirmed is written down no more often than that.
constexpr auto between_keeping = std::chrono::seconds(1);
/// How long packed weights may be written at once: the session may want to end. Where it is frozen it goes
/// on.
constexpr auto longest_writing = milliseconds(500), longest_writing_of_frozen = milliseconds(20'000);
/// Without swaps to look after: only in case a forked process has heard the bell.
constexpr auto long_nap = std::chrono::seconds(5);

bool is_plain(const std::vector<RuntimeValue>& values) {
  return std::all_of(values.begin(), values.end(), [](const RuntimeValue& value) {
    return value.kind == ir::ValueKind::tensor && value.tensor.defined() &&
           value.type != ir::ElementType::string;
  });
}

}  // namespace

Optimizer::Optimizer(OptimizerHost host, OptimizerSettings settings, LoadTimeWork load,
                     std::shared_ptr<WarmStart> warm)
    : host_(std::move(host)),
      state_buffers_(host_.graph ? state_buffers(*host_.graph) : std::vector<StateBuffer>()),
      settings_(std::move(settings)),
      library_(
          std::make_shared<KernelLibrary>(KernelLibrary::Options{settings_.always, settings_.deterministic})),
      layouts_(library_->mutex()),
      bilinear_is_open_(settings_.bilinear),
      warm_(std::move(warm)),
      load_programs_(std::move(load), board_),
      background_({settings_.threads, settings_.standing, shared_locks(), settings_.share},
                  [this](const Background::Place& place) { work(place); }) {
  board_.set_state(State::waiting);
  if (!warm_) return;
  load_programs_.add(warm_->load(*library_, layouts_, host_.packs, graphs_by_helper(settings_.worker)));
  for (const auto& choice : layouts_.all()) {
    if (choice->algebra)
      board_.update([&](OptimizerStatus& status) { status.algebra = choice->algebra->report; });
  }
}

std::vector<std::mutex*> Optimizer::shared_locks() {
  std::vector<std::mutex*> locks{&mutex_, &host_.plans->writers(), &library_->mutex(), &board_.mutex()};
  if (host_.packs != nullptr) locks.push_back(&host_.packs->mutex());
  return locks;
}

Optimizer::~Optimizer() { background_.stop(); }

void Optimizer::offer(const std::vector<RuntimeValue>& inputs) {
  if (closed_ || !is_plain(inputs) || board_.frozen()) return;
  std::vector<ir::Shape> shapes = shapes_of(inputs);
  const auto same = [&](const OptimizerJob& job) { return job.shapes == shapes; };
  {
    const std::lock_guard lock(mutex_);
    if (busy_ && at_work_ == shapes) return;
    if (jobs_.size() >= most_jobs || std::any_of(jobs_.begin(), jobs_.end(), same)) return;
  }
  OptimizerJob job;
  // The caller's buffers are his own again after the run.
  const auto is_buffer = [&](size_t k) {
    return std::any_of(state_buffers_.begin(), state_buffers_.end(),
                       [&](const StateBuffer& one) { return one.input == k || one.past == k; });
  };
  for (size_t k = 0; k < inputs.size(); ++k) {
    const ir::Tensor& tensor = inputs[k].tensor;
    job.inputs.emplace_back(
        is_buffer(k) ? ir::Tensor::allocate(tensor.type(), tensor.shape()) : tensor.clone(), inputs[k].type);
  }
  for (const StateBuffer& buffer : state_buffers_) {
    copy_positions(inputs[buffer.input].tensor, job.inputs[buffer.input].tensor, buffer.axis,
                   inputs[buffer.past].tensor.shape()[buffer.axis]);
  }
  job.shapes = std::move(shapes);
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  bell_.ring();
  restart();
}

void Optimizer::restart() {
  if (closed_) return;
  try {
    background_.start();
  } catch (const Error& error) {
    closed_ = true;
    board_.set_state(State::stopped, error.what());
    const std::lock_guard lock(mutex_);
    jobs_.clear();
  }
}

bool Optimizer::next(OptimizerJob& job, bool busy_without) {
  const std::lock_guard lock(mutex_);
  busy_ = !jobs_.empty() || busy_without;
  if (jobs_.empty()) {
    at_work_.clear();
    return false;
  }
  job = std::move(jobs_.front());
  jobs_.pop_front();
  at_work_ = job.shapes;
  return true;
}

void Optimizer::keep(const Background::Place& place, bool settled, bool last) {
  if (!warm_) return;
  const Background::Piece piece(place.background);
  if (settled) library_->resumed();
  warm_->save(*library_, layouts_, *host_.plans, settled);
  // What is packed changes with every swap: it is written when there are no more. Nobody waits long for it.
  if (!settled && !last) return tell_what_is_not_stored();
  warm_->keep_weights(*library_, host_.packs, layouts_, *host_.plans,
                      board_.frozen() ? longest_writing_of_frozen : longest_writing);
  warm_->rest();
  tell_what_is_not_stored();
}

void Optimizer::tell_what_is_not_stored() {
  if (told_not_stored_ || !logs(LogLevel::warn)) return;
  const CacheUse use = warm_->use();
  const std::string text = not_stored(use);
  // What can only be read has been told when the model was loaded.
  if (text.empty() || !use.writable) return;
  told_not_stored_ = true;
  log({LogLevel::warn, "cache_not_stored", {{"reason", text}, {"cache_dir", use.folder}}});
}

void Optimizer::work(const Background::Place& place) {
  bool settled = false;
  try {
    board_.update([&](OptimizerStatus& status) {
      status.priority = place.background.priority();
      status.threads = place.pool.threads();
    });
    PlanImprover improver(host_, settings_, library_, layouts_, board_, place);
    improver.know_kernels(warm_);
    improver.when_bilinear_decided([this] { bilinear_is_open_ = false; });
    improver.when_folded([this](std::vector<FoldedNode> folded) { load_programs_.add(std::move(folded)); });
    improver.when_confirmed([&, last = std::chrono::steady_clock::time_point()]() mutable {
      const auto now = std::chrono::steady_clock::now();
      if (now - last < between_keeping) return;
      last = now;
      keep(place, false);
    });
    const auto more_wanted = [this] {
      const std::lock_guard lock(mutex_);
      return !jobs_.empty();
    };
    while (!place.stop.requested() && !board_.frozen()) {
      OptimizerJob job;
      bool more = false;
      {
        const Background::Piece piece(place.background);
        const bool busy_without =
            improver.has_alternatives() || !load_programs_.done() || improver.has_algebra();
        more = next(job, busy_without);
        board_.set_state(more || busy_without ? State::working : State::waiting);
        settled = !more && !busy_without;
      }
      if (more) {
        busy_with_plans_ = true;
        improver.improve(job);
        continue;
      }
      // What is computed in another way has schedules of its own: they are tried when it has been decided.
      if (improver.has_algebra_before_alternatives()) {
        improver.try_algebra(more_wanted);
        continue;
      }
      if (improver.has_alternatives()) {
        improver.try_alternatives(more_wanted);
        continue;
      }
      if (!load_programs_.done()) {
        improver.check_load_time(load_programs_);
        improver.watch();
        continue;
      }
      if (improver.has_algebra()) {
        improver.try_algebra(more_wanted);
        continue;
      }
      improver.watch();
      busy_with_plans_ = improver.is_watching();
      if (!improver.is_watching()) {
        keep(place, true);
        const Background::Piece piece(place.background);
        give_freed_memory_back();
      }
      place.stop.wait_for(improver.is_watching() ? nap : long_nap, &bell_);
    }
  } catch (const RunStopped&) {
    // The stop came while plans were compared.
  } catch (const CannotGoOn& end) {
    board_.set_state(State::stopped, end.reason);
  } catch (const std::exception& error) {
    board_.set_state(State::stopped, error.what());
  }
  keep(place, settled, true);
  closed_ = true;
  busy_with_plans_ = false;
  const std::lock_guard lock(mutex_);
  jobs_.clear();
  busy_ = false;
}

void Optimizer::freeze() {
  board_.freeze();
  background_.stop();
  closed_ = true;
  busy_with_plans_ = false;
  const std::lock_guard lock(mutex_);
  jobs_.clear();
}

bool Optimizer::wait(double seconds) const {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (jobs_.empty() && !busy_) return true;
    }
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(milliseconds(2));
  }
}

PackedComparison Optimizer::compare_packed() const {
  return warm_ ? warm_->compare_weights(*library_, host_.packs, *host_.plans) : PackedComparison();
}

OptimizerStatus Optimizer::status() const {
  OptimizerStatus status = board_.snapshot();
  status.kernels = library_->records();
  status.lost_joints = library_->lost_joints();
  if (warm_) status.cache = warm_->use();
  status.code_bytes = library_->code_bytes();
  status.prepared_bytes = library_->prepared_bytes();
  status.kept_bytes = static_cast<int64_t>(std::as_const(*library_).prepared().kept_bytes());
  return status;
}

}  // namespace axrun::runtime
