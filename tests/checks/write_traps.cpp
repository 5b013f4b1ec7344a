// Loop programs in which a read finds something else than a careless reader of the text would say; the
// expressions are what that reader says.
#include "tests/checks/traps.h"

namespace axrun::tests {
namespace {

const std::string copied = "program f(x: f32[n]) -> (y) { y: f32[n] = map (i: n) { x[i] } }";
const std::string zeros = "program f(x: f32[n]) -> (y) { y: f32[n] = map (i: n) { 0:f32 } }";
const std::string prefixes = R"(program f(x: f32[n]) -> (y) {
  y: f32[n] = reduce sum (i: n; p: n) { x[p; p <= i; 0:f32] }
})";
const std::string decay = R"(program f(x: f32[n], a: f32[]) -> (y) {
  y: f32[] = scan (length: n; captures: x; states: a)
  program step(x: f32[n], s: f32[]) -> (s1) { s1: f32[] = map () { s[] * 0.5:f32 + x[time] } }
})";

std::string line(const std::string& body) {
  return "loops f(n: 1..9) {\n input x: f32[n]\n output y: f32[n]\n " + body + "\n}";
}

std::string square(const std::string& body) {
  return "loops f(n: 1..9) {\n input x: f32[n, n]\n output y: f32[n]\n " + body + "\n}";
}

/// A state that is carried from time to time in s.
std::string carried(const std::string& body, const std::string& dims = "n + 1") {
  return "loops f(n: 1..9) {\n input x: f32[n]\n input a: f32[]\n output y: f32[]\n allocate s: f32[" + dims +
         "] in memory\n " + body + "\n}";
}

std::vector<Trap> last_write_traps() {
  return {
      // The last column is not computed.
      loop_trap({"writes.unwritten"}, "may not have been written", copied,
                line("for i < n - 1 { y[i] = x[i] }")),
      loop_trap({"writes.unique"}, "written more than once",
                "program f(x: f32[n, n]) -> (y) { y: f32[n] = map (i: n) { x[i, 0] } }",
                square("for i < n { for p < n { y[i] = x[i, p] } }")),
      loop_trap(
          {"writes.overwritten"}, "perhaps overwritten",
          "program f(x: f32[n, n]) -> (y) { y: f32[n] = reduce sum (i: n; p: n) { x[p, i] } }",
          square("for z < n { y[z] = 0:f32 } for p < n { y[p] = 0:f32\n for q < n { y[q] += x[p, q] } }")),
      loop_trap({"writes.written_again"}, "perhaps written again", copied,
                line("for p < n { for q < n { y[q] = 7:f32 } y[p] = x[p] }")),
      loop_trap({"writes.fresh"}, "changed in an earlier iteration", zeros,
                line("allocate s: f32[] in registers\n s[] = 0:f32\n for i < n { y[i] = s[]\n s[] = x[i] }")),
      loop_trap({"writes.contributions"}, "could not be told apart",
                "program f(x: f32[n, 4]) -> (y) {\n"
                " y: f32[2*n + 2] = map (i: 2*n + 2) { x[floor_div(i, 2), floor_mod(i, 2); floor_div(i, 2) < "
                "dim(n); "
                "0:f32] }\n}",
                "loops f(n: 1..9) {\n input x: f32[n, 4]\n output y: f32[2*n + 2]\n for z < 2*n + 2 { y[z] = "
                "0:f32 }\n"
                " for a < n { for b < 4 { y[2*a + b] += x[a, b] } }\n}"),
      loop_trap({"writes.mixed_combines"}, "multiplied and added to",
                "program f(x: f32[n], z: f32[n]) -> (y) {\n s: f32[] = reduce sum (; p: n) { x[p] }\n"
                " t: f32[] = reduce max (; p: n) { z[p] }\n y: f32[] = map () { max(s[], t[]) }\n}",
                "loops f(n: 1..9) {\n input x: f32[n]\n input z: f32[n]\n output y: f32[]\n y[] = 0:f32\n"
                " for p < n { y[] += x[p]\n y[] max= z[p] }\n}"),
  };
}

std::vector<Trap> only_write_traps() {
  const std::string step = "s[k + 1] = add(mul(s[k], 0.5:f32), x[k])";
  const std::string two_columns = R"(program f(x: f32[n], a: f32[2]) -> (y) {
  y: f32[2] = scan (length: n; captures: x; states: a)
  program step(x: f32[n], s: f32[2]) -> (s1) { s1: f32[2] = map (i: 2) { s[i] * 0.5:f32 + x[time] } }
})";
  return {
      loop_trap({"only_writes.combined"}, "may not have been written", decay,
                carried("s[0] = a[]\n for k < n { " + step +
                        "\n for z < min(n - 1 - k, 1) { s[k + 1] += 1:f32 } } y[] = s[n]")),
      loop_trap({"only_writes.written_again"}, "may not have been written", decay,
                carried("s[0] = a[]\n s[0] = 7:f32\n for k < n { " + step + " } y[] = s[n]")),
      loop_trap(
          {"writes.unique"}, "written more than once", decay,
          carried(
              "s[0] = a[]\n for z < 2 { for k < n { s[k + 1] = add(mul(s[k + z], 0.5:f32), x[k]) } } y[] = "
              "s[n]")),
      loop_trap({"only_writes.too_late", "loops.written"}, "not been written", copied,
                line("allocate s: f32[n] in memory\n for k < n { y[k] = s[k]\n s[k] = x[k] }")),
      loop_trap({"only_writes.unwritten", "loops.written"}, "not been written", two_columns,
                "loops f(n: 1..9) {\n input x: f32[n]\n input a: f32[2]\n output y: f32[2]\n"
                " allocate s: f32[n + 1, 2] in memory\n"
                " for k < n { s[k + 1, 0] = add(mul(s[k, 0], 0.5:f32), x[k])\n"
                " s[k + 1, 1] = add(mul(s[k, 1], 0.5:f32), x[k]) } for i < 2 { y[i] = s[n, i] }\n}"),
  };
}

/// Sums that are read while they grow.
std::vector<Trap> so_far_traps() {
  return {
      // Not emptied where n is 1.
      loop_trap({"writes_so_far.unwritten", "loops.written"}, "not been written", prefixes,
                line("allocate s: f32[] in registers\n for z < min(n - 1, 1) { s[] = 0:f32 }\n"
                     " for i < n { s[] += x[i]\n y[i] = s[] }")),
      loop_trap({"writes_so_far.written_again"}, "changed in an earlier iteration", prefixes,
                line("allocate s: f32[] in registers\n s[] = 0:f32\n for i < n { s[] += x[i]\n y[i] = s[]\n"
                     " s[] = 0:f32 }")),
      loop_trap({"writes_so_far.too_early", "writes.written_again"}, "perhaps written again", prefixes,
                line("allocate s: f32[n] in memory\n for q < n { for z < min(q, 1) { s[z] += 1:f32 } s[q] = "
                     "0:f32 }\n"
                     " for i < n { s[0] += x[i]\n y[i] = s[0] }")),
  };
}

}  // namespace

std::vector<Trap> write_traps() {
  std::vector<Trap> all = last_write_traps();
  for (auto* more : {only_write_traps, so_far_traps}) {
    for (Trap& trap : more()) all.push_back(std::move(trap));
  }
  return all;
}

}  // namespace axrun::tests
