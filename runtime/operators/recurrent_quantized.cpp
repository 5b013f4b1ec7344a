// com.microsoft DynamicQuantizeLSTM: exact products of bytes. The input is quantised as a whole, the states
// of all rows together before every step.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/operators/quantized_parts.h"
#include "runtime/operators/recurrent_parts.h"
#include "runtime/operators/recurrent_sharing.h"
#include "runtime/operators/recurrent_steps.h"
#include "runtime/phases.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {
namespace {

using namespace recurrent_ports;
enum ParameterPort : size_t { port_w_scale = 8, port_w_zero, port_r_scale, port_r_zero };

/// W or R of one direction as the right side of a product, columns in the order of blocks.
struct ByteWeights {
  PackedWeights packed;
  std::vector<float> scales;  ///< per column
};

struct DirectionBytes {
  ByteWeights input, state;
  std::vector<float> bias;  ///< both biases' sum, or zeros
};

/// Scales and zero points are [directions] or [directions, gate columns].
ByteWeights read_byte_weights(const StepContext& context, const RecurrentSetup& setup, int direction,
                              size_t port, size_t scale_port) {
  const ir::Tensor& weights = *context.inputs[port].constant;
  const ir::Tensor& scales = *context.inputs[scale_port].constant;
  const ir::Tensor& zeros = *context.inputs[scale_port + 1].constant;
  const Byte type = *byte_type(weights.type());
  const int64_t depth = weights.shape()[1], columns = setup.gate_columns();
  const std::vector<int64_t> order = gate_order(setup);
  const auto parameter = [&](const ir::Tensor& of, int64_t column) {
    return of.shape().size() == 1 ? direction : direction * columns + column;
  };
  ByteWeights result;
  for (const int64_t column : order) result.scales.push_back(scales.as<float>()[parameter(scales, column)]);
  const jit::PreparedKey key{fmt::format("recurrent bytes {} {} {} {} {} {}", static_cast<int>(type),
                                         direction, depth, columns, setup.block, zeros.shape().size()),
                             {{weights.data(), weights.bytes()}, {zeros.data(), zeros.bytes()}}};
  result.packed = context.packs.get(key, quantized_gemm_packed_b_bytes(depth, columns), [&](void* to) {
    std::vector<int32_t> column_zeros;
    for (const int64_t column : order)
      column_zeros.push_back(byte_at(type, zeros.data(), parameter(zeros, column)));
    const auto* from = static_cast<const uint8_t*>(weights.data()) + direction * depth * columns;
    std::vector<uint8_t> ordered(static_cast<size_t>(depth * columns));
    for (size_t k = 0; k < ordered.size(); k += order.size()) {
      for (size_t j = 0; j < order.size(); ++j) ordered[k + j] = from[k + static_cast<size_t>(order[j])];
    }
    quantized_gemm_pack_b(type, depth, columns, ordered.data(), columns, 1, column_zeros.data(), true, to);
  });
  return result;
}

std::vector<float> read_bias(const StepContext& context, const RecurrentSetup& setup, int direction) {
  const int64_t columns = setup.gate_columns();
  std::vector<float> result(static_cast<size_t>(columns), 0.0f);
  if (!setup.has_bias) return result;
  const float* bias = context.inputs[port_b].constant->as<float>() + 2 * direction * columns;
  const std::vector<int64_t> order = gate_order(setup);
  for (size_t j = 0; j < order.size(); ++j) result[j] = bias[order[j]] + bias[columns + order[j]];
  return result;
}

class QuantizedLstmKernel final : public Kernel {
 public:
  QuantizedLstmKernel(const StepContext& context, RecurrentSetup setup)
      : s_(std::move(setup)), threads_(context.threads), sharing_(s_, threads_) {
    std::vector<DirectionBytes> weights;
    for (int d = 0; d < s_.directions; ++d) {
      weights.push_back({read_byte_weights(context, s_, d, port_w, port_w_scale),
                         read_byte_weights(context, s_, d, port_r, port_r_scale), read_bias(context, s_, d)});
    }
    weights_ = std::make_shared<const std::vector<DirectionBytes>>(std::move(weights));
    wants_sequence_ = context.has_output(0);
    wants_hidden_ = context.has_output(1);
    wants_cell_ = context.has_output(2);
    node_ = std::make_shared<const std::string>(context.node.name);
    plan();
  }

  /// What follows from the setup.
  void plan() {
    sharing_ = RecurrentSharing(s_, threads_);
    layout_ = {};
    parts_ =
        sharing_.parts(static_cast<int64_t>(quantized_gemm_packed_b_bytes(s_.hidden, s_.gate_columns())));
    lay_out_scratch();
  }

  void run(const KernelCall& call) const override {
    const DynamicRange range =
        quantize_dynamically(s_.length * s_.batch * s_.input, static_cast<const float*>(call.inputs[port_x]),
                             call.scratch, call.pool);
    call.pool.parallel_for(s_.directions, sharing_.direction_grain(), [&](int64_t begin, int64_t end) {
      for (int64_t d = begin; d < end; ++d) run_direction(call, static_cast<int>(d), range);
    });
  }

  std::string describe() const override {
    return fmt::format("LSTM of bytes {}x{} {}->{}{} packed", s_.length, s_.batch, s_.input, s_.hidden,
                       s_.directions == 2 ? " both directions" : "");
  }
  size_t scratch_bytes() const override {
    return layout_.directions + layout_.direction * static_cast<size_t>(s_.directions);
  }
  bool ignores_input(int k) const override {
    return (k >= static_cast<int>(port_w) && k <= static_cast<int>(port_b)) ||
           k >= static_cast<int>(port_w_scale);
  }
  double flops() const override { return 2 * sharing_.work() * s_.directions; }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    auto other = make_in_block<QuantizedLstmKernel>(*this);
    if (!other->s_.resize(ports)) return nullptr;
    other->plan();
    return other;
  }

 private:
  /// Scratch in bytes: the input's, then of each direction from its start.
  struct Layout {
    size_t directions = 0, direction = 0;
    size_t gates = 0, sums = 0, states = 0, cell = 0, workers = 0, worker = 0;
  };

  /// A worker's bytes of the states before a step.
  struct QuantizedStates {
    int64_t step = -1;  ///< whose states they are
    DynamicRange range;
  };

  /// What one direction works with during a run.
  struct Direction {
    const KernelCall& call;
    int number;
    bool backward;
    int64_t steps;           ///< of the longest sequence
    const int32_t* lengths;  ///< null where all sequences have `steps`
    float* gates;            ///< [length][batch][columns]
    int32_t* sums;           ///< [batch][columns]
    float* states[2];        ///< [batch][hidden] each: before a step and after it, in turns
    float* cell;
    char* workers;
    LstmStep step;

    int64_t time(int64_t step) const { return backward ? steps - 1 - step : step; }
    bool active(int64_t row, int64_t at) const { return lengths == nullptr || at < lengths[row]; }
  };

  int64_t state_count() const { return s_.batch * s_.hidden; }

  QuantizedGemmArguments product(int64_t rows, int64_t depth) const {
    QuantizedGemmArguments g;
    g.m = rows;
    g.n = g.c_row_stride = s_.gate_columns();
    g.k = g.a_row_stride = depth;
    return g;
  }

  void lay_out_scratch() {
    const auto place = [](size_t& total, size_t bytes) {
      const size_t at = total;
      total += (bytes + 63) / 64 * 64;
      return at;
    };
    const auto words = [](int64_t count) { return static_cast<size_t>(count) * sizeof(float); };
    const int64_t rows = s_.length * s_.batch;
    Layout& l = layout_;
    place(l.directions, static_cast<size_t>(rows * s_.input));
    l.gates = place(l.direction, words(rows * s_.gate_columns()));
    l.sums = place(l.direction, words(s_.batch * s_.gate_columns()));
    l.states = place(l.direction, words(2 * state_count()));
    l.cell = place(l.direction, words(wants_cell_ ? 0 : state_count()));
    // A worker's bytes of the states, then what its products need; before that, what the input's does.
    place(l.worker, static_cast<size_t>(state_count()));
    place(l.worker, quantized_gemm_scratch_bytes(product(s_.batch, s_.hidden), 1));
    const size_t steps = l.worker * static_cast<size_t>(std::max(threads_, 1));
    l.workers =
        place(l.direction, std::max(steps, quantized_gemm_scratch_bytes(product(rows, s_.input), threads_)));
  }

  void run_direction(const KernelCall& call, int number, const DynamicRange& input_range) const {
    char* const scratch = static_cast<char*>(call.scratch) + layout_.directions +
                          static_cast<size_t>(number) * layout_.direction;
    const auto floats = [&](size_t at) { return reinterpret_cast<float*>(scratch + at); };
    const auto state = [&](const void* data) {
      return static_cast<float*>(const_cast<void*>(data)) + number * state_count();
    };
    const float* const peepholes =
        s_.has_peepholes ? static_cast<const float*>(call.inputs[port_p]) + 3 * number * s_.hidden : nullptr;
    Direction d{call,
                number,
                s_.backward(number),
                s_.length,
                nullptr,
                floats(layout_.gates),
                reinterpret_cast<int32_t*>(scratch + layout_.sums),
                {floats(layout_.states), floats(layout_.states) + state_count()},
                wants_cell_ ? state(call.outputs[2]) : floats(layout_.cell),
                scratch + layout_.workers,
                lstm_step_of(s_, number, peepholes)};
    if (s_.has_lengths) read_lengths(d);
    multiply_input(d, input_range);
    const auto start = [&](bool given, size_t port, float* to) {
      if (given) {
        std::copy_n(state(call.inputs[port]), state_count(), to);
      } else {
        std::fill_n(to, state_count(), 0.0f);
      }
    };
    start(s_.has_initial_hidden, port_h, d.states[0]);
    start(s_.has_initial_cell, port_c, d.cell);
    run_steps(d);
    if (wants_hidden_) std::copy_n(d.states[d.steps % 2], state_count(), state(call.outputs[1]));
    for (int64_t time = d.steps; wants_sequence_ && time < s_.length; ++time)
      std::fill_n(sequence(d, time, 0), state_count(), 0.0f);
  }

  void read_lengths(Direction& d) const {
    d.lengths = static_cast<const int32_t*>(d.call.inputs[port_lengths]);
    d.steps = 0;
    for (int64_t row = 0; row < s_.batch; ++row) {
      const int64_t steps = s_.steps_of(d.lengths[row], d.number, "DynamicQuantizeLSTM", *node_);
      d.steps = std::max(d.steps, steps);
    }
  }

  /// gates = X W + biases, over all times.
  void multiply_input(const Direction& d, const DynamicRange& range) const {
    const DirectionBytes& weights = (*weights_)[static_cast<size_t>(d.number)];
    const int64_t rows = s_.length * s_.batch, columns = s_.gate_columns();
    QuantizedGemmArguments g = product(rows, s_.input);
    g.a = d.call.scratch;
    g.a_zero_point = range.zero_point;
    g.packed_b = weights.input.packed.get();
    g.c = reinterpret_cast<int32_t*>(d.gates);
    quantized_gemm(g, d.workers, d.call.pool);
    d.call.pool.parallel_for(rows, 16384 / columns + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        scale_sums_row(columns, g.c + i * columns, range.scale, weights.input.scales.data(),
                       weights.bias.data(), d.gates + i * columns);
      }
    });
  }

  /// A row of Y, [length, directions, batch, hidden].
  float* sequence(const Direction& d, int64_t time, int64_t row) const {
    return static_cast<float*>(d.call.outputs[0]) +
           ((time * s_.directions + d.number) * s_.batch + row) * s_.hidden;
  }

  void run_steps(const Direction& d) const {
    QuantizedStates states[Phases::most_workers];
    run_phases(d.call.pool, sharing_.workers(s_.batch, d.steps), {d.steps, 1, parts_},
               [&](int64_t worker, int64_t step, int64_t, int64_t part) {
                 auto* bytes = d.workers + static_cast<size_t>(worker) * layout_.worker;
                 QuantizedStates& own = states[worker];
                 if (own.step != step)
                   own = {step, quantize_dynamically(state_count(), d.states[step % 2], bytes)};
                 run_part(d, step, own.range, bytes, sharing_.first_unit(part, parts_),
                          sharing_.first_unit(part + 1, parts_));
               });
  }

  /// Units [first, last) of a step. Rows whose sequence is not there at that time keep their states, and take
  /// part in the range of the states as they are.
  void run_part(const Direction& d, int64_t step, const DynamicRange& range, char* bytes, int64_t first,
                int64_t last) const {
    const DirectionBytes& weights = (*weights_)[static_cast<size_t>(d.number)];
    const int64_t time = d.time(step), columns = s_.gate_columns(), units = last - first;
    QuantizedGemmArguments g = product(s_.batch, s_.hidden);
    g.a = bytes;
    g.a_zero_point = range.zero_point;
    g.packed_b = weights.state.packed.get();
    g.c = d.sums;
    quantized_gemm_columns(g, first * s_.gates, last * s_.gates,
                           bytes + (static_cast<size_t>(state_count()) + 63) / 64 * 64);
    const float* const before = d.states[step % 2];
    float* const after = d.states[(step + 1) % 2];
    for (int64_t row = 0; row < s_.batch; ++row) {
      const int64_t at = row * s_.hidden;
      float* const result = wants_sequence_ ? sequence(d, time, row) + first : nullptr;
      if (!d.active(row, time)) {
        std::copy_n(before + at + first, units, after + at + first);
        if (result != nullptr) std::fill_n(result, units, 0.0f);
        continue;
      }
      float* const gates = d.gates + (time * s_.batch + row) * columns;
      const int64_t from = first * s_.gates;
      scale_sums_row(units * s_.gates, d.sums + row * columns + from, range.scale,
                     weights.state.scales.data() + from, gates + from, gates + from);
      LstmStep own = d.step;
      own.batch = 1;
      own.gates = gates;
      own.cell = d.cell + at;
      own.output = after + at;
      lstm_step(own, first, last);
      if (result != nullptr) std::copy_n(after + at + first, units, result);
    }
  }

  RecurrentSetup s_;
  int threads_;
  RecurrentSharing sharing_;
  std::shared_ptr<const std::vector<DirectionBytes>> weights_;
  bool wants_sequence_ = false, wants_hidden_ = false, wants_cell_ = false;
  int64_t parts_ = 1;
  Layout layout_;
  std::shared_ptr<const std::string> node_;
};

std::unique_ptr<Kernel> make_quantized_lstm(const StepContext& context) {
  if (context.fused()) return nullptr;
  for (const size_t k : {size_t{port_w}, size_t{port_r}, size_t{port_b}, size_t{port_w_scale},
                         size_t{port_w_zero}, size_t{port_r_scale}, size_t{port_r_zero}}) {
    const bool given = context.has_input(k);
    if (given ? context.inputs[k].constant == nullptr : k != port_b) return nullptr;
  }
  auto setup = read_recurrent_node(context, Cell::lstm, context.inputs[port_r].shape[1]);
  if (!setup) return nullptr;
  setup->block = std::min(gemm_panel_columns(), setup->hidden);
  return std::make_unique<QuantizedLstmKernel>(context, std::move(*setup));
}

}  // namespace

void quantized_recurrent_factories(std::vector<FactoryEntry>& table) {
  table.push_back({"com.microsoft", "DynamicQuantizeLSTM", make_quantized_lstm});
}

}  // namespace axrun::runtime
