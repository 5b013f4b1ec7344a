#include "search/product_schedules.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "search/schedule_store.h"
#include "search/schedules/dynamic_program.h"
#include "search/transposition.h"
#include "search/turned_product.h"
#include "search/work.h"

namespace axrun::search {

using schedules::Axis;
using schedules::CostModel;
using schedules::Decision;
using schedules::DynamicProgram;
using schedules::Layout;
using schedules::Operand;
using schedules::Specification;
using Kind = Decision::Kind;
using Right = ContractionPlan::Right;

namespace {

constexpr size_t most_schedules = 3;
/// Schedules of each tile; several of them may be one when they are written.
constexpr size_t kept = 3;
/// Specifications searched for one product: some tenths of a second.
constexpr int64_t states_of_product = 200'000, states_of_tile = 100'000;
/// Schedules that take longer than so many times the best one are not worth a trial.
constexpr double near_the_best = 1.05;
/// Smaller products are worth no search: about ten microseconds.
constexpr double least_flops = 2e6;

struct Extents {
  int64_t rows = 1, columns = 1, depth = 1, outer = 1;
  double flops() const {
    return 2.0 * static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(depth) *
           static_cast<double>(outer);
  }
};

Extents extents_of(const PieceContext& context, const ProductForm& form) {
  const auto extent = [&](int axis) {
    return axis == ir::none ? int64_t{1}
                            : context.facts.typical(form.sum->axes[static_cast<size_t>(axis)].extent);
  };
  Extents result{extent(form.row), extent(form.column)};
  for (const ir::Axis& axis : form.sum->reduce_axes) result.depth *= context.facts.typical(axis.extent);
  for (const int axis : form.outer) result.outer *= extent(axis);
  return result;
}

/// What a search gave, over several tiles, the best first.
struct Result {
  struct OfTile {
    int64_t rows = 0, columns = 0;
    schedules::Schedule schedule;
  };
  std::vector<OfTile> best;
  ScheduleReport report;
};
using Tiles = std::set<std::pair<int64_t, int64_t>>;

/// The searches of this process by vector width and number of cores: a table for all products. One searches
/// at a time. Results are remembered, so that what was found before the table knew as much is found again.
class Searches {
 public:
  Result find(const jit::Target& target, Specification product, const Tiles& tiles) {
    std::string key = to_text(product);
    for (const auto& [rows, columns] : tiles) key += fmt::format(" {}x{}", rows, columns);
    const std::lock_guard<std::mutex> lock(mutex_);
    Searched& searched = searched_[{target.vector_bytes, target.cores}];
    constexpr size_t most_boxes = 400'000;  // some 40 MiB
    const bool full = searched.program != nullptr && searched.program->table().boxes() > most_boxes;
    if (searched.program == nullptr || !(searched.target == target) || full)
      searched = {target, std::make_unique<DynamicProgram>(target, kept), {}, {}};
    const auto known = searched.results.find(key);
    if (known != searched.results.end()) return known->second;
    Result found = search(searched, product, tiles);
    ++totals_.products;
    totals_.states += found.report.states;
    totals_.seconds += found.report.seconds;
    return searched.results[key] = std::move(found);
  }

  void keep_in(std::shared_ptr<ScheduleStore> store) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (store != store_)
      for (auto& [kind, searched] : searched_) searched.parts.clear();
    store_ = std::move(store);
  }
  void forget() {
    const std::lock_guard<std::mutex> lock(mutex_);
    searched_.clear();
    totals_ = {};
  }
  ScheduleSearches totals() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ScheduleSearches totals = totals_;
    for (const auto& [kind, searched] : searched_) {
      totals.specifications += static_cast<int64_t>(searched.program->table().boxes());
      totals.bytes += static_cast<int64_t>(searched.program->table().bytes());
    }
    return totals;
  }

  static Searches& of_process() {
    static auto& searches = *new Searches;  // never destroyed: see ir/lasting.h
    return searches;
  }

 private:
  struct Searched {
    jit::Target target;
    std::unique_ptr<DynamicProgram> program;
    std::map<std::string, Result> results;
    std::map<std::pair<int64_t, int64_t>, int> parts;  ///< that are kept elsewhere, of tiles that were met
  };

  /// What is kept of a tile is a few parts, each with what was added after those before it.
  static constexpr int most_parts = 24;
  static constexpr size_t most_part_bytes = size_t{8} << 20;

  static std::string key_of(const CostModel& cost, const Specification& s, int part) {
    return fmt::format("{} schedules of tiles {}x{}, {}, part {}", kept, s.tile_rows, s.tile_columns,
                       cost.text(), part);
  }
  /// Of the tile, where that was not done before.
  void load(Searched& searched, const Specification& s) {
    if (store_ == nullptr) return;
    const auto [at, is_new] = searched.parts.emplace(std::pair(s.tile_rows, s.tile_columns), 0);
    if (!is_new) return;
    DynamicProgram& program = *searched.program;
    schedules::MemoTable& table = program.table();
    table.track();
    for (int& part = at->second; part < most_parts; ++part) {
      const std::string key = key_of(program.cost(), s, part);
      const std::optional<std::string> bytes = store_->load(key);
      if (!bytes) return;
      const size_t before = table.boxes();
      if (!table.add(*bytes, program.cost(), s.tile_rows, s.tile_columns)) return store_->reject(key);
      totals_.taken_over += static_cast<int64_t>(table.boxes()) - static_cast<int64_t>(before);
    }
  }
  void save(Searched& searched, const Specification& s) {
    const auto at = searched.parts.find(std::pair(s.tile_rows, s.tile_columns));
    if (store_ == nullptr || at == searched.parts.end()) return;
    const std::string bytes =
        searched.program->table().take_fresh(s.tile_rows, s.tile_columns, most_part_bytes);
    if (bytes.empty() || at->second == most_parts) return;
    store_->save(key_of(searched.program->cost(), s, at->second++), bytes);
  }

  /// The tiles that promise most come first; those that cannot come near the best one are left out.
  Result search(Searched& searched, Specification product, const Tiles& tiles) {
    DynamicProgram& program = *searched.program;
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::pair<double, Specification>> order;
    for (const auto& [rows, columns] : tiles) {
      product.tile_rows = static_cast<int16_t>(rows);
      product.tile_columns = static_cast<int16_t>(columns);
      order.emplace_back(program.cost().lower_bound(product), product);
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    Result result;
    double least = std::numeric_limits<double>::infinity(), cheapest = least;
    for (const auto& [bound, s] : order) {
      const int64_t left = states_of_product - result.report.states;
      if (left <= 0 || bound > near_the_best * cheapest) break;
      load(searched, s);
      schedules::Found found = program.solve(s, {std::min(left, states_of_tile)});
      if (found.states > 0) save(searched, s);
      result.report.states += found.states;
      least = std::min(least, found.least);
      for (schedules::Schedule& schedule : found.schedules) {
        cheapest = std::min(cheapest, schedule.cost);
        result.best.push_back({s.tile_rows, s.tile_columns, std::move(schedule)});
      }
    }
    std::stable_sort(result.best.begin(), result.best.end(),
                     [](const auto& a, const auto& b) { return a.schedule.cost < b.schedule.cost; });
    std::erase_if(result.best, [&](const auto& one) { return one.schedule.cost > near_the_best * cheapest; });
    result.report.gap = result.best.empty() ? 0 : cheapest / least - 1;
    result.report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
  }

  std::mutex mutex_;
  std::map<std::pair<int, int>, Searched> searched_;
  std::shared_ptr<ScheduleStore> store_;
  ScheduleSearches totals_;
};

Layout layout_of_left(const PieceContext& context, const ContractionPlan& plan) {
  if (plan.left_packed) return Layout::panels;
  const int depth = static_cast<int>(plan.form.sum->axes.size());
  if (plan.form.row == ir::none) return Layout::lines;
  return is_read_across(context.program, plan.form.left, depth, plan.form.row) ? Layout::across
                                                                               : Layout::lines;
}

Layout layout_of_right(const PieceContext& context, const ContractionPlan& plan) {
  if (plan.right == Right::packed_once) return Layout::panels;
  return columns_are_contiguous(context.program, plan.form) ? Layout::lines : Layout::across;
}

/// Where operands are before: all in the nearest cache that holds them; what is constant has not been used
/// for as long as the rest of the model takes, and is no nearer than the last one.
Specification specification_of(const PieceContext& context, const ContractionPlan& plan,
                               const Extents& extents, const CostModel& cost) {
  Specification s;
  s.extents = {static_cast<int32_t>(extents.rows), static_cast<int32_t>(extents.columns),
               static_cast<int32_t>(extents.depth)};
  s.layouts = {layout_of_left(context, plan), layout_of_right(context, plan), Layout::lines};
  s.limits = cost.limits();
  const int64_t bytes =
      extents.outer * 4 *
      (extents.rows * extents.columns + extents.rows * extents.depth + extents.depth * extents.columns);
  schedules::Level level = 1;
  while (level < cost.memory() && s.limits[level - 1U].bytes() < bytes) ++level;
  s.levels = {level, level, level};
  const auto last_cache = static_cast<schedules::Level>(cost.memory() - 1);
  if (plan.form.left_constant) s.levels[0] = std::max(level, last_cache);
  if (plan.form.right_constant) s.levels[1] = std::max(level, last_cache);
  s.spread = plan.spread != ContractionPlan::Spread::none && plan.spread != ContractionPlan::Spread::outer;
  return s;
}

/// The default plan with another tile, and nothing of its loops.
ContractionPlan with_tile(const PieceContext& context, ContractionPlan plan, int64_t rows, int64_t columns) {
  plan.tile = {rows, columns};
  constexpr int64_t longest_step_bytes = 1024, most_unrolled = 4;
  plan.unroll = std::clamp<int64_t>(longest_step_bytes / (columns * 4), 1, most_unrolled);
  plan.row_block = plan.depth_block = 0;
  plan.column_group = 1;
  plan.copied = plan.copied || plan.form.across;
  if (plan.right == Right::packed_once) return plan;
  plan.right = Right::direct;
  const int last = static_cast<int>(plan.form.sum->axes.size());
  const bool across = is_read_across(context.program, plan.form.right, plan.form.column, last);
  plan.square = across && plan.form.sum->reduce_axes[0].extent != ir::Dim(1) ? context.target.lanes(4) : 0;
  return plan;
}

/// Loops that another one around them only cuts in pieces are one.
void join_loops(std::vector<Decision>& decisions) {
  for (size_t n = 0; n + 1 < decisions.size();) {
    const Decision &outer = decisions[n], &inner = decisions[n + 1];
    if (outer.kind == Kind::tile && inner.kind == Kind::tile && outer.axis == inner.axis)
      decisions.erase(decisions.begin() + static_cast<std::ptrdiff_t>(n));
    else
      ++n;
  }
}

/// The default plan as the loops that it is written in.
ScheduledPlan as_schedule(const ContractionPlan& plan, const Extents& extents) {
  ScheduledPlan result;
  result.product = plan;
  result.spread_outer = plan.spread == ContractionPlan::Spread::outer;
  const auto loop = [&](Kind kind, Axis axis, int64_t size, int64_t extent) {
    if (size < extent || kind == Kind::spread)
      result.decisions.push_back({.kind = kind, .axis = axis, .size = static_cast<int32_t>(size)});
  };
  const int64_t height = plan.tile.rows, width = plan.tile.columns;
  const bool by_rows = plan.spread == ContractionPlan::Spread::rows;
  if (plan.spread == ContractionPlan::Spread::columns)
    loop(Kind::spread, Axis::columns, plan.column_group * width, extents.columns);
  if (plan.row_block != 0)
    loop(by_rows ? Kind::spread : Kind::tile, Axis::rows, plan.row_block * height, extents.rows);
  if (plan.spread != ContractionPlan::Spread::columns || plan.column_group > 1)
    loop(Kind::tile, Axis::columns, width, extents.columns);
  if (plan.right == Right::packed_inside)
    result.decisions.push_back({.kind = Kind::move, .operand = Operand::right, .layout = Layout::panels});
  if (plan.depth_block != 0) {
    result.decisions.push_back({.kind = Kind::accumulate});
    loop(Kind::tile, Axis::depth, plan.depth_block, extents.depth);
  }
  if (!(by_rows && plan.row_block == 1)) loop(Kind::tile, Axis::rows, height, extents.rows);
  join_loops(result.decisions);
  return result;
}

/// What is written where no other schedule is asked for.
ScheduledPlan first_schedule(const PieceContext& context, const ContractionPlan& plan) {
  if (auto schedule = schedule_of_short_rows(context, plan)) return *std::move(schedule);
  return as_schedule(plan, extents_of(context, plan.form));
}

Tiles tiles_near(const RegisterTile& best, const ContractionPlan& plan, const Extents& extents,
                 const jit::Target& target, const CostModel& cost) {
  Tiles tiles;
  const int64_t lanes = target.lanes(4);
  const int64_t highest =
      std::min(extents.rows, plan.form.across ? lanes : std::numeric_limits<int64_t>::max());
  const int64_t widest = (extents.columns + lanes - 1) / lanes * lanes;
  for (const int64_t columns : {best.columns, best.columns - lanes, best.columns / 2, best.columns * 2}) {
    if (columns < lanes || columns % lanes != 0 || columns > widest) continue;
    for (const int64_t rows : {best.rows, best.rows - 1, best.rows + 1, best.rows / 2, best.rows * 2}) {
      if (rows >= 1 && rows <= highest && cost.fits_registers(rows, columns)) tiles.emplace(rows, columns);
    }
  }
  return tiles;
}

ScheduledPlan as_given(const PieceContext& context, const ContractionPlan& usual,
                       const GivenSchedule& given) {
  ScheduledPlan plan;
  plan.product =
      with_tile(context, usual, usual.form.row == ir::none ? 1 : given.tile.rows, given.tile.columns);
  plan.spread_outer = usual.spread == ContractionPlan::Spread::outer;
  plan.decisions = written_decisions(plan, given.decisions);
  return plan;
}

/// From the side of this plan, but for those whose texts are known.
std::vector<ProductSchedule> schedules_of(const PieceContext& context, const ContractionPlan& usual,
                                          std::set<std::string>& known) {
  const Extents extents = extents_of(context, usual.form);
  const CostModel cost(context.target);
  const Specification s = specification_of(context, usual, extents, cost);
  const Tiles tiles = tiles_near(usual.tile, usual, extents, context.target, cost);
  const Result result = Searches::of_process().find(context.target, s, tiles);
  const double cores = usual.spread == ContractionPlan::Spread::outer ? static_cast<double>(cost.cores()) : 1;
  const double batches = std::max(1.0, static_cast<double>(extents.outer) / cores);
  std::vector<ProductSchedule> found;
  for (const Result::OfTile& one : result.best) {
    if (found.size() == most_schedules) break;
    ProductSchedule next{as_given(context, usual, {{one.rows, one.columns}, one.schedule.decisions}),
                         result.report};
    join_loops(next.plan.decisions);
    next.report.text = to_text(next.plan);
    next.report.expected = one.schedule.cost * batches;
    if (known.insert(next.report.text).second) found.push_back(std::move(next));
  }
  return found;
}

}  // namespace

ScheduleSearches schedule_searches() { return Searches::of_process().totals(); }
void keep_schedules_in(std::shared_ptr<ScheduleStore> store) {
  Searches::of_process().keep_in(std::move(store));
}
void forget_schedules() { Searches::of_process().forget(); }

size_t most_product_schedules(const PieceContext& context, const ProductForm& form) {
  const Extents extents = extents_of(context, form);
  constexpr int64_t longest = std::numeric_limits<int32_t>::max();
  const bool small = std::max({extents.rows, extents.columns, extents.depth}) <= longest;
  if (form.sum->reduce_axes.size() != 1 || extents.flops() < least_flops || !small) return 0;
  return most_schedules + (seen_from_other_side(context, form) ? 1 : 0);
}

std::optional<ScheduledPlan> schedule_of_short_rows(const PieceContext& context,
                                                    const ContractionPlan& plan) {
  const bool whole =
      plan.spread == ContractionPlan::Spread::none || plan.spread == ContractionPlan::Spread::columns;
  if (!plan.form.across || plan.left_packed || plan.right != Right::packed_once || !whole ||
      plan.form.sum->reduce_axes.size() != 1 || plan.form.row == ir::none)
    return std::nullopt;
  constexpr int64_t short_row_bytes = 512, part_of_line = 32, many_tiles = 8, long_depth = 768, steps = 256;
  const Extents extents = extents_of(context, plan.form);
  const int64_t width = plan.tile.columns, tiles = (extents.columns + width - 1) / width;
  if (extents.rows * 4 > short_row_bytes || plan.tile.rows * 4 > part_of_line ||
      extents.rows <= plan.tile.rows || tiles < many_tiles)
    return std::nullopt;
  const int64_t cores = std::max(1, context.target.cores);
  ScheduledPlan result;
  result.product = with_tile(context, plan, plan.tile.rows, width);
  const auto loop = [&](Kind kind, Axis axis, int64_t size) {
    result.decisions.push_back({.kind = kind, .axis = axis, .size = static_cast<int32_t>(size)});
  };
  if (plan.spread == ContractionPlan::Spread::columns)
    loop(Kind::spread, Axis::columns, (tiles + cores - 1) / cores * width);
  result.decisions.push_back({.kind = Kind::move, .operand = Operand::left, .layout = Layout::panels});
  loop(Kind::tile, Axis::columns, width);
  if (extents.depth > long_depth) {
    result.decisions.push_back({.kind = Kind::accumulate});
    loop(Kind::tile, Axis::depth, steps);
  }
  loop(Kind::tile, Axis::rows, plan.tile.rows);
  return result;
}

ScheduledPlan scheduled_as(const PieceContext& context, const ProductForm& form, const GivenSchedule& given) {
  return as_given(context, plan_contraction(context, form), given);
}

std::vector<ProductSchedule> product_schedules(const PieceContext& context, const ProductForm& form) {
  const ContractionPlan usual = plan_contraction(context, form);
  std::set<std::string> known = {to_text(first_schedule(context, usual))};
  std::vector<ProductSchedule> found = schedules_of(context, usual, known);
  // Costs of the two sides are further from the truth than those of schedules of one side: one of the other
  // is tried as well, and what would be its default, whose cost nobody has estimated.
  const std::optional<ProductForm> other = seen_from_other_side(context, form);
  if (!other) return found;
  const ContractionPlan plan = plan_from_this_side(context, *other);
  std::vector<ProductSchedule> of_other = schedules_of(context, plan, known);
  if (!of_other.empty()) {
    if (found.size() == most_schedules) found.pop_back();
    found.push_back(std::move(of_other.front()));
  }
  const ScheduledPlan usual_of_other = first_schedule(context, plan);
  ProductSchedule last{
      as_given(context, plan, {{plan.tile.rows, plan.tile.columns}, usual_of_other.decisions}), {}};
  last.report.text = to_text(last.plan);
  if (known.insert(last.report.text).second) found.push_back(std::move(last));
  return found;
}

}  // namespace axrun::search
