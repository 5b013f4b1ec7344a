#include "tests/search/recurrence_cases.h"

#include "ir/builder.h"
#include "ir/operator.h"

namespace axrun::tests {

using ir::Attribute;
using ir::Dim;
using ir::Dims;
using ir::ElementType;
using ir::Indices;
using ir::Program;

namespace {

int64_t gates_of(const std::string& op) { return op == "LSTM" ? 4 : op == "GRU" ? 3 : 1; }

/// Weights and biases are the same in every run, states are not.
Case recurrent_case(const std::string& name, const std::string& kind, const Recurrent& wanted,
                    search::Sizes sizes = {}, std::vector<SizeValues> values = {{}}) {
  std::vector<bool> constant = {false, true, true, wanted.bias, false, false, false, true};
  return {name, kind, [=] { return program_of(wanted); }, std::move(sizes), constant, std::move(values)};
}

/// Running sums along the first axis, of a body that is linear in the state.
Program decaying_sum(const Dim& length, const Dim& width) {
  ir::Builder b("decaying_sum");
  const auto x = b.operand(0, ElementType::f32, {length, width}, "x");
  const auto start = b.operand(1, ElementType::f32, {width}, "start");
  const auto results = b.scan(
      length, {x}, {start},
      [&](ir::Builder& step, const auto& captures, const auto& states) {
        const auto sum = step.map({width}, [&](const Indices& i) {
          return states[0](i) * 0.5 + captures[0]({step.time(), i[0]});
        });
        const auto seen = step.map({width}, [&](const Indices& i) { return max(sum(i), 0.0); });
        return ir::Builder::StepResult{{sum}, {seen}};
      },
      "sums");
  b.output(results[0]);
  b.output(results[1]);
  return b.finish();
}

/// Along the first of two axes.
Program cumulative(const std::string& op, const Dim& length, const Dim& width, bool exclusive, bool reverse) {
  ir::Node node;
  node.name = "n";
  node.op = op;
  node.version = 26;
  node.attributes = {{"exclusive", integer(exclusive ? 1 : 0)}, {"reverse", integer(reverse ? 1 : 0)}};
  node.inputs = {0, 1};
  node.outputs = {2};
  ir::Tensor axis = ir::Tensor::allocate(ElementType::i64, {1});
  axis.set_int(0, 0);
  std::vector<ir::OperandInfo> operands(2);
  operands[0].present = operands[1].present = true;
  operands[0].type = ElementType::f32;
  operands[0].dims = Dims{length, width};
  operands[1].type = ElementType::i64;
  operands[1].dims = Dims{1};
  operands[1].constant = &axis;
  return ir::define_node(node, operands);
}

/// Of x + skip, with moments that are updated element by element.
Program skip_normalization(const Dim& rows, const Dim& width) {
  ir::Node node;
  node.name = "n";
  node.domain = "com.microsoft";
  node.op = "SkipLayerNormalization";
  node.version = 1;
  node.inputs = {0, 1, 2, 3};
  node.outputs = {4};
  std::vector<ir::OperandInfo> operands(4);
  for (size_t k = 0; k < 4; ++k) {
    operands[k].present = true;
    operands[k].type = ElementType::f32;
    operands[k].dims = k < 2 ? Dims{1, rows, width} : Dims{width};
  }
  return ir::define_node(node, operands);
}

}  // namespace

Program program_of(const Recurrent& r) {
  ir::Node node;
  node.name = "n";
  node.op = r.op;
  node.version = 22;
  node.attributes = {{"hidden_size", integer(r.hidden)},
                     {"direction", text(r.direction)},
                     {"layout", integer(r.batch_first ? 1 : 0)}};
  if (r.op == "GRU") node.attributes["linear_before_reset"] = integer(r.linear_before_reset ? 1 : 0);
  const Dim directions = r.direction == "bidirectional" ? 2 : 1;
  const Dim rows = gates_of(r.op) * r.hidden;
  const Dims state =
      r.batch_first ? Dims{r.batch, directions, r.hidden} : Dims{directions, r.batch, r.hidden};
  std::vector<ir::OperandInfo> operands;
  const auto add = [&](bool present, const Dims& dims) {
    ir::OperandInfo info;
    info.present = present;
    info.type = ElementType::f32;
    info.dims = dims;
    node.inputs.push_back(present ? static_cast<ir::ValueId>(operands.size()) : ir::absent);
    operands.push_back(info);
  };
  add(true, r.batch_first ? Dims{r.batch, r.length, r.inputs} : Dims{r.length, r.batch, r.inputs});
  add(true, {directions, rows, r.inputs});
  add(true, {directions, rows, r.hidden});
  add(r.bias, {directions, 2 * rows});
  add(r.lengths, {r.batch});
  operands.back().type = ElementType::i32;
  add(r.initial, state);
  if (r.op == "LSTM") {
    add(r.initial, state);
    add(r.peepholes, {directions, 3 * r.hidden});
  }
  for (int k = 0; k < (r.op == "LSTM" ? 3 : 2); ++k) node.outputs.push_back(k);
  return ir::define_node(node, operands);
}

std::vector<Case> recurrence_cases() {
  const search::Sizes any_length = {{"t", 1, 200}};
  const std::vector<SizeValues> lengths = {{{"t", 1}}, {{"t", 2}}, {{"t", 7}}};
  std::vector<Case> cases;
  const auto add = [&](Case c) { cases.push_back(std::move(c)); };
  const std::string step = "contraction+map+map", results = "+map+map+map";
  const std::string lstm = "contraction+map+map+recurrence(" + step + ")";
  add(recurrent_case("LstmOfOneStep", "contraction+" + step + results, {.length = 1, .initial = true}));
  add(recurrent_case("LstmForward", lstm + results, {}));
  add(recurrent_case("LstmBackward", lstm + results,
                     {.length = 3, .inputs = 5, .hidden = 20, .direction = "reverse"}));
  add(recurrent_case("LstmOfTwoDirections", lstm + "+" + lstm + results,
                     {.length = 4, .hidden = 8, .direction = "bidirectional"}));
  add(recurrent_case("LstmOfBatches", lstm + results,
                     {.length = 3, .batch = 3, .hidden = 17, .initial = true}));
  add(recurrent_case("LstmWithPeepholes", lstm + results,
                     {.length = 3, .batch = 2, .initial = true, .peepholes = true}));
  add(recurrent_case("LstmOfAnyLength", lstm + results, {.length = Dim::symbol("t"), .hidden = 9}, any_length,
                     lengths));
  add(recurrent_case("LstmOfBatchesFirst", lstm + "+" + lstm + results,
                     {.length = Dim::symbol("t"),
                      .batch = 2,
                      .hidden = 8,
                      .direction = "bidirectional",
                      .initial = true,
                      .batch_first = true},
                     any_length, lengths));
  add(recurrent_case("GruForward", "contraction+map+recurrence(contraction+map+contraction)+map+map",
                     {.op = "GRU", .length = 4, .hidden = 10}));
  add(recurrent_case("GruLinearBeforeReset", "contraction+map+recurrence(contraction+map)+map+map",
                     {.op = "GRU", .length = 3, .batch = 2, .initial = true, .linear_before_reset = true}));
  add(recurrent_case("GruOfAnyLength", "contraction+map+recurrence(contraction+map+contraction)+map+map",
                     {.op = "GRU", .length = Dim::symbol("t"), .direction = "reverse"}, any_length, lengths));
  const std::string gru = "contraction+map+recurrence(contraction+map)", ends = "map+map+";
  add(recurrent_case("GruOfSequences", gru + "+map+map",
                     {.op = "GRU",
                      .length = 3,
                      .batch = 2,
                      .inputs = 3,
                      .hidden = 8,
                      .linear_before_reset = true,
                      .lengths = true}));
  add(recurrent_case("GruOfSequencesBothWays", ends + gru + "+" + gru + "+map+map",
                     {.op = "GRU",
                      .length = 3,
                      .batch = 2,
                      .inputs = 3,
                      .hidden = 8,
                      .direction = "bidirectional",
                      .linear_before_reset = true,
                      .lengths = true}));
  add(recurrent_case("GruOfAnySequence", ends + gru + "+" + gru + "+map+map",
                     {.op = "GRU",
                      .length = Dim::symbol("t"),
                      .direction = "bidirectional",
                      .initial = true,
                      .linear_before_reset = true,
                      .lengths = true},
                     any_length, lengths));
  add(recurrent_case("LstmOfSequences", ends + "contraction+map+map+recurrence(" + step + "+map)" + results,
                     {.length = Dim::symbol("t"), .batch = 19, .direction = "reverse", .lengths = true},
                     any_length, lengths));
  add(recurrent_case("RnnForward", "contraction+map+recurrence(contraction)+map+map",
                     {.op = "RNN", .length = 2, .hidden = 33, .bias = false}));
  add({"CumulativeSum",
       "map+recurrence(map+map)+map",
       [] { return cumulative("CumSum", 6, 40, false, false); },
       {},
       {false, true}});
  add({"CumulativeSumBackwards",
       "map+recurrence(map+map)+map",
       [] { return cumulative("CumSum", Dim::symbol("t"), 70, true, true); },
       any_length,
       {false, true},
       lengths});
  add({"CumulativeProduct",
       "map+recurrence(map+map)+map",
       [] { return cumulative("CumProd", 4, Dim::symbol("w"), true, false); },
       {{"w", 1, 100}},
       {false, true},
       {{{"w", 1}}, {{"w", 65}}}});
  add({"SkipNormalization",
       "map+map+recurrence(map+map)+map+map",
       [] { return skip_normalization(Dim::symbol("t"), 24); },
       any_length,
       {false, false, true, true},
       lengths});
  add({"DecayingSum", "recurrence(map+map)", [] { return decaying_sum(6, 20); }, {}, {false, false}});
  add({"DecayingSumOfAnyLength",
       "recurrence(map+map)",
       [] { return decaying_sum(Dim::symbol("t"), Dim::symbol("w")); },
       {{"t", 1, 100}, {"w", 1, 100}},
       {false, false},
       {{{"t", 1}, {"w", 1}}, {{"t", 2}, {"w", 17}}, {{"t", 9}, {"w", 33}}}});
  return cases;
}

}  // namespace axrun::tests
