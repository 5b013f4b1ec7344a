// What follows a loop is fetched while the loop goes on: what a tile's results are added to, and where they
// are stored.
#include <algorithm>
#include <utility>

#include "jit/x86/emitter.h"

namespace axrun::jit::x86 {

namespace {

constexpr int64_t line = 64;
/// Loops after the loop that are looked into.
constexpr int64_t most_iterations = 8;
/// Fetched in an iteration: more would take the place of other loads.
constexpr int64_t most_fetches = 16;

}  // namespace

using asmjit::x86::Gp;
using ir::Dim;
using ir::loop::Access;
using ir::loop::Loop;

/// Decides what is fetched along the loop, or fetches it at once where it cannot be.
void PhaseEmitter::fetch_for_later(const Block& block, size_t loop) {
  constexpr int64_t least_iterations = 16, few_iterations = 64, most_at_once = 64;
  const auto& before = std::get<Loop>(*block[loop]);
  const Interval extent = facts_.range(at(before.extent));
  if (extent.high < least_iterations) return;
  const int64_t iterations = extent.low / before.step;
  for (Rows& rows : rows_after(block, loop)) {
    if (iterations > 0 && iterations < few_iterations && !loops_.empty())
      move_to_next_tile(rows, *loops_.back().loop);
    const auto lines = static_cast<int64_t>(rows.lines.size());
    if (iterations > 0 && (rows.count + iterations - 1) / iterations * lines <= most_fetches) {
      later_.push_back(rows);
    } else if (!rows.written && !rows.apart && rows.count * lines <= most_at_once) {
      Moving all{make_pointer(rows.buffer, rows.form).base, Dim(0), {}, {}, {}};
      for (int64_t row = 0; row < rows.count; ++row)
        for (const int64_t place : rows.lines)
          all.fetched.places.push_back(rows.first + row * rows.step + place);
      fetch(all);
    }
  }
}

/// To what follows the loop in the next iteration of the one around it: a short loop is over before memory
/// has answered. (1x1 convolutions of 64 to 128 channels from memory: 2 to 10% of the whole; not of fewer,
/// where fetches take more than they save once everything is near.)
void PhaseEmitter::move_to_next_tile(Rows& rows, const Loop& around) {
  const Linear linear = linear_in(rows.form, around.variable);
  if (linear.exists && linear.coefficient.is_constant())
    rows.form = rows.form + Dim(linear.coefficient.value() * around.step);
}

/// What the statements that follow read or write along their lanes, as far as the next long loop.
std::vector<PhaseEmitter::Rows> PhaseEmitter::rows_after(const Block& block, size_t loop) {
  Block later;
  for (size_t k = loop + 1; k < block.size(); ++k) {
    const auto* next = std::get_if<Loop>(block[k]);
    if (!is_straight(*block[k]) && (next == nullptr || facts_.range(at(next->extent)).high > most_iterations))
      break;
    later.push_back(block[k]);
  }
  struct Found {
    int buffer = ir::none;
    Dim form;
    std::map<int64_t, int64_t> runs;  ///< bytes: begin, end
    bool written = false;
  };
  std::map<std::string, Found> found;
  const auto see = [&](const Access& access, bool is_read) {
    if (in_registers(access.buffer) || !lane_ || !access.lookups.empty()) return;
    // What is smaller is near.
    if (buffer(access.buffer).role == ir::loop::Role::scratch ||
        !is_larger(access.buffer, second_cache_ / 32))
      return;
    const Address& address = address_of(access);
    if (!address.is_linear() || !(address.lane_step == Dim(1)) || looks_up(address.form)) return;
    const int64_t element = element_bytes(address.buffer);
    const int64_t present = facts_.range(Dim::symbol(lane_->variable)).high + 1;
    const int64_t lanes = std::min<int64_t>(lanes_.count(), present - int64_t{lane_->chunk} * lanes_.count());
    Found& there = found[std::to_string(address.buffer) + ":" + address.form.to_string()];
    there.buffer = address.buffer;
    there.form = address.form;
    there.written = there.written || !is_read;
    int64_t& end = there.runs[address.displacement * element];
    end = std::max(end, (address.displacement + lanes) * element);
  };
  for_accesses(later, see, most_iterations);
  std::vector<Rows> all;
  for (auto& [key, one] : found) {
    if (auto rows = rows_of(one.buffer, one.form, one.runs)) {
      rows->written = one.written;
      all.push_back(*rows);
    }
  }
  return rows_by_sizes(std::move(all));
}

/// Single rows as rows a multiple of sizes apart, where they lie so: one pointer walks over all of them.
std::vector<PhaseEmitter::Rows> PhaseEmitter::rows_by_sizes(std::vector<Rows> single) const {
  constexpr size_t few = 3;
  std::vector<Rows> all;
  while (!single.empty()) {
    const Rows base = single.back();
    // By how many of the same sizes each lies from the base.
    std::map<int64_t, size_t> places;
    std::vector<Dim> sizes;
    for (size_t k = 0; k < single.size(); ++k) {
      const Rows& one = single[k];
      if (one.buffer != base.buffer || one.first != base.first || one.count != base.count ||
          one.step != line || base.step != line || one.written != base.written)
        continue;
      const std::vector<Monomial> difference = monomials(one.form - base.form);
      if (difference.size() > 1 || (difference.size() == 1 && difference[0].factors.empty())) continue;
      if (difference.size() == 1 && sizes.empty()) sizes = difference[0].factors;
      if (difference.empty()) {
        places.emplace(0, k);
      } else if (to_dim({1, difference[0].factors}) == to_dim({1, sizes})) {
        places.emplace(difference[0].coefficient, k);
      }
    }
    const int64_t apart = places.size() < few ? 0 : std::next(places.begin())->first - places.begin()->first;
    int64_t next = places.empty() ? 0 : places.begin()->first;
    const bool even = apart > 0 && std::all_of(places.begin(), places.end(), [&](const auto& place) {
                        return place.first == std::exchange(next, next + apart);
                      });
    if (!even) {
      all.push_back(base);
      single.pop_back();
      continue;
    }
    Rows rows = single[places.begin()->second];
    // A single one is its lines, and one more, as it need not begin where a line does.
    for (int64_t at = 0; at < rows.count; ++at) rows.lines.push_back(at * line);
    rows.lines.erase(rows.lines.begin());
    rows.step = 0;
    rows.apart = to_dim({apart * element_bytes(rows.buffer), sizes});
    rows.count = static_cast<int64_t>(places.size());
    all.push_back(std::move(rows));
    std::vector<Rows> left;
    for (size_t k = 0; k < single.size(); ++k) {
      const bool taken =
          std::any_of(places.begin(), places.end(), [&](const auto& place) { return place.second == k; });
      if (!taken) left.push_back(std::move(single[k]));
    }
    single = std::move(left);
  }
  return all;
}

/// Pieces of memory as rows, where they are as long as each other and lie evenly; a single one as its lines.
std::optional<PhaseEmitter::Rows> PhaseEmitter::rows_of(int id, const Dim& form,
                                                        const std::map<int64_t, int64_t>& runs) const {
  std::vector<std::pair<int64_t, int64_t>> joined;
  for (const auto& [begin, end] : runs) {
    if (!joined.empty() && begin <= joined.back().second)
      joined.back().second = std::max(joined.back().second, end);
    else
      joined.emplace_back(begin, end);
  }
  const int64_t length = joined[0].second - joined[0].first;
  Rows rows{id, form, joined[0].first, line, (length + line - 1) / line, {0}, false, std::nullopt};
  if (joined.size() == 1) {
    ++rows.count;  // it need not begin where a line does
    return rows;
  }
  rows.step = joined[1].first - joined[0].first;
  rows.count = static_cast<int64_t>(joined.size());
  for (size_t k = 1; k < joined.size(); ++k) {
    if (joined[k].second - joined[k].first != length || joined[k].first - joined[k - 1].first != rows.step)
      return std::nullopt;
  }
  for (int64_t place = line; place < length; place += line) rows.lines.push_back(place);
  if (length > 4) rows.lines.push_back(length - 4);
  return rows;
}

/// Pointers that fetch rows one after another, and stay at the last ones.
std::vector<PhaseEmitter::Moving> PhaseEmitter::fetch_along(const std::vector<Rows>& later,
                                                            int64_t iterations) {
  std::vector<Moving> all;
  for (const Rows& rows : later) {
    const int64_t at_once = (rows.count + iterations - 1) / iterations;
    if (rows.apart) {
      if (at_once > 1) continue;
      Moving one{
          make_pointer(rows.buffer, rows.form).base, *rows.apart, integers_.value(*rows.apart), {}, {}};
      one.last = cc_.newGpq("last");
      if (rows.first != 0) cc_.add(one.pointer, rows.first);
      cc_.mov(one.last, one.pointer);
      integers_.add(one.last, Dim(rows.count - 1) * *rows.apart);
      one.fetched.places = rows.lines;
      one.fetched.to_write = rows.written;
      all.push_back(one);
      continue;
    }
    Moving one{make_pointer(rows.buffer, rows.form).base, Dim(at_once * rows.step), {}, {}, {}};
    one.last = cc_.newGpq("last");
    const int64_t last = (rows.count - 1) / at_once * at_once * rows.step;
    if (rows.first != 0) cc_.add(one.pointer, rows.first);
    cc_.lea(one.last, asmjit::x86::ptr(one.pointer, static_cast<int32_t>(last)));
    for (int64_t row = 0; row < at_once; ++row)
      for (const int64_t place : rows.lines) one.fetched.places.push_back(row * rows.step + place);
    one.fetched.to_write = rows.written;
    all.push_back(one);
  }
  return all;
}

}  // namespace axrun::jit::x86
