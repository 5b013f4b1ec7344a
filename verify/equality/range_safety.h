#pragma once

#include <map>
#include <string>
#include <vector>

#include "verify/equality/same.h"
#include "verify/tensor_equality.h"

namespace axrun::verify::equality {

/// What may go wrong in f32 that cannot over the reals.
enum class Hazard : uint8_t { overflow, exponential, division, logarithm, root, sign };

/// Bounds of every stage from bounds of the operands, and where something may go wrong within them.
class RangeSafety {
 public:
  RangeSafety(const ir::Program& program, const std::vector<ir::loop::Size>& sizes,
              const std::vector<InputRange>& ranges, Meaning& meaning, Algebra& algebra);

  struct Bounds {
    double low = 0, high = 0;
  };
  /// The first place of each.
  const std::map<Hazard, std::string>& hazards() const { return hazards_; }
  const Bounds& output(size_t k) const { return tensors_.at(program_.outputs[k]); }

 private:
  struct Place {
    int stage;
    TermList axes, facts;
    std::map<ir::ExprId, Bounds> known;
  };
  void visit(int number);
  Bounds bounds(ir::ExprId id, Place& at);
  Bounds found(const ir::Expr& e, ir::ExprId id, Place& at);
  Bounds checked(Bounds bounds, const Place& at);
  void hazard(Hazard kind, const Place& at, const std::string& what);
  double most(const ir::Dim& dim) const;

  const ir::Program& program_;
  const std::vector<ir::loop::Size>& sizes_;
  Meaning& meaning_;
  Algebra& algebra_;
  Same same_;
  std::map<ir::TensorId, Bounds> tensors_;
  std::map<Hazard, std::string> hazards_;
};

}  // namespace axrun::verify::equality
