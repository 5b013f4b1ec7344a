#pragma once

#include <string>
#include <vector>

#include "tests/search/cases.h"

namespace axrun::tests {

/// A node of LSTM, GRU or RNN as its definition has it.
struct Recurrent {
  std::string op = "LSTM";
  ir::Dim length = 5, batch = 1, inputs = 7;
  int64_t hidden = 16;
  std::string direction = "forward";
  bool bias = true;
  bool initial = false;    ///< states are given
  bool peepholes = false;  ///< LSTM
  bool linear_before_reset = false;
  bool batch_first = false;
  bool lengths = false;  ///< sequence_lens is given
};

/// Operands: X, W, R, and those of B, sequence_lens, initial_h, initial_c, P that there are, in this order.
ir::Program program_of(const Recurrent& wanted);

/// Scans of every form that there is a schedule for.
std::vector<Case> recurrence_cases();

}  // namespace axrun::tests
