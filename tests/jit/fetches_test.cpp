// What code brings into caches before it is read.
#include <gtest/gtest.h>

#include <string>

#include "tests/jit/emitted.h"

namespace axrun::tests {
namespace {

using jit::KernelCode;

/// What is fetched depends on what the second cache holds: it is the same everywhere.
std::vector<jit::Target> targets_of_known_caches() {
  std::vector<jit::Target> all = code_targets();
  for (jit::Target& target : all) {
    if (target.caches.size() > 1) target.caches[1].bytes = int64_t{512} << 10;
  }
  return all;
}

/// Sums of rows, several side by side: the next rows are fetched while these are read.
TEST(Fetches, NextTilesOfRowsAreFetched) {
  for (const int rows : {1, 2, 4}) {
    const std::string r = std::to_string(rows);
    const std::string text = "loops sums() {\n  input x: f32[16, 200]\n  output y: f32[16]\n" +
                             ("  for i < " + std::to_string(16 / rows)) + " {\n    allocate p: f32[" + r +
                             ", 16] in registers\n    allocate s: f32[" + r +
                             "] in registers\n    unrolled a < " + r + " {\n      s[a] = 0:f32\n" +
                             "      vector z < 16 {\n        p[a, z] = 0:f32\n      }\n    }\n" +
                             "    for c < 13 {\n      unrolled b < " + r +
                             " {\n        vector v < min(16, 200 - 16*c) {\n          p[b, v] += x[" + r +
                             "*i + b, 16*c + v]\n        }\n      }\n    }\n    unrolled d < " + r +
                             " {\n      vector w < 16 {\n        s[d] += p[d, w]\n      }\n      y[" + r +
                             "*i + d] = s[d]\n    }\n  }\n}\n";
    expect_as_interpreted(text, {{}});
    for (const jit::Target& target : targets_of_known_caches()) {
      const auto code = KernelCode::compile(ir::loop::parse(text), target, {.annotate = true});
      const bool fetches = code->assembly().find("prefetcht0") != std::string::npos;
      EXPECT_EQ(fetches, rows > 1) << code->assembly();
    }
  }
}

/// Where code fetches, and where a loop begins and what follows it.
struct FetchesSeen {
  size_t read, write, loop, after;
};
FetchesSeen fetches_seen(const std::string& assembly, const std::string& loop, const std::string& after) {
  return {assembly.find("prefetcht0"), assembly.find("prefetchw"), assembly.find(loop), assembly.find(after)};
}

/// What a loop's results are added to, and where they go, is fetched while the loop goes on, where it may be
/// far away; before the loop where nothing says how many iterations there are.
TEST(Fetches, WhatFollowsALoopIsFetchedBeforeIt) {
  for (const bool open : {false, true}) {
    for (const bool far : {false, true}) {
      const std::string rows = far ? "8192" : "20", row = far ? "409*i" : "i";
      const std::string text = std::string("loops after(") + (open ? "n: 0..64" : "") + ") {\n" +
                               "  input a: f32[20, " + (open ? "n" : "64") + "]\n  input z: f32[" + rows +
                               ", 64]\n  output y: f32[" + rows + R"(, 32]
  for g < )" + rows + R"( {
    vector f < 32 {
      y[g, f] = 0:f32
    }
  }
  for i < 20 {
    allocate t: f32[32] in registers
    vector v < 32 {
      t[v] = 0:f32
    }
    for k < )" + (open ? "n" : "64") +
                               R"( {
      vector w < 32 {
        t[w] += a[i, k]
      }
    }
    vector u < 32 {
      y[)" + row + ", u] = add(t[u], z[" +
                               row + ", u])\n    }\n  }\n}\n";
      if (open) {
        expect_as_interpreted(text, {{{"n", 0}}, {{"n", 1}}, {{"n", 64}}});
      } else {
        expect_as_interpreted(text, {{}});
      }
      for (const jit::Target& target : targets_of_known_caches()) {
        const auto code = KernelCode::compile(ir::loop::parse(text), target, {.annotate = true});
        const std::string assembly = code->assembly();
        const FetchesSeen seen = fetches_seen(assembly, "for k < ", "in lanes of u");
        EXPECT_EQ(seen.read != std::string::npos, far) << assembly;
        EXPECT_EQ(seen.write != std::string::npos, far && !open) << assembly;
        if (!far) continue;
        EXPECT_EQ(seen.read < seen.loop, open) << assembly;
        EXPECT_LT(seen.read, seen.after) << assembly;
      }
    }
  }
}

/// Lines of planes that are copied side by side: the same lines of the next plane are fetched where planes
/// are far away, and where they go to, where that is more than the nearest cache keeps.
TEST(Fetches, LinesOfPlanesAreFetchedAPlaneAhead) {
  for (const bool large : {false, true}) {
    const std::string planes = large ? "40" : "2";
    const std::string text = "loops planes() {\n  input x: f32[" + planes + ", 64, 64]\n  output y: f32[" +
                             planes + ", 20]\n  allocate lines: f32[" + planes +
                             ", 20, 70] in cache\n  for k < " + planes + R"( {
    for l < 20 {
      vector v < 64 {
        lines[k, l, v] = x[k, l + 13, v]
      }
    }
  }
  for g < )" + planes + R"( {
    for h < 20 {
      y[g, h] = lines[g, h, h + 17]
    }
  }
}
)";
    expect_as_interpreted(text, {{}});
    for (const jit::Target& target : targets_of_known_caches()) {
      const auto code = KernelCode::compile(ir::loop::parse(text), target, {.annotate = true});
      const FetchesSeen seen = fetches_seen(code->assembly(), "for l < ", "for g < ");
      EXPECT_EQ(seen.read != std::string::npos, large) << code->assembly();
      EXPECT_EQ(seen.write != std::string::npos, large) << code->assembly();
      if (!large) continue;
      EXPECT_LT(seen.loop, seen.read);
      EXPECT_LT(seen.loop, seen.write);
    }
  }
}

/// Rows that a tile is turned to lie a line of the result apart, and a short loop stores them: all of them
/// are fetched, a few in each iteration.
TEST(Fetches, RowsOfTurnedTilesAreFetched) {
  const std::string text = R"(loops turned() {
  input a: f32[200, 40]
  input z: f32[24, 1000]
  output y: f32[24, 1000]
  for i < 200 {
    allocate s: f32[5, 24] in cache
    unrolled r < 5 {
      vector v < 24 {
        s[r, v] = 0:f32
      }
    }
    for k < 40 {
      unrolled r1 < 5 {
        vector v1 < 24 {
          s[r1, v1] += a[i, k]
        }
      }
    }
    for b < 3 {
      unrolled c < 8 {
        vector p < 5 {
          y[8*b + c, 5*i + p] = add(s[p, 8*b + c], z[8*b + c, 5*i + p])
        }
      }
    }
  }
}
)";
  expect_as_interpreted(text, {{}});
  for (const jit::Target& target : targets_of_known_caches()) {
    const auto code = KernelCode::compile(ir::loop::parse(text), target, {.annotate = true});
    const std::string assembly = code->assembly();
    const FetchesSeen seen = fetches_seen(assembly, "for k < ", "for b < ");
    EXPECT_LT(seen.loop, seen.read) << assembly;
    EXPECT_LT(seen.loop, seen.write) << assembly;
    EXPECT_LT(seen.read, seen.after) << assembly;
    EXPECT_LT(seen.write, seen.after) << assembly;
  }
}

/// Packed constants that are read once, one tile after another: memory is asked for them some iterations
/// ahead.
TEST(Fetches, StreamsAreFetchedAhead) {
  for (const bool far : {false, true}) {
    const std::string tiles = far ? "400" : "3";
    const std::string text = "loops stream() {\n  input a: f32[" + tiles + ", 64, 8]\n" +
                             "  input b: f32[64, 16]\n  output y: f32[" + tiles + ", 8, 16]\n" +
                             "  for i < " + tiles + R"( {
    allocate t: f32[8, 16] in registers
    unrolled r < 8 {
      vector v < 16 {
        t[r, v] = 0:f32
      }
    }
    for k < 16 {
      unrolled u < 4 {
        unrolled r1 < 8 {
          vector v1 < 16 {
            t[r1, v1] += mul(a[i, 4*k + u, r1], b[4*k + u, v1])
          }
        }
      }
    }
    unrolled r2 < 8 {
      vector v2 < 16 {
        y[i, r2, v2] = t[r2, v2]
      }
    }
  }
}
)";
    expect_as_interpreted(text, {{}});
    for (const jit::Target& target : targets_of_known_caches()) {
      const auto code = KernelCode::compile(ir::loop::parse(text), target, {.annotate = true});
      EXPECT_EQ(code->assembly().find("prefetcht0") != std::string::npos, far) << code->assembly();
    }
  }
}

/// Matrices that are copied before they are used, one after another: while one is in use, the next one comes
/// from memory.
TEST(Fetches, WhatIsPackedNextIsFetchedWhileTheProductGoesOn) {
  for (const bool large : {false, true}) {
    const std::string matrices = large ? "512" : "3";
    const std::string text = "loops products() {\n  input a: f32[8, 64]\n  input b: f32[" + matrices +
                             ", 64, 64]\n  output y: f32[" + matrices + ", 8, 16]\n  for j < " + matrices +
                             R"( {
    allocate panel: f32[64, 64] in cache
    for c < 64 {
      for d < 4 {
        vector v < 16 {
          panel[c, 16*d + v] = b[j, c, 16*d + v]
        }
      }
    }
    for i < 8 {
      allocate t: f32[16] in registers
      vector v1 < 16 {
        t[v1] = 0:f32
      }
      for k < 64 {
        vector v2 < 16 {
          t[v2] += mul(a[i, k], panel[k, v2])
        }
      }
      vector v3 < 16 {
        y[j, i, v3] = t[v3]
      }
    }
  }
}
)";
    for (const jit::Target& target : targets_of_known_caches()) {
      const auto code = KernelCode::compile(ir::loop::parse(text), target, {.annotate = true});
      const std::string& assembly = code->assembly();
      EXPECT_EQ(assembly.find("prefetcht0", assembly.find("for k < ")) != std::string::npos, large)
          << assembly;
    }
    expect_as_interpreted(text, {{}});
  }
}

/// A panel whose rows lie apart in a large matrix: what the next one reads of a row is fetched in each
/// iteration of the first passes.
TEST(Fetches, RowsOfTheNextPanelAreFetched) {
  for (const bool large : {false, true}) {
    const std::string columns = large ? "6400" : "64", panels = large ? "200" : "2";
    const std::string depth = large ? "64" : "32", steps = large ? "32" : "16";
    const std::string text = "loops direct() {\n  input a: f32[8, " + depth + "]\n  input b: f32[" + depth +
                             ", " + columns + "]\n  output y: f32[8, " + columns + "]\n  for j < " + panels +
                             R"( {
    for i < 8 {
      allocate t: f32[32] in registers
      vector v < 32 {
        t[v] = 0:f32
      }
      for k < )" + steps + R"( {
        unrolled u < 2 {
          vector v1 < 32 {
            t[v1] += mul(a[i, 2*k + u], b[2*k + u, 32*j + v1])
          }
        }
      }
      vector v2 < 32 {
        y[i, 32*j + v2] = t[v2]
      }
    }
  }
}
)";
    for (const jit::Target& target : targets_of_known_caches()) {
      const auto code = KernelCode::compile(ir::loop::parse(text), target, {.annotate = true});
      const std::string& assembly = code->assembly();
      const size_t loop = assembly.find("for k < ");
      size_t fetches = 0;  // the two lines of a row
      for (size_t at = assembly.find("prefetcht0", loop); at != std::string::npos; ++fetches)
        at = assembly.find("prefetcht0", at + 1);
      EXPECT_EQ(fetches, large ? 2u : 0u) << assembly;
    }
    expect_as_interpreted(text, {{}});
  }
}

/// Panels that are too large for the second cache come from memory while the first rows are computed; whoever
/// reads a small one again finds it there.
TEST(Fetches, LargePanelsThatAreReadAgainAreFetchedAhead) {
  for (const bool large : {false, true}) {
    const std::string steps = large ? "32768" : "8";
    const std::string text = "loops again() {\n  input a: f32[2, " + steps + "]\n  input b: f32[3, " + steps +
                             ", 32]\n  output y: f32[3, 2, 32]\n" + R"(  for j < 3 {
    for i < 2 {
      allocate t: f32[32] in registers
      vector v < 32 {
        t[v] = 0:f32
      }
      for k < )" + steps + R"( {
        vector v1 < 32 {
          t[v1] += mul(a[i, k], b[j, k, v1])
        }
      }
      vector v2 < 32 {
        y[j, i, v2] = t[v2]
      }
    }
  }
}
)";
    for (const jit::Target& target : targets_of_known_caches()) {
      const auto code = KernelCode::compile(ir::loop::parse(text), target, {.annotate = true});
      EXPECT_EQ(code->assembly().find("prefetcht0") != std::string::npos, large) << code->assembly();
    }
    if (!large) expect_as_interpreted(text, {{}});
  }
}

/// Rows of a tile that are a multiple of a size apart are fetched for their stores one after another, by one
/// pointer that stays at the last one: the loop over k has one comparison for all of them.
TEST(Fetches, RowsAMultipleOfASizeApartHaveOnePointer) {
  for (const char* width : {"n", "3*n"}) {
    const std::string w = width;
    const std::string text = "loops product(n: 8192..65536) {\n  input a: f32[64, 4]\n  input b: f32[64, " + w +
                             "]\n  output y: f32[4, " + w + R"(]
  for j < n / 32 {
    allocate t: f32[4, 32] in registers
    unrolled i < 4 {
      vector v < 32 {
        t[i, v] = 0:f32
      }
    }
    for k < 64 {
      unrolled i1 < 4 {
        vector v1 < 32 {
          t[i1, v1] += mul(a[k, i1], b[k, 32*j + v1])
        }
      }
    }
    unrolled i2 < 4 {
      vector v2 < 32 {
        y[i2, 32*j + v2] = t[i2, v2]
      }
    }
  }
}
)";
    for (const jit::Target& target : targets_of_known_caches()) {
      const auto code = KernelCode::compile(ir::loop::parse(text), target, {.annotate = true});
      const std::string assembly = code->assembly();
      const size_t loop = assembly.find("for k < ");
      ASSERT_NE(loop, std::string::npos) << assembly;
      int clamps = 0, fetches = 0;
      for (size_t at = loop; (at = assembly.find("cmova", at)) != std::string::npos; ++at) ++clamps;
      for (size_t at = loop; (at = assembly.find("prefetchw", at)) != std::string::npos; ++at) ++fetches;
      EXPECT_EQ(clamps, 1) << assembly;
      EXPECT_GE(fetches, 2) << assembly;
    }
  }
}

}  // namespace
}  // namespace axrun::tests
