#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/loop/loop_program.h"
#include "ir/program.h"

namespace axrun::verify {

using SizeAssignment = std::map<std::string, int64_t>;

/// Extents beyond which code may go wrong that was right below them: what a mask, a counter or a displacement
/// holds has an end, and so have the blocks of schedules.
inline constexpr std::array<int64_t, 5> size_borders = {64, 128, 256, 4096, 65536};

/// The largest extent for which code may serve that was tested up to `largest`: twice as much, and none that
/// reaches a border (see size_borders) beyond which it was not tested.
int64_t served_up_to(int64_t largest);

/// The sizes at which machine code was tested, as far as they matter: those that are the largest along some
/// axis, or together. A proof holds for the whole range of a loop program; that code does what the program
/// says is tested, and near tested sizes only is it taken for granted.
class TestedSizes {
 public:
  void add(const SizeAssignment& sizes);
  /// Whether code that was tested at these may serve `sizes`: along each axis, and in the product of all,
  /// which is the extent of merged axes. What was not tested at all serves nothing.
  bool cover(const SizeAssignment& sizes) const;
  /// 0: not tested.
  int64_t largest(const std::string& name) const;
  int64_t largest_product() const;
  const std::vector<SizeAssignment>& sizes() const { return sizes_; }
  bool operator==(const TestedSizes&) const = default;

 private:
  std::vector<SizeAssignment> sizes_;
};

struct SizesToTry {
  std::vector<SizeAssignment> sizes;
  /// The first so many are to be tested in every respect, the others for what shows at their extents.
  size_t thorough = 0;
};

/// Sizes at which machine code for these ranges is to be tested before it serves `at_hand`, which come first.
///
/// Code that was not tested yet: small sizes too, which leave tails of every kind, in other company each
/// time, and every border at and just beyond it where that takes little memory and work (shapes are thin: one
/// size is at the border, the others are small). Code that was tested at `tested`: of the borders those
/// beyond. Borders that are left out are tested when sizes beyond them are at hand: until then code does not
/// serve there. One empty assignment where there are no sizes.
SizesToTry sizes_to_try(const ir::Program& expression, const std::vector<ir::loop::Size>& ranges,
                        const SizeAssignment& at_hand, const TestedSizes& tested = {});

}  // namespace axrun::verify
