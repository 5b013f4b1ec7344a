#include "ir/sizes_at_hand.h"

#include <fmt/format.h>

#include <algorithm>

namespace axrun::ir {

using Relation = SizeGuard::Relation;

bool SizeGuard::holds(Relation relation, int64_t difference) {
  switch (relation) {
    case Relation::zero:
      return difference == 0;
    case Relation::nonzero:
      return difference != 0;
    case Relation::at_least_zero:
      return difference >= 0;
    default:
      return difference < 0;
  }
}

std::string SizeGuard::to_string() const {
  static constexpr const char* signs[] = {"=", "!=", ">=", "<"};
  return fmt::format("{} {} 0", difference.to_string(), signs[static_cast<size_t>(relation)]);
}

SizesAtHand::SizesAtHand(std::map<std::string, int64_t> sizes) {
  for (const auto& [name, size] : sizes) sizes_.emplace(name, Dim(size));
}

std::optional<int64_t> SizesAtHand::value(const Dim& dim) const {
  return dim.is_constant() ? dim.constant() : dim.substitute(sizes_).constant();
}

void SizesAtHand::note(SizeGuard guard) {
  if (guard.difference.is_constant()) return;
  if (std::find(guards_.begin(), guards_.end(), guard) == guards_.end()) guards_.push_back(std::move(guard));
}

std::optional<bool> SizesAtHand::equal(const Dim& a, const Dim& b) {
  const Dim difference = a - b;
  const auto here = value(difference);
  if (!here) return std::nullopt;
  note({difference, *here == 0 ? Relation::zero : Relation::nonzero});
  return *here == 0;
}

std::optional<bool> SizesAtHand::at_least(const Dim& a, const Dim& b) {
  const Dim difference = a - b;
  const auto here = value(difference);
  if (!here) return std::nullopt;
  note({difference, *here >= 0 ? Relation::at_least_zero : Relation::below_zero});
  return *here >= 0;
}

std::optional<int64_t> SizesAtHand::fix(const Dim& dim) {
  const auto here = value(dim);
  if (here) note({dim - Dim(*here), Relation::zero});
  return here;
}

SizesAtHand SizesAtHand::without_guards() const {
  SizesAtHand same({});
  same.sizes_ = sizes_;
  return same;
}

bool SizesAtHand::adopt(const std::vector<SizeGuard>& guards) {
  const bool all_hold = std::all_of(guards.begin(), guards.end(), [&](const SizeGuard& guard) {
    const auto here = value(guard.difference);
    return here && SizeGuard::holds(guard.relation, *here);
  });
  if (!all_hold) return false;
  for (const SizeGuard& guard : guards) note(guard);
  return true;
}

}  // namespace axrun::ir
