#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/kernels/kernels.h"
#include "runtime/plan/kernel.h"

namespace axrun::runtime {

namespace recurrent_ports {
enum Port : size_t { port_x, port_w, port_r, port_b, port_lengths, port_h, port_c, port_p };
}

enum class Cell : uint8_t { lstm, gru, rnn };

/// The weights of one direction, ready for products with row vectors on the left. `bias_input` and
/// `bias_state` have a value per gate and unit; empty where there is none. All are in the order of
/// RecurrentSetup::block.
struct DirectionWeights {
  PackedWeights input;   ///< packed W, transposed; null when W is not constant
  PackedWeights state;   ///< packed R (GRU without linear_before_reset: gates z, r)
  PackedWeights hidden;  ///< that GRU's gate h
  std::vector<float> bias_input;
  std::vector<float> bias_state;
  GateActivation activations[3];
};

/// Everything a recurrent kernel decides at plan time.
struct RecurrentSetup {
  Cell cell = Cell::lstm;
  int64_t gates = 4;
  int64_t length = 0, batch = 0, input = 0, hidden = 0;
  int directions = 1;
  bool reverse = false;      ///< the only direction runs backwards
  bool batch_first = false;  ///< attribute layout
  bool reset_after = false;  ///< GRU's linear_before_reset
  bool input_forget = false;
  float clip = 0;
  bool has_bias = false, has_lengths = false, has_initial_hidden = false, has_initial_cell = false,
       has_peepholes = false;
  bool constant_weights = false;  ///< W, R and B are packed and summed at load
  /// Units whose gates lie side by side (runtime/kernels/recurrent.h). Constant weights are packed so that a
  /// block begins a panel: any run of blocks can be computed by itself. Others are read as they are, in one
  /// block.
  int64_t block = 0;
  std::shared_ptr<std::vector<DirectionWeights>> weights;  ///< written while the setup is read

  /// What hangs on the dims of X; false where there is nothing to compute.
  template <typename Dims>
  bool size(const Dims& x) {
    length = x[batch_first ? 1 : 0];
    batch = x[batch_first ? 0 : 1];
    input = x[2];
    return length > 0 && batch > 0 && input > 0;
  }
  /// The same of other sizes of a step's ports; false also where weights are not of these shapes.
  bool resize(const PortSizes& ports);
  const DirectionWeights& weights_of(int direction) const {
    return (*weights)[static_cast<size_t>(direction)];
  }
  bool backward(int direction) const { return reverse || direction == 1; }
  int64_t gate_columns() const { return gates * hidden; }
  /// A GRU whose hidden gate multiplies what the reset gate has left of the state.
  bool has_two_products() const { return cell == Cell::gru && !reset_after; }
  /// How many steps a sequence of this length (an element of sequence_lens) goes through. Throws what the
  /// definition throws for one that does not fit; `op` and `node` name whose it is.
  int64_t steps_of(int32_t sequence, int direction, std::string_view op, std::string_view node) const;
};

/// For every column in the order of blocks, the one that it is in ONNX's order: gate * hidden + unit.
std::vector<int64_t> gate_order(const RecurrentSetup& setup);

/// Reads what a node says beside its weights; empty when no kernel covers it. `block` is left to the caller.
std::optional<RecurrentSetup> read_recurrent_node(const StepContext& context, Cell cell, int64_t hidden);

/// Reads a node of LSTM, GRU or RNN; empty when the kernel does not cover it.
std::optional<RecurrentSetup> read_recurrent(const StepContext& context, Cell cell);

}  // namespace axrun::runtime
