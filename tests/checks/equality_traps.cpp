// Expressions that are said to be equal by algebra.
#include "ir/text.h"
#include "tests/checks/traps.h"
#include "verify/bilinear_identity.h"
#include "verify/tensor_equality.h"

namespace axrun::tests {
namespace {

using verify::checks::Id;

const std::string same_line = "program f(x: f32[n]) -> (y) { y: f32[n] = map (i: n) { x[i] } }";

verify::ProofOptions no_search() {
  verify::ProofOptions options;
  options.counterexample_seconds = 0;
  return options;
}

Trap said_equal(std::vector<Id> ids, const std::string& reason, const std::string& left,
                const std::string& right, const ir::loop::Size& size = {"n", 1, 9, 1}) {
  return {std::move(ids), reason,
          [=] { return verify::prove_equal(ir::parse(left), ir::parse(right), {size}, no_search()); }};
}

/// One value for each element of a line, and another one.
Trap elementwise(std::vector<Id> ids, const std::string& reason, const std::string& left,
                 const std::string& right, const std::string& type = "f32", const std::string& out = "f32") {
  const auto program = [&](const std::string& value) {
    return "program f(x: " + type + "[n], z: " + type + "[n]) -> (y) { y: " + out + "[n] = map (i: n) { " +
           value + " } }";
  };
  return said_equal(std::move(ids), reason, program(left), program(right));
}

Trap reduced(std::vector<Id> ids, const std::string& reason, const std::string& left,
             const std::string& right) {
  const auto program = [](const std::string& stage) {
    return "program f(x: f32[n]) -> (y) { y: f32[] = reduce " + stage + " }";
  };
  return said_equal(std::move(ids), reason, program(left), program(right));
}

/// Two sums, one over n terms and one over others, added up.
std::string sums(const std::string& first, const std::string& second, const std::string& terms) {
  return "program f(x: f32[n], z: f32[n]) -> (y) {\n a: f32[] = reduce sum (; p: n) { " + first +
         " }\n b: f32[] = reduce sum (; p: " + terms + ") { " + second +
         " }\n y: f32[] = map () { a[] + b[] }\n}";
}

/// An axis without a name.
verify::Evidence ill_formed_side() {
  ir::Program program = ir::parse(same_line);
  program.stages[0].axes[0].name.clear();
  return verify::prove_equal(ir::parse(same_line), program, {{"n", 1, 9, 1}}, no_search());
}

/// Two outputs of a filter of two weights, whose last coefficient or scale is wrong.
verify::Evidence bilinear(int64_t last, int64_t scale) {
  const verify::BilinearCoefficients direct = {{{scale, 0}, {scale, 0}, {0, scale}, {0, scale}},
                                               {{1, 0}, {0, 1}, {1, 0}, {0, 1}},
                                               {{1, 0, 0}, {0, 1, 0}, {0, 1, 0}, {0, 0, last}},
                                               scale,
                                               {{0, 1}, {1, 2}}};
  return verify::prove_bilinear(direct);
}

}  // namespace

std::vector<Trap> equality_traps() {
  const std::string lost = "finds no counterpart";
  return {
      {{"equality.grammar"}, "not well-formed", ill_formed_side},
      said_equal({"equality.sizes"}, "no size within", same_line,
                 changed(same_line, "{ x[i] }", "{ x[dim(n) - 1 - i] }"), {"n", 3, 5, 7}),
      said_equal({"equality.outputs"}, "numbers of outputs", same_line,
                 "program f(x: f32[n]) -> (y, z) { y: f32[n] = map (i: n) { x[i] }\n z: f32[n] = map (i: n) "
                 "{ x[i] } }"),
      said_equal({"equality.type"}, "differ in type", same_line,
                 "program f(x: f32[n]) -> (y) { y: f64[n] = map (i: n) { cast(f64, x[i]) } }"),
      said_equal({"equality.rank"}, "differ in rank",
                 "program f(x: f32[n]) -> (y) { y: f32[n, 1] = map (i: n, j: 1) { x[i] } }", same_line),
      said_equal({"equality.dims"}, "differ in dim", same_line,
                 "program f(x: f32[n]) -> (y) { y: f32[n + 1] = map (i: n + 1) { x[min(i, dim(n) - 1)] } }"),
      elementwise({"equality.reads"}, "reads what is not there", "x[i + 1]", "x[i + 1]"),
      elementwise({"equality.counterpart"}, lost, "x[i]", "z[i]"),
      reduced({"equality.term_twice", "equality.whole_domain"}, lost, "sum (; p: n, q: n) { x[max(p, q)] }",
              "sum (; p: n) { x[p] }"),
      reduced({"equality.whole_domain"}, lost, "sum (; p: n) { x[p] }", "sum (; p: n - 1) { x[p] }"),
      elementwise({"equality.index"}, lost, "exp(x[i])", "exp(x[dim(n) - 1 - i])"),
      reduced({"equality.maximum"}, lost, "max (; p: n) { x[p] }", "max (; p: n) { x[max(p - 1, 0)] }"),
      reduced({"equality.product_terms"}, lost, "product (; p: n) { x[p] }",
              "product (; p: n - 1) { x[p + 1] }"),
      said_equal({"equality.pointwise_domain"}, lost, sums("max(x[p], z[p])", "min(x[p], z[p])", "n"),
                 sums("x[p]", "z[p]", "n - 1")),
      elementwise({"equality.consistent"}, lost, "sqrt(-1:f32 - x[i] * x[i])",
                  "2:f32 * sqrt(-1:f32 - x[i] * x[i])"),
      elementwise({"equality.body_type"}, lost, "cast(f32, x[i] * z[i])", "cast(f32, cast(u32, x[i] * z[i]))",
                  "i32"),
      elementwise({"equality.defined"}, "one side needs", "x[i] * z[i] / z[i]", "x[i]"),
      elementwise({"equality.infinities_cancel"}, "infinities may cancel", "x[i] + inf:f32 - inf:f32",
                  "x[i]"),
      elementwise({"equality.infinity_times_zero"}, "multiplied by what may be 0", "x[i] * inf:f32",
                  "inf:f32 * x[i]"),
      elementwise({"equality.infinite_argument"}, "of what may be infinite", "abs(x[i] + inf:f32)",
                  "abs(inf:f32 + x[i])"),
      elementwise({"equality.undefined"}, "has no value for", "x[i] / 0:i32", "x[i] / 0:i32", "i32", "i32"),
      elementwise({"equality.fits"}, "", "cast(i32, x[i] - z[i])", "cast(i32, x[i]) - cast(i32, z[i])", "u8",
                  "i32"),
      {{"bilinear.coefficient"}, "another coefficient", [] { return bilinear(2, 1); }},
      {{"bilinear.scale"}, "the scale is 0", [] { return bilinear(1, 0); }},
  };
}

}  // namespace axrun::tests
