#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/evaluate.h"
#include "ir/interpreter/body.h"

namespace axrun::ir::interpreter {

/// What the execution of a stage needs from the program it belongs to.
struct StageContext {
  const Program& program;
  const Stage& stage;
  const Bindings& bindings;
  const std::vector<Tensor>& tensors;  ///< by TensorId; those computed so far
  const EvaluateOptions& options;
  int64_t scan_length = 1;  ///< of the scan whose step this program is
  std::string where;
};

/// A map, reduce or scatter stage made ready for one set of shapes and stored types. Many threads may run
/// one.
class StageCode {
 public:
  explicit StageCode(const StageContext& context);
  /// One tensor per result.
  std::vector<Tensor> run(const StageContext& context, int64_t time) const;

 private:
  struct Block;
  void compile_map_or_reduce(const StageContext& context);
  void compile_scatter(const StageContext& context);
  void run_map(const StageContext& context, int64_t time, std::vector<Tensor>& results) const;
  void run_reduce(const StageContext& context, int64_t time, std::vector<Tensor>& results) const;
  void run_reduce_lanes(const StageContext& context, int64_t time, std::vector<Tensor>& results) const;
  Tensor run_scatter(const StageContext& context, int64_t time) const;
  void fill_with_identity(const StageContext& context, int64_t time, std::vector<Tensor>& results) const;

  std::vector<Shape> shapes_;        ///< of the results
  std::vector<ElementType> stored_;  ///< of the results
  int64_t points_ = 1;               ///< of the axes
  int64_t reduce_points_ = 1;
  int64_t lanes_ = 1;            ///< points of the lane axes
  bool lanes_reduce_ = false;    ///< the lanes run along the reduce axes
  std::optional<Body> body_;     ///< roots: the values; a scatter's targets, then its value and guard
  std::optional<Body> combine_;  ///< of a tuple: the new tuple, then the identity
};

/// Number of points; throws Error(user) when it overflows.
int64_t points_of(const std::vector<int64_t>& extents, const std::string& where);
std::vector<int64_t> extents_of(const std::vector<Axis>& axes, const StageContext& context);

/// The type in which results declared as `type` are stored.
ElementType stored_type(ElementType type, const EvaluateOptions& options);

/// Runs body over 0..count in pieces, in parallel where that pays; cost is of one item, in lane operations.
/// The first exception of any piece is thrown again.
void parallel(const EvaluateOptions& options, int64_t count, double cost,
              const std::function<void(int64_t, int64_t)>& body);

}  // namespace axrun::ir::interpreter
