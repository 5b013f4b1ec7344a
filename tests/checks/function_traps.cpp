// Functions in vector lanes that are said to copy their argument.
#include <limits>

#include "ir/lane/builder.h"
#include "tests/checks/traps.h"
#include "verify/ulp_bounds.h"

namespace axrun::tests {
namespace {

using ir::lane::Builder;
using ir::lane::F32;
using verify::Verdict;

Trap copying(verify::checks::Id id, F32 (*made)(Builder& builder, F32 x)) {
  return {{id}, "wrong", [made] {
            Builder builder("copy");
            const F32 x = builder.input();
            const ir::lane::Program program = builder.finish(made(builder, x));
            const auto same = [](double value) { return value; };
            const verify::MathReference reference = {"copy", same, same};
            const verify::UlpReport report =
                verify::measure_ulp(program, reference, verify::special_neighbourhoods(program, 100));
            return verify::Evidence{report.within(1) ? Verdict::tested : Verdict::refuted, "wrong", 0};
          }};
}

}  // namespace

std::vector<Trap> function_traps() {
  constexpr float largest = std::numeric_limits<float>::max(),
                  infinity = std::numeric_limits<float>::infinity();
  return {
      copying("ulp.nan", [](Builder& b, F32 x) { return select(unordered(x, x), b.constant(1), x); }),
      copying("ulp.sign", [](Builder& b, F32 x) { return select(x == b.constant(0), b.constant(0), x); }),
      copying("ulp.special",
              [](Builder& b, F32 x) { return select(x == b.constant(infinity), b.constant(largest), x); }),
      copying("ulp.error", [](Builder& b, F32 x) { return x * b.constant(1.000001f); }),
  };
}

}  // namespace axrun::tests
