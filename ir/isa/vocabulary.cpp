#include <algorithm>
#include <iterator>

#include "ir/error.h"
#include "ir/isa/names.h"

namespace axrun::ir::isa {
namespace {

struct LaneFacts {
  std::string_view name;
  int bits;
  bool is_signed;
  Type type;
};

/// In the order of Lane.
constexpr LaneFacts lanes[] = {
    {"bit", 1, false, Type::boolean},  {"u8", 8, false, Type::integer},   {"i8", 8, true, Type::integer},
    {"u16", 16, false, Type::integer}, {"i16", 16, true, Type::integer},  {"u32", 32, false, Type::integer},
    {"i32", 32, true, Type::integer},  {"u64", 64, false, Type::integer}, {"i64", 64, true, Type::integer},
    {"f16", 16, true, Type::f16},      {"bf16", 16, true, Type::bf16},    {"f32", 32, true, Type::f32},
    {"f64", 64, true, Type::f64},
};

const LaneFacts& facts(Lane lane) { return lanes[static_cast<size_t>(lane)]; }

constexpr std::pair<char, Width> width_letters[] = {{'x', Width::x}, {'y', Width::y}, {'z', Width::z}};

}  // namespace

int bits_of(Lane lane) { return facts(lane).bits; }
bool is_signed(Lane lane) { return facts(lane).is_signed; }
Type type_of(Lane lane) { return facts(lane).type; }
std::string_view name_of(Lane lane) { return facts(lane).name; }
bool is_float(Lane lane) { return type_of(lane) != Type::integer && type_of(lane) != Type::boolean; }

std::string_view name_of(Encoding encoding) {
  constexpr std::string_view names[] = {"legacy", "vex", "evex"};
  return names[static_cast<size_t>(encoding)];
}

std::optional<Lane> parse_lane(std::string_view name) {
  const auto found =
      std::find_if(std::begin(lanes), std::end(lanes), [&](const auto& lane) { return lane.name == name; });
  if (found == std::end(lanes)) return std::nullopt;
  return static_cast<Lane>(found - std::begin(lanes));
}

std::vector<Width> Row::widths() const {
  std::vector<Width> found;
  for (auto [letter, width] : width_letters)
    if (!features(width).empty()) found.push_back(width);
  return found;
}

std::vector<std::string> Row::features(Width width) const {
  for (const Form& form : forms)
    for (auto [letter, letter_width] : width_letters)
      if (letter_width == width && form.widths.find(letter) != std::string::npos) return form.features;
  return {};
}

int Row::find(Place place) const {
  for (size_t k = 0; k < operands.size(); ++k)
    if (operands[k].place == place) return static_cast<int>(k);
  return -1;
}

int used_bits(const Row& row, const Operand& operand, Width width) {
  switch (operand.place) {
    case Place::vector:
      return static_cast<int>(width) / operand.divisor;
    case Place::low:
    case Place::general:
      return operand.bits;
    case Place::immediate:
      return 8;
    case Place::mask:
    case Place::write_mask:
      return lane_count(row, operand, width);
  }
  AXRUN_ASSERT(false);
}

int lane_count(const Row& row, const Operand& operand, Width width) {
  if (operand.place != Place::mask && operand.place != Place::write_mask)
    return used_bits(row, operand, width) / bits_of(operand.lane);
  // A mask has a bit for each lane of the destination, or of the first vector when it is itself the
  // destination.
  const Operand& destination = row.operands[row.destination];
  if (destination.place != Place::mask) return lane_count(row, destination, width);
  for (const Operand& other : row.operands)
    if (other.place == Place::vector) return lane_count(row, other, width);
  return 16;
}

__int128 indefinite(Lane to) {
  const __int128 one = 1;
  return is_signed(to) ? -(one << (bits_of(to) - 1)) : (one << bits_of(to)) - 1;
}

Row with_mask(const Row& row, bool zeroing) {
  AXRUN_ASSERT(row.maskable);
  Row masked = row;
  masked.maskable = false;
  Operand mask{.name = "k", .lane = Lane::bit, .place = Place::write_mask, .read = true, .zeroing = zeroing};
  masked.operands.push_back(mask);
  const auto add = [&masked](const Node& node) {
    masked.result.push_back(node);
    return static_cast<int>(masked.result.size()) - 1;
  };
  Operand& destination = masked.operands[masked.destination];
  const int computed = static_cast<int>(row.result.size()) - 1;
  const int lane = add({.op = Op::lane, .type = Type::integer});
  const int bit = add({.op = Op::read,
                       .type = Type::boolean,
                       .value = masked.operands.size() - 1,
                       .arguments = {lane, -1, -1}});
  if (destination.lane == Lane::bit) {  // a compare into a mask: k is what its result is restricted to
    add({.op = Op::logical_and, .type = Type::boolean, .arguments = {bit, computed, -1}});
    return masked;
  }
  const Type type = type_of(destination.lane);
  int otherwise = -1;
  if (!zeroing) {
    destination.read = true;
    otherwise = add({.op = Op::read, .type = type, .value = masked.destination, .arguments = {lane, -1, -1}});
  } else {
    otherwise = add({.op = Op::constant, .type = Type::integer, .value = 0});
    if (is_float(destination.lane))
      otherwise =
          add({.op = Op::from_bits, .type = type, .to = destination.lane, .arguments = {otherwise, -1, -1}});
  }
  add({.op = Op::select, .type = type, .arguments = {bit, computed, otherwise}});
  return masked;
}

Row with_broadcast(const Row& row) {
  AXRUN_ASSERT(row.broadcastable);
  Row repeated = row;
  repeated.broadcastable = false;
  const auto memory = std::find_if(repeated.operands.begin(), repeated.operands.end(),
                                   [](const Operand& operand) { return operand.may_be_memory; });
  memory->place = Place::low;
  memory->bits = bits_of(memory->lane);
  memory->may_be_register = false;
  memory->repeated = true;
  // The index of every read of it is 0. The constant goes first: the root is the last node.
  for (Node& node : repeated.result) {
    for (int& argument : node.arguments)
      if (argument >= 0) ++argument;
    if (node.op == Op::read && &repeated.operands[node.value] == &*memory) node.arguments[0] = 0;
  }
  repeated.result.insert(repeated.result.begin(), {.op = Op::constant, .type = Type::integer, .value = 0});
  return repeated;
}

}  // namespace axrun::ir::isa
