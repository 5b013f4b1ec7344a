#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "ir/program.h"
#include "search/loop_writer.h"

namespace axrun::search {

/// An index expression at a point of its stage (its axes, then its reduce axes) as a Dim; nothing where it
/// depends on data or is not quasi-affine.
std::optional<ir::Dim> index_at(const ir::Program& program, ir::ExprId id, const ir::Dims& point);

/// An index that is data, at a point of its stage: an element of an operand that leads into a dimension of an
/// operand, or of what reads nothing. Nothing where it is read elsewhere, or is worked out from it in any
/// other way.
struct LookedUp {
  ir::TensorId tensor = ir::none;
  ir::Dims indices;
};
std::optional<LookedUp> looked_up_at(const ir::Program& program, const ir::Expr& load, size_t dimension,
                                     const ir::Dims& point);

/// The axes of the stage (numbered on through the reduce axes) on which an expression depends, through
/// indices and guards too.
std::set<int> axes_of(const ir::Program& program, ir::ExprId id);

/// The loads that an expression reaches, each once.
std::vector<ir::ExprId> loads_of(const ir::Program& program, ir::ExprId id);

/// The symbols "a0", "a1", ... in place of the axes and reduce axes of a stage: for looking at indices.
ir::Dims symbolic_point(const ir::Stage& stage);

/// Writes the scalar expressions of a tensor expression as values of a loop program.
class StageValues {
 public:
  StageValues(const ir::Program& program, LoopWriter& writer) : program_(program), writer_(writer) {}

  /// Where the elements of a tensor are read from now on.
  using Place = std::function<ir::loop::Access(const ir::Dims& indices)>;
  void read_at(ir::TensorId tensor, Place place) { places_[tensor] = std::move(place); }
  void read_buffer(ir::TensorId tensor, int buffer);
  bool is_placed(ir::TensorId tensor) const { return places_.count(tensor) != 0; }
  ir::loop::Access access(ir::TensorId tensor, const ir::Dims& indices) const;

  /// The value of an expression has been computed: it is read from there until clear_values.
  void take_value(ir::ExprId id, std::function<ir::loop::Access()> place) { taken_[id] = std::move(place); }
  void clear_values() { taken_.clear(); }

  /// Boolean expressions that are known from now on: guards and selections are decided by them.
  void assume(std::map<ir::ExprId, bool> known) { known_ = std::move(known); }

  /// The value of an expression at a point of its stage. Every tensor that it reads must have its place, and
  /// every index must be a Dim (index_at) or looked up, in buffers that are inputs.
  int value(ir::ExprId id, const ir::Dims& point);

 private:
  bool multiplies_axes(ir::ExprId id) const;
  int load(const ir::Expr& expr, const ir::Dims& point);
  std::optional<bool> truth(ir::ExprId id) const;
  const ir::Program& program_;
  LoopWriter& writer_;
  std::map<ir::TensorId, Place> places_;
  std::map<ir::ExprId, std::function<ir::loop::Access()>> taken_;
  std::map<ir::ExprId, bool> known_;
};

}  // namespace axrun::search
