#include "ir/open_program.h"

#include <utility>

namespace axrun::ir {

OpenProgram::OpenProgram(std::shared_ptr<const Program> program, SizeProgram& sizes)
    : program_(std::move(program)) {
  using Kind = Place::Kind;
  for (size_t t = 0; t < program_->tensors.size(); ++t) {
    const Dims& dims = program_->tensors[t].dims;
    for (size_t d = 0; d < dims.size(); ++d) find(dims[d], Kind::tensor_dim, t, d, sizes);
  }
  for (size_t e = 0; e < program_->exprs.size(); ++e) find(program_->exprs[e].dim, Kind::extent, e, 0, sizes);
  for (size_t s = 0; s < program_->stages.size(); ++s) {
    const Stage& stage = program_->stages[s];
    for (size_t a = 0; a < stage.axes.size(); ++a) find(stage.axes[a].extent, Kind::axis, s, a, sizes);
    for (size_t a = 0; a < stage.reduce_axes.size(); ++a)
      find(stage.reduce_axes[a].extent, Kind::reduce_axis, s, a, sizes);
    find(stage.length, Kind::length, s, 0, sizes);
    if (!stage.step) continue;
    OpenProgram step(stage.step, sizes);
    if (step.is_open()) steps_.emplace_back(s, std::move(step));
  }
}

void OpenProgram::find(const Dim& dim, Place::Kind kind, size_t owner, size_t index, SizeProgram& sizes) {
  if (dim.is_constant()) return;
  places_.push_back({kind, static_cast<uint32_t>(owner), static_cast<uint32_t>(index), sizes.add(dim)});
}

std::vector<size_t> OpenProgram::values() const {
  std::vector<size_t> values;
  for (const Place& place : places_) values.push_back(place.value);
  for (const auto& [stage, step] : steps_) {
    const std::vector<size_t> inner = step.values();
    values.insert(values.end(), inner.begin(), inner.end());
  }
  return values;
}

std::shared_ptr<Program> OpenProgram::take_copy() const {
  std::unique_ptr<Program> copy;
  {
    const std::lock_guard lock(spares_->mutex);
    if (!spares_->programs.empty()) {
      copy = std::move(spares_->programs.back());
      spares_->programs.pop_back();
    }
  }
  if (!copy) copy = std::make_unique<Program>(*program_);
  return {copy.release(), [spares = spares_](Program* program) {
            std::unique_ptr<Program> done(program);
            const std::lock_guard lock(spares->mutex);
            if (spares->programs.size() < Spares::most) spares->programs.push_back(std::move(done));
          }};
}

std::shared_ptr<const Program> OpenProgram::at(const std::vector<int64_t>& values) const {
  if (!is_open()) return program_;
  std::shared_ptr<Program> closed = take_copy();
  for (const Place& place : places_) {
    const int64_t number = values[place.value];
    switch (place.kind) {
      case Place::Kind::tensor_dim:
        closed->tensors[place.owner].dims[place.index] = number;
        break;
      case Place::Kind::extent: {
        Expr& expr = closed->exprs[place.owner];
        // As definitions write the size where they know it.
        const bool is_number = program_->exprs[place.owner].op == ScalarOp::extent;
        if (is_number) expr.op = ScalarOp::integer;
        if (is_number) expr.integer = number;
        expr.dim = is_number ? 0 : number;
        break;
      }
      case Place::Kind::axis:
        closed->stages[place.owner].axes[place.index].extent = number;
        break;
      case Place::Kind::reduce_axis:
        closed->stages[place.owner].reduce_axes[place.index].extent = number;
        break;
      case Place::Kind::length:
        closed->stages[place.owner].length = number;
        break;
    }
  }
  for (const auto& [stage, step] : steps_) closed->stages[stage].step = step.at(values);
  return closed;
}

}  // namespace axrun::ir
