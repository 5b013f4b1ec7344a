#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/bytes.h"
#include "search/schedules/cost.h"
#include "search/schedules/decision.h"
#include "search/schedules/specification.h"

namespace axrun::search::schedules {

/// One of the best schedules of a specification: its first decision, and which of the best ones the whole
/// pieces go on with; what is left over, with its best one.
struct Choice {
  double cost = 0;  ///< nanoseconds
  Decision decision;
  uint8_t rank = 0;
  Limits used;  ///< the smallest limits under which it is possible
};

/// The best schedules of a specification, the best first.
struct Solution {
  std::vector<Choice> best;
  /// Nanoseconds: every schedule that takes less is among them, but for those that take more than each of as
  /// many as are kept. Infinite where these are the best of all.
  double below = 0;
};

/// Solutions that were found. What uses no more than U of the caches is the best one under every limit from U
/// to the one it was found under: each solution holds for a box of limits, so that specifications which
/// differ in limits alone mostly share one.
class MemoTable {
 public:
  /// One that knows everything below the bound; null where there is none.
  const Solution* find(const Specification& specification, double bound) const;
  /// The one of rank 0, 1, ... among the best; null where there is none.
  const Choice* ranked(const Specification& specification, size_t rank) const;
  /// Keeps what was found under the specification's own limits, instead of what said less.
  const Solution& keep(const Specification& specification, Solution solution);

  /// From now on, remembers what is kept, for take_fresh.
  void track() { tracked_ = true; }
  /// What was kept for a tile since the last time, as bytes: at most so many, the rest is forgotten. Empty
  /// where there is nothing.
  std::string take_fresh(int16_t tile_rows, int16_t tile_columns, size_t most_bytes);
  /// Adds what take_fresh gave, for a table of the same costs and tile. The bytes may be any: false, and
  /// nothing is added, where they cannot be right. What is added may still be wrong about costs; decisions
  /// are ones that can be taken.
  bool add(std::string_view bytes, const CostModel& cost, int16_t tile_rows, int16_t tile_columns);

  size_t boxes() const { return boxes_; }
  size_t pages() const { return pages_.size(); }
  size_t bytes() const;

 private:
  struct Box {
    Limits least, most;
    Solution solution;
  };
  struct Hash {
    size_t operator()(const Specification& specification) const;
  };
  using Fresh = std::unordered_set<Specification, Hash>;
  static void write(ByteWriter& out, const Specification& page, const std::vector<Box>& boxes);
  static bool read(ByteReader& in, const CostModel& cost, Specification& page, Box& box);
  const Solution& keep(const Specification& page, Box box);

  /// By specifications without limits.
  std::unordered_map<Specification, std::vector<Box>, Hash> pages_;
  size_t boxes_ = 0;
  bool tracked_ = false;
  /// Pages, by tile.
  std::map<std::pair<int16_t, int16_t>, Fresh> fresh_;
};

}  // namespace axrun::search::schedules
