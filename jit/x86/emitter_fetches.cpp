// What is brought into caches before it is read. A fetch past the end of a buffer does no harm.
#include <algorithm>
#include <numeric>

#include "jit/x86/emitter.h"

namespace axrun::jit::x86 {

namespace {

constexpr int64_t line = 64;
/// Fetched in an iteration of a loop: more would take the place of other loads.
constexpr int64_t most_lines = 4;
/// Where an iteration reads many lines, one more for every so many.
constexpr int64_t lines_read_for_one = 2;
/// This tile and the next one are to stay in the nearest cache.
constexpr int64_t most_tile_bytes = 16 << 10;
constexpr int64_t most_distance = int64_t{1} << 30;

}  // namespace

using asmjit::x86::Gp;
using ir::Dim;
using ir::loop::Access;
using ir::loop::Loop;
using ir::loop::LoopKind;
using ir::loop::Statement;

int64_t PhaseEmitter::element_bytes(int id) const { return static_cast<int64_t>(size_of(buffer(id).type)); }

bool PhaseEmitter::is_larger(int id, int64_t bytes) const {
  int64_t size = element_bytes(id);
  for (const Dim& dim : buffer(id).dims) {
    const Interval extent = facts_.range(at(dim));
    if (extent.high > bytes) return true;
    size *= std::max<int64_t>(extent.high, 1);
    if (size > bytes) return true;
  }
  return false;
}

/// Rows that a loop reads side by side, while the loop around it goes from tile to tile of them: to the
/// processor that is no sequence, and it fetches little by itself. With every vector that is read, its place
/// in the next tile is fetched. The same for lines of planes that are far away: every plane is a sequence by
/// itself. A fetch past the end of a buffer does no harm.
void PhaseEmitter::plan_tiles_ahead(const Block& body) {
  tiles_ahead_.clear();
  if (loops_.size() < 2) return;
  const OpenLoop &here = loops_.back(), &around = loops_[loops_.size() - 2];
  std::map<int, std::vector<Address>> read;
  for_accesses(body, [&](const Access& access, bool is_read) {
    if (!is_read || in_registers(access.buffer)) return;
    if (buffer(access.buffer).role == ir::loop::Role::input)
      read[access.buffer].push_back(address_of(access));
  });
  for (const auto& [id, addresses] : read) {
    std::set<std::string> vectors;
    for (const Address& address : addresses) {
      if (address.is_linear() && address.lane_step == Dim(1)) vectors.insert(load_key(address, ""));
    }
    // A row begins where no vector ends.
    std::set<std::string> rows;
    for (Address before : addresses) {
      before.displacement -= lanes_.count();
      const std::string key = load_key(before, "");
      if (before.is_linear() && before.lane_step == Dim(1) && vectors.count(key) == 0) rows.insert(key);
    }
    const Linear next = linear_in(addresses[0].form, around.loop->variable);
    if (rows.empty() || here.most == INT64_MAX || !next.exists || !next.coefficient.is_constant()) continue;
    const auto element = static_cast<int64_t>(size_of(buffer(id).type));
    const int64_t tile = next.coefficient.value() * around.loop->step * element;
    const int64_t read_here = static_cast<int64_t>(vectors.size()) * lanes_.count() * element * here.most;
    if (rows.size() == 1) {
      const bool apart = tile > read_here && tile < most_distance;
      if (apart && vectors.size() > 1 && read_here <= most_tile_bytes && is_larger(id, second_cache_ / 2))
        tiles_ahead_[id] = tile;
      continue;
    }
    // What is read twice, by neighbouring tiles, is there already; vectors may reach beyond a row's end.
    if (tile <= read_here / 2 || tile > most_tile_bytes) continue;
    tiles_ahead_[id] = tile;
  }
}

/// Of data that loops around this one read again and again, and the loop around those replaces.
std::optional<PhaseEmitter::Panels> PhaseEmitter::panels(int id, const Dim& form) const {
  constexpr int64_t unknown_passes = 8;
  if (loops_.size() < 3) return std::nullopt;
  // The innermost loops around that do not move the data, and the one that does.
  size_t moved = loops_.size() - 1;
  while (moved > 0 && !mentions(form, loops_[moved - 1].loop->variable)) --moved;
  if (moved == 0 || moved == loops_.size() - 1 || loops_.back().most == INT64_MAX || looks_up(form))
    return std::nullopt;
  const OpenLoop& next = loops_[moved - 1];
  const Linear linear = linear_in(form, next.loop->variable);
  if (!linear.exists || !linear.coefficient.is_constant() || linear.coefficient.value() <= 0)
    return std::nullopt;
  int64_t passes = 1;
  for (size_t k = moved; k + 1 < loops_.size(); ++k) {
    if (k != moved && (loops_[k].most == INT64_MAX || loops_[k].loop->step != 1)) return std::nullopt;
    passes *= loops_[k].most == INT64_MAX ? unknown_passes : loops_[k].most;
  }
  if (passes < 2) return std::nullopt;
  return Panels{moved, passes, linear.coefficient.value() * next.loop->step * element_bytes(id)};
}

/// Before what the present pass over a loop's data fetches: the loops from one on but the innermost are the
/// passes. After so many parts it is the last one for all passes that follow.
asmjit::x86::Gp PhaseEmitter::bytes_before_pass(size_t outermost, int64_t parts, int64_t part_bytes) {
  const Gp pass = cc_.newGpq(), last = cc_.newGpq();
  cc_.mov(pass, loops_[outermost].variable);
  for (size_t k = outermost + 1; k + 1 < loops_.size(); ++k) {
    cc_.imul(pass, pass, loops_[k].most);
    cc_.add(pass, loops_[k].variable);
  }
  cc_.mov(last, parts - 1);
  cc_.cmp(pass, last);
  cc_.cmovg(pass, last);
  cc_.imul(pass, pass, part_bytes);
  return pass;
}

/// Where what a pass over a panel fetches of the next one begins.
asmjit::x86::Gp PhaseEmitter::part_of_next(const Panels& panels, const Moving& read, int64_t parts,
                                           int64_t part_bytes) {
  const Gp before = bytes_before_pass(panels.moved, parts, part_bytes), ahead = cc_.newGpq("ahead");
  cc_.mov(ahead, panels.to_next);
  cc_.add(ahead, read.pointer);
  cc_.add(ahead, before);
  return ahead;
}

/// While the present panel is in use, the next one is fetched, a few lines in each iteration; from memory it
/// would come several times slower than it is used. It is fetched into the nearest cache, which hands it on
/// to the second: on Zen 5 fetches into the second one are lost where many are under way (convolutions with
/// panels from memory take 1.02 to 1.15 times as long).
std::optional<PhaseEmitter::Moving> PhaseEmitter::fetch_panel(int id, const Dim& form, const Moving& read) {
  constexpr int64_t least_bytes = 16 << 10;
  if (read.step_register.isValid() || read.step.value() < line) return std::nullopt;
  const std::optional<Panels> found = panels(id, form);
  if (!found) return std::nullopt;
  const int64_t iterations = loops_.back().most, panel = iterations * read.step.value();
  // Two panels and what they meet must fit, or the next one drives out what is in use.
  if (panel < least_bytes || panel >= second_cache_ / 3) return std::nullopt;
  const int64_t lines = (panel / line + iterations * found->passes - 1) / (iterations * found->passes);
  if (lines > std::max(most_lines, read.step.value() / line / lines_read_for_one)) return std::nullopt;
  const int64_t each_pass = iterations * lines * line;
  return Moving{part_of_next(*found, read, (panel + each_pass - 1) / each_pass, each_pass),
                Dim(lines * line),
                {},
                lines_from(0, lines),
                {}};
}

/// The same of a panel that lies in a matrix, a short piece of each of its rows, which are too far apart for
/// processors to follow: one row in an iteration.
std::optional<PhaseEmitter::Moving> PhaseEmitter::fetch_rows(int id, const Dim& form, const Moving& read,
                                                             const Block& body) {
  constexpr int64_t least_apart = 2048, least_rows = 32;
  if (read.step_register.isValid() || !is_larger(id, second_cache_ / 2)) return std::nullopt;
  const std::optional<Panels> found = panels(id, form);
  if (!found || found->to_next > most_lines * line) return std::nullopt;
  // Where the rows that an iteration reads begin.
  std::set<int64_t> vectors;
  for_accesses(body, [&](const Access& access, bool is_read) {
    if (!is_read || access.buffer != id) return;
    const Address& address = address_of(access);
    if (address.is_linear() && address.lane_step == Dim(1) && address.form == form)
      vectors.insert(address.displacement);
  });
  std::vector<int64_t> rows;
  for (const int64_t place : vectors)
    if (vectors.count(place - lanes_.count()) == 0) rows.push_back(place * element_bytes(id));
  const auto count = static_cast<int64_t>(rows.size());
  if (count == 0 || read.step.value() % count != 0) return std::nullopt;
  const int64_t apart = read.step.value() / count, iterations = loops_.back().most;
  for (size_t k = 1; k < rows.size(); ++k)
    if (rows[k] - rows[k - 1] != apart) return std::nullopt;
  if (apart < least_apart || count * iterations < least_rows || found->passes < count) return std::nullopt;
  if (iterations * apart >= most_distance) return std::nullopt;
  Moving ahead{part_of_next(*found, read, count, iterations * apart), Dim(apart), {}, {}, {}};
  for (int64_t byte = 0; byte < found->to_next; byte += line) ahead.fetched.places.push_back(rows[0] + byte);
  // A piece that does not begin with a line may end in one more.
  const int64_t unit = std::gcd(std::gcd(found->to_next, apart), line);
  if ((line - unit + found->to_next - 1) / line >= static_cast<int64_t>(ahead.fetched.places.size()))
    ahead.fetched.places.push_back(rows[0] + found->to_next - element_bytes(id));
  return ahead;
}

/// Data that come from memory in one sequence while the loop around this one goes on: as many iterations
/// ahead as memory takes. Processors follow such a sequence by themselves, but stay too close to it where it
/// is read slowly.
PhaseEmitter::Fetched PhaseEmitter::stream_ahead(int id, const Dim& form, const Moving& read) {
  // A vector times a matrix reads a KiB in an iteration and does little else.
  constexpr int64_t iterations = 32, least_bytes = 1024, most_bytes = 16384, most_here = 16;
  if (loops_.size() < 2 || read.step_register.isValid() || looks_up(form)) return {};
  // Of less than this the second cache may have most from the last time.
  if (!is_larger(id, second_cache_ / 2)) return {};
  const OpenLoop &here = loops_.back(), &around = loops_[loops_.size() - 2];
  const int64_t step = read.step.value();
  if (step < line || step > most_here * line || here.most == INT64_MAX) return {};
  const Linear next = linear_in(form, around.loop->variable);
  if (!next.exists || !next.coefficient.is_constant()) return {};
  const int64_t tile = next.coefficient.value() * around.loop->step * element_bytes(id);
  // What the next iteration around reads follows, but for the rest of a piece; or it reads the same once
  // more, which is too much to be fetched as a panel.
  const bool again = tile == 0 && here.most * step >= second_cache_ / 4;
  if (!again && (tile > here.most * step || tile <= (here.most - 1) * step)) return {};
  return lines_from(std::clamp(iterations * step, least_bytes, most_bytes), (step + line - 1) / line);
}

/// Memory that iterations fill one after another, of which the nearest cache has lost what was there before:
/// stores would wait for each line in turn.
PhaseEmitter::Fetched PhaseEmitter::filled_ahead(int id, const Moving& filled) {
  constexpr int64_t most_here = 32;
  if (filled.step_register.isValid() || !is_larger(id, second_cache_ / 32)) return {};
  const int64_t step = filled.step.value();
  if (step < line || step > most_here * line) return {};
  Fetched fetched = lines_from(step, (step + line - 1) / line);
  fetched.to_write = true;
  return fetched;
}

/// Of inputs that all loops around move, as loops do that pack something: those around read a portion each.
void PhaseEmitter::note_portions(int id, const Dim& form) {
  if (looks_up(form) || !is_larger(id, second_cache_ / 2)) return;
  std::vector<std::string> inside;
  for (size_t k = loops_.size(); k-- > 0;) {
    const OpenLoop& one = loops_[k];
    const Linear linear = linear_in(form, one.loop->variable);
    if (!linear.exists || !linear.coefficient.is_constant() || linear.coefficient.value() <= 0) return;
    const int64_t bytes = linear.coefficient.value() * one.loop->step * element_bytes(id);
    if (!inside.empty()) portions_.push_back({one.loop, id, form, bytes, inside});
    inside.push_back(one.loop->variable);
  }
}

/// The portion that a loop around reads in its next iteration, as loops before this one have done in the
/// present one: packing does little but wait for memory, and here there is time. A few lines in each
/// iteration. Attention to 1024 keys of 128 elements that come from memory: 5% of the whole.
std::optional<PhaseEmitter::Moving> PhaseEmitter::fetch_next_portion() {
  constexpr int64_t least_bytes = 16 << 10, most_iterations = most_distance / (most_lines * line);
  // Of the innermost loop around: what it reads next is wanted first.
  const Portion* nearest = nullptr;
  size_t depth = 0;
  for (const Portion& one : portions_) {
    for (size_t k = nearest == nullptr ? 0 : depth + 1; k + 2 < loops_.size(); ++k) {
      if (loops_[k].loop != one.around) continue;
      nearest = &one;
      depth = k;
    }
  }
  if (nearest == nullptr) return std::nullopt;
  const Portion next = *nearest;
  int64_t iterations = 1;
  for (size_t k = depth + 1; k < loops_.size(); ++k) {
    if (loops_[k].most == INT64_MAX || loops_[k].loop->step != 1) return std::nullopt;
    iterations *= loops_[k].most;
    if (iterations > most_iterations) return std::nullopt;
  }
  if (next.bytes < least_bytes || next.bytes > second_cache_ / 3) return std::nullopt;
  const int64_t lines = (next.bytes / line + iterations - 1) / iterations;
  if (lines > most_lines) return std::nullopt;
  std::erase_if(portions_, [&](const Portion& one) { return one.around == next.around; });

  std::map<std::string, Dim> first;
  for (const std::string& variable : next.inside) first.emplace(variable, Dim(0));
  const std::string& around = next.around->variable;
  first.emplace(around, Dim::symbol(around) + Dim(next.around->step));
  const int64_t each_pass = loops_.back().most * lines * line;
  const Gp before = bytes_before_pass(depth + 1, (next.bytes + each_pass - 1) / each_pass, each_pass);
  Moving ahead{cc_.newGpq("portion"), Dim(lines * line), {}, lines_from(0, lines), {}};
  cc_.mov(ahead.pointer, make_pointer(next.buffer, next.form.substitute(first)).base);
  cc_.add(ahead.pointer, before);
  return ahead;
}

PhaseEmitter::Fetched PhaseEmitter::lines_from(int64_t distance, int64_t count) {
  Fetched fetched;
  for (int64_t k = 0; k < count; ++k) fetched.places.push_back(distance + k * line);
  return fetched;
}

void PhaseEmitter::fetch(const Moving& one) {
  for (const int64_t place : one.fetched.places) {
    const auto there = asmjit::x86::ptr(one.pointer, static_cast<int32_t>(place));
    one.fetched.to_write ? cc_.prefetchw(there) : cc_.prefetcht0(there);
  }
}

void PhaseEmitter::advance(const Moving& one) {
  if (one.step_register.isValid())
    cc_.add(one.pointer, one.step_register);
  else
    cc_.add(one.pointer, one.step.value());
  if (!one.last.isValid()) return;
  cc_.cmp(one.pointer, one.last);
  cc_.cmova(one.pointer, one.last);
}

}  // namespace axrun::jit::x86
