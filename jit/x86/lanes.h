#pragma once

#include <asmjit/x86.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "ir/lane/program.h"
#include "ir/loop/loop_program.h"
#include "jit/target.h"

namespace axrun::jit::x86 {

/// One value in every lane of a vector, while code is being made.
struct LaneValue {
  enum class Kind : uint8_t { none, vector, mask, constant, pair };
  Kind kind = Kind::none;
  asmjit::x86::Vec vector;  ///< kind vector; for mask where masks are vectors
  asmjit::x86::KReg mask;   ///< kind mask where there are mask registers
  uint32_t bits = 0;        ///< kind constant: in every lane, in no register yet
  bool dies = false;        ///< nothing reads the register after the operation that gets it
  asmjit::x86::Vec upper{};  ///< kind pair, elements of 64 bits: the upper half of the lanes; `vector` the lower

  bool defined() const { return kind != Kind::none; }

  static LaneValue of(const asmjit::x86::Vec& vector) { return {Kind::vector, vector, {}}; }
  static LaneValue of_mask(const asmjit::x86::Vec& vector) { return {Kind::mask, vector, {}}; }
  static LaneValue of_mask(const asmjit::x86::KReg& mask) { return {Kind::mask, {}, mask}; }
  static LaneValue of_constant(uint32_t bits) { return {Kind::constant, {}, {}, bits}; }
  static LaneValue of_pair(const asmjit::x86::Vec& lower, const asmjit::x86::Vec& upper) {
    return {Kind::pair, lower, {}, 0, false, upper};
  }
};

/// Makes instructions for ir/lane operations, loads and stores, for one width of vector: 512 bits with mask
/// registers, or 256 bits with AVX2 and FMA. Elements are 32 bits wide.
class Lanes {
 public:
  Lanes(asmjit::x86::Compiler& compiler, int vector_bytes) : cc_(compiler), wide_(vector_bytes == 64) {}

  int count() const { return wide_ ? 16 : 8; }
  bool wide() const { return wide_; }
  int registers() const { return wide_ ? 32 : 16; }

  /// Constants that are in registers from here on, until they are released.
  void hold(const std::vector<uint32_t>& constants);
  void release(const std::vector<uint32_t>& constants);
  int held() const { return static_cast<int>(held_.size()); }

  LaneValue constant(uint32_t bits) const { return LaneValue::of_constant(bits); }
  LaneValue apply(ir::lane::Opcode opcode, const std::array<LaneValue, 3>& arguments, uint32_t literal = 0);
  /// Entry `index` modulo 16 of a table; upper_half: of the same index.
  LaneValue lookup(const LaneValue& index, const LaneValue& upper_half, const ir::lane::Table& table);
  /// What chooses between the halves of a table that takes two vectors; undefined where it takes one.
  LaneValue upper_half(const LaneValue& index);
  /// Rounds as `vroundps` does: 0 to nearest even, 1 down, 2 up, 3 towards zero.
  LaneValue round(const LaneValue& a, int how);
  /// A copy in a register that may be overwritten.
  asmjit::x86::Vec fresh(const LaneValue& a);
  asmjit::x86::Vec in_register(const LaneValue& a);
  asmjit::x86::Vec new_vector();
  /// A mask in a register of its own, of the kind that this width of vector has.
  LaneValue new_mask();
  const asmjit::Operand_& register_of(const LaneValue& mask) const;

  /// Lanes 0..rest-1, for any rest (negative: none).
  LaneValue first_lanes(const asmjit::x86::Gp& rest);
  LaneValue first_lanes(int64_t rest);
  LaneValue literal_mask(uint32_t bits);                   ///< bit k is lane k
  LaneValue literals(const std::vector<uint32_t>& lanes);  ///< one for each

  /// `mask` undefined: all lanes. Lanes that the mask leaves out are not touched in memory and 0 in the
  /// result. bits: what the mask is, where that is known; 0: not known.
  LaneValue load(const asmjit::x86::Mem& from, const LaneValue& mask, uint32_t bits = 0);
  /// Every step-th element, from the first on, of `step` vectors (at most longest_step) each of which begins
  /// with the last element of the one before; the first may be overwritten. Lanes from undefined vectors are
  /// 0.
  LaneValue every(int64_t step, const std::vector<LaneValue>& vectors);
  static constexpr int64_t longest_step = 4;
  /// Lane `first` of the mask at the lowest bit of the pattern, the next one at the next bit, and so on.
  LaneValue spread(const LaneValue& mask, int first, uint32_t pattern);
  /// Lane k is element places[k] of the two vectors after each other; `order` holds the places.
  LaneValue pick(const LaneValue& first, const LaneValue& second, const LaneValue& order,
                 const std::vector<uint32_t>& places);
  /// Bytes that are not 0, as a mask. A mask needs mask registers.
  LaneValue load_booleans(const asmjit::x86::Mem& from, const LaneValue& mask);
  LaneValue broadcast(const asmjit::x86::Mem& from);
  /// Memory is not touched where no lane of the mask is set; lanes that it leaves out are 0. some: it is known
  /// that one is set.
  LaneValue broadcast_where(const asmjit::x86::Mem& from, const LaneValue& mask, bool some);
  LaneValue broadcast(const asmjit::x86::Gp& general);  ///< the low 32 bits
  /// Lane k is at base + offsets[k] bytes.
  LaneValue gather(const asmjit::x86::Gp& base, const asmjit::x86::Vec& offsets, const LaneValue& mask);
  /// Memory of lanes that the mask leaves out is not touched. Without mask registers by pieces: AMD's
  /// processors take about 12 cycles to store under a mask, whatever it selects.
  void store(const asmjit::x86::Mem& to, const LaneValue& value, const LaneValue& mask, uint32_t bits = 0);
  /// Code for the case that all lanes of a mask are set, and for the others; without mask registers.
  void where_whole(const LaneValue& mask, const std::function<void()>& whole,
                   const std::function<void(const asmjit::x86::Gp& bits)>& part);
  void store_first(const asmjit::x86::Mem& to, const LaneValue& value);  ///< lane 0 only
  void store_bytes(const asmjit::x86::Mem& to, const LaneValue& mask_value, const LaneValue& mask);

  /// 0, 1, 2, ...
  asmjit::x86::Vec iota();
  /// target where the mask is, else otherwise; into target.
  void keep_where(const asmjit::x86::Vec& target, const LaneValue& value, const LaneValue& mask);
  void copy(const asmjit::x86::Vec& to, const LaneValue& from);
  /// The combination of all lanes of all vectors, in every lane.
  LaneValue fold(ir::loop::Combine combine, std::vector<LaneValue> vectors);
  /// target = target (combine) value where the mask is.
  void accumulate(const asmjit::x86::Vec& target, ir::loop::Combine how, const LaneValue& value,
                  const LaneValue& mask);
  /// target = target + a * b, rounded once, where the mask is.
  void accumulate_product(const asmjit::x86::Vec& target, const LaneValue& a, const LaneValue& b,
                          const LaneValue& mask);
  LaneValue combine(ir::loop::Combine combine, const LaneValue& a, const LaneValue& b);
  /// NaN where either is, unlike the opcodes min and max.
  LaneValue minimum_or_maximum(bool maximum, const LaneValue& a, const LaneValue& b);
  LaneValue all_or_nothing(bool all);  ///< as a mask
  /// Lanes `distance` further, a power of two, within the halves that lanes of that distance make.
  LaneValue shuffle(const asmjit::x86::Vec& a, int distance);

 private:
  asmjit::Operand_ last_operand(const LaneValue& a);
  void bring(const asmjit::x86::Vec& to, uint32_t bits);
  asmjit::x86::Mem whole_vector(uint32_t bits);
  LaneValue emit(asmjit::InstId narrow, asmjit::InstId wide, const LaneValue& a, const LaneValue& b);
  LaneValue compare(const LaneValue& a, const LaneValue& b, int predicate);
  LaneValue multiply_add(const std::array<LaneValue, 3>& arguments);
  void put_nans(const asmjit::x86::Vec& into, const LaneValue& from, const LaneValue& mask);
  LaneValue scale(const LaneValue& a, const LaneValue& b);
  LaneValue or_zero(const LaneValue& mask, const LaneValue& value);

  asmjit::x86::Compiler& cc_;
  bool wide_;
  std::map<uint32_t, asmjit::x86::Vec> held_;  ///< constants in registers
};

}  // namespace axrun::jit::x86
