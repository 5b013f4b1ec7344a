#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "verify/equality/same.h"
#include "verify/tensor_equality.h"

namespace axrun::verify::equality {

inline constexpr double largest_f32 = 3.4e38;
inline constexpr double error_units = 16777216;  ///< of error, in 1

/// What may go wrong in f32 that cannot over the reals.
enum class Hazard : uint8_t { overflow, exponential, division, logarithm, root };

/// Bounds of every stage from bounds of the operands, and where something may go wrong within them.
class RangeSafety {
 public:
  /// Throws Unproved.
  RangeSafety(const ir::Program& program, Meaning& meaning, Algebra& algebra);

  struct Bounds {
    double low = 0, high = 0;
    double error = 0;  ///< at most so much has been rounded away, in units of half an f32's last place at 1
  };
  /// The first place of each. Exponentials are told apart by what they are of, as a form: the same elements
  /// at any indices.
  using Hazards = std::map<std::pair<Hazard, size_t>, std::string>;
  struct Findings {
    Hazards hazards;
    std::vector<Bounds> outputs;
  };
  /// For operands in these ranges; those that are missing are of any value of their type. At these sizes.
  Findings within(const std::vector<InputRange>& ranges, const std::map<std::string, ir::Dim>& sizes);

 private:
  /// A point of a stage. What is asked of the algebra there does not depend on ranges, and is asked once.
  struct Place {
    int stage = 0;
    TermList axes, facts;
    std::map<ir::ExprId, Bounds> known;
    std::map<ir::ExprId, bool> below_maximum;
    std::map<ir::ExprId, std::set<size_t>> forms;
    std::map<size_t, bool> holds_maximum;  ///< by result
  };
  void visit(Place& at);
  Bounds bounds(ir::ExprId id, Place& at);
  Bounds found(const ir::Expr& e, ir::ExprId id, Place& at);
  Bounds checked(Bounds bounds, ir::ElementType type, const Place& at);
  Bounds added_up(Bounds term, const ir::Stage& stage, size_t result, Place& at);
  bool below_its_maximum(ir::ExprId id, Place& at);
  bool holds_its_maximum(size_t result, Place& at);
  const std::set<size_t>& forms(ir::ExprId id, Place& at);
  void hazard(Hazard kind, const Place& at, const std::string& what, size_t form = 0);
  double value_of(const ir::Dim& dim) const;

  const ir::Program& program_;
  std::map<std::string, ir::Dim> sizes_;
  Meaning& meaning_;
  Algebra& algebra_;
  Same same_;
  std::vector<Place> places_;
  std::map<ir::TensorId, Bounds> tensors_;
  Hazards hazards_;
};

// Of functions, of powers with any exponent, and of integers, whose values are exact and wrap
// (range_functions.cpp). found: what arithmetic says that does not wrap.
std::optional<RangeSafety::Bounds> function_bounds(ir::ScalarOp op, const RangeSafety::Bounds& a,
                                                   const RangeSafety::Bounds& b);
RangeSafety::Bounds power_bounds(const RangeSafety::Bounds& x, const RangeSafety::Bounds& y);
RangeSafety::Bounds integer_bounds(const ir::Expr& e, const RangeSafety::Bounds& found,
                                   const std::vector<RangeSafety::Bounds>& arguments);

/// Where safety is asked for.
struct Part {
  std::vector<InputRange> ranges;
  std::map<std::string, ir::Dim> sizes;
  bool point = false;  ///< each range is one number
};
/// The ranges as a whole, then parts of them, each asked for apart, so that what goes wrong for huge operands
/// excuses nothing for small ones: all operands up to a magnitude, of any sign or positive; each alone up to
/// it, the others up to 1; and points. Sizes as large and as small as they may be; for one of these ranges
/// each size alone large, too.
std::vector<Part> parts_of(const std::vector<InputRange>& ranges, size_t operands,
                           const std::vector<ir::loop::Size>& sizes);

/// Why the rewritten program is less safe than the original there: a hazard of a kind that the original does
/// not have; or, at points, where bounds of errors are sharp, far more that is rounded away.
std::optional<std::string> less_safe(const RangeSafety::Findings& original,
                                     const RangeSafety::Findings& rewritten, const Part& part);

}  // namespace axrun::verify::equality
