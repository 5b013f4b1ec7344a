#pragma once

#include <functional>
#include <initializer_list>
#include <set>
#include <string>
#include <vector>

#include "ir/loop/loop_program.h"

namespace axrun::search {

/// Writes a loop program from the outside in. Inverse maps are worked out from the loops around a statement:
/// each coordinate of a point must be a mixed-radix number of the loops it is tiled by (position = 96*block +
/// 12*tile + row with row < 12, tile < 8), plus anything that earlier coordinates tell.
class LoopWriter {
 public:
  LoopWriter(std::string name, std::vector<ir::loop::Size> sizes);

  /// Inputs first, then outputs, before anything else.
  int declare(const std::string& name, ir::loop::Role role, ir::ElementType type, const ir::Dims& dims);
  /// A scratch buffer for the rest of the current block.
  int allocate(const std::string& name, ir::ElementType type, const ir::Dims& dims, ir::loop::Level level);

  /// A part of a buffer under dims of its own, which can be used like a buffer: `place` gives elements.
  using Place = std::function<ir::loop::Access(const ir::Dims& indices)>;
  int view(ir::loop::Buffer as, Place place);

  using Body = std::function<void(const ir::Dim& variable)>;
  /// A loop around what `body` writes. A loop of one iteration is left out, and its variable is 0.
  void loop(ir::loop::LoopKind kind, const std::string& name, const ir::Dim& extent, const Body& body);

  /// What `body` writes stands before everything that is not written so, at the top level.
  void at_beginning(const std::function<void()>& body);

  /// What `body` writes computes stages of the step of a scan: their points have the time in front.
  void at_time(const ir::Dim& time, const std::function<void()>& body);

  /// target (combine) value, which computes `stage` at `point`; an empty stage for statements that only
  /// prepare or move values.
  void store(const ir::loop::Access& target, ir::loop::Combine combine, int value,
             const std::string& stage = {}, const ir::Dims& point = {});

  // Values. Equal ones are one.
  int real(double value, ir::ElementType type = ir::ElementType::f32);  ///< rounded to the type
  int integer(int64_t value, ir::ElementType type);
  int index(const ir::Dim& dim);  ///< as i64
  int load(const ir::loop::Access& access);
  int guarded(const ir::loop::Access& access, int guard, int otherwise);
  int operation(ir::ScalarOp op, ir::ElementType type, std::initializer_list<int> args);
  int mul(int a, int b) { return operation(ir::ScalarOp::mul, value(a).type, {a, b}); }
  const ir::loop::Value& value(int id) const { return program_.values[static_cast<size_t>(id)]; }
  const ir::loop::Buffer& buffer(int id) const {
    if (id >= first_view) return views_[static_cast<size_t>(id - first_view)].as;
    return program_.buffers[static_cast<size_t>(id)];
  }

  const std::vector<ir::loop::Size>& sizes() const { return program_.sizes; }
  /// The program, checked.
  ir::loop::LoopProgram finish();

 private:
  struct Around {
    std::string variable;
    ir::Dim extent;
  };
  struct View {
    ir::loop::Buffer as;
    Place place;
  };
  static constexpr int first_view = 1 << 24;  ///< their numbers
  ir::loop::Access resolved(const ir::loop::Access& access) const;
  int intern(ir::loop::Value value);
  std::string unused(const std::string& name) const;
  ir::Dims inverse_of(const ir::Dims& point) const;
  ir::loop::LoopProgram program_;
  ir::loop::Block beginning_;
  std::vector<Around> around_;
  std::vector<View> views_;
  ir::Dims time_;                         ///< of the step, or nothing
  std::vector<ir::loop::Block*> blocks_;  ///< innermost last
  std::set<std::string> names_;           ///< of sizes and buffers
};

}  // namespace axrun::search
