// Buffers in registers: which virtual register holds which of their elements.
#include <algorithm>

#include "jit/x86/conditions.h"
#include "jit/x86/emitter.h"
#include "jit/x86/refuse.h"

namespace axrun::jit::x86 {

using asmjit::x86::Vec;
using ir::Dim;
using ir::ElementType;
using ir::loop::Access;
using ir::loop::Compute;
using ir::loop::Loop;
using ir::loop::LoopKind;
using ir::loop::Statement;

/// A buffer in registers has a vector for each group of lanes, or one for each element with that element in
/// every lane: the program must use it in one way only. The first kind may be read by columns as well, whose
/// vectors are made of all rows at once.
void PhaseEmitter::check_register_buffers() {
  std::map<int, bool> has_lanes;
  columns_.clear();
  transposed_before_.clear();
  whole_vectors_.clear();
  released_after_.clear();
  registers_taken_ = 0;
  const std::function<void(const ir::loop::Block&, const std::string&)> visit =
      [&](const ir::loop::Block& block, const std::string& vector_variable) {
        const auto see = [&](const Access& access) {
          if (!in_registers(access.buffer)) return;
          const bool lanes = is_column(access, vector_variable) || is_row(access, vector_variable);
          const auto [found, fresh] = has_lanes.emplace(access.buffer, lanes);
          if (!fresh && found->second != lanes)
            refuse(buffer(access.buffer).name + " in registers is used by lanes and by elements");
        };
        for (const Statement& statement : block) {
          if (const auto* compute = std::get_if<Compute>(&statement)) {
            see(compute->target);
            collect_value(compute->value, see);
          } else if (const auto* loop = std::get_if<Loop>(&statement)) {
            visit(loop->body, loop->kind == LoopKind::vector ? loop->variable : vector_variable);
          } else {
            const int id = std::get<ir::loop::Allocate>(statement).buffer;
            plan_columns(block, id);
            if (in_registers(id)) plan_release(block, id);
            if (in_registers(id) && uses_whole_vectors(block, id)) whole_vectors_.insert(id);
          }
        }
      };
  visit(program_.body, "");
  for (size_t id = 0; id < program_.buffers.size(); ++id) {
    if (in_registers(static_cast<int>(id))) form_of(program_.buffers[id].type);
  }
}

/// The vectors that a buffer in registers takes, where lanes run along its last dimension.
int PhaseEmitter::registers_of(int id) const {
  const bool two = form_of(buffer(id).type) == Form::i64 || form_of(buffer(id).type) == Form::f64;
  int64_t count = two ? 2 : 1;
  const ir::Dims& dims = buffer(id).dims;
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t size = facts_.range(dims[d]).high;
    if (size > most_unrolled) return lanes_.registers();
    const bool last = d + 1 == dims.size();
    count *= last && size >= lanes_.count() ? (size + lanes_.count() - 1) / lanes_.count() : size;
  }
  return static_cast<int>(std::min<int64_t>(count, lanes_.registers()));
}

/// After the last statement of its block that mentions a buffer, its registers are free.
void PhaseEmitter::plan_release(const ir::loop::Block& block, int id) {
  const Statement* last = nullptr;
  bool mentioned = false;
  const std::function<void(const Statement&)> visit = [&](const Statement& statement) {
    if (const auto* loop = std::get_if<Loop>(&statement)) {
      for (const Statement& inside : loop->body) visit(inside);
    } else if (const auto* compute = std::get_if<Compute>(&statement)) {
      mentioned = mentioned || compute->target.buffer == id;
      collect_value(compute->value,
                    [&](const Access& access) { mentioned = mentioned || access.buffer == id; });
    }
  };
  for (const Statement& statement : block) {
    mentioned = false;
    visit(statement);
    if (mentioned) last = &statement;
  }
  if (last != nullptr) released_after_[last].push_back(id);
}

void PhaseEmitter::take_registers(const Statement& statement) {
  const auto* allocation = std::get_if<ir::loop::Allocate>(&statement);
  if (allocation != nullptr && in_registers(allocation->buffer))
    registers_taken_ += registers_of(allocation->buffer);
}

void PhaseEmitter::release_registers(const Statement& statement) {
  const auto here = released_after_.find(&statement);
  if (here == released_after_.end()) return;
  for (const int id : here->second) registers_taken_ -= registers_of(id);
}

/// Whether every use of a buffer by rows, in the block that allocates it, is in vector loops of one extent,
/// which stays the same as long as the buffer lives: what lies beyond is never read, and may become anything.
bool PhaseEmitter::uses_whole_vectors(const ir::loop::Block& block, int id) const {
  std::optional<Dim> extent;
  bool same = true;
  std::vector<const Loop*> around;
  const std::function<void(const Statement&)> visit = [&](const Statement& statement) {
    if (const auto* loop = std::get_if<Loop>(&statement)) {
      around.push_back(loop);
      for (const Statement& inside : loop->body) visit(inside);
      around.pop_back();
      return;
    }
    const auto* compute = std::get_if<Compute>(&statement);
    if (compute == nullptr) return;
    const auto see = [&](const Access& access) {
      if (access.buffer != id) return;
      const Loop* vector = around.empty() ? nullptr : around.back();
      if (vector != nullptr && vector->kind == LoopKind::vector && is_column(access, vector->variable))
        return;
      if (vector == nullptr || vector->kind != LoopKind::vector || !is_row(access, vector->variable)) {
        same = false;
        return;
      }
      same = same && (!extent || *extent == vector->extent) &&
             std::none_of(around.begin(), around.end(),
                          [&](const Loop* loop) { return mentions(vector->extent, loop->variable); });
      extent = vector->extent;
    };
    see(compute->target);
    collect_value(compute->value, see);
  };
  for (const Statement& statement : block) visit(statement);
  return same && extent;
}

std::string PhaseEmitter::slot_key(const Access& access) const {
  std::string key = std::to_string(access.buffer);
  for (size_t d = 0; d < access.indices.size(); ++d) {
    Dim index = at(access.indices[d]);
    if (lane_ && mentions(index, lane_->variable)) {
      const Linear linear = linear_in(index, lane_->variable);
      const bool fits = d + 1 == access.indices.size() && linear.exists && linear.coefficient == Dim(1) &&
                        linear.rest.is_constant() && linear.rest.value() % lanes_.count() == 0;
      if (!fits) refuse(buffer(access.buffer).name + " in registers: its lanes are not used in order");
      index = linear.rest.value() / lanes_.count() + lane_->chunk;
    }
    if (!index.is_constant()) refuse(buffer(access.buffer).name + " in registers: an index is not literal");
    key += "," + std::to_string(index.value());
  }
  return key;
}

Vec PhaseEmitter::slot(const Access& access) {
  if (lane_ && is_column(access, lane_->variable)) return column(access);
  const auto [known, unknown] = slot_of_.try_emplace(place_key(access));
  if (!unknown) return known->second;
  const auto [found, fresh] = slots_.try_emplace(slot_key(access));
  if (fresh) found->second = lanes_.new_vector();
  known->second = found->second;
  return found->second;
}

}  // namespace axrun::jit::x86
