#include "runtime/operators/recurrent_steps.h"

#include <algorithm>

#include "runtime/kernels/isa/table.h"

namespace axrun::runtime {
namespace {

/// The shape of a state's product with `gates` gates of R.
GemmArguments product_with(const RecurrentSetup& setup, int64_t rows, int64_t gates) {
  GemmArguments g;
  g.m = rows;
  g.n = gates * setup.hidden;
  g.k = setup.hidden;
  g.b_row_stride = 1;
  g.b_column_stride = setup.hidden;
  return g;
}

}  // namespace

LstmStep lstm_step_of(const RecurrentSetup& setup, int direction, const float* peepholes) {
  const auto& activations = setup.weights_of(direction).activations;
  LstmStep step;
  step.hidden = setup.hidden;
  step.block = setup.block;
  step.clip = setup.clip;
  step.f = activations[0];
  step.g = activations[1];
  step.h = activations[2];
  step.input_forget = setup.input_forget;
  if (peepholes != nullptr) {
    step.peephole_i = peepholes;
    step.peephole_o = peepholes + setup.hidden;
    step.peephole_f = peepholes + 2 * setup.hidden;
  }
  return step;
}

RecurrentSteps::RecurrentSteps(const RecurrentSetup& setup, int direction, const float* recurrence,
                               const float* state_bias, const float* peepholes)
    : s_(setup), weights_(setup.weights_of(direction)), recurrence_(recurrence), state_bias_(state_bias) {
  lstm_ = lstm_step_of(s_, direction, peepholes);
  gru_.hidden = s_.hidden;
  gru_.block = s_.block;
  gru_.clip = s_.clip;
  gru_.f = weights_.activations[0];
  gru_.g = weights_.activations[1];
}

/// to = from R^T (so many gates, from first_gate on) + bias + added; `added` may be `to`.
void RecurrentSteps::multiply(int64_t rows, const Rows& from, const void* packed, int64_t first_gate,
                              int64_t gates, const Rows& added, const Rows& to, int64_t first, int64_t last,
                              void* scratch, ThreadPool& pool) const {
  GemmArguments g = product_with(s_, rows, gates);
  g.a = from.data;
  g.a_row_stride = from.stride;
  g.c = to.data;
  g.c_row_stride = to.stride;
  if (state_bias_ != nullptr) g.epilogue.column_bias = state_bias_ + first_gate * s_.hidden;
  g.epilogue.residual = added.data;
  g.epilogue.residual_row_stride = added.stride;
  if (packed != nullptr) {
    g.packed_b = static_cast<const float*>(packed);
    gemm_columns(g, first * gates, last * gates, scratch);
  } else {
    g.b = recurrence_ + first_gate * s_.hidden * s_.hidden;
    gemm(g, scratch, pool);
  }
}

void RecurrentSteps::run(const RecurrentSequence& q, int64_t step, int64_t phase, int64_t first, int64_t last,
                         void* scratch, ThreadPool& pool) const {
  const Rows gates = q.gates_at(step), before = q.state_after(step), after = q.state_after(step + 1);
  const void* const packed = weights_.state.get();
  if (s_.cell == Cell::lstm) {
    multiply(q.rows, before, packed, 0, 4, gates, gates, first, last, scratch, pool);
    LstmStep own = lstm_;
    own.batch = q.rows;
    own.gates = gates.data, own.gates_row_stride = gates.stride;
    own.cell = q.cell.data, own.cell_row_stride = q.cell.stride;
    own.output = after.data, own.output_row_stride = after.stride;
    return lstm_step(own, first, last);
  }
  if (s_.cell == Cell::rnn) {
    multiply(q.rows, before, packed, 0, 1, gates, gates, first, last, scratch, pool);
    const GateActivation& f = weights_.activations[0];
    for (int64_t row = 0; row < q.rows; ++row) {
      const float* from = gates.from(row).data + first;
      float* to = after.from(row).data + first;
      const KernelTable& table = kernel_table();
      if (s_.clip > 0) {
        table.activate(Activation::clip, last - first, from, to, -s_.clip, s_.clip);
        from = to;
      }
      table.activate(f.function, last - first, from, to, f.alpha, f.beta);
    }
    return;
  }
  GruStep own = gru_;
  own.batch = q.rows;
  own.input = gates.data, own.input_row_stride = gates.stride;
  own.state = q.products.data, own.state_row_stride = q.products.stride;
  own.previous = before.data, own.previous_row_stride = before.stride;
  own.output = after.data, own.output_row_stride = after.stride;
  own.update = q.update.data;
  own.reset_hidden = q.reset_hidden.data;
  own.candidate = q.candidate.data;
  if (s_.reset_after) {
    multiply(q.rows, before, packed, 0, 3, {}, q.products, first, last, scratch, pool);
    gru_step(own, first, last);
  } else if (phase == 0) {
    multiply(q.rows, before, packed, 0, 2, {}, q.products, first, last, scratch, pool);
    gru_reset(own, first, last);
  } else {
    multiply(q.rows, q.reset_hidden, weights_.hidden.get(), 2, 1, {}, q.candidate, first, last, scratch,
             pool);
    gru_update(own, first, last);
  }
}

size_t RecurrentSteps::scratch_bytes(const RecurrentSetup& setup, int threads) {
  static const float placeholder = 0;
  size_t bytes = 0;
  const auto consider = [&](int64_t rows, int64_t gates, int64_t from_stride, int64_t to_stride) {
    GemmArguments g = product_with(setup, rows, gates);
    g.a = g.b = &placeholder;
    g.a_row_stride = from_stride;
    g.c_row_stride = g.epilogue.residual_row_stride = to_stride;
    if (setup.constant_weights) {
      g.packed_b = &placeholder;
      bytes = std::max(bytes, gemm_columns_scratch_bytes(g));
      return;
    }
    bytes = std::max(bytes, gemm_scratch_bytes(g, threads));
    g.epilogue.residual = &placeholder;
    bytes = std::max(bytes, gemm_scratch_bytes(g, threads));
  };
  const int64_t columns = setup.gate_columns();
  for (const int64_t rows : {setup.batch, int64_t{1}}) {
    for (const int64_t gates : {setup.gates, int64_t{1}, int64_t{2}}) {
      // States are rows of their own, of a state's tensor or of Y, both with the batch first.
      for (const int64_t from : {int64_t{1}, int64_t{setup.directions}, setup.length * setup.directions}) {
        for (const int64_t to : {gates * setup.hidden, columns, setup.length * columns})
          consider(rows, gates, from * setup.hidden, to);
      }
    }
  }
  return bytes;
}

}  // namespace axrun::runtime
