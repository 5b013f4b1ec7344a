#include "tests/search/type_cases.h"

#include <algorithm>

#include "ir/text.h"

namespace axrun::tests {

namespace {

struct Text {
  const char* name;
  const char* kind;
  const char* program;
  std::vector<size_t> constant = {};  ///< operands
};

const Text texts[] = {
    {"QuantizeToBytes", "map", R"(program q(x: f32[n, 40], scale: f32[], zero: u8[]) -> (y) {
  y: u8[n, 40] = map (i0: n, i1: 40) {
    cast_saturate(u8, round_even(cast(f32, cast(f64, x[i0, i1]) / cast(f64, scale[]))) + cast(f32, zero[]))
  }
})"},
    {"QuantizeByChannels", "map", R"(program q(x: f32[3, n, 5], scale: f32[3], zero: i8[3]) -> (y) {
  y: i8[3, n, 5] = map (i0: 3, i1: n, i2: 5) {
    cast_saturate(i8, round_even(cast(f32, cast(f64, x[i0, i1, i2]) / cast(f64, scale[i0]))) + cast(f32, zero[i0]))
  }
})"},
    {"DequantizeBytes", "map", R"(program d(x: u8[n, 23]) -> (y) {
  y: f32[n, 23] = map (i0: n, i1: 23) {
    cast(f32, cast(i32, x[i0, i1]) - cast(i32, 128:u8)) * 0.0235:f32
  }
})"},
    {"DequantizeWords", "map", R"(program d(x: i16[n, 9], scale: f32[9]) -> (y) {
  y: f32[n, 9] = map (i0: n, i1: 9) {
    cast(f32, cast(i32, x[i0, i1])) * scale[i1]
  }
})"},
    {"QuantizeAndDequantize", "map", R"(program qdq(x: f32[n, 33]) -> (y) {
  q: u16[n, 33] = map (i0: n, i1: 33) {
    cast_saturate(u16, round_even(cast(f32, cast(f64, x[i0, i1]) / cast(f64, 0.25:f32))) + cast(f32, 7:u16))
  }
  y: f32[n, 33] = map (i0: n, i1: 33) {
    cast(f32, cast(i32, q[i0, i1]) - cast(i32, 7:u16)) * 0.25:f32
  }
})"},
    {"SumOfQuantized", "map", R"(program a(x: u8[n, 48], y: u8[48]) -> (z) {
  z: u8[n, 48] = map (i0: n, i1: 48) {
    cast_saturate(u8, round_even(cast(f32, cast(f64, x[i0, i1]) * cast(f64, 0.37:f32) + cast(f64, cast(f32, cast(f64, y[i1]) * cast(f64, 0.61:f32) + cast(f64, cast(f32, 3:f64 - cast(f64, 0.61:f32) * cast(f64, cast(i32, 66:u8)))))))))
  }
})"},
    {"QuantizeDynamically", "rows", R"(program dq(x: f32[n, 16]) -> (y, scale, zero) {
  least: f32[] = reduce min (; r0: n, r1: 16) { x[r0, r1] }
  most: f32[] = reduce max (; r0: n, r1: 16) { x[r0, r1] }
  scale: f32[] = map () {
    $0 = cast(f32, max(cast(f64, most[]), 0:f64) - min(cast(f64, least[]), 0:f64));
    select($0 == 0:f32, 1:f32, cast(f32, cast(f64, $0) / 255:f64))
  }
  zero: u8[] = map () {
    cast_saturate(u8, round_even(cast(f32, (0:f64 - min(cast(f64, least[]), 0:f64)) / cast(f64, scale[]))))
  }
  y: u8[n, 16] = map (i0: n, i1: 16) {
    cast_saturate(u8, round_even(cast(f32, cast(f64, x[i0, i1]) / cast(f64, scale[]))) + cast(f32, zero[]))
  }
})"},
    {"LongIntegers", "map", R"(program l(x: i64[n, 11], y: i64[11]) -> (z) {
  z: i64[n, 11] = map (i0: n, i1: 11) {
    select(x[i0, i1] < y[i1], x[i0, i1] * y[i1] - 3:i64, x[i0, i1] + 4294967296:i64)
  }
})"},
    {"LongIntegersAsFloats", "map", R"(program l(x: i64[n, 11]) -> (z) {
  z: f32[n, 11] = map (i0: n, i1: 11) { cast(f32, x[i0, i1]) * 0.5:f32 }
})"},
    {"BooleansAsLongIntegers", "map", R"(program l(x: f32[n, 15], y: f32[15], z: i64[15]) -> (r) {
  r: i64[n, 15] = map (i0: n, i1: 15) { cast(i64, logical_not(x[i0, i1] < y[i1])) + z[i1] }
})"},
    {"LongIntegersTransposed", "map", R"(program l(x: i64[n, 20]) -> (z) {
  z: i64[20, n] = map (i0: 20, i1: n) { x[i1, i0] }
})"},
    {"BytesTransposed", "map", R"(program t(x: u8[n, 20]) -> (z) {
  z: u8[20, n] = map (i0: 20, i1: n) { x[i1, i0] }
})"},
    {"EveryThirdByte", "map", R"(program t(x: u8[n, 60], y: i16[n, 60]) -> (z) {
  z: i16[n, 20] = map (i0: n, i1: 20) { cast(i16, x[i0, 3*i1 + 1]) - y[i0, 3*i1 + 2] }
})"},
    {"BytesPadded", "map", R"(program p(x: i8[n, 30]) -> (z) {
  z: i8[n, 37] = map (i0: n, i1: 37) { x[i0, i1 - 2; i1 >= 2 and i1 < 32; -5:i8] }
})"},
    {"Flags", "map", R"(program f(x: bool[n, 29], y: bool[n, 29]) -> (z) {
  z: bool[n, 29] = map (i0: n, i1: 29) { x[i0, i1] == y[i0, i1] and not_equal(x[i0, i1], x[i0, 28]) }
})"},
    {"Halves", "map", R"(program h(x: f16[n, 21], y: f16[21]) -> (z) {
  z: f16[n, 21] = map (i0: n, i1: 21) { cast(f16, cast(f32, x[i0, i1]) * cast(f32, y[i1]) + 0.1:f32) }
})"},
    {"BrainFloats", "map", R"(program h(x: bf16[n, 21], y: bf16[21]) -> (z) {
  z: bf16[n, 21] = map (i0: n, i1: 21) { cast(bf16, cast(f32, x[i0, i1]) * cast(f32, y[i1]) + 0.1:f32) }
})"},
    {"SumsOfIntegers", "rows", R"(program s(x: i32[n, 50]) -> (z) {
  z: i32[n] = reduce sum (i0: n; r0: 50) { x[i0, r0] }
})"},
    {"SumsOfLongIntegers", "rows", R"(program s(x: i64[n, 50]) -> (z) {
  z: i64[n] = reduce sum (i0: n; r0: 50) { x[i0, r0] }
})"},
    {"LargestByte", "rows", R"(program s(x: u8[n, 50]) -> (z) {
  z: u8[n] = reduce max (i0: n; r0: 50) { x[i0, r0] }
})"},
    {"SmallestOverTheFirst", "rows", R"(program s(x: i16[n, 50]) -> (z) {
  z: i16[50] = reduce min (i0: 50; r0: n) { x[r0, i0] }
})"},
    {"SumsOfDoubles", "rows", R"(program s(x: f64[n, 50]) -> (z) {
  z: f64[n] = reduce sum (i0: n; r0: 50) { x[i0, r0] }
})"},
    {"CountOfLarge", "rows", R"(program s(x: f32[n, 50]) -> (z) {
  z: i32[n] = reduce sum (i0: n; r0: 50) { cast(i32, x[i0, r0] > 1:f32) }
})"},
    {"ProductOfBytes",
     "integer product",
     R"(program m(x: u8[n, 48], w: i8[48, 70], scale: f32[70], zero: i8[70]) -> (y) {
  a: i32[n, 48] = map (i0: n, i1: 48) { cast(i32, x[i0, i1]) - cast(i32, 125:u8) }
  b: i32[48, 70] = map (i0: 48, i1: 70) { cast(i32, w[i0, i1]) - cast(i32, zero[i1]) }
  s: i32[n, 70] = reduce sum (i0: n, i1: 70; r0: 48) { a[i0, r0] * b[r0, i1] }
  y: u8[n, 70] = map (i0: n, i1: 70) {
    cast_saturate(u8, round_even(cast(f32, s[i0, i1]) * scale[i1] * 0.01:f32) + 115:f32)
  }
})",
     {1, 2, 3}},
    {"ProductOfBytesWithScaledColumns",
     "integer product",
     R"(program m(x: u8[n, 48], w: i8[48, 70], scale: f32[70], bias: i32[70]) -> (y) {
  a: f32[n, 48] = map (i0: n, i1: 48) { cast(f32, cast(i32, x[i0, i1]) - cast(i32, 125:u8)) * 0.25:f32 }
  b: f32[48, 70] = map (i0: 48, i1: 70) {
    cast(f32, cast(i32, w[i0, i1])) * max(min(scale[i1], 1024:f32), 0.0009765625:f32)
  }
  s: f32[n, 70] = reduce sum (i0: n, i1: 70; r0: 48) { a[i0, r0] * b[r0, i1] }
  y: u8[n, 70] = map (i0: n, i1: 70) {
    cast_saturate(u8, round_even((s[i0, i1] + cast(f32, bias[i1])) * 0.01:f32) + 115:f32)
  }
})",
     {1, 2, 3}},
    {"ProductOfBytesInBatches",
     "integer product",
     R"(program m(x: i8[3, n, 20], w: u8[64, 20]) -> (s) {
  a: i32[3, n, 20] = map (i0: 3, i1: n, i2: 20) { cast(i32, x[i0, i1, i2]) }
  s: i32[3, n, 64] = reduce sum (i0: 3, i1: n, i2: 64; r0: 20) { a[i0, i1, r0] * cast(i32, w[i2, r0]) }
})",
     {1}},
    {"ProductOfARowOfBytes",
     "integer product",
     R"(program m(x: u8[n, 1, 44], w: i8[70, 44]) -> (s) {
  s: i32[n, 1, 70] = reduce sum (i0: n, i1: 1, i2: 70; r0: 44) {
    (cast(i32, x[i0, i1, r0]) - 125:i32) * cast(i32, w[i2, r0])
  }
})",
     {1}},
    {"ProductOfARowOfBytesWithoutASign",
     "integer product",
     R"(program m(x: i8[n, 1, 40], w: u8[40, 64]) -> (s) {
  s: i32[n, 1, 64] = reduce sum (i0: n, i1: 1, i2: 64; r0: 40) { cast(i32, x[i0, i1, r0]) * cast(i32, w[r0, i2]) }
})",
     {1}},
    {"ProductOfWords",
     "integer product",
     R"(program m(x: i16[n, 10], w: i16[10, 16]) -> (s) {
  s: i32[n, 16] = reduce sum (i0: n, i1: 16; r0: 10) { cast(i32, x[i0, r0]) * cast(i32, w[r0, i1]) }
})",
     {1}},
    {"ProductOfWideIntegers",
     "rows",
     R"(program m(x: u16[n, 10], w: i16[10, 16]) -> (s) {
  s: i32[n, 16] = reduce sum (i0: n, i1: 16; r0: 10) { cast(i32, x[i0, r0]) * cast(i32, w[r0, i1]) }
})",
     {1}},
    {"ProductOfVectorAndHalves",
     "contraction",
     R"(program m(x: f32[n], w: bf16[n, 200], bias: f32[200]) -> (y) {
  s: f32[200] = reduce sum (i0: 200; r0: n) { x[r0] * cast(f32, w[r0, i0]) }
  y: f32[200] = map (i0: 200) { max(s[i0] + bias[i0], 0:f32) }
})",
     {1, 2}},
    {"ProductOfRowsAndHalves",
     "contraction",
     R"(program m(x: f16[5, 37], w: f16[37, n]) -> (y) {
  y: f32[5, n] = reduce sum (i0: 5, i1: n; r0: 37) { cast(f32, x[i0, r0]) * cast(f32, w[r0, i1]) }
})",
     {1}},
    {"ProductOfTransposedHalves",
     "contraction",
     R"(program m(x: f32[3, 20], w: bf16[n, 20]) -> (y) {
  y: f32[3, n] = reduce sum (i0: 3, i1: n; r0: 20) { x[i0, r0] * cast(f32, w[i1, r0]) }
})",
     {1}},
    {"ProductOfManyRowsAndHalves",
     "contraction",
     R"(program m(x: f32[n, 24], w: bf16[24, 50]) -> (y) {
  y: f32[n, 50] = reduce sum (i0: n, i1: 50; r0: 24) { x[i0, r0] * cast(f32, w[r0, i1]) }
})",
     {1}},
    {"ProductOfHalvesAndColumns",
     "contraction",
     R"(program m(w: f16[70, 33], x: f32[33, 2]) -> (y) {
  y: f32[70, 2] = reduce sum (i0: 70, i1: 2; r0: 33) { cast(f32, w[i0, r0]) * x[r0, i1] }
})",
     {0}},
    {"ProductOfVectorAndBytes",
     "contraction",
     R"(program m(x: f32[2, 19], w: i8[19, n], scale: f32[n]) -> (y) {
  s: f32[2, n] = reduce sum (i0: 2, i1: n; r0: 19) { x[i0, r0] * cast(f32, w[r0, i1]) }
  y: f32[2, n] = map (i0: 2, i1: n) { s[i0, i1] * scale[i1] }
})",
     {1, 2}},
};

}  // namespace

std::vector<Case> type_cases() {
  std::vector<Case> cases;
  for (const Text& text : texts) {
    const ir::Program program = ir::parse(text.program);
    Case made{text.name, text.kind, [program] { return program; }, {{"n", 1, 4096, 1}}, {}, {}};
    made.constant.assign(program.operands.size(), false);
    for (const size_t operand : text.constant) made.constant[operand] = true;
    for (const int64_t n : {1, 3, 8, 17, 40}) made.values.push_back({{"n", n}});
    cases.push_back(std::move(made));
  }
  return cases;
}

}  // namespace axrun::tests
