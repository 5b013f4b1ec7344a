#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/dim.h"

namespace axrun::ir {

/// What must hold of named sizes: how an expression over them compares with 0.
struct SizeGuard {
  enum class Relation : uint8_t { zero, nonzero, at_least_zero, below_zero };
  Dim difference;
  Relation relation = Relation::zero;

  static bool holds(Relation relation, int64_t difference);
  /// "seq - 1 = 0".
  std::string to_string() const;
  friend bool operator==(const SizeGuard&, const SizeGuard&) = default;
};

/// Named sizes of one case, and what was decided because of them. A definition over named sizes that cannot
/// go on for all of them (is this extent 1?) asks what is so here; what comes out holds wherever the guards
/// do.
///
/// Every answer is noted as a guard, once; nothing where it has a name that is none of these.
class SizesAtHand {
 public:
  explicit SizesAtHand(std::map<std::string, int64_t> sizes);

  std::optional<bool> equal(const Dim& a, const Dim& b);
  std::optional<bool> at_least(const Dim& a, const Dim& b);
  /// The expression's value, which it has to have from now on.
  std::optional<int64_t> fix(const Dim& dim);
  /// False, and nothing is noted, where one of the guards does not hold here.
  bool adopt(const std::vector<SizeGuard>& guards);

  SizesAtHand without_guards() const;

  /// In the order in which they were noted.
  const std::vector<SizeGuard>& guards() const { return guards_; }
  /// Without a guard: to look, not to decide.
  std::optional<int64_t> value(const Dim& dim) const;

 private:
  void note(SizeGuard guard);

  std::map<std::string, Dim> sizes_;
  std::vector<SizeGuard> guards_;
};

}  // namespace axrun::ir
