#include "runtime/kernels/isa/recurrent.h"

#include "runtime/kernels/isa/activation.h"
#include "runtime/kernels/recurrent.h"

namespace axrun::runtime::AXRUN_ISA {
namespace {

/// Which of the functions are the defaults, and constants where this is inlined; the others are asked for at
/// every vector.
enum class Functions { defaults, any };

/// sigmoid or tanh unless `functions` says otherwise, of a sum that may be clipped first.
template <Functions functions>
AXRUN_INLINE Vector apply(const GateActivation& gate, Activation otherwise, float clip, Vector sum) {
  if (clip > 0) sum = minimum(broadcast(clip), maximum(broadcast(-clip), sum));
  return activation_of(functions == Functions::defaults ? otherwise : gate.function, sum,
                       broadcast(gate.alpha), broadcast(gate.beta));
}

/// Some units that follow each other within a block, one vector of them at most.
struct Units {
  int64_t row;
  int64_t first;  ///< of the row
  int64_t block;  ///< where their block begins
  int64_t width;  ///< of that block
  int64_t count;

  /// Where their values of a gate are in a row with `gates` gates.
  int64_t at(int64_t gate, int64_t gates) const { return block * gates + gate * width + (first - block); }
};

/// Calls body(units, load, store) with ways of reading and writing that keep to the units.
template <class Body>
AXRUN_INLINE void for_units(int64_t batch, int64_t hidden, int64_t block, int64_t first, int64_t last,
                            Body body) {
  for (int64_t row = 0; row < batch; ++row) {
    for (int64_t begin = first; begin < last; begin += block) {
      const int64_t width = smaller(block, hidden - begin);
      int64_t i = 0;
      for (; i + lanes <= width; i += lanes) {
        body(
            Units{row, begin + i, begin, width, lanes},
            [](const float* p) __attribute__((always_inline)) { return load(p); },
            [](float* p, Vector v) __attribute__((always_inline)) { store(p, v); });
      }
      if (i < width) {
        const Mask mask = first_lanes(width - i);
        body(
            Units{row, begin + i, begin, width, width - i},
            [&](const float* p) __attribute__((always_inline)) { return load(p, mask); },
            [&](float* p, Vector v) __attribute__((always_inline)) { store(p, v, mask); });
      }
    }
  }
}

template <Functions functions>
void lstm(const LstmStep& s, int64_t first, int64_t last) {
  for_units(
      s.batch, s.hidden, s.block, first,
      last, [&](const Units& u, auto read, auto write) __attribute__((always_inline)) {
        const float* const gates = s.gates + u.row * s.gates_row_stride;
        float* const cell = s.cell + u.row * s.cell_row_stride + u.first;
        const Vector before = read(cell);
        Vector in = read(gates + u.at(0, 4));
        Vector out = read(gates + u.at(1, 4));
        Vector forget = read(gates + u.at(2, 4));
        if (s.peephole_i != nullptr) in = fused(read(s.peephole_i + u.first), before, in);
        in = apply<functions>(s.f, Activation::sigmoid, s.clip, in);
        if (s.input_forget) {
          forget = broadcast(1.0f) - in;
        } else {
          if (s.peephole_f != nullptr) forget = fused(read(s.peephole_f + u.first), before, forget);
          forget = apply<functions>(s.f, Activation::sigmoid, s.clip, forget);
        }
        const Vector candidate = apply<functions>(s.g, Activation::tanh, s.clip, read(gates + u.at(3, 4)));
        const Vector after = fused(forget, before, in * candidate);
        write(cell, after);
        if (s.peephole_o != nullptr) out = fused(read(s.peephole_o + u.first), after, out);
        out = apply<functions>(s.f, Activation::sigmoid, s.clip, out);
        write(s.output + u.row * s.output_row_stride + u.first,
              out * apply<functions>(s.h, Activation::tanh, 0, after));
      });
}

/// f(input + state) of a gate.
template <Functions functions>
AXRUN_INLINE Vector gru_gate(const GruStep& s, Vector input, Vector state) {
  return apply<functions>(s.f, Activation::sigmoid, s.clip, input + state);
}

template <Functions functions>
AXRUN_INLINE Vector gru_output(const GruStep& s, Vector update, Vector candidate, Vector previous) {
  candidate = apply<functions>(s.g, Activation::tanh, s.clip, candidate);
  return fused(update, previous, (broadcast(1.0f) - update) * candidate);
}

template <Functions functions>
void gru(const GruStep& s, int64_t first, int64_t last) {
  for_units(
      s.batch, s.hidden, s.block, first,
      last, [&](const Units& u, auto read, auto write) __attribute__((always_inline)) {
        const float* const input = s.input + u.row * s.input_row_stride;
        const float* const state = s.state + u.row * s.state_row_stride;
        const int64_t z = u.at(0, 3), r = u.at(1, 3), h = u.at(2, 3);
        const Vector update = gru_gate<functions>(s, read(input + z), read(state + z));
        const Vector reset = gru_gate<functions>(s, read(input + r), read(state + r));
        const Vector candidate = fused(reset, read(state + h), read(input + h));
        write(s.output + u.row * s.output_row_stride + u.first,
              gru_output<functions>(s, update, candidate,
                                    read(s.previous + u.row * s.previous_row_stride + u.first)));
      });
}

template <Functions functions>
void gru_before(const GruStep& s, int64_t first, int64_t last) {
  for_units(
      s.batch, s.hidden, s.block, first,
      last, [&](const Units& u, auto read, auto write) __attribute__((always_inline)) {
        const float* const input = s.input + u.row * s.input_row_stride;
        const float* const state = s.state + u.row * s.state_row_stride;
        const int64_t own = u.row * s.hidden + u.first;
        write(s.update + own, gru_gate<functions>(s, read(input + u.at(0, 3)), read(state + u.at(0, 2))));
        const Vector reset = gru_gate<functions>(s, read(input + u.at(1, 3)), read(state + u.at(1, 2)));
        write(s.reset_hidden + own, reset * read(s.previous + u.row * s.previous_row_stride + u.first));
      });
}

template <Functions functions>
void gru_after(const GruStep& s, int64_t first, int64_t last) {
  for_units(
      s.batch, s.hidden, s.block, first,
      last, [&](const Units& u, auto read, auto write) __attribute__((always_inline)) {
        const float* const input = s.input + u.row * s.input_row_stride;
        const int64_t own = u.row * s.hidden + u.first;
        const Vector candidate = read(input + u.at(2, 3)) + read(s.candidate + own);
        write(s.output + u.row * s.output_row_stride + u.first,
              gru_output<functions>(s, read(s.update + own), candidate,
                                    read(s.previous + u.row * s.previous_row_stride + u.first)));
      });
}

bool are_defaults(const GruStep& s) {
  return s.f.function == Activation::sigmoid && s.g.function == Activation::tanh;
}

}  // namespace

void lstm_step(const LstmStep& s, int64_t first, int64_t last) {
  const bool defaults = s.f.function == Activation::sigmoid && s.g.function == Activation::tanh &&
                        s.h.function == Activation::tanh;
  defaults ? lstm<Functions::defaults>(s, first, last) : lstm<Functions::any>(s, first, last);
}

void gru_step(const GruStep& s, int64_t first, int64_t last) {
  are_defaults(s) ? gru<Functions::defaults>(s, first, last) : gru<Functions::any>(s, first, last);
}

void gru_reset(const GruStep& s, int64_t first, int64_t last) {
  are_defaults(s) ? gru_before<Functions::defaults>(s, first, last)
                  : gru_before<Functions::any>(s, first, last);
}

void gru_update(const GruStep& s, int64_t first, int64_t last) {
  are_defaults(s) ? gru_after<Functions::defaults>(s, first, last)
                  : gru_after<Functions::any>(s, first, last);
}

}  // namespace axrun::runtime::AXRUN_ISA
