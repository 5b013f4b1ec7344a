#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/program.h"
#include "ir/tensor.h"
#include "verify/interval.h"

namespace axrun::verify {

/// Elements that are evaluated together.
inline constexpr int most_lanes = 256;

/// Intervals of one expression at many points.
struct Lanes {
  bool uniform = true;       ///< element 0 stands for all
  bool certain = true;       ///< low and high are equal to value, and not stored
  bool consecutive = false;  ///< known to be: every value is one more than the one before; certain
  std::array<double, most_lanes> value;
  std::array<double, most_lanes> low;
  std::array<double, most_lanes> high;

  Interval at(int lane) const {
    const auto k = static_cast<size_t>(uniform ? 0 : lane);
    return certain ? Interval::exactly(value[k]) : Interval{value[k], low[k], high[k]};
  }
  const double* lows() const { return certain ? value.data() : low.data(); }
  const double* highs() const { return certain ? value.data() : high.data(); }
  void set_uniform(const Interval& interval);
  /// Stores one of `count`; finish() must follow the last.
  void put(int lane, const Interval& interval);
  void finish(int count);
};

/// Where loads come from.
class ElementSource {
 public:
  virtual ~ElementSource() = default;
  /// Intervals of elements by row-major position, in order; a negative position is not looked at and gets 0.
  virtual void read(ir::TensorId tensor, const int64_t* positions, int count, Lanes& lanes) = 0;
  /// The same of positions first, first + step, ...: none is negative.
  virtual void read_run(ir::TensorId tensor, int64_t first, int64_t step, int count, Lanes& lanes) = 0;
};

/// The expressions that some roots reach, evaluated over blocks of points.
class BoundBody {
 public:
  /// shapes: of every tensor that is loaded, by TensorId; extents: values of Dims. Both are read here only.
  BoundBody(const ir::Program& program, const std::vector<ir::ExprId>& roots,
            const std::vector<ir::Shape>& shapes, const std::map<std::string, ir::Dim>& sizes);

  /// Null when nothing depends on this axis, or parameter. Set them before run; they stay.
  Lanes* axis(size_t number);
  Lanes* parameter(size_t number);
  Lanes* time();
  /// Evaluates `count` lanes. Throws NoBound.
  void run(int count, ElementSource& source);
  const Lanes& root(size_t k) const { return lanes_[roots_[k]]; }
  /// Scalar operations of one lane.
  int64_t operations() const { return static_cast<int64_t>(steps_.size()); }

 private:
  struct Node {
    ir::ScalarOp op = ir::ScalarOp::integer;
    ir::ElementType type = ir::ElementType::undefined;
    ir::ElementType from = ir::ElementType::undefined;  ///< of the first argument
    std::array<int, 3> args = {-1, -1, -1};
    std::vector<int> indices;
    ir::TensorId tensor = ir::none;
    ir::Shape shape;
    ir::Shape strides;
  };
  void evaluate(size_t number, int count, ElementSource& source);
  void load(const Node& node, Lanes& result, int count, ElementSource& source);
  bool load_run(const Node& node, Lanes& result, int count, ElementSource& source) const;
  bool fast(const Node& node, Lanes& result, int count);
  void general(const Node& node, Lanes& result, int count);
  const Lanes& argument(const Node& node, size_t k) const {
    return lanes_[static_cast<size_t>(node.args[k])];
  }

  std::vector<Node> nodes_;
  std::vector<Lanes> lanes_;   ///< of the node with the same number
  std::vector<size_t> steps_;  ///< nodes that run() evaluates, in order
  std::vector<size_t> roots_;
  std::vector<int> axes_;  ///< node of each axis, or -1
  std::vector<int> parameters_;
  std::vector<int> time_;  ///< one
  /// Of the load at hand: no body is run again while it waits for what it reads.
  std::array<int64_t, most_lanes> positions_{};
  std::array<double, most_lanes> position_{};
  std::array<int64_t, most_lanes> outside_{};
};

}  // namespace axrun::verify
