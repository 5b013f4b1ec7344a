// LSTM, GRU and RNN, float32: one product of all inputs with W, then the steps, spread over the threads by
// units.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/operators/recurrent_parts.h"
#include "runtime/operators/recurrent_sharing.h"
#include "runtime/operators/recurrent_steps.h"
#include "runtime/phases.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {
namespace {

/// Scratch of one direction, in floats from its start.
struct Layout {
  int64_t gates = 0, cell = 0, states = 0, products = 0, update = 0, reset = 0, candidate = 0, gemm = 0,
          total = 0;
};

void copy_rows(const Rows& from, const Rows& to, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; ++i) {
    std::copy_n(from.data + i * from.stride, columns, to.data + i * to.stride);
  }
}

class RecurrentKernel final : public Kernel {
 public:
  RecurrentKernel(RecurrentSetup setup, const StepContext& context)
      : s_(std::move(setup)), threads_(context.threads), sharing_(s_, threads_) {
    wants_sequence_ = context.has_output(0);
    wants_hidden_ = context.has_output(1);
    wants_cell_ = context.has_output(2);
    names_ = std::make_shared<const Names>(Names{context.node.op, context.node.name});
    plan();
  }

  /// What follows from the setup.
  void plan() {
    sharing_ = RecurrentSharing(s_, threads_);
    zeros_.assign(static_cast<size_t>(s_.batch * s_.hidden), 0.0f);
    layout_ = {};
    const int64_t weights = s_.gate_columns() * s_.hidden * static_cast<int64_t>(sizeof(float));
    parts_ = s_.constant_weights ? sharing_.parts(weights) : 1;
    lay_out_scratch();
  }

  void run(const KernelCall& call) const override {
    call.pool.parallel_for(s_.directions, sharing_.direction_grain(), [&](int64_t begin, int64_t end) {
      for (int64_t d = begin; d < end; ++d) run_direction(call, static_cast<int>(d));
    });
  }

  std::string describe() const override {
    return fmt::format("{} {}x{} {}->{}{}{}", names_->op, s_.length, s_.batch, s_.input, s_.hidden,
                       s_.directions == 2 ? " both directions" : "", s_.constant_weights ? " packed" : "");
  }
  size_t scratch_bytes() const override {
    return static_cast<size_t>(layout_.total * s_.directions) * sizeof(float);
  }
  bool ignores_input(int k) const override { return s_.constant_weights && k >= 1 && k <= 3; }
  double flops() const override { return 2 * sharing_.work() * s_.directions; }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    auto other = make_in_block<RecurrentKernel>(*this);
    if (!other->s_.resize(ports)) return nullptr;
    other->plan();
    return other;
  }

 private:
  /// What one direction works with during a run.
  struct Direction {
    const KernelCall& call;
    int number;
    float* scratch;
    Rows cell;
    RecurrentSteps steps;
  };

  GemmArguments input_product() const {
    GemmArguments g;
    g.m = s_.length * s_.batch;
    g.n = g.c_row_stride = s_.gate_columns();
    g.k = g.a_row_stride = s_.input;
    g.b_row_stride = 1;
    g.b_column_stride = s_.input;
    return g;
  }

  size_t input_product_scratch() const {
    static const float placeholder = 0;
    GemmArguments g = input_product();
    g.a = g.b = &placeholder;
    if (s_.constant_weights) g.packed_b = &placeholder;
    return gemm_scratch_bytes(g, threads_);
  }

  void lay_out_scratch() {
    const int64_t states = s_.batch * s_.hidden;
    int64_t& total = layout_.total;
    const auto place = [&](int64_t& part, int64_t floats) {
      part = total;
      total += (floats + 15) / 16 * 16;
    };
    place(layout_.gates, s_.length * s_.batch * s_.gate_columns());
    if (s_.cell == Cell::lstm && !wants_cell_) place(layout_.cell, states);
    if (!wants_sequence_) place(layout_.states, 2 * states);
    if (s_.cell == Cell::gru) place(layout_.products, (s_.reset_after ? 3 : 2) * states);
    if (s_.has_two_products()) {
      place(layout_.update, states);
      place(layout_.reset, states);
      place(layout_.candidate, states);
    }
    part_scratch_ = RecurrentSteps::scratch_bytes(s_, threads_);
    const size_t in_parts = part_scratch_ * static_cast<size_t>(s_.constant_weights ? threads_ : 1);
    place(layout_.gemm, static_cast<int64_t>(std::max(in_parts, input_product_scratch()) / sizeof(float)));
  }

  void run_direction(const KernelCall& call, int number) const {
    const DirectionWeights& weights = s_.weights_of(number);
    float* const scratch = static_cast<float*>(call.scratch) + number * layout_.total;
    const int64_t columns = s_.gate_columns();
    const float* recurrence = nullptr;
    const float* state_bias = weights.bias_state.empty() ? nullptr : weights.bias_state.data();
    GemmArguments g = input_product();
    g.a = static_cast<const float*>(call.inputs[0]);
    g.c = scratch + layout_.gates;
    if (s_.constant_weights) {
      g.packed_b = static_cast<const float*>(weights.input.get());
      g.epilogue.column_bias = weights.bias_input.empty() ? nullptr : weights.bias_input.data();
    } else {
      g.b = static_cast<const float*>(call.inputs[1]) + number * columns * s_.input;
      recurrence = static_cast<const float*>(call.inputs[2]) + number * columns * s_.hidden;
      if (s_.has_bias) {
        g.epilogue.column_bias = static_cast<const float*>(call.inputs[3]) + 2 * number * columns;
        state_bias = g.epilogue.column_bias + columns;
      }
    }
    gemm(g, scratch + layout_.gemm, call.pool);
    const float* const peepholes =
        s_.has_peepholes ? static_cast<const float*>(call.inputs[7]) + 3 * number * s_.hidden : nullptr;
    Direction d{call, number, scratch, {}, {s_, number, recurrence, state_bias, peepholes}};
    if (s_.cell == Cell::lstm) {
      d.cell = wants_cell_ ? state_rows(call.outputs[2], number) : Rows{scratch + layout_.cell, s_.hidden};
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
    return s_.steps_of(length, number, names_->op, names_->node);
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
    float* const gates = d.scratch + layout_.gates;
    if (s_.batch_first) return {gates + time * columns, s_.length * columns};
    return {gates + time * s_.batch * columns, columns};
  }

  /// Entries row .. row + rows - 1 of the batch through their first `steps` times; all of Y's and the states'
  /// rows for them are written.
  void run_rows(const Direction& d, int64_t row, int64_t rows, int64_t steps) const {
    RecurrentSequence q;
    q.rows = rows;
    q.steps = steps;
    const bool backward = s_.backward(d.number);
    const int64_t first_time = backward && steps > 0 ? steps - 1 : 0;
    const int64_t times = (backward ? -1 : 1) * (s_.batch_first ? 1 : s_.batch);
    q.gates = gate_rows(d, first_time).from(row);
    q.gates_step = times * s_.gate_columns();
    q.initial = (s_.has_initial_hidden ? state_rows(d.call.inputs[5], d.number) : zero_rows()).from(row);
    if (wants_sequence_) {
      q.states = sequence_rows(d.call.outputs[0], d.number, first_time).from(row);
      q.states_step = times * s_.directions * s_.hidden;
    } else {
      q.states = {d.scratch + layout_.states, s_.hidden};
      q.states_step = s_.batch * s_.hidden;
      q.states_take_turns = true;
    }
    if (s_.cell == Cell::lstm) q.cell = d.cell.from(row);
    q.products = {d.scratch + layout_.products, (s_.reset_after ? 3 : 2) * s_.hidden};
    q.update = {d.scratch + layout_.update, s_.hidden};
    q.reset_hidden = {d.scratch + layout_.reset, s_.hidden};
    q.candidate = {d.scratch + layout_.candidate, s_.hidden};
    run_steps(d, q);
    if (wants_hidden_) {
      copy_rows(q.state_after(steps), state_rows(d.call.outputs[1], d.number).from(row), rows, s_.hidden);
    }
    for (int64_t time = steps; wants_sequence_ && time < s_.length; ++time) {
      copy_rows(zero_rows(), sequence_rows(d.call.outputs[0], d.number, time).from(row), rows, s_.hidden);
    }
  }

  void run_steps(const Direction& d, const RecurrentSequence& q) const {
    const Phases phases{q.steps, d.steps.phases(), parts_};
    const auto begin = [&](int64_t part) { return sharing_.first_unit(part, parts_); };
    auto* const scratch = reinterpret_cast<char*>(d.scratch + layout_.gemm);
    run_phases(d.call.pool, s_.constant_weights ? sharing_.workers(q.rows, q.steps) : 1, phases,
               [&](int64_t worker, int64_t step, int64_t phase, int64_t part) {
                 d.steps.run(q, step, phase, begin(part), begin(part + 1),
                             scratch + static_cast<size_t>(worker) * part_scratch_, d.call.pool);
               });
  }

  RecurrentSetup s_;
  int threads_;
  RecurrentSharing sharing_;
  std::vector<float> zeros_;  ///< an initial state
  bool wants_sequence_ = false, wants_hidden_ = false, wants_cell_ = false;
  int64_t parts_ = 1;
  size_t part_scratch_ = 0;  ///< bytes for one part's products, or for those of all threads
  Layout layout_;
  struct Names {
    std::string op, node;
  };
  std::shared_ptr<const Names> names_;
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
  quantized_recurrent_factories(table);
}

}  // namespace axrun::runtime
