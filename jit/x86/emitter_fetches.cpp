// What is brought into caches before it is read. A fetch past the end of a buffer does no harm.
#include <algorithm>

#include "jit/x86/emitter.h"

namespace axrun::jit::x86 {

namespace {

constexpr int64_t line = 64;
/// Fetched in an iteration of a loop: more would take the place of other loads.
constexpr int64_t most_lines = 4;
/// This tile and the next one are to stay in the nearest cache.
constexpr int64_t most_tile_bytes = 16 << 10;

}  // namespace

using asmjit::x86::Gp;
using ir::Dim;
using ir::loop::Access;
using ir::loop::Loop;
using ir::loop::LoopKind;
using ir::loop::Statement;

int64_t PhaseEmitter::element_bytes(int id) const { return static_cast<int64_t>(size_of(buffer(id).type)); }

/// Whether the second cache has little of it left from the last time, as far as is known.
bool PhaseEmitter::is_far(int id) const {
  int64_t bytes = element_bytes(id);
  for (const Dim& dim : buffer(id).dims) {
    const Interval extent = facts_.range(at(dim));
    if (extent.high >= second_cache_) return true;
    bytes *= std::max<int64_t>(extent.high, 1);
    if (bytes > second_cache_) return true;
  }
  return bytes > second_cache_ / 2;
}

/// Rows that a loop reads side by side, while the loop around it goes from tile to tile of them: to the
/// processor that is no sequence, and it fetches little by itself. With every vector that is read, its place
/// in the next tile is fetched. A fetch past the end of a buffer does no harm.
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
    if (rows.size() < 2 || here.most == INT64_MAX || !next.exists || !next.coefficient.is_constant())
      continue;
    const auto element = static_cast<int64_t>(size_of(buffer(id).type));
    const int64_t tile = next.coefficient.value() * around.loop->step * element;
    // What is read twice, by neighbouring tiles, is there already; vectors may reach beyond a row's end.
    const int64_t read_here = static_cast<int64_t>(vectors.size()) * lanes_.count() * element * here.most;
    if (tile <= read_here / 2 || tile > most_tile_bytes) continue;
    tiles_ahead_[id] = tile;
  }
}

/// Data that the loop around this one reads again and again, and the loop around that one replaces: a panel.
/// While the present one is in use, the next one is brought into the second-level cache, one line in each
/// iteration; from memory it would come several times slower than it is used. A fetch past the end of a
/// buffer does no harm.
std::optional<PhaseEmitter::Moving> PhaseEmitter::fetch_panel(int id, const Dim& form, const Moving& read) {
  constexpr int64_t least_bytes = 16 << 10;
  if (loops_.size() < 3 || read.step_register.isValid() || read.step.value() < line) return std::nullopt;
  const OpenLoop &here = loops_.back(), &again = loops_[loops_.size() - 2], &next = loops_[loops_.size() - 3];
  if (here.most == INT64_MAX || mentions(form, again.loop->variable) || looks_up(form)) return std::nullopt;
  const Linear linear = linear_in(form, next.loop->variable);
  if (!linear.exists || !linear.coefficient.is_constant() || linear.coefficient.value() <= 0)
    return std::nullopt;
  const int64_t panel = here.most * read.step.value();
  const int64_t passes = again.most == INT64_MAX ? 8 : again.most;
  // Two panels and what they meet must fit, or the next one drives out what is in use.
  if (panel < least_bytes || panel >= second_cache_ / 4 || passes < 2) return std::nullopt;
  const int64_t lines = (panel / line + here.most * passes - 1) / (here.most * passes);
  if (lines > most_lines) return std::nullopt;
  const int64_t each_pass = here.most * lines * line;
  const int64_t useful_passes = (panel + each_pass - 1) / each_pass;

  Moving ahead{cc_.newGpq("ahead"), Dim(lines * line), {}, {0, static_cast<int>(lines), true}};
  const Gp pass = cc_.newGpq();
  const Gp last = cc_.newGpq();
  cc_.mov(pass, again.variable);
  cc_.mov(last, useful_passes - 1);
  cc_.cmp(pass, last);
  cc_.cmovg(pass, last);
  cc_.imul(pass, pass, each_pass);
  cc_.mov(ahead.pointer, linear.coefficient.value() * next.loop->step * element_bytes(id));
  cc_.add(ahead.pointer, read.pointer);
  cc_.add(ahead.pointer, pass);
  return ahead;
}

/// Data that come from memory in one sequence while the loop around this one goes on: as many iterations
/// ahead as memory takes. Processors follow such a sequence by themselves, but stay too close to it where it
/// is read slowly.
PhaseEmitter::Fetched PhaseEmitter::stream_ahead(int id, const Dim& form, const Moving& read) {
  // A vector times a matrix reads a KiB in an iteration and does little else.
  constexpr int64_t iterations = 32, least_bytes = 1024, most_bytes = 16384, most_here = 16;
  if (loops_.size() < 2 || read.step_register.isValid() || looks_up(form) || !is_far(id)) return {};
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
  return {std::clamp(iterations * step, least_bytes, most_bytes), static_cast<int>((step + line - 1) / line),
          false};
}

/// What statements after a loop read along their lanes is fetched before it, while there is time.
void PhaseEmitter::fetch_for_later(const Block& block, size_t loop) {
  constexpr int64_t least_iterations = 16;
  constexpr size_t most_fetches = 64;
  const Interval extent = facts_.range(at(std::get<Loop>(*block[loop]).extent));
  if (extent.high < least_iterations) return;
  Block later;
  for (size_t k = loop + 1; k < block.size() && is_straight(*block[k]); ++k) later.push_back(block[k]);
  std::map<std::string, Address> fetched;
  for_accesses(later, [&](const Access& access, bool is_read) {
    if (!is_read || in_registers(access.buffer) || !lane_) return;
    if (buffer(access.buffer).role != ir::loop::Role::input || !access.lookups.empty() ||
        !is_far(access.buffer))
      return;
    const Address& address = address_of(access);
    if (address.is_linear() && address.lane_step == Dim(1) && !looks_up(address.form))
      fetched.emplace(load_key(address, ""), address);
  });
  if (fetched.empty() || fetched.size() > most_fetches) return;
  scopes_.emplace_back();
  for (const auto& [key, address] : fetched)
    cc_.prefetcht0(memory(address, static_cast<int>(element_bytes(address.buffer))));
  scopes_.pop_back();
}

}  // namespace axrun::jit::x86
