// Mistakes in indices, extents and claims.
#include <algorithm>

#include "tests/verify/surgeon.h"

namespace axrun::tests {

using ir::Dim;
using ir::loop::Access;
using ir::loop::Block;
using ir::loop::Compute;
using ir::loop::Loop;
using ir::loop::LoopKind;
using ir::loop::Role;
using ir::loop::Statement;

bool Surgeon::respaced(int64_t by) {
  const std::string name = any_variable();
  bool changed = false;
  const bool everywhere = coin();
  for (Dim* index : indices_) {
    const std::vector<std::string> used = variables(*index);
    if (std::find(used.begin(), used.end(), name) == used.end()) continue;
    if (changed && !everywhere) break;
    *index = *index + Dim(by) * Dim::symbol(name);
    changed = true;
  }
  return changed;
}

bool Surgeon::overlap() { return respaced(-1); }

bool Surgeon::gap() { return respaced(1); }

bool Surgeon::race() {
  Loop* loop = pick(loops_);
  if (loop == nullptr || loop->kind == LoopKind::parallel) return false;
  loop->kind = LoopKind::parallel;
  return true;
}

bool Surgeon::shared_scratch() {
  for (Block* outer : blocks_) {
    for (size_t k = 0; k < outer->size(); ++k) {
      auto* loop = std::get_if<Loop>(&(*outer)[k]);
      if (loop == nullptr || loop->body.empty() || coin()) continue;
      if (!std::holds_alternative<ir::loop::Allocate>(loop->body.front())) continue;
      const Statement moved = loop->body.front();
      loop->body.erase(loop->body.begin());
      outer->insert(outer->begin() + static_cast<std::ptrdiff_t>(k), moved);
      return true;
    }
  }
  return false;
}

bool Surgeon::looked_up_elsewhere() {
  Access* access = pick(looking_up_);
  if (access == nullptr) return false;
  ir::loop::Lookup& lookup = access->lookups[below(access->lookups.size())];
  if (coin()) {
    lookup.dimension = static_cast<int>(below(access->indices.size()));
  } else {
    lookup.buffer = lookups_[below(lookups_.size())]->buffer;
  }
  return true;
}

bool Surgeon::looked_up_not() {
  Access* access = pick(looking_up_);
  if (access == nullptr) return false;
  access->lookups.erase(access->lookups.begin() + static_cast<std::ptrdiff_t>(below(access->lookups.size())));
  return true;
}

bool Surgeon::shifted() {
  Dim* index = pick(indices_);
  if (index == nullptr) return false;
  *index = *index + Dim(coin() ? 1 : -1);
  return true;
}

bool Surgeon::other_time() {
  std::vector<Loop*> sequential = loops_;
  std::erase_if(sequential, [](Loop* loop) { return loop->kind != LoopKind::sequential || loop->step != 1; });
  Loop* loop = pick(sequential);
  Access* access = pick(accesses_);
  if (loop == nullptr || access == nullptr) return false;
  const Dim now = Dim::symbol(loop->variable);
  const Dim others[] = {Dim(0), loop->extent - 1 - now, max(now - 1, 0), min(now + 1, loop->extent - 1)};
  const Dim& other = others[below(4)];
  for (Dim& index : access->indices) index = index.substitute({{loop->variable, other}});
  return true;
}

bool Surgeon::no_history() {
  Access* access = pick(accesses_);
  if (access == nullptr || access->indices.empty()) return false;
  const int buffer = access->buffer;
  if (program_.buffers[static_cast<size_t>(buffer)].role != Role::scratch) return false;
  const size_t dimension = below(access->indices.size());
  const Dim turns(coin() ? 2 : 1);
  for (Access* other : accesses_) {
    if (other->buffer == buffer) other->indices[dimension] = floor_mod(other->indices[dimension], turns);
  }
  program_.buffers[static_cast<size_t>(buffer)].dims[dimension] = turns;
  return true;
}

bool Surgeon::other_part() {
  std::vector<std::pair<Access*, size_t>> places;
  for (Access* access : accesses_) {
    for (size_t d = 0; d < access->indices.size(); ++d) {
      const Dim& extent = program_.buffers[static_cast<size_t>(access->buffer)].dims[d];
      if (access->indices[d].is_constant() && extent.is_constant() && extent.value() > 1)
        places.emplace_back(access, d);
    }
  }
  if (places.empty()) return false;
  const auto& [access, d] = places[below(places.size())];
  const Dim extent = program_.buffers[static_cast<size_t>(access->buffer)].dims[d];
  access->indices[d] = Dim(static_cast<int64_t>(below(static_cast<size_t>(extent.value()))));
  return true;
}

bool Surgeon::wrong_lane() {
  std::vector<Loop*> vectors;
  for (Loop* loop : loops_) {
    if (loop->kind == LoopKind::vector || loop->kind == LoopKind::unrolled) vectors.push_back(loop);
  }
  Loop* loop = pick(vectors);
  Dim* index = pick(indices_);
  if (loop == nullptr || index == nullptr) return false;
  const std::vector<std::string> used = variables(*index);
  if (std::find(used.begin(), used.end(), loop->variable) == used.end()) return false;
  const Dim lane = Dim::symbol(loop->variable);
  const Dim others[] = {Dim(0), floor_div(lane, 2), lane + 1, loop->extent - 1 - lane, min(lane, 1)};
  *index = index->substitute({{loop->variable, others[below(5)]}});
  return true;
}

bool Surgeon::tail() {
  std::vector<Dim*> places = indices_;
  for (Loop* loop : loops_) places.push_back(&loop->extent);
  std::erase_if(places, [](Dim* dim) { return dim->to_string().find("min(") == std::string::npos; });
  Dim* place = pick(places);
  if (place == nullptr) return false;
  const std::string text = place->to_string();
  const size_t begin = text.find("min(");
  std::vector<std::string> sides(1);
  size_t end = begin + 4;
  for (int depth = 1; depth > 0; ++end) {
    if (text[end] == '(') ++depth;
    if (text[end] == ')' && --depth == 0) break;
    if (text[end] == ',' && depth == 1) {
      sides.emplace_back();
    } else {
      sides.back() += text[end];
    }
  }
  *place =
      ir::parse_dim(text.substr(0, begin) + "(" + sides[below(sides.size())] + ")" + text.substr(end + 1));
  return true;
}

bool Surgeon::permuted() {
  Access* access = pick(accesses_);
  if (access == nullptr || access->indices.size() < 2) return false;
  const size_t k = below(access->indices.size() - 1);
  std::swap(access->indices[k], access->indices[k + 1]);
  return true;
}

bool Surgeon::scaled() {
  Dim* index = pick(indices_);
  if (index == nullptr) return false;
  *index = coin() ? Dim(2) * *index : floor_div(*index, 2);
  return true;
}

bool Surgeon::other_variable() {
  Dim* index = pick(indices_);
  if (index == nullptr) return false;
  const std::vector<std::string> used = variables(*index);
  const std::string other = any_variable();
  if (used.empty() || other.empty()) return false;
  *index = index->substitute({{used[below(used.size())], Dim::symbol(other)}});
  return true;
}

bool Surgeon::extent() {
  Loop* loop = pick(loops_);
  if (loop == nullptr) return false;
  loop->extent = loop->extent + Dim(coin() ? 1 : -1);
  return true;
}

bool Surgeon::step() {
  Loop* loop = pick(loops_);
  if (loop == nullptr) return false;
  loop->step = std::max<int64_t>(1, loop->step + (coin() ? 1 : -1));
  return true;
}

bool Surgeon::mapping() {
  std::vector<Compute*> places = computes_;
  std::erase_if(places, [](Compute* compute) { return compute->mapping.stage.empty(); });
  Compute* place = pick(places);
  if (place == nullptr) return false;
  ir::Dims& list = coin() ? place->mapping.point : place->mapping.inverse;
  if (list.empty()) return false;
  const size_t k = below(list.size());
  if (coin()) {
    list[k] = list[k] + Dim(1);
  } else {
    std::swap(list[k], list[below(list.size())]);
  }
  return true;
}

bool Surgeon::claim() {
  if (program_.sizes.empty()) return false;
  ir::loop::Size& size = program_.sizes[below(program_.sizes.size())];
  if (size.divisor != 1 && coin()) {
    size.divisor = 1;
  } else {
    size.low = size.low / 2;
    size.high *= 2;
  }
  return true;
}

}  // namespace axrun::tests
