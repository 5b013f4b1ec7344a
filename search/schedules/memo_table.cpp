#include "search/schedules/memo_table.h"

#include <algorithm>
#include <utility>

namespace axrun::search::schedules {
namespace {

Specification without_limits(Specification specification) {
  specification.limits = {};
  return specification;
}

bool is_within(const Limits& limits, const Limits& least, const Limits& most) {
  for (size_t k = 0; k < limits.size(); ++k)
    if (limits[k] < least[k] || limits[k] > most[k]) return false;
  return true;
}

}  // namespace

size_t MemoTable::Hash::operator()(const Specification& s) const {
  uint64_t hash = 0;
  const auto mix = [&hash](uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 29U;
  };
  for (const int32_t extent : s.extents) mix(static_cast<uint64_t>(extent));
  mix(static_cast<uint64_t>(s.tile_rows) << 16U | static_cast<uint64_t>(s.tile_columns));
  uint64_t rest = static_cast<uint64_t>(s.after) << 2U | (s.accumulates ? 2U : 0U) | (s.spread ? 1U : 0U);
  for (size_t k = 0; k < operand_count; ++k)
    rest = rest << 8U | static_cast<uint64_t>(s.levels[k]) << 4U | static_cast<uint64_t>(s.layouts[k]);
  mix(rest);
  return hash;
}

const Solution* MemoTable::find(const Specification& specification, double bound) const {
  const auto page = pages_.find(without_limits(specification));
  if (page == pages_.end()) return nullptr;
  for (const Box& box : page->second)
    if (box.solution.below >= bound && is_within(specification.limits, box.least, box.most))
      return &box.solution;
  return nullptr;
}

const Choice* MemoTable::ranked(const Specification& specification, size_t rank) const {
  const auto page = pages_.find(without_limits(specification));
  if (page == pages_.end()) return nullptr;
  const Choice* found = nullptr;
  for (const Box& box : page->second) {
    const std::vector<Choice>& best = box.solution.best;
    if (rank >= best.size() || !is_within(specification.limits, box.least, box.most)) continue;
    if (found == nullptr || best[rank].cost < found->cost) found = &best[rank];
  }
  return found;
}

const Solution& MemoTable::keep(const Specification& specification, Solution solution) {
  Box box;
  box.most = specification.limits;
  for (const Choice& choice : solution.best)
    for (size_t k = 0; k < box.least.size(); ++k) box.least[k] = std::max(box.least[k], choice.used[k]);
  box.solution = std::move(solution);
  const Specification page = without_limits(specification);
  if (tracked_) fresh_[{page.tile_rows, page.tile_columns}].insert(page);
  return keep(page, std::move(box));
}

const Solution& MemoTable::keep(const Specification& specification, Box box) {
  std::vector<Box>& page = pages_[specification];
  boxes_ -= page.size();
  std::erase_if(page, [&](const Box& old) {
    return is_within(old.least, box.least, box.most) && is_within(old.most, box.least, box.most) &&
           old.solution.below <= box.solution.below;
  });
  page.push_back(std::move(box));
  boxes_ += page.size();
  return page.back().solution;
}

size_t MemoTable::bytes() const {
  size_t choices = 0;
  for (const auto& [specification, page] : pages_)
    for (const Box& box : page) choices += box.solution.best.capacity();
  return pages_.size() * (sizeof(Specification) + sizeof(std::vector<Box>) + 2 * sizeof(void*)) +
         boxes_ * sizeof(Box) + choices * sizeof(Choice);
}

}  // namespace axrun::search::schedules
