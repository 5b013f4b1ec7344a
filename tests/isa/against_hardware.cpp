#include "tests/isa/against_hardware.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <numeric>
#include <random>

#include "ir/isa/evaluate.h"
#include "jit/single_instruction.h"

namespace axrun::isa_test {
namespace {

using namespace ir::isa;

/// Zeros, ones, denormals, the smallest and largest normals, infinities, quiet and signalling NaNs with
/// payloads, integers at and next to the bounds of every narrower type, halves, ties.
std::vector<uint64_t> special_values(Lane lane) {
  switch (lane) {
    case Lane::f32:
      return {0,          0x80000000, 0x3f800000, 0xbf800000, 0x00000001, 0x80000001, 0x007fffff, 0x00800000,
              0x80800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345, 0x7f800001,
              0xffa54321, 0x3f000000, 0x40200000, 0x4f000000, 0xcf000000, 0x4effffff, 0x4f800000, 0x477fefff,
              0x477ff000, 0x33000001, 0x38800000, 0x3f801000, 0x3f803000, 0x7e800000, 0x00200000, 0x00200001};
    case Lane::f64:
      return {0,
              0x8000000000000000,
              0x3ff0000000000000,
              0xbff0000000000000,
              1,
              0x800fffffffffffff,
              0x0010000000000000,
              0x7fefffffffffffff,
              0xffefffffffffffff,
              0x7ff0000000000000,
              0xfff0000000000000,
              0x7ff8000000000000,
              0xfff8123456789abc,
              0x7ff0000000000001,
              0xfff4321000000000,
              0x3fe0000000000000,
              0x41dfffffffc00000,
              0x41e0000000000000,
              0xc1e0000000000000,
              0xc1e0000000200000,
              0x47efffffe0000000,
              0x47effffff0000000,
              0x3ff0000010000000,
              0x36a0000000000000,
              0x3690000000000000};
    case Lane::f16:
      return {0,      0x8000, 0x3c00, 1,      0x83ff, 0x0400, 0x7bff,
              0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe34, 0x7c01, 0xfd55};
    case Lane::bf16:
      return {0, 0x8000, 0x3f80, 1, 0x7f7f, 0x7f80, 0xff80, 0x7fc0, 0xff81};
    default:
      break;
  }
  std::vector<uint64_t> values = {0, 1, 2, 3, 31, 32, 63, 64};
  for (int bits : {7, 8, 15, 16, 31, 32, 63, 64}) {
    const uint64_t power = bits == 64 ? 0 : uint64_t{1} << bits;
    for (uint64_t value : {power - 1, power, power + 1, 0 - power, 0 - power - 1}) values.push_back(value);
  }
  return values;
}

void put(Bytes& bytes, Lane lane, int index, uint64_t value) {
  std::memcpy(bytes.data() + index * bits_of(lane) / 8, &value, bits_of(lane) / 8);
}

class Generator {
 public:
  Generator(const Row& row, uint64_t seed) : row_(row), random_(seed) {
    for (const Operand& operand : row.operands)
      special_.push_back(operand.lane == Lane::bit ? std::vector<uint64_t>{0} : special_values(operand.lane));
  }

  /// The first batches go through combinations of special values of three operands, lane by lane.
  Inputs next(bool combine) {
    Inputs inputs;
    inputs.bytes.resize(row_.operands.size());
    for (size_t k = 0; k < inputs.bytes.size(); ++k) {
      for (size_t at = 0; at < sizeof(Bytes); at += 8) {
        const uint64_t bits = random_();
        std::memcpy(inputs.bytes[k].data() + at, &bits, 8);
      }
      if (row_.operands[k].lane == Lane::bit && random_() % 4 == 0)
        inputs.bytes[k].fill(random_() % 2 ? 0xff : 0);
    }
    int position = 0;
    uint64_t divisor = 1;
    for (size_t k = 0; k < inputs.bytes.size(); ++k) {
      const Operand& operand = row_.operands[k];
      if (operand.lane == Lane::bit || operand.place == Place::immediate) continue;
      const std::vector<uint64_t>& values = special_[k];
      const int lanes = 512 / bits_of(operand.lane);
      const bool all_random = !combine && random_() % 4 == 0;
      for (int lane = 0; lane < lanes && !all_random; ++lane) {
        if (combine && position < 3)
          put(inputs.bytes[k], operand.lane, lane, values[combination(lane) / divisor % values.size()]);
        else if (random_() % 2)
          put(inputs.bytes[k], operand.lane, lane, values[random_() % values.size()]);
      }
      if (operand.read) {
        ++position;
        divisor *= values.size();
      }
    }
    if (combine) combination_ += step_;
    return inputs;
  }

  /// How many batches the combinations take, at `step` lanes each. Where these are more than `most`, so many
  /// are taken from everywhere among them: every operand has every value, in every company.
  uint64_t combinations(int step, uint64_t most) {
    step_ = static_cast<uint64_t>(step);
    uint64_t& total = total_;
    int position = 0;
    for (size_t k = 0; k < special_.size(); ++k)
      if (row_.operands[k].read && row_.operands[k].lane != Lane::bit &&
          row_.operands[k].place != Place::immediate && position++ < 3)
        total *= special_[k].size();
    const uint64_t batches = total / step_ + 1;
    if (batches <= most) return batches;
    constexpr double golden = 0.6180339887498949;
    stride_ = static_cast<uint64_t>(golden * static_cast<double>(total));
    while (std::gcd(stride_, total) != 1) ++stride_;
    return most;
  }

 private:
  uint64_t combination(int lane) const {
    return (combination_ + static_cast<uint64_t>(lane)) * stride_ % total_;
  }

  const Row& row_;
  std::mt19937_64 random_;
  std::vector<std::vector<uint64_t>> special_;
  uint64_t combination_ = 0, step_ = 1;
  uint64_t total_ = 1, stride_ = 1;  ///< combinations, and how far one is from the next
};

std::string hex(const Bytes& bytes) {
  std::string text;
  for (uint8_t byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

std::string describe(const jit::InstructionChoice& choice, const Inputs& inputs, const Bytes& expected,
                     const Bytes& observed) {
  std::string text = print_row(*choice.row) + "\n  width " + std::to_string(static_cast<int>(choice.width)) +
                     ", operand in memory " + std::to_string(choice.memory_operand) + ", imm " +
                     std::to_string(choice.immediate);
  for (size_t k = 0; k < inputs.bytes.size(); ++k)
    text += "\n  " + choice.row->operands[k].name + " " + hex(inputs.bytes[k]);
  return text + "\n  row says " + hex(expected) + "\n  hardware " + hex(observed);
}

void compare_choice(const jit::InstructionChoice& choice, uint64_t seed, bool thorough, bool many_immediates,
                    Verdict& verdict) {
  const Row& row = *choice.row;
  const jit::SingleInstruction instruction(choice);
  Generator generator(row, seed + static_cast<uint64_t>(choice.immediate));
  // Repeated lanes compute nothing new: only what is read is in question.
  const bool is_repeated = std::any_of(row.operands.begin(), row.operands.end(),
                                       [](const Operand& operand) { return operand.repeated; });
  const uint64_t most = many_immediates ? 6 : thorough ? 2200 : is_repeated ? 10 : 100;
  const uint64_t combined =
      generator.combinations(lane_count(row, row.operands[row.destination], choice.width), most);
  const uint64_t random = many_immediates ? 6 : thorough ? 400 : is_repeated ? 20 : 100;
  for (uint64_t k = 0; k < combined + random && !verdict.counterexample; ++k) {
    Inputs inputs = generator.next(k < combined);
    inputs.immediate = choice.immediate;
    const bool destination_in_memory = choice.memory_operand == static_cast<int>(row.destination);
    const Outputs expected = evaluate(row, choice.width, inputs, destination_in_memory);
    const Bytes observed = instruction.run(inputs);
    ++verdict.executions;
    if (!allows(row, choice.width, expected, observed))
      verdict.counterexample = describe(choice, inputs, expected.destination, observed);
  }
}

/// -1 for no operand in memory.
std::vector<int> memory_choices(const Row& row) {
  for (size_t k = 0; k < row.operands.size(); ++k) {
    const Operand& operand = row.operands[k];
    if (!operand.may_be_memory) continue;
    return operand.may_be_register ? std::vector<int>{-1, static_cast<int>(k)}
                                   : std::vector<int>{static_cast<int>(k)};
  }
  return {-1};
}

}  // namespace

std::vector<Row> variants(const Row& row) {
  std::vector<Row> found = {row};
  const Operand& destination = row.operands[row.destination];
  const auto add_masked = [&](const Row& plain) {
    if (!plain.maskable) return;
    found.push_back(with_mask(plain, false));
    // A compare into a mask has only {k}, which zeroes.
    if (destination.lane != Lane::bit) found.push_back(with_mask(plain, true));
  };
  add_masked(row);
  if (row.broadcastable) {
    const Row repeated = with_broadcast(row);
    found.push_back(repeated);
    add_masked(repeated);
  }
  return found;
}

Verdict compare(const Row& row, Width width, uint64_t seed) {
  Verdict verdict;
  verdict.missing = jit::missing_feature(row.features(width));
  if (!verdict.missing.empty()) return verdict;
  verdict.ran = true;
  bool plain = true;
  for (const Row& variant : variants(row)) {
    const int index = variant.find(Place::immediate);
    const int lowest = index < 0 ? 0 : static_cast<int>(variant.operands[index].lowest);
    const int highest = index < 0 ? 0 : static_cast<int>(variant.operands[index].highest);
    for (int memory : memory_choices(variant)) {
      const Operand& destination = variant.operands[variant.destination];
      const bool stores = memory == static_cast<int>(variant.destination);
      // Memory is written under a merging mask only.
      const int mask = variant.find(Place::write_mask);
      if (stores && destination.may_be_register && mask >= 0 && variant.operands[mask].zeroing) continue;
      for (int value = lowest; value <= highest && !verdict.counterexample; ++value)
        compare_choice({&variant, width, memory, value}, seed, plain && memory<0, highest - lowest> 32,
                       verdict);
    }
    plain = false;
  }
  return verdict;
}

uint64_t seed() {
  static const uint64_t chosen = [] {
    const char* given = std::getenv("AXRUN_TEST_SEED");
    const uint64_t value = given ? std::strtoull(given, nullptr, 0) : std::random_device{}();
    std::cout << "AXRUN_TEST_SEED=" << value << std::endl;
    return value;
  }();
  return chosen;
}

}  // namespace axrun::isa_test
