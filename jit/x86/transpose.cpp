// A square of vectors is transposed in log2(lanes) stages, each of which merges pairs of vectors into one of
// low parts and one of high parts. Rows a, b, c, d of eight lanes (and e, f, g, h):
//
//   words     a0 b0 a1 b1 a4 b4 a5 b5   and   a2 b2 a3 b3 a6 b6 a7 b7
//   pairs     a0 b0 c0 d0 a4 b4 c4 d4   and   a1 b1 c1 d1 a5 b5 c5 d5, ...
//   halves    a0 b0 c0 d0 e0 f0 g0 h0   and   a4 b4 c4 d4 e4 f4 g4 h4, ...
#include "jit/x86/transpose.h"

#include <utility>

#include "ir/error.h"

namespace axrun::jit::x86 {

namespace Inst = asmjit::x86::Inst;
using asmjit::imm;
using asmjit::InstId;
using asmjit::x86::Vec;

namespace {

constexpr int no_selector = -1;

/// Merges the vectors at positions p and p + distance, for every p without that bit: what is low goes to p,
/// what is high to p + distance.
struct Stage {
  size_t distance;
  InstId low, high;
  int low_selector = no_selector, high_selector = no_selector;
};

// The first two work within 128 bits.
constexpr Stage words{1, Inst::kIdVunpcklps, Inst::kIdVunpckhps};
constexpr Stage pairs{2, Inst::kIdVunpcklpd, Inst::kIdVunpckhpd};
constexpr Stage halves{4, Inst::kIdVperm2f128, Inst::kIdVperm2f128, 0x20, 0x31};
// Parts 0 and 2 of 128 bits of either vector, and parts 1 and 3; twice, and every part is with its equals.
constexpr Stage quarters{4, Inst::kIdVshuff32x4, Inst::kIdVshuff32x4, 0x88, 0xdd};
constexpr Stage quarters_again{8, Inst::kIdVshuff32x4, Inst::kIdVshuff32x4, 0x88, 0xdd};

/// Words tell even from odd pairs of columns before pairs tell even from odd columns.
constexpr size_t position_of(size_t column) {
  return (column & ~size_t{3}) | (column & 1) << 1 | (column >> 1 & 1);
}

}  // namespace

std::vector<Vec> transpose(asmjit::x86::Compiler& compiler, Lanes& lanes, const std::vector<Vec>& rows,
                           size_t columns) {
  const auto count = static_cast<size_t>(lanes.count());
  AXRUN_ASSERT(!rows.empty() && rows.size() <= count && columns <= count);
  const std::vector<Stage> stages =
      lanes.wide() ? std::vector{words, pairs, quarters, quarters_again} : std::vector{words, pairs, halves};
  std::vector<std::vector<bool>> needed(stages.size() + 1, std::vector<bool>(count, false));
  for (size_t column = 0; column < columns; ++column) needed.back()[position_of(column)] = true;
  for (size_t s = stages.size(); s-- > 0;) {
    for (size_t p = 0; p < count; ++p)
      needed[s][p] = needed[s + 1][p] || needed[s + 1][p ^ stages[s].distance];
  }

  std::vector<Vec> at = rows;
  at.resize(count);  // an invalid register where nothing is
  for (size_t s = 0; s < stages.size(); ++s) {
    const Stage& stage = stages[s];
    const auto merged = [&](InstId id, int selector, const Vec& a, const Vec& b) {
      const Vec result = lanes.new_vector();
      if (selector == no_selector)
        compiler.emit(id, result, a, b);
      else
        compiler.emit(id, result, a, b, imm(selector));
      return result;
    };
    for (size_t p = 0; p < count; ++p) {
      const size_t q = p + stage.distance;
      if ((p & stage.distance) != 0 || !(at[p].isValid() || at[q].isValid())) continue;
      const Vec a = at[p].isValid() ? at[p] : at[q], b = at[q].isValid() ? at[q] : at[p];
      at[p] = needed[s + 1][p] ? merged(stage.low, stage.low_selector, a, b) : Vec();
      at[q] = needed[s + 1][q] ? merged(stage.high, stage.high_selector, a, b) : Vec();
    }
  }
  std::vector<Vec> result;
  for (size_t column = 0; column < columns; ++column) result.push_back(at[position_of(column)]);
  return result;
}

}  // namespace axrun::jit::x86
