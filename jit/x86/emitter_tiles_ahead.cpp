// Tiles of rows that are fetched before they are read.
#include "jit/x86/emitter.h"

namespace axrun::jit::x86 {

namespace {

/// This tile and the next one are to stay in the nearest cache.
constexpr int64_t most_tile_bytes = 16 << 10;

}  // namespace

using ir::Dim;
using ir::loop::Access;

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

}  // namespace axrun::jit::x86
