#include "search/algebra/rescaled_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "search/algebra/plain_operators.h"

namespace axrun::search::algebra {
namespace {

bool mentions(const ir::Dim& dim, const std::string& size) {
  std::vector<std::string> names;
  dim.collect_symbols(names);
  return std::find(names.begin(), names.end(), size) != names.end();
}

bool is_number(const Terms& terms, TermId id, double value) {
  return id >= 0 && terms[id].literal && *terms[id].literal == value;
}

}  // namespace

bool Rescaling::carries(TermId id) const {
  if (id < 0) return false;
  const ir::Dims& dims = terms_[id].facts.dims;
  return std::any_of(dims.begin(), dims.end(), [&](const ir::Dim& dim) { return mentions(dim, size_); });
}

bool Rescaling::is_reduction(TermId id) const {
  const std::string& name = terms_.name(id);
  if (name != "ReduceSum" && name != "ReduceMax" && name != "ReduceMin" && name != "MatMul") return false;
  const std::vector<TermId>& children = terms_[id].children;
  return !carries(id) &&
         std::any_of(children.begin(), children.end(), [this](TermId child) { return carries(child); });
}

bool Rescaling::depends(TermId id) {
  if (id < 0) return false;
  const auto [place, added] = depends_.emplace(id, false);
  if (!added) return place->second;
  bool found = is_reduction(id);
  for (const TermId child : std::vector<TermId>(terms_[id].children)) found = depends(child) || found;
  return depends_[id] = found;
}

bool Rescaling::combines_dependent(TermId reduction) {
  const std::vector<TermId> children = terms_[reduction].children;
  return std::any_of(children.begin(), children.end(),
                     [this](TermId child) { return carries(child) && depends(child); });
}

TermId Rescaling::multiply(TermId a, TermId b) {
  if (a == zero || b == zero) return zero;
  if (a == one || b == one) return a == one ? b : a;
  if (a == no_term || b == no_term) return no_term;
  for (const auto& [factor, other] : {std::pair(a, b), std::pair(b, a)})
    if (terms_.is(factor, "Div") && is_number(terms_, terms_[factor].children[0], 1))
      return divide(other, terms_[factor].children[1]);
  return call(terms_, "Mul", {a, b});
}

TermId Rescaling::scale(TermId a, TermId b) {
  // A square is seen not to be negative.
  if (a == b && a >= 0) return call(terms_, "Pow", {a, terms_.literal(ir::ElementType::f32, 2, {})});
  return multiply(a, b);
}

TermId Rescaling::divide(TermId a, TermId b) {
  if (a == zero || b == one) return a;
  return call(terms_, "Div", {known(a), b});
}

TermId Rescaling::add(TermId a, TermId b) {
  if (a == zero || b == zero) return a == zero ? b : a;
  if (a == no_term || b == no_term) return no_term;
  if (terms_.is(known(b), "Neg")) return subtract(a, terms_[b].children[0]);
  if (terms_.is(known(a), "Neg")) return subtract(b, terms_[a].children[0]);
  return call(terms_, "Add", {known(a), known(b)});
}

TermId Rescaling::negate(TermId a) {
  if (a == zero || a == no_term) return a;
  if (terms_.is(known(a), "Neg")) return terms_[a].children[0];
  return call(terms_, "Neg", {known(a)});
}

TermId Rescaling::subtract(TermId a, TermId b) {
  if (a == b) return zero;
  if (b == zero || a == no_term || b == no_term) return b == no_term ? b : a;
  if (a == zero) return negate(b);
  if (terms_.is(known(a), "Neg") && terms_.is(known(b), "Neg"))
    return subtract(terms_[b].children[0], terms_[a].children[0]);
  return call(terms_, "Sub", {known(a), known(b)});
}

TermId Rescaling::placeholder(TermId reduction) {
  const auto [place, added] = placeholders_.emplace(reduction, no_term);
  if (added)
    place->second = terms_.leaf(fmt::format("all of term {} along {}", reduction, size_),
                                {terms_[reduction].facts.type, terms_[reduction].facts.dims, false});
  return place->second;
}

TermId Rescaling::whole_of(TermId id) {
  if (id == no_term || is_reduction(id)) return id == no_term ? id : placeholder(id);
  if (!depends(id)) return id;
  if (const auto known = wholes_.find(id); known != wholes_.end()) return known->second;
  const Term term = terms_[id];
  std::vector<TermId> children;
  for (const TermId child : term.children) children.push_back(carries(child) ? no_term : whole_of(child));
  const TermId made = terms_.make(term.operation, term.parameters, children);
  wholes_.emplace(id, made);
  return made;
}

RescaledParts Rescaling::merged(const RescaledParts& list) {
  RescaledParts result;
  for (const RescaledPart& part : list) {
    const auto same = std::find_if(result.begin(), result.end(),
                                   [&](const RescaledPart& other) { return other.basis == part.basis; });
    if (same == result.end()) {
      result.push_back(part);
    } else {
      same->whole = add(same->whole, part.whole);
      same->own = add(same->own, part.own);
    }
  }
  return result;
}

std::optional<RescaledParts> Rescaling::product(const RescaledParts& a, const RescaledParts& b) {
  if (a.size() * b.size() > 16) return std::nullopt;
  RescaledParts list;
  for (const RescaledPart& x : a)
    for (const RescaledPart& y : b)
      list.push_back({scale(x.whole, y.whole), scale(x.own, y.own), multiply(x.basis, y.basis)});
  return merged(list);
}

std::optional<RescaledParts> Rescaling::recentred(TermId id, const RescaledParts& parts) {
  TermId shift = zero;
  for (const RescaledPart& part : parts) {
    if (part.basis == one) {
      shift = subtract(part.whole, part.own);
    } else if (part.whole != part.own) {
      return std::nullopt;
    }
  }
  RescaledParts result{{one, one, id}};
  if (shift != zero) result.push_back({shift, zero, one});
  return result;
}

std::optional<RescaledPart> Rescaling::single(const RescaledParts& parts) {
  if (parts.size() != 1 || parts[0].own == zero) return std::nullopt;
  return parts[0];
}

std::optional<RescaledParts> Rescaling::parts(TermId id) {
  if (!carries(id)) {
    const TermId whole = whole_of(id);
    if (whole == no_term) return std::nullopt;
    return RescaledParts{{whole, id, one}};
  }
  if (!depends(id)) return RescaledParts{{one, one, id}};
  std::optional<RescaledParts> found = of_operator(id);
  if (!found) return std::nullopt;
  for (const RescaledPart& part : *found)
    if (part.whole == no_term || part.own == no_term || part.basis == no_term) return std::nullopt;
  return found;
}

std::optional<RescaledParts> Rescaling::of_operator(TermId id) {
  const std::string name = terms_.name(id);
  const std::vector<TermId> children = terms_[id].children;
  std::vector<RescaledParts> list;
  for (const TermId child : children) {
    auto one_of = parts(child);
    if (!one_of) return std::nullopt;
    list.push_back(std::move(*one_of));
  }
  if (name == "Add" || name == "Sub" || name == "Neg") {
    RescaledParts sum;
    for (size_t k = 0; k < list.size(); ++k) {
      const bool minus = name == "Neg" || (name == "Sub" && k == 1);
      for (RescaledPart part : list[k]) {
        if (minus) part = {negate(part.whole), negate(part.own), part.basis};
        sum.push_back(part);
      }
    }
    sum = merged(sum);
    if (centred_)
      if (auto around = recentred(id, sum)) return around;
    return sum;
  }
  if (name == "Mul") {
    std::optional<RescaledParts> all = list[0];
    for (size_t k = 1; k < list.size() && all; ++k) all = product(*all, list[k]);
    return all;
  }
  if (name == "Pow" && is_number(terms_, children[1], 2)) {
    auto square = product(list[0], list[0]);
    if (!square) return square;
    for (RescaledPart& part : *square)
      for (const RescaledPart& base : list[0])
        if (base.basis != one && part.basis == multiply(base.basis, base.basis))
          part.basis = call(terms_, "Pow", {base.basis, children[1]});
    return square;
  }
  if (name == "Div") {
    const auto divisor = single(list[1]);
    if (!divisor) return std::nullopt;
    RescaledParts quotient;
    for (const RescaledPart& part : list[0])
      quotient.push_back({divide(part.whole, divisor->whole), divide(part.own, divisor->own),
                          divisor->basis == one ? part.basis : divide(part.basis, divisor->basis)});
    return quotient;
  }
  if (name == "Exp") {
    const auto around = recentred(children[0], list[0]);
    if (!around) return std::nullopt;
    const TermId shift = around->size() > 1 ? call(terms_, "Exp", {(*around)[1].whole}) : one;
    return RescaledParts{{shift, one, id}};
  }
  if (name == "Sqrt" || name == "Abs" || name == "Log") {
    const auto part = single(list[0]);
    if (!part || part->basis == one) return std::nullopt;
    const TermId factor = divide(part->whole, part->own);
    const TermId image = factor == one ? one : call(terms_, name.c_str(), {factor});
    if (name != "Log") return RescaledParts{{image, one, id}};
    return RescaledParts{{one, one, id}, {image == one ? zero : image, zero, one}};
  }
  return std::nullopt;
}

/// The reduction of a basis, or of a product of bases.
TermId Rescaling::combined(TermId reduction, size_t side, TermId basis, TermId other) {
  const Term term = terms_[reduction];
  const ir::Dims from = terms_[term.children[side]].facts.dims;
  if (terms_.is(reduction, "MatMul")) {
    const auto shaped = [&](TermId id, bool left) {
      const ir::Dim size = ir::Dim::symbol(size_);
      const ir::Dims alone = left ? ir::Dims{1, size} : ir::Dims{size, 1};
      if (id == one) return terms_.expand(terms_.literal(ir::ElementType::f32, 1, {1}), alone);
      return terms_[id].facts.dims.size() == 1 ? terms_.reshape(id, alone) : id;
    };
    const TermId a = shaped(side == 0 ? basis : other, true), b = shaped(side == 0 ? other : basis, false);
    return terms_.make(term.operation, term.parameters, {a, b});
  }
  const auto axes = terms_.operation(term.operation).attributes.at("axes").integers;
  if (axes.size() != 1) return no_term;
  if (basis == one) return count_of(terms_, {ir::Dim::symbol(size_)});
  const auto missing = static_cast<int64_t>(from.size() - terms_[basis].facts.dims.size());
  return axes[0] < missing
             ? no_term
             : reduce(terms_, std::string(terms_.name(reduction)).c_str(), basis, {axes[0] - missing});
}

std::optional<RescaledParts> Rescaling::parts_of_reduction(TermId reduction) {
  const std::vector<TermId> children = terms_[reduction].children;
  RescaledParts result;
  if (!is_sum(reduction)) {
    const auto list = parts(children[0]);
    if (!list) return std::nullopt;
    for (const RescaledPart& part : *list) {
      if (part.basis == one) {
        result.push_back(part);
      } else {
        if (part.whole != one || part.own != one) return std::nullopt;
        result.push_back({one, one, combined(reduction, 0, part.basis, no_term)});
      }
    }
  } else {
    const auto left = parts(children[0]);
    const auto right = children.size() > 1 ? parts(children[1]) : RescaledParts{{one, one, no_term}};
    if (!left || !right) return std::nullopt;
    for (const RescaledPart& a : *left)
      for (const RescaledPart& b : *right)
        result.push_back(
            {multiply(a.whole, b.whole), multiply(a.own, b.own), combined(reduction, 0, a.basis, b.basis)});
  }
  for (const RescaledPart& part : result)
    if (part.whole == no_term || part.own == no_term || part.basis == no_term) return std::nullopt;
  return result;
}

TermId Rescaling::assembled(const RescaledParts& parts, bool whole) {
  TermId sum = zero;
  for (const RescaledPart& part : parts) sum = add(sum, multiply(whole ? part.whole : part.own, part.basis));
  return sum;
}

}  // namespace axrun::search::algebra
