#include "jit/x86/integers.h"

#include <bit>

#include "ir/error.h"
#include "jit/x86/refuse.h"

namespace axrun::jit::x86 {

using asmjit::x86::Gp;
using ir::Dim;

Gp Integers::argument(int place) {
  const Gp value = cc_.newGpq();
  cc_.mov(value, asmjit::x86::qword_ptr(arguments_, place * 8));
  return value;
}

Gp Integers::value(const Dim& dim) {
  if (dim.is_constant()) {
    const Gp value = cc_.newGpq();
    cc_.mov(value, dim.value());
    return value;
  }
  int64_t constant = 0;
  Gp sum;
  bool first = true;
  for (const Monomial& monomial : monomials(dim)) {
    if (monomial.factors.empty()) {
      constant = monomial.coefficient;
      continue;
    }
    const Gp term = product(monomial);
    if (first) {
      sum = term;
    } else {
      cc_.add(sum, term);
    }
    first = false;
  }
  AXRUN_ASSERT(!first);
  if (constant != 0) add(sum, constant);
  return sum;
}

void Integers::add(const Gp& to, const Dim& dim) {
  if (dim == Dim(0)) return;
  if (dim.is_constant() && dim.value() == static_cast<int32_t>(dim.value())) {
    cc_.add(to, dim.value());
  } else {
    cc_.add(to, value(dim));
  }
}

void Integers::multiply(const Gp& by, int64_t literal) {
  if (literal == 1) return;
  if (literal > 0 && std::has_single_bit(static_cast<uint64_t>(literal))) {
    cc_.shl(by, std::countr_zero(static_cast<uint64_t>(literal)));
  } else if (literal == static_cast<int32_t>(literal)) {
    cc_.imul(by, by, literal);
  } else {
    const Gp factor = cc_.newGpq();
    cc_.mov(factor, literal);
    cc_.imul(by, factor);
  }
}

Gp Integers::product(const Monomial& monomial) {
  Gp result = atom(monomial.factors[0]);
  for (size_t k = 1; k < monomial.factors.size(); ++k) cc_.imul(result, atom(monomial.factors[k]));
  multiply(result, monomial.coefficient);
  return result;
}

Gp Integers::atom(const Dim& factor) {
  const Atom atom = atom_of(factor);
  switch (atom.kind) {
    case Atom::Kind::name: {
      const auto variable = variables_.find(atom.name);
      if (variable != variables_.end()) {
        const Gp copy = cc_.newGpq();
        cc_.mov(copy, variable->second);
        return copy;
      }
      const auto place = places_.find(atom.name);
      if (place == places_.end()) throw Error(Fault::internal, "no value for " + atom.name);
      return argument(place->second);
    }
    case Atom::Kind::floor_div:
    case Atom::Kind::floor_mod:
      return quotient(atom.arguments[0], atom.arguments[1], atom.kind == Atom::Kind::floor_mod);
    case Atom::Kind::min:
    case Atom::Kind::max: {
      const Gp result = value(atom.arguments[0]);
      for (size_t k = 1; k < atom.arguments.size(); ++k) {
        const Gp other = value(atom.arguments[k]);
        cc_.cmp(result, other);
        if (atom.kind == Atom::Kind::min)
          cc_.cmovg(result, other);
        else
          cc_.cmovl(result, other);
      }
      return result;
    }
  }
  AXRUN_ASSERT(false);
}

Gp Integers::quotient(const Dim& dividend, const Dim& divisor, bool remainder) {
  const Gp low = value(dividend);
  if (divisor.is_constant() && divisor.value() > 0 &&
      std::has_single_bit(static_cast<uint64_t>(divisor.value()))) {
    const int shift = std::countr_zero(static_cast<uint64_t>(divisor.value()));
    if (remainder && divisor.value() == static_cast<int32_t>(divisor.value())) {
      cc_.and_(low, divisor.value() - 1);
      return low;
    }
    if (!remainder) {
      cc_.sar(low, shift);
      return low;
    }
  }
  // The machine rounds towards zero: the same as down for what is not negative.
  if (!facts_.is_nonnegative(dividend) || !facts_.is_nonnegative(divisor - Dim(1)))
    refuse("the quotient " + dividend.to_string() + " / " + divisor.to_string() +
           " may be one of negative numbers");
  const Gp by = value(divisor);
  const Gp high = cc_.newGpq();
  cc_.xor_(high, high);
  cc_.idiv(high, low, by);
  return remainder ? high : low;
}

}  // namespace axrun::jit::x86
