#pragma once

#include <atomic>
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
  bool has(const StatefulModel& model) const;

  std::atomic<bool> frozen{false};               ///< what is made from now on swaps nothing
  std::atomic<SessionState*> ran_last{nullptr};  ///< null: the session itself

 private:
  mutable std::mutex mutex_;
  std::map<std::map<std::string, std::string>, std::shared_ptr<StatefulModel>> models_;
};

}  // namespace axrun::runtime
