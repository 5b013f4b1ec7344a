// Casts from integers of what fits: bytes multiplied in 16 bits are bytes multiplied in 32, and a difference
// of bytes is the same number as a difference of reals.
#include <algorithm>

#include "ir/types.h"
#include "verify/checks.h"
#include "verify/equality/meaning.h"

namespace axrun::verify::equality {

using ir::ElementType;
using ir::ScalarOp;

namespace {

using Range = Meaning::IntegerRange;

/// Of 64 bits only a part, which is enough for what is made of narrower ones.
std::optional<Range> range_of(ElementType type) {
  if (type == ElementType::boolean) return Range{0, 1};
  if (!ir::is_integer(type)) return std::nullopt;
  if (ir::bits_of(type) > 32) {
    const mpz_class limit = mpz_class(1) << 62;
    return Range{ir::is_unsigned_integer(type) ? mpz_class(0) : mpz_class(-limit), limit};
  }
  return Range{static_cast<long>(ir::integer_min(type)), static_cast<long>(ir::integer_max(type))};
}

bool within(const std::optional<Range>& part, const std::optional<Range>& whole) {
  return part && whole && part->low >= whole->low && part->high <= whole->high;
}

Sum one(const Atom& atom, int id) {
  Piece piece;
  piece.factors = {{id, 1}};
  return {atom.type, {piece}};
}

}  // namespace

/// What an atom is a cast of, where that is an integer.
const Sum* Meaning::cast_of(const Atom& atom) {
  const bool cast = atom.kind == Atom::Kind::call && atom.number == static_cast<int>(ScalarOp::cast) &&
                    ir::is_integer(atom.type) && atom.branches.size() == 1 &&
                    atom.branches[0].variables.empty();
  return cast && ir::is_integer(atom.branches[0].body.type) ? &atom.branches[0].body : nullptr;
}

std::optional<Meaning::IntegerRange> Meaning::atom_range(const Atom& atom) const {
  if (const Sum* inside = cast_of(atom)) {
    auto range = integer_range(*inside);
    if (!within(range, range_of(inside->type)) && ir::bits_of(inside->type) <= 32)
      range = range_of(inside->type);
    if (within(range, range_of(inside->type)) && within(range, range_of(atom.type))) return range;
  }
  if (atom.type == ElementType::boolean || (ir::is_integer(atom.type) && ir::bits_of(atom.type) <= 32))
    return range_of(atom.type);
  return std::nullopt;
}

/// Of a sum before it wraps.
std::optional<Meaning::IntegerRange> Meaning::integer_range(const Sum& sum) const {
  Range all{0, 0};
  for (const Piece& piece : sum.pieces) {
    if (!piece.variables.empty() || piece.coefficient.get_den() != 1) return std::nullopt;
    Range range{piece.coefficient.get_num(), piece.coefficient.get_num()};
    for (const Factor& factor : piece.factors) {
      const auto of = atom_range(algebra_.atom(factor.atom));
      if (!of || factor.power.get_den() != 1 || factor.power < 1 || factor.power > 4) return std::nullopt;
      for (long k = factor.power.get_num().get_si(); k > 0; --k) {
        const mpz_class ends[] = {range.low * of->low, range.low * of->high, range.high * of->low,
                                  range.high * of->high};
        range = {*std::min_element(ends, ends + 4), *std::max_element(ends, ends + 4)};
      }
    }
    // 0 where its condition does not hold.
    if (!piece.domain.empty())
      range = {std::min<mpz_class>(range.low, 0), std::max<mpz_class>(range.high, 0)};
    all = {all.low + range.low, all.high + range.high};
  }
  return all;
}

/// The sum as one of another type, which is the same number where neither type wraps it; else nothing.
std::optional<Sum> Meaning::same_number(const Sum& sum, ElementType to) {
  const auto range = integer_range(sum);
  const bool fits = within(range, range_of(sum.type)) && (!ir::is_integer(to) || within(range, range_of(to)));
  if (!fits && checks::on("equality.fits")) return std::nullopt;
  Sum made{to, {}};
  for (const Piece& piece : sum.pieces) {
    Piece constant = piece;
    constant.factors.clear();
    Sum product{to, {constant}};
    for (const Factor& factor : piece.factors) {
      const Sum number = cast_atom(factor.atom, to);
      for (long k = factor.power.get_num().get_si(); k > 0; --k) product = algebra_.multiply(product, number);
    }
    made = algebra_.add(made, product);
  }
  return made;
}

/// Of what it is a cast of itself, where that cast changed nothing.
Sum Meaning::cast_atom(int id, ElementType to) {
  const Atom atom = algebra_.atom(id);
  const Sum own = one(atom, id);
  if (atom.type == to) return own;
  if (atom.type == ElementType::boolean) return algebra_.typed(own, to);
  const Sum* inside = cast_of(atom);
  auto range = inside != nullptr ? integer_range(*inside) : std::nullopt;
  if (inside != nullptr && !within(range, range_of(inside->type)) && ir::bits_of(inside->type) <= 32)
    range = range_of(inside->type);
  if (inside == nullptr || !within(range, range_of(inside->type)) || !within(range, range_of(atom.type)))
    return algebra_.call(ScalarOp::cast, to, {own});
  const Sum body = *inside;
  if (body.type == to) return body;
  if (const auto same = same_number(body, to)) return *same;
  return algebra_.call(ScalarOp::cast, to, {body});
}

}  // namespace axrun::verify::equality
