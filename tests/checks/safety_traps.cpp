// Rewrites that are less safe than their originals. What is asked here is not whether they are equal: what
// overflows, say, is turned into a sign, so that nothing else of it is left to be refused.
#include "ir/text.h"
#include "tests/checks/traps.h"
#include "verify/tensor_equality.h"

namespace axrun::tests {
namespace {

using verify::checks::Id;

std::string program(const std::string& value) {
  return "program f(x: f32[n]) -> (y) { y: f32[n] = map (i: n) { " + value + " } }";
}

Trap less_safe(std::vector<Id> ids, const std::string& reason, const std::string& original,
               const std::string& rewritten, double most = 10, const ir::loop::Size& size = {"n", 1, 9, 1}) {
  return {std::move(ids), reason, [=] {
            return verify::prove_safe(ir::parse(original), ir::parse(rewritten), {size}, {{-most, most}});
          }};
}

verify::Evidence ill_formed_form() {
  ir::Program other = ir::parse(program("x[i]"));
  other.stages[0].axes[0].name.clear();
  return verify::prove_safe(ir::parse(program("x[i]")), other, {{"n", 1, 9, 1}}, {});
}

}  // namespace

std::vector<Trap> safety_traps() {
  const std::string x = program("x[i]");
  const std::string negative = program("0:f32 - abs(x[i])");
  const auto hidden = [](const std::string& value) { return program("sign(" + value + ")"); };
  return {
      {{"safety.grammar"}, "not well-formed", ill_formed_form},
      less_safe({"safety.outputs"}, "other outputs", x,
                "program f(x: f32[n]) -> (y, z) { y: f32[n] = map (i: n) { x[i] }\n z: f32[n] = map (i: n) { "
                "x[i] } }"),
      less_safe({"safety.sizes"}, "no size within", x, x, 10, {"n", 3, 5, 7}),
      less_safe({"safety.overflow"}, "may overflow", negative, hidden("x[i] * 1e30:f32 * 1e30:f32")),
      less_safe({"safety.exponential"}, "exponential of what is not bounded", negative, hidden("exp(x[i])"),
                1000),
      less_safe({"safety.division"}, "divides by what may be 0", negative, hidden("1:f32 / x[i]")),
      less_safe({"safety.logarithm"}, "logarithm of what may be 0", negative, hidden("log(x[i])")),
      less_safe({"safety.root"}, "root of what may be negative", negative, hidden("sqrt(x[i])")),
      less_safe({"safety.sign"}, "is a difference", program("abs(x[i])"), x),
      less_safe({"safety.cancellation"}, "nearly cancels", x, program("x[i] + 1e9:f32 - 1e9:f32")),
  };
}

}  // namespace axrun::tests
