// Compiled for the vectoriser, and without contraction of a * b + c (ir/CMakeLists.txt).
#include "ir/lane/evaluate.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ir/error.h"
#include "ir/lane/grammar.h"

namespace axrun::ir::lane {
namespace {

/// Few enough that a program's values stay in the nearer caches.
constexpr size_t block_lanes = 512;

constexpr uint32_t sign_bit = 0x80000000U;
/// NaN, where nothing is specified: programs that depend on it are seen to be wrong.
constexpr uint32_t spoilt = 0x7fc00000U;
constexpr float two_to_23 = 8388608.0F;
constexpr float two_to_31 = 2147483648.0F;
constexpr uint64_t exponent_field = 0x7ff0000000000000U;  // of f64
constexpr uint64_t exponent_unit = 0x0010000000000000U;

float as_float(uint32_t bits) { return std::bit_cast<float>(bits); }
uint32_t as_bits(float value) { return std::bit_cast<uint32_t>(value); }
uint32_t as_mask(bool value) { return value ? ~uint32_t{0} : 0; }
uint32_t choose(uint32_t mask, uint32_t yes, uint32_t no) { return (mask & yes) | (~mask & no); }

uint32_t with_sign(uint32_t magnitude, uint32_t sign) { return (magnitude & ~sign_bit) | (sign & sign_bit); }

/// Floats of 2^23 and more are integers; below, adding 2^23 leaves no room for a fraction.
float round_to_even(float x) {
  const float magnitude = as_float(as_bits(x) & ~sign_bit);
  const float rounded = as_float(with_sign(as_bits((magnitude + two_to_23) - two_to_23), as_bits(x)));
  return magnitude < two_to_23 ? rounded : x;
}

float round_down(float x) {
  const float nearest = round_to_even(x);
  return as_float(with_sign(as_bits(nearest > x ? nearest - 1.0F : nearest), as_bits(x)));
}

/// No float lies between -2^31 - 1 and -2^31, so one test serves both conversions.
uint32_t to_integer(float x) {
  const bool inside = x >= -two_to_31 && x < two_to_31;
  const auto value = static_cast<uint32_t>(static_cast<int32_t>(inside ? x : 0.0F));
  return inside ? value : sign_bit;
}

float power_of_two(int32_t exponent) { return as_float(static_cast<uint32_t>(exponent + 127) << 23); }

float scaled(float x, float exponent) {
  const float magnitude = as_float(as_bits(x) & ~sign_bit);
  const bool bounded = magnitude >= 0.25F && magnitude <= 4.0F && exponent >= -150.0F && exponent <= 150.0F;
  const auto n = static_cast<int32_t>(bounded ? exponent : 0.0F);
  const bool inside = bounded && static_cast<float>(n) == exponent;
  // The first product is exact, the second rounds once.
  const int32_t half = n >> 1;
  const float product = x * power_of_two(half) * power_of_two(n - half);
  return inside ? product : as_float(spoilt);
}

inline float fma_in_double(float a, float b, float c) {
  const double product = static_cast<double>(a) * static_cast<double>(b);
  const auto addend = static_cast<double>(c);
  const double sum = product + addend;
  // Knuth's two-sum: sum + error is the exact result, where it is finite.
  const double part = sum - product;
  const double error = (product - (sum - part)) + (addend - part);
  // Rounding to odd: an inexact, even sum moves by one unit towards the error, so that it lies on no boundary
  // between two floats unless the exact result does. In integers, because comparisons of f64 that choose among
  // integers are not vectorised everywhere.
  const auto bits = std::bit_cast<uint64_t>(sum);
  const auto error_bits = std::bit_cast<uint64_t>(error);
  const uint64_t inwards = (error_bits ^ bits) >> 63;
  const uint64_t inexact = ((error_bits << 1) | (0 - (error_bits << 1))) >> 63;
  const uint64_t infinite_or_nan = ((bits & exponent_field) + exponent_unit) >> 63;
  const uint64_t step = ~bits & inexact & ~infinite_or_nan;
  return static_cast<float>(std::bit_cast<double>(bits + step - ((step & inwards) << 1)));
}

inline float fused(float a, float b, float c) {
#ifdef FP_FAST_FMAF
  return std::fma(a, b, c);
#else
  return fma_in_double(a, b, c);
#endif
}

/// result[k] = function(the arguments' k-th lanes), as bits. The arguments never overlap the result.
template <class Function>
void lanes(uint32_t* __restrict result, Function function) {
  for (size_t k = 0; k < block_lanes; ++k) result[k] = function(k);
}

}  // namespace

float fused_multiply_add(float a, float b, float c) { return fma_in_double(a, b, c); }

Evaluator::Evaluator(const Program& program) {
  require_valid(program);
  values_.resize(program.instructions.size() * block_lanes);
  auto place = [&](ValueId id) {
    return id == no_value ? nullptr : values_.data() + static_cast<size_t>(id) * block_lanes;
  };
  for (size_t k = 0; k < program.instructions.size(); ++k) {
    const Instruction& instruction = program.instructions[k];
    uint32_t* result = place(static_cast<ValueId>(k));
    switch (instruction.opcode) {
      case Opcode::input:
      case Opcode::i32_input:
        inputs_.push_back(result);
        break;
      case Opcode::constant:
      case Opcode::i32_constant:
        std::fill_n(result, block_lanes, instruction.literal);
        break;
      default:
        steps_.push_back({instruction.opcode,
                          instruction.literal,
                          result,
                          {place(instruction.arguments[0]), place(instruction.arguments[1]),
                           place(instruction.arguments[2])},
                          {}});
        if (instruction.opcode == Opcode::lookup) steps_.back().table = program.tables[instruction.literal];
    }
  }
  for (const ValueId result : program.results) results_.push_back(place(result));
}

void Evaluator::run(std::span<const std::span<const uint32_t>> inputs,
                    std::span<const std::span<uint32_t>> outputs) {
  AXRUN_ASSERT(inputs.size() == inputs_.size() && outputs.size() == results_.size());
  const size_t count = outputs[0].size();
  for (const auto& input : inputs) AXRUN_ASSERT(input.size() == count);
  for (const auto& output : outputs) AXRUN_ASSERT(output.size() == count);
  for (size_t begin = 0; begin < count; begin += block_lanes) {
    // Lanes past the end keep what they held: every operation is defined on every bit pattern.
    const size_t length = std::min(block_lanes, count - begin);
    for (size_t k = 0; k < inputs.size(); ++k) std::copy_n(inputs[k].data() + begin, length, inputs_[k]);
    for (const Step& step : steps_) execute(step);
    for (size_t k = 0; k < outputs.size(); ++k) std::copy_n(results_[k], length, outputs[k].data() + begin);
  }
}

void Evaluator::run(std::span<const uint32_t> input, std::span<uint32_t> output) {
  run(std::span(&input, 1), std::span(&output, 1));
}

float evaluate(const Program& program, float input) {
  const uint32_t bits = as_bits(input);
  uint32_t result = 0;
  Evaluator(program).run(std::span(&bits, 1), std::span(&result, 1));
  return as_float(result);
}

void Evaluator::execute(const Step& step) {
  uint32_t* __restrict result = step.result;
  const uint32_t* a = step.arguments[0];
  const uint32_t* b = step.arguments[1];
  const uint32_t* c = step.arguments[2];
  const uint32_t literal = step.literal;
  auto unary = [&](auto f) { lanes(result, [=](size_t k) { return as_bits(f(as_float(a[k]))); }); };
  auto binary = [&](auto f) {
    lanes(result, [=](size_t k) { return as_bits(f(as_float(a[k]), as_float(b[k]))); });
  };
  auto compare = [&](auto f) {
    lanes(result, [=](size_t k) { return as_mask(f(as_float(a[k]), as_float(b[k]))); });
  };
  switch (step.opcode) {
    case Opcode::input:
    case Opcode::constant:
    case Opcode::i32_input:
    case Opcode::i32_constant:
      break;  // no steps

    case Opcode::add:
      return binary([](float x, float y) { return x + y; });
    case Opcode::sub:
      return binary([](float x, float y) { return x - y; });
    case Opcode::mul:
      return binary([](float x, float y) { return x * y; });
    case Opcode::div:
      return binary([](float x, float y) { return x / y; });
    case Opcode::fma:
      return lanes(result,
                   [=](size_t k) { return as_bits(fused(as_float(a[k]), as_float(b[k]), as_float(c[k]))); });
    case Opcode::sqrt:
      return unary([](float x) { return std::sqrt(x); });
    case Opcode::min:
      return lanes(result,
                   [=](size_t k) { return choose(as_mask(as_float(a[k]) < as_float(b[k])), a[k], b[k]); });
    case Opcode::max:
      return lanes(result,
                   [=](size_t k) { return choose(as_mask(as_float(a[k]) > as_float(b[k])), a[k], b[k]); });
    case Opcode::neg:
      return lanes(result, [=](size_t k) { return a[k] ^ sign_bit; });
    case Opcode::abs:
      return lanes(result, [=](size_t k) { return a[k] & ~sign_bit; });
    case Opcode::copysign:
      return lanes(result, [=](size_t k) { return with_sign(a[k], b[k]); });
    case Opcode::round_even:
      return unary([](float x) { return round_to_even(x); });
    case Opcode::floor:
      return unary([](float x) { return round_down(x); });

    case Opcode::equal:
      return compare([](float x, float y) { return x == y; });
    case Opcode::less:
      return compare([](float x, float y) { return x < y; });
    case Opcode::less_equal:
      return compare([](float x, float y) { return x <= y; });
    case Opcode::unordered:
      return lanes(result, [=](size_t k) {
        return ~as_mask(as_float(a[k]) == as_float(a[k])) | ~as_mask(as_float(b[k]) == as_float(b[k]));
      });

    case Opcode::not_less:
      return compare([](float x, float y) { return !(x < y); });
    case Opcode::scale:
      return binary([](float x, float y) { return scaled(x, y); });

    case Opcode::to_i32_nearest:
      return lanes(result, [=](size_t k) { return to_integer(round_to_even(as_float(a[k]))); });
    case Opcode::to_i32_truncate:
      return lanes(result, [=](size_t k) { return to_integer(as_float(a[k])); });
    case Opcode::i32_to_f32:
      return lanes(result, [=](size_t k) { return as_bits(static_cast<float>(static_cast<int32_t>(a[k]))); });
    case Opcode::bits:
    case Opcode::from_bits:
      return lanes(result, [=](size_t k) { return a[k]; });

    case Opcode::lookup:
      return lanes(result, [=, &table = step.table](size_t k) { return table[a[k] % table.size()]; });

    case Opcode::i32_add:
      return lanes(result, [=](size_t k) { return a[k] + b[k]; });
    case Opcode::i32_sub:
      return lanes(result, [=](size_t k) { return a[k] - b[k]; });
    case Opcode::i32_mul:
      return lanes(result, [=](size_t k) { return a[k] * b[k]; });
    case Opcode::i32_and:
    case Opcode::mask_and:
      return lanes(result, [=](size_t k) { return a[k] & b[k]; });
    case Opcode::i32_or:
    case Opcode::mask_or:
      return lanes(result, [=](size_t k) { return a[k] | b[k]; });
    case Opcode::i32_xor:
    case Opcode::mask_xor:
      return lanes(result, [=](size_t k) { return a[k] ^ b[k]; });
    case Opcode::mask_not:
      return lanes(result, [=](size_t k) { return ~a[k]; });
    case Opcode::i32_shift_left:
      return lanes(result, [=](size_t k) { return a[k] << literal; });
    case Opcode::i32_shift_right:
      return lanes(result, [=](size_t k) { return a[k] >> literal; });
    case Opcode::i32_shift_right_arithmetic:
      return lanes(result, [=](size_t k) {
        return static_cast<uint32_t>(static_cast<int32_t>(a[k]) >> static_cast<int>(literal));
      });
    case Opcode::i32_equal:
      return lanes(result, [=](size_t k) { return as_mask(a[k] == b[k]); });
    case Opcode::i32_less:
      return lanes(
          result, [=](size_t k) { return as_mask(static_cast<int32_t>(a[k]) < static_cast<int32_t>(b[k])); });
    case Opcode::where:
      return lanes(result, [=](size_t k) { return choose(a[k], b[k], spoilt); });
    case Opcode::select:
    case Opcode::i32_select:
      return lanes(result, [=](size_t k) { return choose(a[k], b[k], c[k]); });
  }
}

}  // namespace axrun::ir::lane
