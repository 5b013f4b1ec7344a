#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <iostream>
#include <random>

#include "ir/isa/evaluate.h"
#include "jit/single_instruction.h"
#include "tests/isa/against_hardware.h"

namespace axrun::isa_test {
namespace {

using namespace ir::isa;

/// A page of memory between two that cannot be touched.
class GuardedPage {
 public:
  static constexpr size_t size = 4096;
  GuardedPage()
      : start_(
            static_cast<uint8_t*>(mmap(nullptr, 3 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    EXPECT_EQ(mprotect(begin(), size, PROT_READ | PROT_WRITE), 0);
  }
  ~GuardedPage() { munmap(start_, 3 * size); }
  uint8_t* begin() { return start_ + size; }
  uint8_t* end() { return begin() + size; }

 private:
  uint8_t* start_;
};

/// Switches off the lanes outside of [first, last); the others are left as they are.
void limit_mask(const Operand& mask, Bytes& bytes, int lanes, int first, int last) {
  for (int lane = 0; lane < lanes; ++lane) {
    if (lane >= first && lane < last) continue;
    if (mask.lane == Lane::bit)
      bytes[lane / 8] &= static_cast<uint8_t>(~(1 << lane % 8));
    else
      bytes[4 * lane + 3] &= 0x7f;
  }
}

/// Lanes [first, last) lie on the page, those before or after it on a guard page: any access there is a
/// fault.
void run_across_the_border(const Row& row, Width width, int memory, const Operand& mask, size_t mask_index,
                           GuardedPage& page, std::mt19937_64& random) {
  const Operand& operand = row.operands[memory];
  const int lanes = lane_count(row, operand, width);
  const int lane_bytes = bits_of(operand.lane) / 8;
  const jit::SingleInstruction instruction({&row, width, memory, 0});
  for (int border = 0; border <= lanes; ++border)
    for (bool at_end : {true, false}) {
      Inputs inputs;
      inputs.bytes.resize(row.operands.size());
      for (Bytes& bytes : inputs.bytes)
        for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
      const int first = at_end ? 0 : border, last = at_end ? border : lanes;
      limit_mask(mask, inputs.bytes[mask_index], lanes, first, last);
      uint8_t* address = at_end ? page.end() - border * lane_bytes : page.begin() - border * lane_bytes;
      const size_t offset = static_cast<size_t>(first * lane_bytes),
                   bytes = static_cast<size_t>((last - first) * lane_bytes);
      std::memcpy(address + offset, inputs.bytes[memory].data() + offset, bytes);
      const bool stores = memory == static_cast<int>(row.destination);
      const Outputs expected = evaluate(row, width, inputs, stores, memory);
      const Bytes observed = instruction.run(inputs, address);
      if (!stores) {
        EXPECT_EQ(observed, expected.destination) << print_row(row);
      } else {
        EXPECT_EQ(std::memcmp(address + offset, expected.destination.data() + offset, bytes), 0)
            << print_row(row);
      }
      for (int byte = 0; byte < lanes * lane_bytes && !stores; ++byte) {
        const bool outside = byte < first * lane_bytes || byte >= last * lane_bytes;
        EXPECT_FALSE(outside && expected.accessed[byte]) << print_row(row);
      }
    }
}

/// `guarded`: lanes that are switched off are not touched, so that a mask is all that a tail needs.
TEST(Guarded, LanesThatAreSwitchedOffAreNotAccessed) {
  std::mt19937_64 random(seed());
  GuardedPage page;
  int run = 0;
  for (const Row& row : rows()) {
    if (!row.guarded || row.aligned) continue;
    for (const Row& variant : variants(row)) {
      size_t mask = 0;
      while (mask < variant.operands.size() && variant.operands[mask].name != "k") ++mask;
      if (mask == variant.operands.size()) continue;
      size_t memory = 0;
      while (memory < variant.operands.size() && variant.operands[memory].may_be_register) ++memory;
      if (memory == variant.operands.size()) continue;
      for (Width width : variant.widths()) {
        if (!jit::missing_feature(variant.features(width)).empty()) continue;
        run_across_the_border(variant, width, static_cast<int>(memory), variant.operands[mask], mask, page,
                              random);
        ++run;
      }
    }
  }
  std::cout << run << " masked loads and stores across a guard page\n";
}

}  // namespace
}  // namespace axrun::isa_test
