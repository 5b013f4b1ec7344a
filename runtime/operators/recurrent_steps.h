#pragma once

#include "runtime/operators/recurrent_setup.h"

namespace axrun::runtime {

/// Rows of a matrix: where the first one starts and how far the next one is, in elements.
struct Rows {
  float* data = nullptr;
  int64_t stride = 0;
  Rows from(int64_t row) const { return {data + row * stride, stride}; }
};

/// Some rows of the batch on their way through the times of one direction.
struct RecurrentSequence {
  int64_t rows = 0, steps = 0;
  Rows gates;  ///< the inputs' product at the first step, and how far it is to the next one's
  int64_t gates_step = 0;
  Rows initial;  ///< the hidden state before the first step
  /// The states after the steps: one each, or two that take turns.
  Rows states;
  int64_t states_step = 0;
  bool states_take_turns = false;
  Rows cell;      ///< LSTM: before the first step, and after every one
  Rows products;  ///< GRU: products with R, all gates (without linear_before_reset: two)
  Rows update, reset_hidden, candidate;  ///< GRU without linear_before_reset

  Rows gates_at(int64_t step) const { return {gates.data + step * gates_step, gates.stride}; }
  /// After `step` steps.
  Rows state_after(int64_t step) const {
    if (step == 0) return initial;
    const int64_t place = states_take_turns ? (step - 1) % 2 : step - 1;
    return {states.data + place * states_step, states.stride};
  }
};

/// The element-wise part of a direction's steps but for a batch and where its values are; `peepholes` are
/// those of the direction, or null.
LstmStep lstm_step_of(const RecurrentSetup& setup, int direction, const float* peepholes);

/// The steps of one direction, each in one phase, or two where there are two products: the products with R
/// and the element-wise part of some of the units.
class RecurrentSteps {
 public:
  /// `recurrence` and `state_bias` are those of the direction, where they are not packed; `peepholes` too, or
  /// null.
  RecurrentSteps(const RecurrentSetup& setup, int direction, const float* recurrence, const float* state_bias,
                 const float* peepholes);

  int64_t phases() const { return s_.has_two_products() ? 2 : 1; }

  /// Units [first, last), whole blocks. Those of one phase may be computed at the same time where weights are
  /// constant, each with its `scratch` of scratch_bytes.
  void run(const RecurrentSequence& sequence, int64_t step, int64_t phase, int64_t first, int64_t last,
           void* scratch, ThreadPool& pool) const;

  /// Of one part where weights are constant, otherwise of all threads.
  static size_t scratch_bytes(const RecurrentSetup& setup, int threads);

 private:
  void multiply(int64_t rows, const Rows& from, const void* packed, int64_t first_gate, int64_t gates,
                const Rows& added, const Rows& to, int64_t first, int64_t last, void* scratch,
                ThreadPool& pool) const;

  const RecurrentSetup& s_;
  const DirectionWeights& weights_;
  const float* const recurrence_;
  const float* const state_bias_;
  LstmStep lstm_;
  GruStep gru_;
};

}  // namespace axrun::runtime
