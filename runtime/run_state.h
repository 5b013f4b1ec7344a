#pragma once

// Values that runs hand on to later ones: caches of keys and values, the memory of recurrent models.
//
//     auto state = session->new_state({{"present.0.key", "past_key_values.0.key"}, ...}, 1024);
//     for (...) logits = session->run(inputs, *state)[0];   // inputs of the state are left undefined

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "ir/api.h"
#include "ir/tensor.h"

namespace axrun::runtime {

class StatefulModel;
class StateValues;

/// The values of one sequence of runs (Session::new_state). Where an output joins its input and something
/// new, runs write what is new behind what is there, in place; others are handed on without a copy.
///
/// One run at a time; different states may run at once. It may outlive its session, but not run then.
class AXRUN_API RunState {
 public:
  ~RunState();
  RunState(const RunState&) = delete;
  RunState& operator=(const RunState&) = delete;

  /// Positions that values which grow may have along the axis along which they do.
  int64_t capacity() const;
  /// Positions that they have (the longest one).
  int64_t length() const;
  /// Whether these, by position, are the state's: runs neither take nor give them.
  bool has_input(size_t input) const;
  bool has_output(size_t output) const;
  /// As it was when it was new: values that grow are empty, others zero.
  void reset();
  /// A state with the same values, which goes on by itself. Copies nothing: of the two, one goes on in the
  /// same memory, and the other gets memory of its own when it first writes.
  std::unique_ptr<RunState> fork() const;

  /// Gives an input of the state a value, which is copied. Throws Error(user) where it does not fit, or
  /// exceeds the capacity.
  void set(const std::string& input, const ir::Tensor& value);
  /// A copy of what the input will be in the next run; undefined where a run has yet to tell its sizes.
  ir::Tensor get(const std::string& input) const;

 private:
  friend class Session;
  explicit RunState(std::unique_ptr<StateValues> values);
  std::unique_ptr<StateValues> values_;
};

}  // namespace axrun::runtime
