// Mistakes that random tests miss: see identity_mutations.h.
#include <fmt/format.h>

#include "tests/verify/identity_mutations.h"
#include "tests/verify/operator_terms.h"

namespace axrun::tests {
namespace {

/// {0} is a side, {1} a number, {2} a dim of the result, {3} its axis, {4} zeros for the axes before it with
/// a comma after each, {5} those for the axes after it with a comma before each.
struct Context {
  const char* kind;
  const char* left;
  const char* right;
  std::vector<const char*> numbers = {""};
  bool axis = false;  ///< needs one, of an extent that is not 1
  bool unsafe = false;
};

const std::vector<Context>& contexts() {
  const std::vector<const char*> places = {"0.0", "0.5", "1.0", "-1.0", "2.0", "0.25"};
  const std::vector<const char*> far = {"30000.0", "65504.0", "100000.0", "10000.0"};
  const std::vector<const char*> small = {"0.00001", "0.000001", "0.0000001"};
  const std::vector<const char*> huge = {"1e30", "1e35", "1e37"};
  static const std::vector<Context> list = {
      {"ties", "Where(Greater({0}, {1}), 1.0, -1.0)", "Where(GreaterOrEqual({0}, {1}), 1.0, -1.0)", places},
      {"ties",
       "Where(Less({0}, {1}), Neg({0}), {0})",
       "Where(LessOrEqual({0}, {1}), Neg({0}), {0})",
       {"0.5", "1.0", "-1.0", "2.0", "0.25"}},
      {"ties", "Where(Equal({0}, {1}), Add({0}, 1.0), {0})", "Identity({0})", places},
      {"ties", "Sign({0})", "Where(GreaterOrEqual({0}, 0.0), 1.0, -1.0)"},
      {"ties", "Floor({0})", "Sub(Ceil({0}), 1.0)"},
      {"ties", "Round({0})", "Floor(Add({0}, 0.5))"},
      {"extreme values", "Identity({0})", "Min({0}, {1})", far},
      {"extreme values", "Identity({0})", "Max({0}, Neg({1}))", far},
      {"extreme values", "Clip({0}, Neg({1}), {1})", "Identity({0})", far},
      {"extreme values", "Abs({0})", "Min(Abs({0}), {1})", far},
      {"missing guard", "Where(Less(Abs({0}), {1}), {0}, 0.0)", "Where(Less({0}, {1}), {0}, 0.0)", far},
      {"missing guard", "Where(Equal({0}, 0.0), 0.0, Reciprocal({0}))", "Reciprocal({0})"},
      {"missing guard", "Reciprocal(Max(Abs({0}), {1}))", "Reciprocal(Abs({0}))", small},
      {"missing guard", "Log(Max(Abs({0}), {1}))", "Log(Abs({0}))", small},
      {"missing guard", "Sqrt(Max({0}, 0.0))", "Sqrt({0})"},
      {"dropped epsilon", "Div({0}, Sqrt(Add(Mul({0}, {0}), {1})))", "Div({0}, Sqrt(Mul({0}, {0})))", small},
      {"dropped epsilon", "Div({0}, Add(Abs({0}), {1}))", "Div({0}, Abs({0}))", small},
      {"dropped epsilon", "Sqrt(Add(Mul({0}, {0}), {1}))", "Abs({0})", small},
      {"dropped epsilon", "Log(Add(Mul({0}, {0}), {1}))", "Log(Mul({0}, {0}))", small},
      {"dropped epsilon",
       "Div({0}, Sqrt(Add(Mul({0}, {0}), 0.00001)))",
       "Div({0}, Sqrt(Add(Mul({0}, {0}), {1})))",
       {"0.000001", "0.00002", "0.0000099"}},
      {"off-by-one extent",
       "Identity({0})",
       "Pad(Slice({0}, {{0}}, {{({2}) / {1} * {1}}}, {{{3}}}), {{{4}0{5}, {4}{2} - ({2}) / {1} * {1}{5}}})",
       {"2", "4"},
       true},
      {"off-by-one extent",
       "ReduceSum({0}, {{{3}}}; keepdims=1)",
       "ReduceSum(Slice({0}, {{0}}, {{({2}) / {1} * {1}}}, {{{3}}}), {{{3}}}; keepdims=1)",
       {"2", "4"},
       true},
      {"off-by-one extent",
       "ReduceMax({0}; axes=[{3}])",
       "ReduceMax(Slice({0}, {{({2}) - ({2}) / {1} * {1}}}, {{{2}}}, {{{3}}}); axes=[{3}])",
       {"2", "4"},
       true},
      {"off-by-one extent",
       "Identity({0})",
       "Slice(Pad({0}, {{{4}1{5}, {4}1{5}}}), {{1 + ({2}) / {1}}}, {{({2}) + 1 + ({2}) / {1}}}, {{{3}}})",
       {"5", "6"},
       true},
      {"off-by-one extent",
       "Identity({0})",
       "Concat(Slice({0}, {{0}}, {{({2}) / 2}}, {{{3}}}), Slice({0}, {{({2}) - ({2}) / 2}}, {{{2}}}, "
       "{{{3}}}); "
       "axis={3})",
       {""},
       true},
      {"wrong size",
       "ReduceMean({0}; axes=[{3}])",
       "Div(ReduceSum({0}, {{{3}}}; keepdims=1), 4.0)",
       {""},
       true},
      {"wrong size",
       "ReduceL2({0}; axes=[{3}])",
       "Mul(Sqrt(ReduceMean(Mul({0}, {0}); axes=[{3}])), 2.0)",
       {""},
       true},
      {"wrong axis", "Softmax({0}; axis={3})", "Softmax({0}; axis=0)", {""}, true},
      {"wrong axis",
       "Sub({0}, ReduceMax({0}; axes=[{3}]))",
       "Sub({0}, ReduceMax({0}; axes=[0]))",
       {""},
       true},
      {"wrong broadcast",
       "Add({0}, ReduceMean({0}; axes=[{3}]))",
       "Add({0}, ReduceMean({0}; axes=[0]))",
       {""},
       true},
      {"wrong broadcast",
       "Mul({0}, ReduceMax({0}; axes=[{3}]))",
       "Mul({0}, ReduceMax({0}; axes=[{3}], keepdims=0))",
       {""},
       true},
      {"swapped operands", "Sub({0}, {1})", "Sub({1}, {0})", {"0.5", "1.0", "3.0"}},
      {"dropped max-subtraction",
       "Softmax({0}; axis={3})",
       "Div(Exp({0}), ReduceSum(Exp({0}), {{{3}}}; keepdims=1))",
       {""},
       true,
       true},
      {"dropped max-subtraction",
       "LogSoftmax({0}; axis={3})",
       "Sub({0}, Log(ReduceSum(Exp({0}), {{{3}}}; keepdims=1)))",
       {""},
       true,
       true},
      {"dropped max-subtraction",
       "Softmax({0}; axis={3})",
       "Div(Exp(Sub({0}, {1})), ReduceSum(Exp(Sub({0}, {1})), {{{3}}}; keepdims=1))",
       {"1.0", "10.0"},
       true,
       true},
      {"overflow", "Identity({0})", "Div(Mul({0}, {1}), {1})", huge, false, true},
      {"overflow", "Neg({0})", "Neg(Mul(Mul({0}, {1}), Reciprocal({1})))", huge, false, true},
      {"overflow", "Abs({0})", "Div(Sqrt(Mul(Mul({0}, 1e20), Mul({0}, 1e20))), 1e20)", {""}, false, true},
      {"overflow", "Identity({0})", "Log(Exp({0}))", {""}, false, true},
      {"overflow",
       "Tanh({0})",
       "Div(Sub(Exp({0}), Exp(Neg({0}))), Add(Exp({0}), Exp(Neg({0}))))",
       {""},
       false,
       true},
      {"cancellation", "Identity({0})", "Sub(Add({0}, {1}), {1})", {"1e9", "1e12", "1e20"}, false, true},
      {"cancellation", "Relu({0})", "Relu(Add(Sub({0}, {1}), {1}))", {"1e9", "1e12", "1e20"}, false, true},
      {"cancellation",
       "Identity({0})",
       "Sub(Mul({0}, {1}), Mul({0}, Sub({1}, 1.0)))",
       {"1048577.0", "4194305.0"},
       false,
       true},
  };
  return list;
}

}  // namespace

std::optional<Mutation> mutate_context(const Identity& identity, std::mt19937_64& random) {
  const Inputs inputs = parse_inputs(identity.inputs);
  const ir::Program left = program_of(inputs, parse_terms(identity.left));
  if (left.outputs.size() != 1) return std::nullopt;
  const ir::TensorDecl& output = left.tensors[static_cast<size_t>(left.outputs[0])];
  if (output.type != ir::ElementType::f32) return std::nullopt;
  const Context& context = contexts()[random() % contexts().size()];
  const std::string number = context.numbers[random() % context.numbers.size()];
  std::string dim, before, after;
  size_t axis = 0;
  if (context.axis) {
    if (output.dims.empty()) return std::nullopt;
    axis = random() % output.dims.size();
    if (output.dims[axis] == ir::Dim(1)) return std::nullopt;
    dim = output.dims[axis].to_string();
    for (size_t d = 0; d < axis; ++d) before += "0, ";
    for (size_t d = axis + 1; d < output.dims.size(); ++d) after += ", 0";
  }
  const auto within = [&](const char* text, const std::string& side) {
    return fmt::format(fmt::runtime(text), side, number, dim, axis, before, after);
  };
  Mutation mutation{context.kind, identity, context.unsafe};
  mutation.mutant.left = within(context.left, identity.left);
  mutation.mutant.right = within(context.right, identity.right);
  return mutation;
}

}  // namespace axrun::tests
