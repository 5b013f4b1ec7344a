#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/session.h"
#include "runtime/state/stateful_model.h"

namespace axrun::runtime {

/// What runs a session's model for states: one for each set of their names.
struct Session::Stateful {
  std::shared_ptr<StatefulModel> model_for(const SessionState& of,
                                           const std::map<std::string, std::string>& feeds);
  std::vector<std::shared_ptr<StatefulModel>> all() const;
  /// Without a lock: runs ask.
  bool has(const StatefulModel& model) const { return model.session_number() == number_; }
  /// null: the session itself. Written where it changes: many threads run.
  void note_ran(SessionState* session) {
    if (ran_last.load(std::memory_order_relaxed) != session)
      ran_last.store(session, std::memory_order_relaxed);
  }

  std::atomic<bool> frozen{false};  ///< what is made from now on swaps nothing
  std::atomic<SessionState*> ran_last{nullptr};

 private:
  static uint64_t next_number();
  const uint64_t number_ = next_number();  ///< of no other session of the process
  mutable std::mutex mutex_;
  std::map<std::map<std::string, std::string>, std::shared_ptr<StatefulModel>> models_;
};

}  // namespace axrun::runtime
