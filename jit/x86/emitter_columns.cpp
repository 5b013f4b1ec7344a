// Buffers in registers that are written by rows (tile[2, lane]) and read by columns (tile[lane, 3]): between
// the two the whole buffer is transposed.
#include <algorithm>
#include <functional>

#include "jit/x86/emitter.h"
#include "jit/x86/refuse.h"
#include "jit/x86/transpose.h"

namespace axrun::jit::x86 {

using asmjit::x86::Vec;
using ir::Dim;
using ir::loop::Access;
using ir::loop::Allocate;
using ir::loop::Compute;
using ir::loop::Loop;
using ir::loop::LoopKind;
using ir::loop::Statement;

bool PhaseEmitter::is_row(const Access& access, const std::string& vector_variable) {
  return !vector_variable.empty() && !access.indices.empty() &&
         mentions(access.indices.back(), vector_variable);
}

bool PhaseEmitter::is_column(const Access& access, const std::string& vector_variable) {
  return !vector_variable.empty() && access.indices.size() == 2 &&
         mentions(access.indices[0], vector_variable) && !mentions(access.indices[1], vector_variable);
}

/// Finds the statement of the block that reads columns first: what stands before it writes the rows, and
/// nothing after may.
void PhaseEmitter::plan_columns(const ir::loop::Block& block, int id) {
  if (!in_registers(id)) return;
  struct Found {
    bool rows_written = false, columns_read = false, columns_written = false;
  };
  std::vector<std::vector<const Loop*>> writers;
  std::vector<const Loop*> around;
  const std::function<void(const Statement&, Found&)> visit = [&](const Statement& statement, Found& found) {
    const std::string lanes =
        !around.empty() && around.back()->kind == LoopKind::vector ? around.back()->variable : "";
    if (const auto* compute = std::get_if<Compute>(&statement)) {
      if (compute->target.buffer == id) {
        (is_column(compute->target, lanes) ? found.columns_written : found.rows_written) = true;
        writers.push_back(around);
      }
      collect_value(compute->value, [&](const Access& access) {
        if (access.buffer == id && is_column(access, lanes)) found.columns_read = true;
      });
    } else if (const auto* loop = std::get_if<Loop>(&statement)) {
      around.push_back(loop);
      for (const Statement& inside : loop->body) visit(inside, found);
      around.pop_back();
    }
  };
  bool transposed = false;
  for (const Statement& statement : block) {
    Found found;
    visit(statement, found);
    if (found.columns_written) refuse(buffer(id).name + " in registers is written by columns");
    if (found.columns_read && !transposed) {
      for (const Dim& dim : buffer(id).dims) {
        if (dim.value() > lanes_.count())
          refuse(buffer(id).name + " in registers has more columns than lanes");
      }
      transposed_before_[&statement].push_back(id);
      columns_[id].writers = writers;
      transposed = true;
    }
    if (found.rows_written && transposed)
      refuse(buffer(id).name + " in registers is written after its columns are read");
  }
}

/// Whether an assignment is made to every row that it mentions, as far as is known here.
bool PhaseEmitter::writes_all(int id, const std::vector<const Loop*>& around) const {
  return std::all_of(around.begin(), around.end(), [&](const Loop* loop) {
    const Interval range = facts_.range(at(loop->extent));
    if (loop->kind == LoopKind::vector) return whole_vectors_.count(id) != 0 || range.low == range.high;
    return loop->kind == LoopKind::unrolled && range.low == range.high;
  });
}

void PhaseEmitter::prepare_columns(const Statement& statement) {
  if (const auto* allocation = std::get_if<Allocate>(&statement)) {
    const auto found = columns_.find(allocation->buffer);
    if (found == columns_.end()) return;
    const std::vector<std::vector<const Loop*>>& writers = found->second.writers;
    if (writers.size() == 1 && writes_all(allocation->buffer, writers[0])) return;
    // Rows that are written under a condition: without a value before it, their registers would be taken for
    // the whole function.
    for (int64_t row = 0; row < buffer(allocation->buffer).dims[0].value(); ++row)
      lanes_.copy(row_slot(allocation->buffer, row), lanes_.constant(0));
    return;
  }
  const auto here = transposed_before_.find(&statement);
  if (here == transposed_before_.end()) return;
  for (const int id : here->second) {
    comment("columns of " + buffer(id).name);
    std::vector<Vec> rows;
    for (int64_t row = 0; row < buffer(id).dims[0].value(); ++row) rows.push_back(row_slot(id, row));
    columns_[id].vectors = transpose(cc_, lanes_, rows, static_cast<size_t>(buffer(id).dims[1].value()));
  }
}

Vec PhaseEmitter::row_slot(int id, int64_t row) {
  const auto [found, fresh] = slots_.try_emplace(std::to_string(id) + "," + std::to_string(row) + ",0");
  if (fresh) found->second = lanes_.new_vector();
  return found->second;
}

Vec PhaseEmitter::column(const Access& access) {
  const Dim row = at(access.indices[0]), place = at(access.indices[1]);
  const std::vector<Vec>& vectors = columns_.at(access.buffer).vectors;
  const bool in_order = row == Dim::symbol(lane_->variable) && lane_->chunk == 0;
  if (!in_order || !place.is_constant() || place.value() < 0 ||
      place.value() >= static_cast<int64_t>(vectors.size()))
    refuse(buffer(access.buffer).name + " in registers: its columns are not used in order");
  return vectors[static_cast<size_t>(place.value())];
}

}  // namespace axrun::jit::x86
