#pragma once

#include <cstdint>

#include "runtime/kernels/activation.h"

namespace axrun::runtime {

// The element-wise parts of recurrent steps, for units [first, last) of every row of a batch, on the calling
// thread.
//
// The gates of a row lie in blocks of `block` units, each with its units' values of the first gate, then of
// the second one, and so on: whoever computes some of the units finds all of their gates side by side. The
// last block is shorter, and dense, where hidden is no multiple of `block`; with `block` = hidden the order
// is ONNX's own. `first` is a multiple of `block`, `last` is one or hidden.

struct GateActivation {
  Activation function = Activation::none;
  float alpha = 0, beta = 0;
};

/// LSTM. `gates` has ONNX's four, i, o, f, c: the sums W x + R h + biases, before any activation:
///   i = f(i + p_i * C)   f = f(f + p_f * C)   c = g(c)   C' = f * C + i * c   o = f(o + p_o * C')   H = o *
///   h(C')
/// With input_forget, f = 1 - i.
struct LstmStep {
  int64_t batch = 0, hidden = 0, block = 0;
  const float* gates = nullptr;
  int64_t gates_row_stride = 0;
  float* cell = nullptr;  ///< [batch][hidden], read and written
  int64_t cell_row_stride = 0;
  float* output = nullptr;  ///< H, [batch][hidden]
  int64_t output_row_stride = 0;
  const float* peephole_i = nullptr;  ///< [hidden], or null for none
  const float* peephole_o = nullptr;
  const float* peephole_f = nullptr;
  bool input_forget = false;
  float clip = 0.0f;  ///< > 0: the gates' sums are clipped to [-clip, clip] (h's input, C', is not)
  GateActivation f{Activation::sigmoid}, g{Activation::tanh}, h{Activation::tanh};
};
void lstm_step(const LstmStep& step, int64_t first, int64_t last);

/// GRU (ONNX's gate order z, r, h).
///
/// With linear_before_reset, one call after the recurrent product does everything:
///   z = f(input_z + state_z)   r = f(input_r + state_r)   h = g(input_h + r * state_h)   H' = (1 - z) * h +
///   z * H
/// where input is X W + Wb and state is H R + Rb, both with three gates.
/// Without it the product for h needs r * H first: gru_reset computes z (kept in `update`) and reset_hidden =
/// r * H from a state of two gates, z and r; the caller computes (r * H) Rh + Rbh, the candidate; gru_update
/// does the rest.
struct GruStep {
  int64_t batch = 0, hidden = 0, block = 0;
  const float* input = nullptr;
  int64_t input_row_stride = 0;
  const float* state = nullptr;
  int64_t state_row_stride = 0;
  const float* previous = nullptr;  ///< H, [batch][hidden]
  int64_t previous_row_stride = 0;
  float* output = nullptr;  ///< H', may be `previous`
  int64_t output_row_stride = 0;
  float* update = nullptr;           ///< [batch][hidden], like the next two only without linear_before_reset
  float* reset_hidden = nullptr;     ///< [batch][hidden]
  const float* candidate = nullptr;  ///< [batch][hidden]
  float clip = 0.0f;
  GateActivation f{Activation::sigmoid}, g{Activation::tanh};
};
void gru_step(const GruStep& step, int64_t first, int64_t last);    ///< linear_before_reset
void gru_reset(const GruStep& step, int64_t first, int64_t last);   ///< first half otherwise
void gru_update(const GruStep& step, int64_t first, int64_t last);  ///< second half otherwise

}  // namespace axrun::runtime
