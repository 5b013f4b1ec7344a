// Solutions as bytes, for other processes. What is read comes from a file: every value is checked that
// anything but the choice between schedules depends on.
#include <algorithm>
#include <cmath>
#include <limits>

#include "search/schedules/memo_table.h"

namespace axrun::search::schedules {
namespace {

constexpr uint32_t form = 1;  ///< goes up with whatever is written here
constexpr size_t most_choices = 16, most_boxes = 4096;
/// Of a page, a box, a choice: less than any takes.
constexpr size_t least_page = 24, least_box = 10, least_choice = 16;

void write(ByteWriter& out, const Limits& limits) {
  for (const Limit limit : limits) out.put(limit.step());
}

Limits read_limits(ByteReader& in) {
  Limits limits;
  for (Limit& limit : limits) {
    const auto step = in.get<uint8_t>();
    limit = Limit::of_step(step);
    if (limit.step() != step) in.fail();
  }
  return limits;
}

void write(ByteWriter& out, const Decision& d) {
  out.put(d.kind).put(d.axis).put(d.operand).put(d.level).put(d.layout).put(d.size);
}

template <class Enumeration>
Enumeration read_enumerator(ByteReader& in, Enumeration last) {
  const auto value = in.get<uint8_t>();
  if (value > static_cast<uint8_t>(last)) in.fail();
  return in.failed() ? Enumeration{} : static_cast<Enumeration>(value);
}

Decision read_decision(ByteReader& in) {
  Decision d;
  d.kind = read_enumerator(in, Decision::Kind::kernel);
  d.axis = read_enumerator(in, Axis::depth);
  d.operand = read_enumerator(in, Operand::result);
  d.level = in.get<Level>();
  d.layout = read_enumerator(in, Layout::panels);
  d.size = in.get<int32_t>();
  return d;
}

void write(ByteWriter& out, const Specification& s) {
  for (const int32_t extent : s.extents) out.put(extent);
  out.put(s.tile_rows).put(s.tile_columns);
  for (size_t k = 0; k < operand_count; ++k) out.put(s.levels[k]).put(s.layouts[k]);
  out.put(s.accumulates).put(s.spread).put(s.after);
}

Specification read_specification(ByteReader& in, const CostModel& cost) {
  Specification s;
  for (int32_t& extent : s.extents) {
    extent = in.get<int32_t>();
    if (extent < 1) in.fail();
  }
  // As far as bytes of operands can be counted.
  constexpr int64_t most_elements = int64_t{1} << 48;
  for (const Operand operand : operands) {
    const auto [first, second] = axes_of(operand);
    if (s.extent(first) * s.extent(second) > most_elements) in.fail();
  }
  s.tile_rows = in.get<int16_t>();
  s.tile_columns = in.get<int16_t>();
  for (size_t k = 0; k < operand_count; ++k) {
    s.levels[k] = in.get<Level>();
    if (s.levels[k] < 1 || s.levels[k] > cost.memory()) in.fail();
    s.layouts[k] = read_enumerator(in, Layout::panels);
  }
  s.accumulates = in.get<bool>();
  s.spread = in.get<bool>();
  s.after = read_enumerator(in, After::result);
  return s;
}

bool is_within(const Limits& limits, const Limits& most) {
  for (size_t k = 0; k < limits.size(); ++k)
    if (limits[k] > most[k]) return false;
  return true;
}

/// What the decision leaves can be had for what the choice says that everything takes.
bool can_be(const CostModel& cost, const Specification& s, const Choice& choice) {
  const auto expansion = expand(cost, s, choice.decision);
  if (!expansion) return false;
  double least = expansion->own;
  for (const Part& part : expansion->parts) least += part.weight * cost.lower_bound(part.whole);
  constexpr double rounding = 1e-6;
  return choice.cost >= least * (1 - rounding);
}

}  // namespace

void MemoTable::write(ByteWriter& out, const Specification& page, const std::vector<Box>& boxes) {
  schedules::write(out, page);
  out.put(static_cast<uint32_t>(boxes.size()));
  for (const Box& box : boxes) {
    schedules::write(out, box.most);
    out.put(box.solution.below).put(static_cast<uint32_t>(box.solution.best.size()));
    for (const Choice& choice : box.solution.best) {
      out.put(choice.cost).put(choice.rank);
      schedules::write(out, choice.decision);
      schedules::write(out, choice.used);
    }
  }
}

/// One box of a page that was read.
bool MemoTable::read(ByteReader& in, const CostModel& cost, Specification& page, Box& box) {
  box.most = read_limits(in);
  box.least = {};
  box.solution.below = in.get<double>();
  const size_t count = in.count(least_choice);
  if (in.failed() || count > most_choices || std::isnan(box.solution.below)) return false;
  page.limits = box.most;
  box.solution.best.resize(count);
  double last = 0;
  for (Choice& choice : box.solution.best) {
    choice.cost = in.get<double>();
    choice.rank = in.get<uint8_t>();
    choice.decision = read_decision(in);
    choice.used = read_limits(in);
    if (in.failed() || !std::isfinite(choice.cost) || choice.cost < last || choice.rank >= most_choices ||
        !is_within(choice.used, box.most) || !can_be(cost, page, choice))
      return false;
    last = choice.cost;
    for (size_t k = 0; k < box.least.size(); ++k) box.least[k] = std::max(box.least[k], choice.used[k]);
  }
  page.limits = {};
  return true;
}

std::string MemoTable::take_fresh(int16_t tile_rows, int16_t tile_columns, size_t most_bytes) {
  const auto fresh = fresh_.extract({tile_rows, tile_columns});
  if (fresh.empty() || fresh.mapped().empty()) return {};
  ByteWriter pages;
  uint32_t count = 0;
  for (const Specification& page : fresh.mapped()) {
    const auto known = pages_.find(page);
    if (known == pages_.end() || known->second.size() > most_boxes) continue;
    write(pages, page, known->second);
    ++count;
    if (pages.text().size() > most_bytes) break;
  }
  return ByteWriter().put(form).put(count).text() + pages.text();
}

bool MemoTable::add(std::string_view bytes, const CostModel& cost, int16_t tile_rows, int16_t tile_columns) {
  ByteReader in(bytes);
  if (in.get<uint32_t>() != form || !cost.fits_registers(tile_rows, tile_columns)) return false;
  std::vector<std::pair<Specification, Box>> boxes;
  for (size_t pages = in.count(least_page); pages > 0 && !in.failed(); --pages) {
    Specification page = read_specification(in, cost);
    if (page.tile_rows != tile_rows || page.tile_columns != tile_columns) in.fail();
    const size_t count = in.count(least_box);
    if (in.failed() || count > most_boxes) return false;
    for (size_t k = 0; k < count; ++k) {
      Box box;
      if (!read(in, cost, page, box)) return false;
      boxes.emplace_back(page, std::move(box));
    }
  }
  if (!in.finished()) return false;
  for (auto& [page, box] : boxes) keep(page, std::move(box));
  return true;
}

}  // namespace axrun::search::schedules
