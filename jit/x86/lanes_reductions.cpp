// Lanes that are collected: into what is there already, and across a vector.
#include <vector>

#include "jit/x86/lanes.h"

namespace axrun::jit::x86 {

using namespace asmjit;  // the names of registers, operands and instructions
namespace Inst = asmjit::x86::Inst;
using asmjit::x86::Vec;
using ir::lane::Opcode;
using ir::loop::Combine;
using Kind = LaneValue::Kind;

LaneValue Lanes::combine(Combine combine, const LaneValue& a, const LaneValue& b) {
  switch (combine) {
    case Combine::add:
      return apply(Opcode::add, {a, b, {}});
    case Combine::mul:
      return apply(Opcode::mul, {a, b, {}});
    case Combine::min:
    case Combine::max:
      return minimum_or_maximum(combine == Combine::max, a, b);
    case Combine::assign:
      break;
  }
  return b;
}

void Lanes::accumulate(const Vec& target, Combine how, const LaneValue& value, const LaneValue& mask) {
  if (mask.defined() && !wide_) return keep_where(target, combine(how, LaneValue::of(target), value), mask);
  const bool sums = how == Combine::add || how == Combine::mul;
  const Operand_ source = sums ? last_operand(value) : in_register(value);
  if (mask.defined()) cc_.k(mask.mask);
  if (sums) {
    cc_.emit(how == Combine::add ? Inst::kIdVaddps : Inst::kIdVmulps, target, target, source);
    return;
  }
  // The instruction answers its second operand, what is there already, where either is NaN.
  cc_.emit(how == Combine::max ? Inst::kIdVmaxps : Inst::kIdVminps, target, source, target);
  put_nans(target, LaneValue::of(source.as<Vec>()), mask);
}

void Lanes::accumulate_product(const Vec& target, const LaneValue& a, const LaneValue& b,
                               const LaneValue& mask) {
  if (mask.defined() && !wide_)
    return keep_where(target, apply(Opcode::fma, {a, b, LaneValue::of(target)}), mask);
  const LaneValue &first = a.kind == Kind::constant ? b : a, &second = a.kind == Kind::constant ? a : b;
  const Vec factor = in_register(first);
  const Operand_ other = last_operand(second);
  if (mask.defined()) cc_.k(mask.mask);
  cc_.emit(Inst::kIdVfmadd231ps, target, factor, other);
}

LaneValue Lanes::shuffle(const Vec& a, int distance) {
  // Lanes `distance` further, within the halves that still count.
  const Vec result = new_vector();
  switch (distance) {
    case 8:
      cc_.emit(Inst::kIdVshuff64x2, result, a, a, imm(0x4e));
      break;
    case 4:
      if (wide_)
        cc_.emit(Inst::kIdVshuff64x2, result, a, a, imm(0xb1));
      else
        cc_.emit(Inst::kIdVperm2f128, result, a, a, imm(0x01));
      break;
    case 2:
      cc_.emit(Inst::kIdVshufps, result, a, a, imm(0x4e));
      break;
    default:
      cc_.emit(Inst::kIdVshufps, result, a, a, imm(0xb1));
      break;
  }
  return LaneValue::of(result);
}

LaneValue Lanes::fold(Combine how, std::vector<LaneValue> vectors) {
  // In pairs: as few as possible wait for each other.
  while (vectors.size() > 1) {
    std::vector<LaneValue> halves;
    for (size_t k = 0; k < vectors.size(); k += 2)
      halves.push_back(k + 1 < vectors.size() ? combine(how, vectors[k], vectors[k + 1]) : vectors[k]);
    vectors = halves;
  }
  // Every step exchanges halves, so that all lanes end with the same combination.
  LaneValue sum = LaneValue::of(in_register(vectors[0]));
  for (int distance = count() / 2; distance > 0; distance /= 2)
    sum = combine(how, sum, shuffle(sum.vector, distance));
  return sum;
}

}  // namespace axrun::jit::x86
