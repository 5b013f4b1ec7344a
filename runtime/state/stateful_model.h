#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/session_state.h"
#include "runtime/state/state_graph.h"

namespace axrun::runtime {

/// A model whose values are kept in states: which they are, and what runs it.
class StatefulModel {
 public:
  /// An input of the model that a state has, and where its sizes are to be seen.
  struct Kept {
    StateFeed feed;
    std::string input, output;  ///< names
    ir::ElementType type = ir::ElementType::undefined;
    ir::Dims dims;
    struct Place {
      size_t input, axis;
    };
    std::vector<std::optional<Place>> seen;  ///< per dim: the same size, of an input that no state has
  };

  /// `of` is only read; number: of its session. names: of outputs, and the inputs that they become. Throws
  /// Error(user) where there are no such, or the one cannot be the other.
  StatefulModel(const SessionState& of, const std::map<std::string, std::string>& names, uint64_t number);

  const std::vector<Kept>& kept() const { return kept_; }
  SessionState& session() { return *session_; }
  uint64_t session_number() const { return session_number_; }
  void freeze() {
    if (session_->optimizer) session_->optimizer->freeze();
  }
  /// Memory that its states have.
  int64_t state_bytes() const { return *state_bytes_; }
  const std::shared_ptr<std::atomic<int64_t>>& state_bytes_count() const { return state_bytes_; }
  size_t model_inputs() const { return model_inputs_; }
  size_t model_outputs() const { return model_outputs_; }
  bool keeps_input(size_t k) const { return keeps_input_[k]; }
  bool keeps_output(size_t k) const { return keeps_output_[k]; }

 private:
  std::shared_ptr<std::atomic<int64_t>> state_bytes_ = std::make_shared<std::atomic<int64_t>>(0);
  uint64_t session_number_;
  size_t model_inputs_, model_outputs_;
  std::vector<Kept> kept_;
  std::vector<bool> keeps_input_, keeps_output_;
  std::unique_ptr<SessionState> session_;  ///< of the graph that is made for states
};

}  // namespace axrun::runtime
