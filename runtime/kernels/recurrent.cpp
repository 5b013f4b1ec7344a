#include "runtime/kernels/recurrent.h"

#include <algorithm>

#include "runtime/kernels/isa/table.h"

namespace axrun::runtime {
namespace {

/// Elements handled at a time: the intermediate gates stay on the stack.
constexpr int64_t block = 256;

void clip_and_activate(Activation activation, float clip, int64_t count, float* values, float alpha,
                       float beta) {
  const KernelTable& table = kernel_table();
  if (clip > 0) table.activate(Activation::clip, count, values, values, -clip, clip);
  table.activate(activation, count, values, values, alpha, beta);
}

void lstm_block(const LstmStep& s, int64_t row, int64_t first, int64_t count) {
  const float* const gates = s.gates + row * s.gates_row_stride + first;
  float* const cell = s.cell + row * s.cell_row_stride + first;
  float* const output = s.output + row * s.output_row_stride + first;
  float in[block], out[block], forget[block], candidate[block];
  for (int64_t i = 0; i < count; ++i) {
    in[i] = gates[i];
    out[i] = gates[s.hidden + i];
    forget[i] = gates[2 * s.hidden + i];
    candidate[i] = gates[3 * s.hidden + i];
  }
  if (s.peephole_i != nullptr) {
    for (int64_t i = 0; i < count; ++i) in[i] += s.peephole_i[first + i] * cell[i];
  }
  clip_and_activate(s.f, s.clip, count, in, s.f_alpha, s.f_beta);
  clip_and_activate(s.g, s.clip, count, candidate, s.g_alpha, s.g_beta);
  if (s.input_forget) {
    for (int64_t i = 0; i < count; ++i) forget[i] = 1.0f - in[i];
  } else {
    if (s.peephole_f != nullptr) {
      for (int64_t i = 0; i < count; ++i) forget[i] += s.peephole_f[first + i] * cell[i];
    }
    clip_and_activate(s.f, s.clip, count, forget, s.f_alpha, s.f_beta);
  }
  for (int64_t i = 0; i < count; ++i) cell[i] = forget[i] * cell[i] + in[i] * candidate[i];
  if (s.peephole_o != nullptr) {
    for (int64_t i = 0; i < count; ++i) out[i] += s.peephole_o[first + i] * cell[i];
  }
  clip_and_activate(s.f, s.clip, count, out, s.f_alpha, s.f_beta);
  for (int64_t i = 0; i < count; ++i) candidate[i] = cell[i];
  clip_and_activate(s.h, 0, count, candidate, s.h_alpha, s.h_beta);
  for (int64_t i = 0; i < count; ++i) output[i] = out[i] * candidate[i];
}

/// Calls body(row, first hidden unit, count) for blocks.
template <class Body>
void for_blocks(int64_t batch, int64_t hidden, Body body) {
  for (int64_t row = 0; row < batch; ++row) {
    for (int64_t first = 0; first < hidden; first += block) body(row, first, std::min(block, hidden - first));
  }
}

/// values = activation(input[gate] + state[gate]).
void gru_gate(const GruStep& s, int64_t gate, int64_t row, int64_t first, int64_t count, float* values) {
  const float* input = s.input + row * s.input_row_stride + gate * s.hidden + first;
  const float* state = s.state + row * s.state_row_stride + gate * s.hidden + first;
  for (int64_t i = 0; i < count; ++i) values[i] = input[i] + state[i];
  clip_and_activate(s.f, s.clip, count, values, s.f_alpha, s.f_beta);
}

/// H' = (1 - z) * g(candidate) + z * H.
void gru_finish(const GruStep& s, int64_t row, int64_t first, int64_t count, const float* update,
                float* candidate) {
  clip_and_activate(s.g, s.clip, count, candidate, s.g_alpha, s.g_beta);
  const float* previous = s.previous + row * s.previous_row_stride + first;
  float* output = s.output + row * s.output_row_stride + first;
  for (int64_t i = 0; i < count; ++i) {
    output[i] = (1.0f - update[i]) * candidate[i] + update[i] * previous[i];
  }
}

}  // namespace

void lstm_step(const LstmStep& s) {
  for_blocks(s.batch, s.hidden,
             [&](int64_t row, int64_t first, int64_t count) { lstm_block(s, row, first, count); });
}

void gru_step(const GruStep& s) {
  for_blocks(s.batch, s.hidden, [&](int64_t row, int64_t first, int64_t count) {
    float update[block], reset[block];
    gru_gate(s, 0, row, first, count, update);
    gru_gate(s, 1, row, first, count, reset);
    const float* input = s.input + row * s.input_row_stride + 2 * s.hidden + first;
    const float* state = s.state + row * s.state_row_stride + 2 * s.hidden + first;
    for (int64_t i = 0; i < count; ++i) reset[i] = input[i] + reset[i] * state[i];
    gru_finish(s, row, first, count, update, reset);
  });
}

void gru_reset(const GruStep& s) {
  for_blocks(s.batch, s.hidden, [&](int64_t row, int64_t first, int64_t count) {
    float update[block], reset[block];
    gru_gate(s, 0, row, first, count, update);
    gru_gate(s, 1, row, first, count, reset);
    const float* previous = s.previous + row * s.previous_row_stride + first;
    float* reset_hidden = s.reset_hidden + row * s.reset_hidden_row_stride + first;
    float* state = s.state + row * s.state_row_stride + first;
    for (int64_t i = 0; i < count; ++i) {
      reset_hidden[i] = reset[i] * previous[i];
      state[i] = update[i];
    }
  });
}

void gru_update(const GruStep& s) {
  for_blocks(s.batch, s.hidden, [&](int64_t row, int64_t first, int64_t count) {
    float candidate[block];
    const float* update = s.state + row * s.state_row_stride + first;
    const float* input = s.input + row * s.input_row_stride + 2 * s.hidden + first;
    const float* state = s.state + row * s.state_row_stride + 2 * s.hidden + first;
    for (int64_t i = 0; i < count; ++i) candidate[i] = input[i] + state[i];
    gru_finish(s, row, first, count, update, candidate);
  });
}

}  // namespace axrun::runtime
