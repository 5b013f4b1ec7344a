#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/program.h"
#include "ir/tensor.h"

namespace axrun::verify {

/// What the numbers of a trial are like. Integer and boolean operands follow as far as it means something for
/// them.
enum class Distribution : uint8_t {
  small_integers,  ///< -magnitude .. magnitude; magnitude 0: -1, 0 or 1, mostly 0
  uniform,         ///< [-1, 1)
  wide_exponents,  ///< magnitudes 2^-24 .. 2^24
  mostly_zeros,    ///< nine in ten are
  all_positive,    ///< (0, 1]
  large,           ///< magnitudes 2^40 .. 2^66: products are near overflow
  nans,            ///< uniform, and here and there a NaN, so that about half of the results see one
  positive_infinities,
  negative_infinities,
  signed_zeros,  ///< uniform, and many zeros of both signs
  denormals,     ///< one operand has nothing else, or all others have
  largest,       ///< uniform, and here and there the largest finite number or its negative
  all_specials,  ///< uniform, and here and there any of these
};
const char* name_of(Distribution distribution);

struct OperandPlan {
  ir::ElementType type = ir::ElementType::undefined;
  ir::Shape shape;
  /// Integers are 0 .. limit - 1, because they lead to elements of another tensor; 0: no limit.
  int64_t limit = 0;
};

/// One per operand of the program that is not none, in order. Throws NoBound for sizes that are missing and
/// for operands that are no numbers.
std::vector<OperandPlan> plan_operands(const ir::Program& program,
                                       const std::map<std::string, int64_t>& sizes);

/// The largest number of terms that one element of a stage is reduced over.
int64_t longest_reduction(const ir::Program& program, const std::map<std::string, int64_t>& sizes);

struct FillOptions {
  Distribution distribution = Distribution::uniform;
  int magnitude = 8;           ///< of small integers
  double special_share = 0.5;  ///< of elements that are special where only some are
  uint64_t seed = 1;
  bool singled_out = true;  ///< denormals: this operand has them
};
/// Fills an array of the operand's type and shape. Large ones repeat a sample of the distribution, of a prime
/// number of elements that divides no stride of theirs.
void fill(void* data, const OperandPlan& operand, const FillOptions& options);

/// Row-major positions to look at, without repetition; all of them where there are no more than `count`. The
/// corners come first, then first and last rows and columns and the borders of tiles (next to multiples of 8,
/// 16, 32, ...), mixed with random ones, then any others.
std::vector<int64_t> sample_positions(const ir::Shape& shape, int64_t count, uint64_t seed);

/// Pseudo-random numbers; the sequence depends on the seed only.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 0xD1B54A32D192ED03u) {
    for (int k = 0; k < 4; ++k) next();
  }
  uint32_t next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state_ >> 32) ^ static_cast<uint32_t>(state_ >> 59);
  }
  /// 0 .. count - 1.
  int64_t below(int64_t count) {
    if (count < int64_t{1} << 31)
      return static_cast<int64_t>((uint64_t{next()} * static_cast<uint64_t>(count)) >> 32);
    return static_cast<int64_t>(((uint64_t{next()} << 32 | next()) >> 1) % static_cast<uint64_t>(count));
  }
  double unit() { return next() * 0x1p-32; }  ///< [0, 1)

 private:
  uint64_t state_;
};

}  // namespace axrun::verify
