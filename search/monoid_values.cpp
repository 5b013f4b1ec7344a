#include "search/monoid_values.h"

#include <limits>

#include "ir/types.h"

namespace axrun::search {

using ir::Monoid;
using ir::loop::Combine;

Combine combine_of(Monoid::Kind kind) {
  switch (kind) {
    case Monoid::Kind::sum:
      return Combine::add;
    case Monoid::Kind::product:
      return Combine::mul;
    case Monoid::Kind::min:
      return Combine::min;
    default:
      return Combine::max;
  }
}

int identity_value(LoopWriter& writer, Monoid::Kind kind, ir::ElementType type) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const bool real = is_float(type);
  switch (kind) {
    case Monoid::Kind::sum:
      return real ? writer.real(0, type) : writer.integer(0, type);
    case Monoid::Kind::product:
      return real ? writer.real(1, type) : writer.integer(1, type);
    case Monoid::Kind::min:
      return real ? writer.real(infinity, type) : writer.integer(ir::integer_max(type), type);
    default:
      return real ? writer.real(-infinity, type) : writer.integer(ir::integer_min(type), type);
  }
}

}  // namespace axrun::search
