// Stores whose lanes lie a few elements apart.
#include <string>
#include <vector>

#include "jit/x86/emitter.h"

namespace axrun::jit::x86 {

using asmjit::x86::Mem;

/// Through vectors of all elements from the first lane's on, of which only those that are lanes are written:
/// nothing between them is touched.
void PhaseEmitter::store_steps(const Mem& first, int64_t step, const LaneValue& value) {
  const Selection lanes = present_lanes();
  const int64_t count = lanes_.count();
  const LaneValue source = LaneValue::of(lanes_.in_register(value));
  for (int64_t part = 0; part < step; ++part) {
    // Which elements of this vector are lanes, and which lane each of them is.
    uint32_t pattern = 0, present = 0;
    std::vector<uint32_t> places(static_cast<size_t>(count), 0);
    int first_lane = -1;
    for (int64_t element = 0; element < count; ++element) {
      const int64_t place = part * count + element;
      if (place % step != 0) continue;
      const int64_t lane = place / step;
      if (first_lane < 0) first_lane = static_cast<int>(lane);
      places[static_cast<size_t>(element)] = static_cast<uint32_t>(lane);
      pattern |= uint32_t{1} << element;
      if ((lanes.bits.value_or(all_lanes()) >> lane & 1) != 0) present |= uint32_t{1} << element;
    }
    if (present == 0) continue;
    LaneValue mask;
    if (lanes.bits) {
      mask = literal_mask(present);
    } else {
      const std::string name =
          lanes.name + " from " + std::to_string(first_lane) + " at " + std::to_string(pattern);
      mask = named_mask(name, [&] { return lanes_.spread(lanes.mask, first_lane, pattern); });
    }
    std::string name = "places";
    for (const uint32_t place : places) name += " " + std::to_string(place);
    const auto known = find_load(name);
    const LaneValue order = known ? *known : lanes_.literals(places);
    if (!known) keep_load(name, order);
    Mem to = first;
    to.addOffset(part * count * 4);
    lanes_.store(to, lanes_.pick(source, source, order, places), mask, lanes.bits ? present : 0);
  }
}

}  // namespace axrun::jit::x86
