#pragma once

#include <cstdint>

#include "runtime/kernels/activation.h"

namespace axrun::runtime {

/// The element-wise part of one LSTM step for a batch, single-threaded (a step is small).
///
/// `gates` is [batch][4 * hidden] in ONNX's order i, o, f, c: the sums W x + R h + biases, before any
/// activation:
///   i = f(i + p_i * C)   f = f(f + p_f * C)   c = g(c)   C' = f * C + i * c   o = f(o + p_o * C')   H = o *
///   h(C')
/// With input_forget, f = 1 - i.
struct LstmStep {
  int64_t batch = 0, hidden = 0;
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
  Activation f = Activation::sigmoid, g = Activation::tanh, h = Activation::tanh;
  float f_alpha = 0, f_beta = 0, g_alpha = 0, g_beta = 0, h_alpha = 0, h_beta = 0;
};
void lstm_step(const LstmStep& step);

/// The element-wise parts of one GRU step (ONNX's gate order z, r, h).
///
/// With linear_before_reset, one call after the recurrent product does everything:
///   z = f(input_z + state_z)   r = f(input_r + state_r)   h = g(input_h + r * state_h)   H' = (1 - z) * h +
///   z * H
/// where input is X W + Wb and state is H R + Rb, both [batch][3 * hidden].
/// Without it the product for h needs r * H first: gru_reset computes z (kept in state's z part), r and
/// reset_hidden = r * H; the caller computes (r * H) Rh + Rbh into state's h part; gru_update does the rest.
struct GruStep {
  int64_t batch = 0, hidden = 0;
  const float* input = nullptr;
  int64_t input_row_stride = 0;
  float* state = nullptr;
  int64_t state_row_stride = 0;
  const float* previous = nullptr;  ///< H, [batch][hidden]
  int64_t previous_row_stride = 0;
  float* output = nullptr;  ///< H', may be `previous`
  int64_t output_row_stride = 0;
  float* reset_hidden = nullptr;  ///< [batch][hidden], only for gru_reset
  int64_t reset_hidden_row_stride = 0;
  float clip = 0.0f;
  Activation f = Activation::sigmoid, g = Activation::tanh;
  float f_alpha = 0, f_beta = 0, g_alpha = 0, g_beta = 0;
};
void gru_step(const GruStep& step);    ///< linear_before_reset
void gru_reset(const GruStep& step);   ///< first half otherwise
void gru_update(const GruStep& step);  ///< second half otherwise

}  // namespace axrun::runtime
