// Gelu as exporters write it: Div or Mul, Erf, Add, Mul, Mul.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "runtime/operators/map_program.h"

namespace axrun::runtime {
namespace {

using Kind = MapInstruction::Kind;

bool is_same(const MapOperand& a, const MapOperand& b) { return a.kind == b.kind && a.index == b.index; }

class GeluFinder {
 public:
  GeluFinder(const MapProgram& map, const std::vector<StepPort>& ports)
      : map_(map), ports_(ports), writer_(map.registers.size(), -1), readers_(map.registers.size()) {
    for (size_t i = 0; i < map.code.size(); ++i) {
      writer_[static_cast<size_t>(map.code[i].destination)] = static_cast<int>(i);
      for (const MapOperand* operand : {&map.code[i].a, &map.code[i].b, &map.code[i].c}) {
        if (operand->kind == MapOperand::Kind::reg)
          readers_[static_cast<size_t>(operand->index)].push_back(static_cast<int>(i));
      }
    }
  }

  /// The instructions of the Gelu around the Erf at `erf`, in order; the last one gives the result.
  std::vector<int> around(int erf, MapOperand& x) const {
    const int scaled = writer_of(at(erf).a);
    if (!is_float(erf, Kind::unary, static_cast<int>(Unary::erf)) || scaled < 0) return {};
    constexpr double root = 1.4142135623730951;
    const bool divides = is_scaled(scaled, Binary::divide, root, x);
    if (!divides && !is_scaled(scaled, Binary::multiply, 1 / root, x)) return {};
    const int plus_one = only_reader(erf);
    MapOperand sum;
    if (only_reader(scaled) != erf || plus_one < 0 || !is_scaled(plus_one, Binary::add, 1, sum)) return {};
    // The three factors in any order, two at a time.
    const int last_of_sum = only_reader(plus_one);
    if (last_of_sum < 0 || !is_float(last_of_sum, Kind::binary, static_cast<int>(Binary::multiply)))
      return {};
    const MapOperand other = other_than(last_of_sum, at(plus_one).destination);
    MapOperand factor;
    if (const int halved = writer_of(other); halved >= 0 && !is_same(other, x)) {
      if (!is_scaled(halved, Binary::multiply, 0.5, factor) || !is_same(factor, x)) return {};
      if (only_reader(halved) != last_of_sum) return {};
      return sorted({scaled, erf, plus_one, halved, last_of_sum});
    }
    const int last = only_reader(last_of_sum);
    if (last < 0 || !is_float(last, Kind::binary, static_cast<int>(Binary::multiply))) return {};
    const MapOperand final = other_than(last, at(last_of_sum).destination);
    const bool by_x = is_same(other, x) && is_constant(final, 0.5);
    const bool by_half = is_constant(other, 0.5) && is_same(final, x);
    return by_x || by_half ? sorted({scaled, erf, plus_one, last_of_sum, last}) : std::vector<int>();
  }

 private:
  const MapInstruction& at(int i) const { return map_.code[static_cast<size_t>(i)]; }

  static std::vector<int> sorted(std::vector<int> instructions) {
    std::sort(instructions.begin(), instructions.end());
    return instructions;
  }

  bool is_float(int i, Kind kind, int code) const {
    return at(i).kind == kind && at(i).code == code && at(i).type == ir::ElementType::f32;
  }

  bool is_constant(const MapOperand& operand, double value) const {
    float given = 0;
    if (operand.kind == MapOperand::Kind::constant) {
      const MapConstant& constant = map_.constants[static_cast<size_t>(operand.index)];
      if (constant.type != ir::ElementType::f32) return false;
      std::memcpy(&given, constant.bytes, sizeof(given));
    } else if (operand.kind == MapOperand::Kind::input) {
      const int port = map_.inputs[static_cast<size_t>(operand.index)].port;
      const StepPort& input = ports_[static_cast<size_t>(port)];
      if (input.constant == nullptr || input.type != ir::ElementType::f32 || input.count() != 1) return false;
      given = input.constant->as<float>()[0];
    } else {
      return false;
    }
    return std::abs(given - value) <= 1e-6;
  }

  int writer_of(const MapOperand& operand) const {
    return operand.kind == MapOperand::Kind::reg ? writer_[static_cast<size_t>(operand.index)] : -1;
  }

  int only_reader(int i) const {
    const std::vector<int>& readers = readers_[static_cast<size_t>(at(i).destination)];
    return readers.size() == 1 ? readers.front() : -1;
  }

  /// Whether the instruction joins some operand with this constant; a divisor is the second one.
  bool is_scaled(int i, Binary binary, double constant, MapOperand& operand) const {
    if (!is_float(i, Kind::binary, static_cast<int>(binary))) return false;
    if (is_constant(at(i).b, constant)) {
      operand = at(i).a;
      return true;
    }
    operand = at(i).b;
    return binary != Binary::divide && is_constant(at(i).a, constant);
  }

  MapOperand other_than(int i, int destination) const {
    const MapInstruction& one = at(i);
    return one.a.kind == MapOperand::Kind::reg && one.a.index == destination ? one.b : one.a;
  }

  const MapProgram& map_;
  const std::vector<StepPort>& ports_;
  std::vector<int> writer_;                ///< per register
  std::vector<std::vector<int>> readers_;  ///< per register, as often as they read it
};

}  // namespace

void recognise_gelu(MapProgram& map, const std::vector<StepPort>& ports) {
  for (size_t i = 0; i < map.code.size(); ++i) {
    if (map.code[i].kind != Kind::unary || map.code[i].code != static_cast<int>(Unary::erf)) continue;
    MapOperand x;
    const std::vector<int> parts = GeluFinder(map, ports).around(static_cast<int>(i), x);
    if (parts.empty()) continue;
    MapInstruction& last = map.code[static_cast<size_t>(parts.back())];
    last.kind = Kind::unary;
    last.code = static_cast<int>(Unary::gelu_by_erf);
    last.a = x;
    last.b = MapOperand();
    for (size_t k = parts.size() - 1; k-- > 0;) map.code.erase(map.code.begin() + parts[k]);
    i = 0;
  }
}

}  // namespace axrun::runtime
