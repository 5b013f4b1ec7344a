// LSTM, GRU and RNN, float32: one product of all inputs with W, then per step one product of the state with
// R and the element-wise step kernel.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ir/error.h"
#include "runtime/operators/recurrent_setup.h"

namespace axrun::runtime {
namespace {

/// Multiply-adds of one direction above which two directions are worth a thread each.
constexpr double parallel_work = 200'000;

/// Rows of a matrix: where the first one starts and how far the next one is, in elements.
struct Rows {
  float* data = nullptr;
  int64_t stride = 0;
  Rows from(int64_t row) const { return {data + row * stride, stride}; }
};

/// Scratch of one direction, in floats from its start.
struct Layout {
  int64_t gates = 0, cell = 0, hidden = 0, state = 0, reset = 0, product = 0, total = 0;
};

void copy_rows(const Rows& from, const Rows& to, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; ++i) {
    std::copy_n(from.data + i * from.stride, columns, to.data + i * to.stride);
  }
}

class RecurrentKernel final : public Kernel {
 public:
  RecurrentKernel(RecurrentSetup setup, const StepContext& context)
      : s_(std::move(setup)),
        threads_(context.threads),
        zeros_(static_cast<size_t>(s_.batch * s_.hidden), 0.0f) {
    wants_sequence_ = context.has_output(0);
    wants_hidden_ = context.has_output(1);
    wants_cell_ = context.has_output(2);
    name_ = context.node.op;
    node_ = context.node.name;
    const auto round = [](int64_t floats) { return (floats + 15) / 16 * 16; };
    const int64_t states = s_.batch * s_.hidden;
    Layout& l = layout_;
    l.cell = round(s_.length * s_.batch * s_.gate_columns());
    l.hidden = l.cell + round(states);
    l.state = l.hidden + round(states);
    l.reset = l.state + (s_.cell == Cell::gru ? round(3 * states) : 0);
    l.product = l.reset + (s_.cell == Cell::gru ? round(states) : 0);
    l.total = l.product + round(product_scratch());
    work_ = static_cast<double>(s_.length * s_.batch * s_.gate_columns()) *
            static_cast<double>(s_.input + s_.hidden);
  }

  void run(const KernelCall& call) const override {
    const int64_t grain = work_ > parallel_work ? 1 : 2;
    call.pool.parallel_for(s_.directions, grain, [&](int64_t begin, int64_t end) {
      for (int64_t d = begin; d < end; ++d) run_direction(call, static_cast<int>(d));
    });
  }

  std::string describe() const override {
    return fmt::format("{} {}x{} {}->{}{}{}", name_, s_.length, s_.batch, s_.input, s_.hidden,
                       s_.directions == 2 ? " both directions" : "", s_.constant_weights ? " packed" : "");
  }
  size_t scratch_bytes() const override {
    return static_cast<size_t>(layout_.total * s_.directions) * sizeof(float);
  }
  bool ignores_input(int k) const override { return s_.constant_weights && k >= 1 && k <= 3; }
  double flops() const override { return 2 * work_ * s_.directions; }

 private:
  /// What one direction works with during a run.
  struct Direction {
    const KernelCall& call;
    int number;
    const DirectionWeights& weights;
    const float* recurrence;  ///< R of the direction where it is not packed
    const float* state_bias;  ///< null for none
    float* scratch;
    Rows cell;
    float* product_scratch;
  };

  GemmArguments product(int64_t rows, int64_t columns, int64_t inner) const {
    GemmArguments g;
    g.m = rows;
    g.n = columns;
    g.k = inner;
    g.c_row_stride = columns;
    g.a_row_stride = inner;
    g.b_row_stride = 1;
    g.b_column_stride = inner;
    return g;
  }

  int64_t product_scratch() const {
    static const float placeholder = 0;
    size_t bytes = 0;
    const auto consider = [&](GemmArguments g) {
      g.a = g.b = &placeholder;
      if (s_.constant_weights) g.packed_b = &placeholder;
      bytes = std::max(bytes, gemm_scratch_bytes(g, threads_));
      g.epilogue.residual = &placeholder;
      for (int64_t stride : {g.n, s_.length * g.n}) {
        g.epilogue.residual_row_stride = g.c_row_stride = stride;
        bytes = std::max(bytes, gemm_scratch_bytes(g, threads_));
      }
    };
    consider(product(s_.length * s_.batch, s_.gate_columns(), s_.input));
    for (int64_t rows : {s_.batch, int64_t{1}}) {
      for (int64_t gates : {s_.gates, int64_t{1}, int64_t{2}}) {
        GemmArguments g = product(rows, gates * s_.hidden, s_.hidden);
        consider(g);
        g.a_row_stride = s_.length * s_.directions * s_.hidden;  // rows of Y with the batch first
        consider(g);
      }
    }
    return static_cast<int64_t>(bytes / sizeof(float));
  }

  void run_direction(const KernelCall& call, int number) const {
    const DirectionWeights& weights = s_.weights[static_cast<size_t>(number)];
    float* scratch = static_cast<float*>(call.scratch) + number * layout_.total;
    const int64_t columns = s_.gate_columns();
    const float* bias =
        s_.has_bias ? static_cast<const float*>(call.inputs[3]) + 2 * number * columns : nullptr;
    Direction d{call, number, weights, nullptr, nullptr, scratch, {}, scratch + layout_.product};
    GemmArguments g = product(s_.length * s_.batch, columns, s_.input);
    g.a = static_cast<const float*>(call.inputs[0]);
    g.c = scratch;
    if (s_.constant_weights) {
      g.packed_b = weights.input->floats();
      g.epilogue.column_bias = weights.bias_input.empty() ? nullptr : weights.bias_input.data();
      d.state_bias = weights.bias_state.empty() ? nullptr : weights.bias_state.data();
    } else {
      g.b = static_cast<const float*>(call.inputs[1]) + number * columns * s_.input;
      g.epilogue.column_bias = bias;
      d.recurrence = static_cast<const float*>(call.inputs[2]) + number * columns * s_.hidden;
      d.state_bias = bias == nullptr ? nullptr : bias + columns;
    }
    gemm(g, d.product_scratch, call.pool);
    d.cell = wants_cell_ ? state_rows(call.outputs[2], number) : Rows{scratch + layout_.cell, s_.hidden};
    if (s_.cell == Cell::lstm) {
      copy_rows(s_.has_initial_cell ? state_rows(call.inputs[6], number) : zero_rows(), d.cell, s_.batch,
                s_.hidden);
    }
    if (!s_.has_lengths) return run_rows(d, 0, s_.batch, s_.length);
    const auto* lengths = static_cast<const int32_t*>(call.inputs[4]);
    const bool equal = std::all_of(lengths, lengths + s_.batch, [&](int32_t l) { return l == lengths[0]; });
    if (equal) return run_rows(d, 0, s_.batch, steps_of(lengths[0], number));
    for (int64_t row = 0; row < s_.batch; ++row) run_rows(d, row, 1, steps_of(lengths[row], number));
  }

  int64_t steps_of(int32_t length, int number) const {
    if ((length > s_.length || length < -s_.length - 1) && s_.backward(number)) {
      throw Error(Fault::user,
                  fmt::format("{} '{}': a sequence of length {} does not fit the {} steps of the input", name_,
                              node_, length, s_.length));
    }
    return std::clamp<int64_t>(length, 0, s_.length);
  }

  /// Rows of a state tensor, [directions, batch, hidden] or with the batch first.
  Rows state_rows(const void* data, int direction) const {
    float* values = static_cast<float*>(const_cast<void*>(data));
    if (s_.batch_first) return {values + direction * s_.hidden, s_.directions * s_.hidden};
    return {values + direction * s_.batch * s_.hidden, s_.hidden};
  }
  Rows zero_rows() const { return {const_cast<float*>(zeros_.data()), s_.hidden}; }
  /// Rows of Y at one time.
  Rows sequence_rows(void* data, int direction, int64_t time) const {
    float* values = static_cast<float*>(data);
    if (s_.batch_first) {
      return {values + (time * s_.directions + direction) * s_.hidden, s_.length * s_.directions * s_.hidden};
    }
    return {values + (time * s_.directions + direction) * s_.batch * s_.hidden, s_.hidden};
  }
  Rows gate_rows(const Direction& d, int64_t time) const {
    const int64_t columns = s_.gate_columns();
    if (s_.batch_first) return {d.scratch + time * columns, s_.length * columns};
    return {d.scratch + time * s_.batch * columns, columns};
  }

  /// Entries row .. row + rows - 1 of the batch through their first `steps` times; all of Y's and the states'
  /// rows for them are written.
  void run_rows(const Direction& d, int64_t row, int64_t rows, int64_t steps) const {
    Rows hidden = s_.has_initial_hidden ? state_rows(d.call.inputs[5], d.number) : zero_rows();
    hidden = hidden.from(row);
    const Rows own{d.scratch + layout_.hidden, s_.hidden};
    const Rows cell = d.cell.from(row);
    for (int64_t step = 0; step < steps; ++step) {
      const int64_t time = s_.backward(d.number) ? steps - 1 - step : step;
      const Rows gates = gate_rows(d, time).from(row);
      const Rows next = (wants_sequence_ ? sequence_rows(d.call.outputs[0], d.number, time) : own).from(row);
      switch (s_.cell) {
        case Cell::lstm:
          lstm(d, rows, gates, hidden, cell, next);
          break;
        case Cell::gru:
          gru(d, rows, gates, hidden, next);
          break;
        case Cell::rnn:
          rnn(d, rows, gates, hidden, next);
          break;
      }
      hidden = next;
    }
    if (wants_hidden_) {
      copy_rows(hidden, state_rows(d.call.outputs[1], d.number).from(row), rows, s_.hidden);
    }
    for (int64_t time = steps; wants_sequence_ && time < s_.length; ++time) {
      copy_rows(zero_rows(), sequence_rows(d.call.outputs[0], d.number, time).from(row), rows, s_.hidden);
    }
  }

  /// to = from R^T (gates first .. first + count - 1) + bias + added; `added` may be `to`.
  void multiply(const Direction& d, int64_t rows, const Rows& from, const AlignedBuffer* packed,
                int64_t first, int64_t count, const Rows& added, const Rows& to) const {
    GemmArguments g = product(rows, count * s_.hidden, s_.hidden);
    g.a = from.data;
    g.a_row_stride = from.stride;
    g.c = to.data;
    g.c_row_stride = to.stride;
    if (packed != nullptr) {
      g.packed_b = packed->floats();
    } else {
      g.b = d.recurrence + first * s_.hidden * s_.hidden;
    }
    if (d.state_bias != nullptr) g.epilogue.column_bias = d.state_bias + first * s_.hidden;
    g.epilogue.residual = added.data;
    g.epilogue.residual_row_stride = added.stride;
    gemm(g, d.product_scratch, d.call.pool);
  }

  void lstm(const Direction& d, int64_t rows, const Rows& gates, const Rows& hidden, const Rows& cell,
            const Rows& next) const {
    multiply(d, rows, hidden, d.weights.state.get(), 0, s_.gates, gates, gates);
    LstmStep step;
    step.batch = rows;
    step.hidden = s_.hidden;
    step.gates = gates.data;
    step.gates_row_stride = gates.stride;
    step.cell = cell.data;
    step.cell_row_stride = cell.stride;
    step.output = next.data;
    step.output_row_stride = next.stride;
    if (s_.has_peepholes) {
      step.peephole_i = static_cast<const float*>(d.call.inputs[7]) + 3 * d.number * s_.hidden;
      step.peephole_o = step.peephole_i + s_.hidden;
      step.peephole_f = step.peephole_o + s_.hidden;
    }
    step.input_forget = s_.input_forget;
    step.clip = s_.clip;
    const auto& a = d.weights.activations;
    step.f = a[0].function;
    step.f_alpha = a[0].alpha;
    step.f_beta = a[0].beta;
    step.g = a[1].function;
    step.g_alpha = a[1].alpha;
    step.g_beta = a[1].beta;
    step.h = a[2].function;
    step.h_alpha = a[2].alpha;
    step.h_beta = a[2].beta;
    lstm_step(step);
  }

  void gru(const Direction& d, int64_t rows, const Rows& gates, const Rows& hidden, const Rows& next) const {
    const Rows state{d.scratch + layout_.state, 3 * s_.hidden};
    const Rows reset{d.scratch + layout_.reset, s_.hidden};
    GruStep step;
    step.batch = rows;
    step.hidden = s_.hidden;
    step.input = gates.data;
    step.input_row_stride = gates.stride;
    step.state = state.data;
    step.state_row_stride = state.stride;
    step.previous = hidden.data;
    step.previous_row_stride = hidden.stride;
    step.output = next.data;
    step.output_row_stride = next.stride;
    step.reset_hidden = reset.data;
    step.reset_hidden_row_stride = reset.stride;
    step.clip = s_.clip;
    const auto& a = d.weights.activations;
    step.f = a[0].function;
    step.f_alpha = a[0].alpha;
    step.f_beta = a[0].beta;
    step.g = a[1].function;
    step.g_alpha = a[1].alpha;
    step.g_beta = a[1].beta;
    if (s_.reset_after) {
      multiply(d, rows, hidden, d.weights.state.get(), 0, 3, {}, state);
      gru_step(step);
      return;
    }
    multiply(d, rows, hidden, d.weights.state.get(), 0, 2, {}, state);
    gru_reset(step);
    const Rows candidate{state.data + 2 * s_.hidden, state.stride};
    multiply(d, rows, reset, d.weights.hidden.get(), 2, 1, {}, candidate);
    gru_update(step);
  }

  void rnn(const Direction& d, int64_t rows, const Rows& gates, const Rows& hidden, const Rows& next) const {
    multiply(d, rows, hidden, d.weights.state.get(), 0, 1, gates, gates);
    const GateActivation& f = d.weights.activations[0];
    for (int64_t row = 0; row < rows; ++row) {
      const float* from = gates.from(row).data;
      float* to = next.from(row).data;
      if (s_.clip > 0) {
        activate(Activation::clip, s_.hidden, from, to, -s_.clip, s_.clip, d.call.pool);
        from = to;
      }
      activate(f.function, s_.hidden, from, to, f.alpha, f.beta, d.call.pool);
    }
  }

  RecurrentSetup s_;
  int threads_;
  std::vector<float> zeros_;  ///< an initial state
  bool wants_sequence_ = false, wants_hidden_ = false, wants_cell_ = false;
  Layout layout_;
  double work_ = 0;
  std::string name_, node_;
};

std::unique_ptr<Kernel> make(const StepContext& context, Cell cell) {
  auto setup = read_recurrent(context, cell);
  if (!setup) return nullptr;
  return std::make_unique<RecurrentKernel>(std::move(*setup), context);
}
std::unique_ptr<Kernel> make_lstm(const StepContext& context) { return make(context, Cell::lstm); }
std::unique_ptr<Kernel> make_gru(const StepContext& context) { return make(context, Cell::gru); }
std::unique_ptr<Kernel> make_rnn(const StepContext& context) { return make(context, Cell::rnn); }

}  // namespace

void recurrent_factories(std::vector<FactoryEntry>& table) {
  table.push_back({"", "LSTM", make_lstm});
  table.push_back({"", "GRU", make_gru});
  table.push_back({"", "RNN", make_rnn});
}

}  // namespace axrun::runtime
