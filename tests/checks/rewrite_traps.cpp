// Expressions that are said to mean the same over the same memory, and do not.
#include "ir/text.h"
#include "tests/checks/traps.h"
#include "verify/rewrite_proof.h"

namespace axrun::tests {
namespace {

const std::string plain = "program f(x: f32[n]) -> (y) { y: f32[n] = map (i: n) { x[i] } }";

/// An axis without a name.
verify::Evidence ill_formed_rewrite() {
  ir::Program program = ir::parse(plain);
  program.stages[0].axes[0].name.clear();
  return verify::prove_rewrite(ir::parse(plain), program, {{"n", 1, 9, 1}});
}

verify::Evidence of_no_size() {
  return verify::prove_rewrite(
      ir::parse(plain), ir::parse(changed(plain, "{ x[i] }", "{ x[dim(n) - 1 - i] }")), {{"n", 3, 5, 7}});
}

/// Sums of products of integers as floats; `left` and `right` are what is multiplied.
std::string floats(const std::string& left, const std::string& right, const std::string& terms = "40") {
  return "program p(x: u8[5, " + terms + "], w: i8[" + terms + ", 7], t: f32[" + terms +
         "]) -> (y) {\n"
         " y: f32[5, 7] = reduce sum (a: 5, b: 7; r: " +
         terms + ") { (" + left + ") * (" + right + ") }\n}";
}

/// The same as sums of integers, times a scale.
std::string integers(const std::string& scale, const std::string& terms = "40") {
  return "program p(x: u8[5, " + terms + "], w: i8[" + terms + ", 7], t: f32[" + terms +
         "]) -> (y) {\n"
         " s: i32[5, 7] = reduce sum (a: 5, b: 7; r: " +
         terms +
         ") { cast(i32, x[a, r]) * cast(i32, w[r, b]) }\n"
         " y: f32[5, 7] = map (a: 5, b: 7) { cast(f32, s[a, b]) * " +
         scale + " }\n}";
}

}  // namespace

std::vector<Trap> rewrite_traps() {
  const std::string x = "cast(f32, cast(i32, x[a, r]))", w = "cast(f32, cast(i32, w[r, b]))";
  const std::string scaled = x + " * 0.25:f32", twice = w + " * 0.5:f32";
  return {
      {{"rewrites.grammar"}, "not well-formed", ill_formed_rewrite},
      {{"rewrites.sizes"}, "no size within", of_no_size},
      rewrite_trap(
          {"rewrites.outputs"}, "different outputs", plain,
          "program f(x: f32[n]) -> (y, z) { y: f32[n] = map (i: n) { x[i] }\n z: f32[n] = map (i: n) { x[i] "
          "} }"),
      rewrite_trap({"rewrites.operands"}, "an operand more", plain,
                   "program f(x: f32[n], z: f32[n]) -> (y) { y: f32[n] = map (i: n) { x[i] } }"),
      rewrite_trap({"rewrites.type"}, "differ in type", plain,
                   "program f(x: f64[n]) -> (y) { y: f32[n] = map (i: n) { cast(f32, x[i]) } }"),
      rewrite_trap({"rewrites.dims"}, "are not those of",
                   "program f(x: f32[n, 4]) -> (y) { y: f32[n] = map (i: n) { x[i, 3] } }",
                   "program f(x: f32[n, 5]) -> (y) { y: f32[n] = map (i: n) { x[i, 3] } }"),
      rewrite_trap({"scaled_sums.varying_factor"}, "", floats(x + " * t[r]", twice), integers("0.5:f32")),
      rewrite_trap({"scaled_sums.literal"}, "", floats(scaled, twice), integers("0.25:f32")),
      rewrite_trap({"scaled_sums.lacking_factor"}, "", floats(scaled, twice), integers("0.125:f32 * t[a]")),
      rewrite_trap({"scaled_sums.cases"}, "",
                   floats("select(r < 20, " + scaled + ", " + x + " * 0.5:f32)", twice),
                   integers("0.125:f32")),
      // 255 * 128 * 66,000 is more than 2^31.
      rewrite_trap({"scaled_sums.fits"}, "", floats(scaled, twice, "66000"), integers("0.125:f32", "66000")),
  };
}

}  // namespace axrun::tests
