#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ir/lane/program.h"

namespace axrun::ir::lane {

/// Evaluates a lane program over many lanes, bit-exactly as ir/lane/operation.h says, one loop per operation
/// over blocks of lanes. Values are their bits; a mask is 0 or 0xffffffff. The thread must round to nearest
/// and keep denormals, as threads do unless told otherwise.
///
/// Holds the values of one block: not for use by two threads at once.
class Evaluator {
 public:
  /// The program must be valid.
  explicit Evaluator(const Program& program);

  /// `inputs` and `outputs` have one span per input and per result, all of the same length.
  void run(std::span<const std::span<const uint32_t>> inputs, std::span<const std::span<uint32_t>> outputs);

  /// One input, one result.
  void run(std::span<const uint32_t> input, std::span<uint32_t> output);

 private:
  struct Step {
    Opcode opcode;
    uint32_t literal;
    uint32_t* result;
    const uint32_t* arguments[3];
    Table table;  ///< of a look-up
  };
  static void execute(const Step& step);

  std::vector<uint32_t> values_;
  std::vector<uint32_t*> inputs_;
  std::vector<const uint32_t*> results_;
  std::vector<Step> steps_;
};

/// One lane of a program with one input and one result.
float evaluate(const Program& program, float input);

/// a * b + c rounded once, without a machine instruction for it: the product is exact in f64, the sum is
/// rounded to odd there, so that rounding it to f32 rounds correctly.
float fused_multiply_add(float a, float b, float c);

}  // namespace axrun::ir::lane
