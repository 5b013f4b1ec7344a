#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "ir/program.h"

namespace axrun::search {

/// Copies an expression's scalars into a builder, node by node; the builder simplifies index arithmetic on
/// the way. `rewrite` is asked first about every node: it must answer for axes and loads, and gives an
/// undefined Scalar for nodes that are only to be copied.
class ScalarCopier {
 public:
  using Rewrite = std::function<ir::Scalar(ScalarCopier& copy, ir::ExprId id, const ir::Expr& expr)>;
  ScalarCopier(const ir::Program& from, ir::Builder& to, Rewrite rewrite)
      : from_(from), to_(to), rewrite_(std::move(rewrite)) {}

  ir::Scalar operator()(ir::ExprId id);

 private:
  const ir::Program& from_;
  ir::Builder& to_;
  Rewrite rewrite_;
  std::map<ir::ExprId, ir::Scalar> known_;
};

/// A map or reduction under new axes, groups and body, with the name, the monoid and the kind of the old one.
/// A reduction over no axes becomes a map.
struct NewStage {
  ir::Dims axes;
  std::vector<std::vector<int>> groups;
  ir::Dims reduce_axes;
  /// The value at a point: axes, then reduce axes.
  std::function<ir::Scalar(const ir::Indices& point)> body;
};
ir::TensorRef rebuild_stage(ir::Builder& builder, const ir::Program& from, const ir::Stage& old,
                            const NewStage& stage);

/// A map or plain reduction as it is. tensors: what it reads, there. time: what stands for the index of the
/// enclosing scan; undefined: it stays.
ir::TensorRef copy_stage(ir::Builder& builder, const ir::Program& from, const ir::Stage& stage,
                         const std::map<ir::TensorId, ir::TensorRef>& tensors, const ir::Scalar& time = {});

/// A scan over other tensors, and with `step` in place of its own; its results.
std::vector<ir::TensorRef> copy_scan(ir::Builder& builder, const ir::Stage& scan, const ir::Program& step,
                                     const std::map<ir::TensorId, ir::TensorRef>& tensors);

/// The stages of a step, in `builder`: its outputs. operands: in their positions.
std::vector<ir::TensorRef> copy_step(ir::Builder& builder, const ir::Program& step,
                                     const std::vector<ir::TensorRef>& operands, const ir::Scalar& time = {});

/// Tensors that stages read otherwise than by loads: they are what they are.
std::set<ir::TensorId> read_by_scans(const ir::Program& program);

/// Declares the operands of `from` that are not none at their positions, under `dims_of`.
std::map<ir::TensorId, ir::TensorRef> copy_operands(ir::Builder& builder, const ir::Program& from,
                                                    const std::function<ir::Dims(ir::TensorId)>& dims_of);

/// Adds the outputs and gives the program, with as many operands as `from`.
ir::Program finish_rebuilding(ir::Builder& builder, const ir::Program& from,
                              const std::map<ir::TensorId, ir::TensorRef>& tensors);

}  // namespace axrun::search
