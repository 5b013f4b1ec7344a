#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "search/algebra/terms.h"

namespace axrun::search::algebra {

/// Numbers among terms.
inline constexpr TermId one = -2, zero = -3;

/// What depends on reductions over an axis, of one part of that axis: from values of those reductions over
/// the part alone to values over all of it. `value = sum of own * basis` where the reductions are the part's
/// own, `sum of whole * basis` where they are those of the whole axis.
struct RescaledPart {
  TermId whole = one, own = one;  ///< do not vary along the axis
  TermId basis = one;
};
using RescaledParts = std::vector<RescaledPart>;

/// How terms over one axis change when the reductions that they read become those of a longer axis: f(x, M)
/// in terms of f(x, m), by the operators that f is made of. `exp(x - M)` is `exp(x - m) * exp(m - M)`, as a
/// difference that does not depend on x is a factor of an exponential; `(x - M)^2` is `(x - m)^2 + 2 (x - m)
/// (m - M) + (m - M)^2`.
class Rescaling {
 public:
  /// size: the symbol of the axis, of which a term's dims have one at most. centred: sums are taken as they
  /// are plus what is added to them, where that is possible, rather than term by term.
  Rescaling(Terms& terms, std::string size, bool centred)
      : terms_(terms), size_(std::move(size)), centred_(centred) {}

  bool carries(TermId id) const;
  /// Combines elements along the axis: ReduceSum, ReduceMax, ReduceMin, or a product.
  bool is_reduction(TermId id) const;
  bool is_sum(TermId id) const { return terms_.is(id, "ReduceSum") || terms_.is(id, "MatMul"); }
  /// Whether a reduction is in it, or in what the reduction combines.
  bool depends(TermId id);
  bool combines_dependent(TermId reduction);

  /// Nothing where an operator says nothing about it.
  std::optional<RescaledParts> parts(TermId id);
  /// The same of what a reduction combines, each basis combined. Nothing where that is not its sum or
  /// maximum.
  std::optional<RescaledParts> parts_of_reduction(TermId reduction);
  /// Sum of coefficient * basis, or what a maximum is raised by.
  TermId assembled(const RescaledParts& parts, bool whole);

  /// Stands for the value over the whole axis.
  TermId placeholder(TermId reduction);
  const std::map<TermId, TermId>& placeholders() const { return placeholders_; }

 private:
  TermId whole_of(TermId id);
  RescaledParts merged(const RescaledParts& list);
  std::optional<RescaledParts> product(const RescaledParts& a, const RescaledParts& b);
  std::optional<RescaledParts> recentred(TermId id, const RescaledParts& parts);
  std::optional<RescaledParts> of_operator(TermId id);
  std::optional<RescaledPart> single(const RescaledParts& parts);
  TermId combined(TermId reduction, size_t side, TermId basis, TermId other);

  TermId known(TermId id) { return id == one ? terms_.literal(ir::ElementType::f32, 1, {}) : id; }
  TermId multiply(TermId a, TermId b);
  TermId scale(TermId a, TermId b);
  TermId divide(TermId a, TermId b);
  TermId add(TermId a, TermId b);
  TermId subtract(TermId a, TermId b);
  TermId negate(TermId a);

  Terms& terms_;
  const std::string size_;
  const bool centred_;
  std::map<TermId, bool> depends_;
  std::map<TermId, TermId> placeholders_, wholes_;
};

}  // namespace axrun::search::algebra
