#pragma once

#include <asmjit/x86.h>

#include <array>
#include <functional>

#include "ir/program.h"
#include "jit/x86/lanes.h"

namespace axrun::jit::x86 {

/// How values of an element type are held in lanes.
enum class Form : uint8_t {
  f32,   ///< f32; f16 and bf16 as the floats that they are
  i32,   ///< integers of 32 bits and fewer, extended by their sign, or by zeros where they have none
  mask,  ///< booleans
  i64,   ///< two vectors (a pair); as one vector, or a constant, what its lanes are extended by their sign
  f64,   ///< a pair
};
/// Refuses types that have none.
Form form_of(ir::ElementType type);

/// Element types on top of Lanes: memory, conversions, arithmetic that wraps as the type does. A mask that is
/// undefined means all lanes; `bits` is what a mask is where that is known (bit k is lane k), else 0.
class TypedLanes {
 public:
  TypedLanes(asmjit::x86::Compiler& compiler, Lanes& lanes) : cc_(compiler), lanes_(lanes) {}

  // Memory. Lanes that the mask leaves out are not touched in memory, and 0 in what is read.
  LaneValue load(ir::ElementType type, const asmjit::x86::Mem& from, const LaneValue& mask, uint32_t bits);
  /// One element for all lanes; with a mask, where any of its lanes is set.
  LaneValue broadcast(ir::ElementType type, const asmjit::x86::Mem& from, const LaneValue& mask);
  /// Lane k is at place + k * step bytes. `place` is overwritten.
  LaneValue load_apart(ir::ElementType type, const asmjit::x86::Gp& place, const asmjit::x86::Gp& step,
                       const LaneValue& mask, uint32_t bits);
  /// Of bytes: lane k is byte first + 2 * k of the 16 at `from`, 0 where its bit is not set; 8 lanes.
  LaneValue load_every_other_byte(ir::ElementType type, const asmjit::x86::Mem& from, int first,
                                  uint32_t bits);
  /// Lane k is at base + offsets[k] bytes; elements of 32 or 64 bits.
  LaneValue gather(ir::ElementType type, const asmjit::x86::Gp& base, const LaneValue& offsets,
                   const LaneValue& mask);
  void store(ir::ElementType type, const asmjit::x86::Mem& to, const LaneValue& value, const LaneValue& mask,
             uint32_t bits);
  /// Two vectors of bytes after each other, all lanes of both; without mask registers. Integers that the type
  /// has not are brought to its ends; `added` (a byte) first, to what is brought to the ends of 16 bits.
  void store_bytes_of_two(ir::ElementType type, const asmjit::x86::Mem& to, const LaneValue& first,
                          const LaneValue& second, int64_t added);
  void store_first(ir::ElementType type, const asmjit::x86::Mem& to, const LaneValue& value);

  // Values
  LaneValue literal(ir::ElementType type, int64_t integer);
  LaneValue literal(ir::ElementType type, double real);
  /// Both kinds of cast, as ir/arithmetic.h says.
  LaneValue convert(ir::ElementType from, ir::ElementType to, bool saturate, const LaneValue& value);
  LaneValue select(ir::ElementType type, const LaneValue& condition, const LaneValue& yes,
                   const LaneValue& no);
  /// An operation of one or two arguments of the forms i32, i64 and f64; comparisons give masks.
  LaneValue operation(ir::ScalarOp op, ir::ElementType type, const LaneValue& a, const LaneValue& b);
  /// A float rounded to the type that it is held for.
  LaneValue rounded(ir::ElementType type, const LaneValue& value);
  /// How two values of a reduction combine, for types other than f32.
  LaneValue combine(ir::loop::Combine how, ir::ElementType type, const LaneValue& a, const LaneValue& b);
  /// The combination of all lanes, in every lane.
  LaneValue fold(ir::loop::Combine how, ir::ElementType type, const LaneValue& value);
  /// What changes nothing.
  LaneValue identity(ir::loop::Combine how, ir::ElementType type);

  /// An element of 64 bits as a pair.
  LaneValue as_pair(ir::ElementType type, const LaneValue& value);
  // Booleans in buffers that are registers: all ones or zeros.
  LaneValue mask_as_vector(const LaneValue& mask);
  LaneValue vector_as_mask(const LaneValue& vector);

 private:
  using Gp = asmjit::x86::Gp;
  using Mem = asmjit::x86::Mem;
  using Vec = asmjit::x86::Vec;
  using Two = std::array<LaneValue, 2>;

  bool wide() const { return lanes_.wide(); }
  int count() const { return lanes_.count(); }
  LaneValue apply(ir::lane::Opcode opcode, const LaneValue& a, const LaneValue& b = {},
                  uint32_t literal = 0) {
    return lanes_.apply(opcode, {a, b, {}}, literal);
  }

  // Memory of elements that are not 32 bits wide
  Gp bits_of_mask(const LaneValue& mask);
  void for_lanes(const LaneValue& mask, uint32_t bits, const std::function<void(int lane)>& make);
  LaneValue from_narrow(ir::ElementType type, const asmjit::Operand_& source, const LaneValue& mask);
  Vec packed(ir::ElementType type, const LaneValue& value);

  // Integers of at most 32 bits
  LaneValue wrapped(ir::ElementType type, const LaneValue& value);
  LaneValue integer_binary(asmjit::InstId id, const LaneValue& a, const LaneValue& b);
  LaneValue integer_operation(ir::ScalarOp op, ir::ElementType type, const LaneValue& a, const LaneValue& b);
  LaneValue integer_comparison(ir::ScalarOp op, ir::ElementType type, LaneValue a, LaneValue b);
  LaneValue clamped(ir::ElementType from, ir::ElementType to, const LaneValue& value);
  LaneValue float_to_integer(ir::ElementType to, const LaneValue& value);
  LaneValue where_number(const LaneValue& number, const LaneValue& value);

  // Pairs
  Two halves_of(ir::ElementType type, const LaneValue& value);
  Two mask_halves(const LaneValue& mask);
  LaneValue join_masks(const LaneValue& lower, const LaneValue& upper);
  LaneValue narrowed(const LaneValue& pair);  ///< to the lower 32 bits
  LaneValue joined(const Vec& lower, const Vec& upper);
  Vec upper_half(const LaneValue& value);
  Two in_halves(asmjit::InstId id, const LaneValue& value);
  LaneValue halves_joined(asmjit::InstId id, const Two& value);
  LaneValue literal64(uint64_t bits);
  LaneValue pair_binary(asmjit::InstId narrow, asmjit::InstId wide, const Two& a, const Two& b);
  LaneValue pair_select(const LaneValue& condition, const Two& yes, const Two& no);
  LaneValue pair_product(const Two& a, const Two& b);
  LaneValue wide_integer_operation(ir::ScalarOp op, ir::ElementType type, const LaneValue& a,
                                   const LaneValue& b);
  LaneValue wide_integer_comparison(ir::ScalarOp op, const Two& a, const Two& b);
  LaneValue f64_operation(ir::ScalarOp op, const Two& a, const Two& b);
  LaneValue f64_comparison(const Two& a, const Two& b, int predicate);
  LaneValue to_i64(ir::ElementType from, const LaneValue& value);
  Two truncated(ir::ElementType from, const LaneValue& value);
  LaneValue from_i64(ir::ElementType to, bool saturate, const LaneValue& value);
  LaneValue to_f64(ir::ElementType from, const LaneValue& value);
  LaneValue from_f64(ir::ElementType to, const LaneValue& value);
  LaneValue i64_as_f64(const Two& value);

  asmjit::x86::Compiler& cc_;
  Lanes& lanes_;
};

}  // namespace axrun::jit::x86
