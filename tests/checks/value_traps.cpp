// Loop programs that compute something else, by one difference.
#include "ir/text.h"
#include "tests/checks/traps.h"
#include "verify/loop_proof.h"

namespace axrun::tests {
namespace {

using verify::checks::Id;

/// One value for each element of a line, of inputs x and z, said to be another.
Trap pointwise(std::vector<Id> ids, const std::string& reason, const std::string& said,
               const std::string& made, const std::string& in = "f32", const std::string& out = "f32") {
  return loop_trap(std::move(ids), reason,
                   "program f(x: " + in + "[n], z: " + in + "[n]) -> (y) { y: " + out +
                       "[n] = map (i: n) { " + said + " } }",
                   "loops f(n: 1..9) {\n input x: " + in + "[n]\n input z: " + in + "[n]\n output y: " + out +
                       "[n]\n for i < n { y[i] = " + made + " }\n}");
}

/// A reduction of each row.
Trap rows(std::vector<Id> ids, const std::string& reason, const std::string& said, const std::string& made) {
  return loop_trap(
      std::move(ids), reason, "program f(x: f32[n, m]) -> (y) { y: f32[n] = " + said + " }",
      "loops f(n: 1..9, m: 1..40) {\n input x: f32[n, m]\n output y: f32[n]\n for i < n { y[i] = 0:f32\n " +
          made + " }\n}");
}

Trap decaying(std::vector<Id> ids, const std::string& reason, const std::string& times,
              const std::string& before) {
  return loop_trap(
      std::move(ids), reason, R"(program f(x: f32[n], a: f32[]) -> (y) {
  y: f32[] = scan (length: n; captures: x; states: a)
  program step(x: f32[n], s: f32[]) -> (s1) { s1: f32[] = map () { s[] * 0.5:f32 + x[time] } }
})",
      "loops f(n: 1..9) {\n input x: f32[n]\n input a: f32[]\n output y: f32[]\n allocate s: f32[" + times +
          "] in memory\n s[0] = a[]\n for k < n { s[k + 1] = add(mul(s[" + before +
          "], 0.5:f32), x[k]) } y[] = s[n]\n}");
}

/// Reads past the end in one of a million million iterations, which nothing cheaper than Z3 finds, and Z3 is
/// given no time.
verify::Evidence unanswered() {
  verify::ProofOptions options;
  options.solver_milliseconds = 1;
  options.counterexample_seconds = 0;
  return verify::prove(ir::loop::parse("loops f(n: 1..1099511627776) {\n input x: f32[n]\n output y: f32[n]\n"
                                       " allocate s: f32[] in registers\n"
                                       " for i < n { s[] = x[i + max(min(i mod 1000003 - 1000001, i mod "
                                       "999983 - 999981), 0)]\n y[i] = x[i] }\n}"),
                       ir::parse("program f(x: f32[n]) -> (y) { y: f32[n] = map (i: n) { x[i] } }"), options);
}

}  // namespace

std::vector<Trap> value_traps() {
  const std::string sum = "reduce sum (i: n; p: m) { x[i, p] }";
  const std::string added = "for p < m { y[i] += x[i, p] }";
  return {
      pointwise({"values.type"}, "values of different types", "cast(f32, cast(i64, x[i]) * cast(i64, z[i]))",
                "cast:f32(mul(cast:i32(x[i]), cast:i32(z[i])))", "u16"),
      pointwise({"values.integer"}, "an integer differs", "i + 1", "index(i + 2)", "f32", "i64"),
      pointwise({"values.condition"}, "a condition differs", "i < 3", "less(index(i), 4:i64)", "f32", "bool"),
      pointwise({"values.literal"}, "a literal differs", "x[i] - 2:f32", "sub(x[i], 3:f32)"),
      pointwise({"values.input"}, "different inputs", "x[i]", "z[i]"),
      pointwise({"values.index"}, "at different indices", "x[i]", "x[n - 1 - i]"),
      pointwise({"values.operation"}, "stands for", "x[i] + z[i]", "sub(x[i], z[i])"),
      pointwise({"values.argument_order"}, "different inputs", "x[i] - z[i]", "sub(z[i], x[i])"),
      pointwise({"values.narrowed"}, "different kinds", "x[i]", "cast:i32(cast:i8(x[i]))", "i32", "i32"),
      rows({"reductions.monoid"}, "reductions differ", "reduce max (i: n; p: m) { x[i, p] }", added),
      rows({"reductions.extra_term"}, "should not have", "reduce sum (i: n; p: m - 1) { x[i, p] }", added),
      rows({"reductions.lacking_term"}, "lacks a term", sum, "for p < m - 1 { y[i] += x[i, p] }"),
      rows({"reductions.term_twice"}, "more than once", sum, "for z < 2 { for p < m { y[i] += x[i, p] } }"),
      rows({"reductions.parts_meet"}, "more than once", sum,
           "for p < m { y[i] += x[i, p] } for q < min(m, 3) { y[i] += x[i, q] }"),
      rows({"reductions.only_term"}, "different kinds", "map (i: n) { x[i, 0] + x[i, 0] }",
           "for p < m { y[i] += add(x[i, p], x[i, p]) }"),
      // Longer than the states are many: nothing is computed wrong.
      decaying({"recurrences.length"}, "different lengths", "n + 2", "k"),
      decaying({"recurrences.place"}, "another time or place", "n + 1", "max(k - 1, 0)"),
      {{"solver.unknown"}, "the solver gave up", unanswered},
  };
}

}  // namespace axrun::tests
