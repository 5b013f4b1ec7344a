// Mistakes in statements and values.
#include <algorithm>

#include "tests/verify/surgeon.h"

namespace axrun::tests {

using ir::Dim;
using ir::ScalarOp;
using ir::loop::Block;
using ir::loop::Combine;
using ir::loop::Compute;
using ir::loop::Loop;
using ir::loop::Role;
using ir::loop::Statement;
using ir::loop::Value;

bool Surgeon::other_operation() {
  static const std::vector<std::vector<ScalarOp>> groups = {
      {ScalarOp::add, ScalarOp::sub, ScalarOp::mul, ScalarOp::div, ScalarOp::min, ScalarOp::max},
      {ScalarOp::exp, ScalarOp::sqrt, ScalarOp::tanh, ScalarOp::erf, ScalarOp::neg, ScalarOp::abs},
      {ScalarOp::less, ScalarOp::less_equal, ScalarOp::greater, ScalarOp::greater_equal, ScalarOp::equal},
      {ScalarOp::logical_and, ScalarOp::logical_or}};
  std::vector<Value*> places;
  std::vector<const std::vector<ScalarOp>*> choices;
  for (Value& value : program_.values) {
    for (const auto& group : groups) {
      if (std::find(group.begin(), group.end(), value.op) == group.end()) continue;
      places.push_back(&value);
      choices.push_back(&group);
    }
  }
  if (places.empty()) return false;
  const size_t k = below(places.size());
  places[k]->op = (*choices[k])[below(choices[k]->size())];
  return true;
}

bool Surgeon::operands_rotated() {
  std::vector<Value*> places;
  for (Value& value : program_.values) {
    if (value.op >= ScalarOp::add && value.args[1] != ir::none) places.push_back(&value);
  }
  Value* outer = pick(places);
  if (outer == nullptr) return false;
  Value& inner = program_.values[static_cast<size_t>(outer->args[0])];
  if (coin() || inner.args[1] == ir::none || inner.op < ScalarOp::add || inner.type != outer->type) {
    std::swap(outer->args[0], outer->args[1]);
    return true;
  }
  std::swap(outer->op, inner.op);
  return true;
}

template <typename T>
std::optional<Surgeon::Spot> Surgeon::any_statement() {
  std::vector<Spot> spots;
  for (Block* block : blocks_) {
    for (size_t k = 0; k < block->size(); ++k) {
      if (std::holds_alternative<T>((*block)[k])) spots.push_back({block, k});
    }
  }
  if (spots.empty()) return std::nullopt;
  return spots[below(spots.size())];
}

bool Surgeon::statement_dropped() {
  const auto spot = coin() ? any_statement<Compute>() : any_statement<Loop>();
  if (!spot) return false;
  spot->block->erase(spot->block->begin() + static_cast<std::ptrdiff_t>(spot->at));
  return true;
}

bool Surgeon::statement_moved_in() {
  const auto spot = coin() ? any_statement<Compute>() : any_statement<Loop>();
  if (!spot || spot->at + 1 >= spot->block->size()) return false;
  if (!std::holds_alternative<Loop>((*spot->block)[spot->at + 1])) return false;
  Statement moved = (*spot->block)[spot->at];
  spot->block->erase(spot->block->begin() + static_cast<std::ptrdiff_t>(spot->at));
  Block& body = std::get<Loop>((*spot->block)[spot->at]).body;
  body.insert(coin() ? body.begin() : body.end(), moved);
  return true;
}

bool Surgeon::statement_moved_out() {
  const auto spot = any_statement<Loop>();
  if (!spot) return false;
  Block& body = std::get<Loop>((*spot->block)[spot->at]).body;
  if (body.size() < 2) return false;
  const bool first = coin();
  const Statement moved = first ? body.front() : body.back();
  body.erase(first ? body.begin() : body.end() - 1);
  spot->block->insert(spot->block->begin() + static_cast<std::ptrdiff_t>(spot->at + (first ? 0 : 1)), moved);
  return true;
}

bool Surgeon::literal() {
  std::vector<Value*> places;
  for (Value& value : program_.values) {
    if (value.op == ScalarOp::real || value.op == ScalarOp::integer) places.push_back(&value);
  }
  Value* place = pick(places);
  if (place == nullptr) return false;
  if (place->op == ScalarOp::real) {
    place->real = coin() ? 0 : place->real + 1;
  } else if (place->type != ir::ElementType::boolean) {
    place->integer += coin() ? 1 : -1;
  }
  return true;
}

bool Surgeon::statements_swapped() {
  Block* block = pick(blocks_);
  if (block == nullptr || block->size() < 2) return false;
  const size_t k = below(block->size() - 1);
  std::swap((*block)[k], (*block)[k + 1]);
  return true;
}

bool Surgeon::statement_doubled() {
  const auto spot = coin() ? any_statement<Compute>() : any_statement<Loop>();
  if (!spot) return false;
  const Statement copy = (*spot->block)[spot->at];
  const size_t to = below(spot->block->size() + 1);
  spot->block->insert(spot->block->begin() + static_cast<std::ptrdiff_t>(to), copy);
  return true;
}

bool Surgeon::loops_interchanged() {
  Loop* outer = pick(loops_);
  if (outer == nullptr || outer->body.size() != 1) return false;
  auto* inner = std::get_if<Loop>(&outer->body.front());
  if (inner == nullptr) return false;
  std::swap(outer->variable, inner->variable);
  std::swap(outer->extent, inner->extent);
  if (coin()) std::swap(outer->kind, inner->kind);
  return true;
}

bool Surgeon::same_form(int a, int b) const {
  const auto &x = program_.buffers[static_cast<size_t>(a)], &y = program_.buffers[static_cast<size_t>(b)];
  return x.type == y.type && x.dims.size() == y.dims.size();
}

bool Surgeon::other_operand() {
  Value* load = pick(loads_);
  if (load == nullptr) return false;
  const int other = static_cast<int>(below(program_.buffers.size()));
  if (other == load->access.buffer || !same_form(other, load->access.buffer)) return false;
  load->access.buffer = other;
  return true;
}

bool Surgeon::other_target() {
  Compute* compute = pick(computes_);
  if (compute == nullptr) return false;
  const int other = static_cast<int>(below(program_.buffers.size()));
  if (other == compute->target.buffer || !same_form(other, compute->target.buffer)) return false;
  compute->target.buffer = other;
  return true;
}

bool Surgeon::combine() {
  Compute* compute = pick(computes_);
  if (compute == nullptr) return false;
  compute->combine = static_cast<Combine>(below(5));
  return true;
}

bool Surgeon::guard() {
  std::vector<Value*> guarded = loads_;
  std::erase_if(guarded, [](Value* load) { return load->args[0] == ir::none; });
  Value* load = pick(guarded);
  if (load == nullptr) return false;
  load->args = {ir::none, ir::none, ir::none};
  return true;
}

bool Surgeon::allocation() {
  std::vector<ir::loop::Buffer*> scratch;
  for (ir::loop::Buffer& buffer : program_.buffers) {
    if (buffer.role == Role::scratch && !buffer.dims.empty()) scratch.push_back(&buffer);
  }
  ir::loop::Buffer* buffer = pick(scratch);
  if (buffer == nullptr) return false;
  Dim& dim = buffer->dims[below(buffer->dims.size())];
  dim = dim - 1;
  return true;
}

}  // namespace axrun::tests
