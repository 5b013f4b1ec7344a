#include "ir/ops/random_bits.h"

#include <bit>
#include <cmath>

namespace axrun::ir {
namespace {

Scalar word(Builder& b, uint64_t value) { return b.integer(static_cast<int64_t>(value), ElementType::u64); }

Scalar mixed(const Scalar& z, uint64_t shift) {
  const Scalar high = binary(ScalarOp::shift_right, z, word(z.builder(), shift));
  return binary(ScalarOp::bit_xor, z, high);
}

}  // namespace

uint64_t seed_of(const OperatorContext& context) {
  const auto given = context.node().attributes.find("seed");
  if (given != context.node().attributes.end()) {
    const bool integer = given->second.kind == Attribute::Kind::integer;
    return integer ? static_cast<uint64_t>(given->second.integer)
                   : std::bit_cast<uint64_t>(context.real("seed", 0));
  }
  uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (char c : context.name()) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3U;
  return hash;
}

/// The output function of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", 2014) at a counter.
Scalar RandomBits::bits(const Indices& i, int64_t stream, int64_t streams) const {
  Scalar counter = b_.integer(0);
  for (size_t d = 0; d < dims_.size(); ++d) counter = counter * dims_[d] + i[d];
  counter = counter * streams + (stream + 1);
  Scalar z = cast(ElementType::u64, counter) * word(b_, 0x9e3779b97f4a7c15U) + word(b_, seed_);
  z = mixed(z, 30) * word(b_, 0xbf58476d1ce4e5b9U);
  z = mixed(z, 27) * word(b_, 0x94d049bb133111ebU);
  return mixed(z, 31);
}

Scalar RandomBits::uniform(const Indices& i, int digits, int64_t stream, int64_t streams) const {
  const Scalar amount = word(b_, static_cast<uint64_t>(64 - digits));
  const Scalar high = binary(ScalarOp::shift_right, bits(i, stream, streams), amount);
  return cast(ElementType::f64, high) * std::ldexp(1, -digits);
}

}  // namespace axrun::ir
