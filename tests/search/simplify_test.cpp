// The steps of simplify, one by one. That they keep the meaning is tested for every case in lowering_test.
#include "search/simplify.h"

#include <gtest/gtest.h>

#include "ir/cheaper_scalars.h"
#include "ir/grammar.h"
#include "ir/text.h"
#include "search/inline_maps.h"
#include "search/merge_axes.h"
#include "search/reciprocals.h"
#include "search/unit_axes.h"

namespace axrun::tests {
namespace {

const search::Sizes no_sizes;

/// The text of the step's result without the first line and the names of tensors and axes' extents in it.
std::string body_of(const ir::Program& program) {
  EXPECT_TRUE(ir::violations(program).empty());
  const std::string text = ir::print(program);
  return text.substr(text.find('\n') + 1);
}

TEST(UnitAxes, AreDroppedEverywhere) {
  const ir::Program program = ir::parse(R"(program p(x: f32[1, 4, 1], b: f32[1]) -> (y) {
    s: f32[1, 4] = reduce sum (i0: 1, i1: 4; r0: 1) { x[i0, i1, r0] }
    y: f32[1, 4] = map (i0: 1, i1: 4) { s[i0, i1] + b[i0] }
  })");
  EXPECT_EQ(body_of(search::drop_unit_axes(program)), R"(  s: f32[4] = map (i0: 4) {
    x[i0]
  }
  y: f32[4] = map (i0: 4) {
    s[i0] + b[]
  }
}
)");
}

TEST(MergeAxes, AChainOfMapsHasOneAxis) {
  const ir::Program program = ir::parse(R"(program p(x: f32[2, 128, n], z: f32[2, 128, n]) -> (y) {
    s: f32[2, 128, n] = map (i0: 2, i1: 128, i2: n) { x[i0, i1, i2] * z[i0, i1, i2] }
    y: f32[2, 128, n] = map (i0: 2, i1: 128, i2: n) { s[i0, i1, i2] + x[i0, i1, i2] }
  })");
  EXPECT_EQ(body_of(search::merge_axes(program)), R"(  s: f32[256*n] = map (i0: 256*n) {
    x[i0] * z[i0]
  }
  y: f32[256*n] = map (i0: 256*n) {
    s[i0] + x[i0]
  }
}
)");
}

TEST(MergeAxes, ABroadcastKeepsItsAxisApart) {
  const ir::Program program = ir::parse(R"(program p(x: f32[2, 3, 4], b: f32[4]) -> (y) {
    y: f32[2, 3, 4] = map (i0: 2, i1: 3, i2: 4) { x[i0, i1, i2] + b[i2] }
  })");
  EXPECT_EQ(body_of(search::merge_axes(program)), R"(  y: f32[6, 4] = map (i0: 6, i1: 4) {
    x[i0, i1] + b[i1]
  }
}
)");
}

TEST(MergeAxes, IndicesUsedAsValuesStay) {
  const ir::Program program = ir::parse(R"(program p(x: f32[3, 4]) -> (y) {
    y: f32[3, 4] = map (i0: 3, i1: 4) { select(i0 < i1, x[i0, i1], 0:f32) }
  })");
  EXPECT_EQ(body_of(search::merge_axes(program)), body_of(program));
}

TEST(MergeAxes, BoundsOfTheOuterAxisBecomeBoundsOfBoth) {
  const ir::Program program = ir::parse(R"(program p(x: f32[n, 4, 5], z: f32[m, 4, 5]) -> (y) {
    y: f32[n + m, 4, 5] = map (i0: n + m, i1: 4, i2: 5) { select(i0 < dim(n), x[i0, i1, i2; i0 < dim(n); 0:f32], z[i0 - dim(n), i1, i2; i0 >= dim(n); 0:f32]) }
  })");
  EXPECT_EQ(body_of(search::merge_axes(program)), R"(  y: f32[20*m + 20*n] = map (i0: 20*m + 20*n) {
    $0 = i0 < dim(20*n);
    select($0, x[i0; $0; 0:f32], z[i0 + dim(-20*n); i0 >= dim(20*n); 0:f32])
  }
}
)");
  const ir::Program inner = ir::parse(R"(program p(x: f32[3, 4]) -> (y) {
    y: f32[3, 4] = map (i0: 3, i1: 4) { select(i1 < 2, x[i0, i1], 0:f32) }
  })");
  EXPECT_EQ(body_of(search::merge_axes(inner)), body_of(inner));
  const ir::Program between = ir::parse(R"(program p(x: f32[2, 3, 4]) -> (y) {
    y: f32[2, 3, 4] = map (i0: 2, i1: 3, i2: 4) { select(i1 > 1, x[i0, i1, i2], 0:f32) }
  })");
  EXPECT_EQ(body_of(search::merge_axes(between)), R"(  y: f32[2, 12] = map (i0: 2, i1: 12) {
    select(i1 >= 8, x[i0, i1], 0:f32)
  }
}
)");
}

TEST(MergeAxes, ReduceAxesAndReshapesMerge) {
  const ir::Program program = ir::parse(R"(program p(x: f32[2, 3, 4, 5]) -> (y, s) {
    y: f32[6, 20] = map ((i0: 2, i1: 3), (i2: 4, i3: 5)) { x[i0, i1, i2, i3] }
    s: f32[6] = reduce sum (i0: 6; r0: 20) { y[i0, r0] }
  })");
  EXPECT_EQ(body_of(search::merge_axes(program)), R"(  y: f32[6, 20] = map (i0: 6, i1: 20) {
    x[i0, i1]
  }
  s: f32[6] = reduce sum (i0: 6; r0: 20) {
    y[i0, r0]
  }
}
)");
}

TEST(MergeAxes, ATransposeKeepsWhatItSwaps) {
  const ir::Program program = ir::parse(R"(program p(x: f32[2, 3, 4, 5]) -> (y) {
    y: f32[4, 5, 2, 3] = map (i0: 4, i1: 5, i2: 2, i3: 3) { x[i2, i3, i0, i1] }
  })");
  EXPECT_EQ(body_of(search::merge_axes(program)), R"(  y: f32[20, 6] = map (i0: 20, i1: 6) {
    x[i1, i0]
  }
}
)");
}

TEST(InlineMaps, MovesAlwaysCostlyWorkOnlyOnce) {
  const search::SizeFacts facts(no_sizes);
  const ir::Program program = ir::parse(R"(program p(x: f32[8, 9], w: f32[8, 7]) -> (y) {
    t: f32[9, 8] = map (i0: 9, i1: 8) { x[i1, i0] }
    e: f32[9, 8] = map (i0: 9, i1: 8) { exp(t[i0, i1]) }
    s: f32[9, 7] = reduce sum (i0: 9, i1: 7; r0: 8) { e[i0, r0] * w[r0, i1] }
    g: f32[9, 7] = map (i0: 9, i1: 7) { exp(s[i0, i1]) }
    y: f32[9, 7] = map (i0: 9, i1: 7) { g[i0, i1] + 1:f32 }
  })");
  EXPECT_EQ(body_of(search::inline_maps(program, facts)), R"(  e: f32[9, 8] = map (i0: 9, i1: 8) {
    exp(x[i1, i0])
  }
  s: f32[9, 7] = reduce sum (i0: 9, i1: 7; r0: 8) {
    e[i0, r0] * w[r0, i1]
  }
  y: f32[9, 7] = map (i0: 9, i1: 7) {
    exp(s[i0, i1]) + 1:f32
  }
}
)");
}

TEST(InlineMaps, IndicesOfReshapesAreSplitWhereFactorsAlign) {
  const search::SizeFacts facts(no_sizes);
  const ir::Program program = ir::parse(R"(program p(x: f32[5, 3, 4]) -> (y) {
    r: f32[5, 12] = map (i0: 5, (i1: 3, i2: 4)) { x[i0, i1, i2] }
    y: f32[3, 5, 4] = map (i0: 3, i1: 5, i2: 4) { neg(r[i1, i0 * 4 + i2]) }
  })");
  EXPECT_EQ(body_of(search::inline_maps(program, facts)), R"(  y: f32[3, 5, 4] = map (i0: 3, i1: 5, i2: 4) {
    neg(x[i1, i0, i2])
  }
}
)");
}

TEST(InlineMaps, NothingIsReadBehindAGuard) {
  const search::SizeFacts facts(no_sizes);
  const ir::Program program = ir::parse(R"(program p(x: f32[4]) -> (y) {
    t: f32[4] = map (i0: 4) { x[3 - i0] * 2:f32 }
    y: f32[6] = map (i0: 6) { t[i0 - 1; i0 >= 1 and i0 < 5; 0:f32] }
  })");
  EXPECT_EQ(search::inline_maps(program, facts).stages.size(), 2u);
}

TEST(Reciprocals, OneDivisionForARow) {
  const ir::Program program = ir::parse(R"(program p(x: f32[9, 9], d: f32[9]) -> (y) {
    s: f32[9] = reduce sum (i0: 9; r0: 9) { x[i0, r0] / d[i0] }
    y: f32[9, 9] = map (i0: 9, i1: 9) { x[i0, i1] / s[i0] + s[i1] / d[i0] - x[i0, i1] / d[i0] }
  })");
  EXPECT_EQ(body_of(search::use_reciprocals(program)), R"(  s: f32[9] = reduce sum (i0: 9; r0: 9) {
    x[i0, r0] / d[i0]
  }
  y: f32[9, 9] = map (i0: 9, i1: 9) {
    $0 = x[i0, i1];
    $1 = d[i0];
    $0 * (1:f32 / s[i0]) + s[i1] * (1:f32 / $1) - $0 / $1
  }
}
)");
}

TEST(CheaperScalars, ExactReplacementsOnly) {
  const ir::Program program = ir::parse(R"(program p(x: f32[4]) -> (y) {
    y: f32[4] = map (i0: 4) { pow(x[i0], 2:f32) / 8:f32 + x[i0] / 3:f32 + pow(x[i0], 0.5:f32) + cast(f32, 7) }
  })");
  EXPECT_EQ(body_of(ir::use_cheaper_scalars(program)), R"(  y: f32[4] = map (i0: 4) {
    $0 = x[i0];
    $0 * $0 * 0.125:f32 + $0 / 3:f32 + pow($0, 0.5:f32) + 7:f32
  }
}
)");
}

TEST(CheaperScalars, AddedZerosMatterToFloatsOnly) {
  const ir::Program program = ir::parse(R"(program p(x: f32[4]) -> (y, z) {
    y: u8[4] = map (i0: 4) { cast_saturate(u8, round_even(x[i0]) + cast(f32, 0:u8)) }
    z: f32[4] = map (i0: 4) { cast(f32, cast(i32, x[i0] + 1:f32)) + (x[i0] + 0:f32) }
  })");
  EXPECT_EQ(body_of(ir::use_cheaper_scalars(program)), R"(  y: u8[4] = map (i0: 4) {
    cast_saturate(u8, round_even(x[i0]))
  }
  z: f32[4] = map (i0: 4) {
    $0 = x[i0];
    cast(f32, cast(i32, $0 + 1:f32)) + ($0 + 0:f32)
  }
}
)");
}

}  // namespace
}  // namespace axrun::tests
