#include "ir/interpreter/stage.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <mutex>

#include "ir/error.h"
#include "ir/interpreter/fold.h"
#include "ir/interpreter/workspace.h"

namespace axrun::ir::interpreter {
namespace {

/// Fewer lanes than this do not pay for the dispatch of an instruction.
constexpr int64_t enough_lanes = 48;

/// The innermost axes that have enough points for a block; all of them if there are few.
size_t lanes_from(const std::vector<int64_t>& extents) {
  int64_t lanes = 1;
  size_t first = extents.size();
  while (first > 0 && lanes < enough_lanes) lanes *= extents[--first];
  return first;
}

bool is_tuple(const Stage& stage) { return stage.monoid.kind == Monoid::Kind::tuple; }

ElementType type_of(const StageContext& context, ExprId id) {
  return context.program.exprs[static_cast<size_t>(id)].type;
}

}  // namespace

int64_t points_of(const std::vector<int64_t>& extents, const std::string& where) {
  int64_t points = 1;
  for (int64_t extent : extents) {
    if (extent == 0) return 0;
    if (__builtin_mul_overflow(points, extent, &points)) {
      throw Error(Fault::user, where + ": the iteration space is too large");
    }
  }
  return points;
}

std::vector<int64_t> extents_of(const std::vector<Axis>& axes, const StageContext& context) {
  std::vector<int64_t> extents;
  for (const Axis& axis : axes) extents.push_back(context.bindings.extent(axis.extent, context.where));
  return extents;
}

ElementType stored_type(ElementType type, const EvaluateOptions& options) {
  return options.wide && type == ElementType::f32 ? ElementType::f64 : type;
}

void parallel(const EvaluateOptions& options, int64_t count, double cost,
              const std::function<void(int64_t, int64_t)>& body) {
  constexpr double worth_it = 200000;
  constexpr int64_t most_pieces = 128;
  if (!options.parallel_for || count < 2 || cost * static_cast<double>(count) < worth_it)
    return body(0, count);
  const int64_t pieces = std::min(count, most_pieces);
  std::mutex mutex;
  std::exception_ptr failure;
  options.parallel_for(pieces, [&](int64_t begin, int64_t end) {
    try {
      auto boundary = [&](int64_t piece) { return count / pieces * piece + std::min(piece, count % pieces); };
      body(boundary(begin), boundary(end));
    } catch (...) {
      std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  });
  if (failure) std::rethrow_exception(failure);
}

StageCode::StageCode(const StageContext& context) {
  for (TensorId result : context.stage.results) {
    const TensorDecl& declared = context.program.tensors[static_cast<size_t>(result)];
    Shape shape;
    for (const Dim& dim : declared.dims) shape.push_back(context.bindings.extent(dim, context.where));
    shapes_.push_back(std::move(shape));
    stored_.push_back(stored_type(declared.type, context.options));
  }
  if (context.stage.kind == StageKind::scatter) {
    compile_scatter(context);
  } else {
    compile_map_or_reduce(context);
  }
}

void StageCode::compile_map_or_reduce(const StageContext& context) {
  const Stage& stage = context.stage;
  std::vector<int64_t> axes = extents_of(stage.axes, context);
  std::vector<int64_t> reduce_axes;
  if (stage.kind == StageKind::reduce) reduce_axes = extents_of(stage.reduce_axes, context);
  points_ = points_of(axes, context.where);
  reduce_points_ = points_of(reduce_axes, context.where);
  for (const Shape& shape : shapes_) {
    if (element_count(shape) != points_) {
      throw Error(Fault::user, context.where + ": the axes give " + std::to_string(points_) +
                                   " elements of a result of shape " + to_string(shape));
    }
  }
  for (size_t k = 0; k < stage.results.size(); ++k) {
    AXRUN_ASSERT(type_of(context, stage.body[k]) ==
                 context.program.tensors[static_cast<size_t>(stage.results[k])].type);
  }
  BodyContext body_context{context.program, context.bindings, context.tensors, context.where};
  if (stage.kind == StageKind::reduce && is_tuple(stage)) {
    std::vector<ExprId> roots = stage.monoid.combine;
    roots.insert(roots.end(), stage.monoid.identity.begin(), stage.monoid.identity.end());
    std::vector<ElementType> parameters;
    for (size_t k = 0; k < 2 * stage.body.size(); ++k) {
      parameters.push_back(type_of(context, stage.body[k % stage.body.size()]));
    }
    combine_ = compile_body(body_context, {{context.scan_length}, 0, 0, 0, 0}, roots, parameters);
  }
  if (points_ == 0 || reduce_points_ == 0) return;
  points_of({points_, reduce_points_}, context.where);
  Layout layout;
  layout.extents = axes;
  layout.extents.insert(layout.extents.end(), reduce_axes.begin(), reduce_axes.end());
  layout.extents.push_back(context.scan_length);
  layout.lane_begin = lanes_from(axes);
  layout.lane_end = axes.size();
  layout.loop_begin = axes.size();
  layout.loop_end = axes.size() + reduce_axes.size();
  lanes_ = 1;
  for (size_t axis = layout.lane_begin; axis < layout.lane_end; ++axis) lanes_ *= axes[axis];
  lanes_reduce_ = lanes_ < enough_lanes && reduce_points_ > 4 * lanes_;
  if (lanes_reduce_) {
    layout.lane_begin = layout.loop_begin;
    layout.lane_end = layout.loop_begin = layout.loop_end;
    lanes_ = reduce_points_;
  }
  body_ = compile_body(body_context, layout, stage.body);
}

std::vector<Tensor> StageCode::run(const StageContext& context, int64_t time) const {
  std::vector<Tensor> results;
  if (context.stage.kind == StageKind::scatter) {
    results.push_back(run_scatter(context, time));
    return results;
  }
  for (size_t k = 0; k < shapes_.size(); ++k) {
    results.push_back(Tensor::allocate_uninitialized(stored_[k], shapes_[k]));
  }
  if (points_ == 0) return results;
  if (context.stage.kind == StageKind::map) {
    run_map(context, time, results);
  } else if (reduce_points_ == 0) {
    fill_with_identity(context, time, results);
  } else if (lanes_reduce_) {
    run_reduce_lanes(context, time, results);
  } else {
    run_reduce(context, time, results);
  }
  return results;
}

/// Cuts `lanes` lanes at each of `outer` points into blocks of about equal size.
struct StageCode::Block {
  int64_t outer;
  int64_t first;
  int count;

  static int64_t per_outer(int64_t lanes) { return (lanes + block_lanes - 1) / block_lanes; }
  static Block number(int64_t block, int64_t lanes) {
    const int64_t blocks = per_outer(lanes);
    const int64_t part = block % blocks;
    auto boundary = [&](int64_t k) { return lanes / blocks * k + std::min(k, lanes % blocks); };
    return {block / blocks, boundary(part), static_cast<int>(boundary(part + 1) - boundary(part))};
  }
};

void StageCode::run_map(const StageContext& context, int64_t time, std::vector<Tensor>& results) const {
  const int64_t blocks = points_ / lanes_ * Block::per_outer(lanes_);
  const double cost = static_cast<double>(std::min<int64_t>(lanes_, block_lanes)) *
                      static_cast<double>(body_->block.size() + 1);
  parallel(context.options, blocks, cost, [&](int64_t begin, int64_t end) {
    Workspace workspace(*body_, context.tensors, time);
    for (int64_t number = begin; number < end; ++number) {
      Block block = Block::number(number, lanes_);
      workspace.start(block.outer, block.first, block.count);
      workspace.run_block();
      for (size_t k = 0; k < results.size(); ++k) {
        const Register& root = body_->roots[k];
        store_lanes(results[k], block.outer * lanes_ + block.first, workspace.lanes<std::byte>(root.offset),
                    root.uniform, block.count);
      }
    }
  });
}

namespace {

/// The state of a reduction: one accumulator per result and lane.
class Accumulators {
 public:
  Accumulators(const StageContext& context, const Body* combine, int64_t time, int count)
      : monoid_(context.stage.monoid), count_(count) {
    for (ExprId value : context.stage.body) types_.push_back(type_of(context, value));
    if (combine) {
      tuple_.emplace(*combine, context.tensors, time);
      // The first `reset` runs the combining part too, for nothing: its parameters must hold something.
      for (const Register& parameter : combine->parameters) {
        std::memset(tuple_->lanes<std::byte>(parameter.offset), 0, block_lanes * size_t{8});
      }
    } else {
      lanes_.resize(static_cast<size_t>(block_lanes) * 8);
    }
    reset(count);
  }

  void reset(int count) {
    count_ = count;
    if (!tuple_) return fill_identity(monoid_.kind, types_[0], lanes_.data(), count);
    tuple_->start(0, 0, count);
    tuple_->run_block();
    for (size_t k = 0; k < types_.size(); ++k) {
      const Register& identity = tuple_->body().roots[types_.size() + k];
      copy(lanes(k), tuple_->lanes<std::byte>(identity.offset), identity.uniform, count);
    }
  }

  std::byte* lanes(size_t component) {
    return tuple_ ? tuple_->lanes<std::byte>(tuple_->body().parameters[component].offset) : lanes_.data();
  }

  /// Combines every lane with a value of its own.
  void combine(Workspace& values, const std::vector<Register>& roots) {
    if (!tuple_) {
      const Register& root = roots[0];
      return fold(monoid_.kind, types_[0], lanes_.data(), values.lanes<std::byte>(root.offset), root.uniform,
                  count_);
    }
    for (size_t k = 0; k < types_.size(); ++k) {
      copy(right(k), values.lanes<std::byte>(roots[k].offset), roots[k].uniform, count_);
    }
    combine_tuple();
  }

  /// Combines the only lane with `count` values one after the other.
  void combine_sequence(Workspace& values, const std::vector<Register>& roots, int count) {
    if (!tuple_) {
      const Register& root = roots[0];
      return fold_sequence(monoid_.kind, types_[0], lanes_.data(), values.lanes<std::byte>(root.offset),
                           root.uniform, count);
    }
    for (int lane = 0; lane < count; ++lane) {
      for (size_t k = 0; k < types_.size(); ++k) {
        const size_t offset = roots[k].offset + (roots[k].uniform ? 0 : static_cast<size_t>(lane));
        std::memcpy(right(k), values.lanes<std::byte>(offset), 8);
      }
      combine_tuple();
    }
  }

 private:
  std::byte* right(size_t component) {
    return tuple_->lanes<std::byte>(tuple_->body().parameters[types_.size() + component].offset);
  }

  void combine_tuple() {
    tuple_->run_block();
    // A component of the result may be another one's parameter: read all before writing any.
    const size_t bytes = static_cast<size_t>(count_) * 8;
    scratch_.resize(types_.size() * bytes);
    for (size_t k = 0; k < types_.size(); ++k) {
      const Register& root = tuple_->body().roots[k];
      copy(scratch_.data() + k * bytes, tuple_->lanes<std::byte>(root.offset), root.uniform, count_);
    }
    for (size_t k = 0; k < types_.size(); ++k) std::memcpy(lanes(k), scratch_.data() + k * bytes, bytes);
  }

  static void copy(std::byte* to, const std::byte* from, bool uniform, int count) {
    if (!uniform) {
      std::memcpy(to, from, static_cast<size_t>(count) * 8);
      return;
    }
    for (int k = 0; k < count; ++k) std::memcpy(to + static_cast<size_t>(k) * 8, from, 8);
  }

  const Monoid& monoid_;
  int count_;
  std::vector<ElementType> types_;
  std::optional<Workspace> tuple_;
  std::vector<std::byte> lanes_;
  std::vector<std::byte> scratch_;
};

}  // namespace

void StageCode::fill_with_identity(const StageContext& context, int64_t time,
                                   std::vector<Tensor>& results) const {
  Accumulators accumulators(context, combine_ ? &*combine_ : nullptr, time, 1);
  for (size_t k = 0; k < results.size(); ++k) {
    for (int64_t position = 0; position < points_; position += block_lanes) {
      store_lanes(results[k], position, accumulators.lanes(k), true,
                  static_cast<int>(std::min<int64_t>(block_lanes, points_ - position)));
    }
  }
}

void StageCode::run_reduce(const StageContext& context, int64_t time, std::vector<Tensor>& results) const {
  const int64_t blocks = points_ / lanes_ * Block::per_outer(lanes_);
  const double cost = static_cast<double>(std::min<int64_t>(lanes_, block_lanes)) *
                      static_cast<double>(body_->loop.size() + 1) * static_cast<double>(reduce_points_);
  parallel(context.options, blocks, cost, [&](int64_t begin, int64_t end) {
    Workspace workspace(*body_, context.tensors, time);
    Accumulators accumulators(context, combine_ ? &*combine_ : nullptr, time, 1);
    for (int64_t number = begin; number < end; ++number) {
      Block block = Block::number(number, lanes_);
      workspace.start(block.outer, block.first, block.count);
      workspace.run_block();
      accumulators.reset(block.count);
      for (int64_t point = 0; point < reduce_points_; ++point) {
        workspace.run_point();
        accumulators.combine(workspace, body_->roots);
        workspace.advance();
      }
      for (size_t k = 0; k < results.size(); ++k) {
        store_lanes(results[k], block.outer * lanes_ + block.first, accumulators.lanes(k), false,
                    block.count);
      }
    }
  });
}

void StageCode::run_reduce_lanes(const StageContext& context, int64_t time,
                                 std::vector<Tensor>& results) const {
  const int64_t blocks = Block::per_outer(lanes_);
  const double cost = static_cast<double>(reduce_points_) * static_cast<double>(body_->block.size() + 1);
  parallel(context.options, points_, cost, [&](int64_t begin, int64_t end) {
    Workspace workspace(*body_, context.tensors, time);
    Accumulators accumulators(context, combine_ ? &*combine_ : nullptr, time, 1);
    for (int64_t point = begin; point < end; ++point) {
      accumulators.reset(1);
      for (int64_t number = 0; number < blocks; ++number) {
        Block block = Block::number(number, lanes_);
        workspace.start(point, block.first, block.count);
        workspace.run_block();
        accumulators.combine_sequence(workspace, body_->roots, block.count);
      }
      for (size_t k = 0; k < results.size(); ++k) {
        store_lanes(results[k], point, accumulators.lanes(k), false, 1);
      }
    }
  });
}

}  // namespace axrun::ir::interpreter
