// Loop programs that do what must not be done, whatever they compute: most of these compute the right values.
#include "ir/text.h"
#include "tests/checks/traps.h"
#include "verify/loop_proof.h"

namespace axrun::tests {
namespace {

using verify::checks::Id;

const std::string copy = "program f(x: f32[n]) -> (y) { y: f32[n] = map (i: n) { x[i] } }";

std::string copying(const std::string& body, const std::string& sizes = "n: 1..9") {
  return "loops f(" + sizes + ") {\n input x: f32[n]\n output y: f32[n]\n " + body + "\n}";
}

Trap of_copy(std::vector<Id> ids, const std::string& reason, const std::string& body) {
  return loop_trap(std::move(ids), reason, copy, copying(body));
}

/// An output in registers: right, but for where the caller looks for it.
verify::Evidence ill_formed_loops() {
  ir::loop::LoopProgram program = ir::loop::parse(copying("for i < n { y[i] = x[i] }"));
  program.buffers[1].level = ir::loop::Level::registers;
  return verify::prove(program, ir::parse(copy));
}

std::vector<Trap> interface_traps() {
  const std::string two = "program f(a: f32[n], b: f32[n]) -> (y) { y: f32[n] = map (i: n) { b[i] } }";
  return {
      {{"loops.grammar"}, "not well-formed", ill_formed_loops},
      // Inputs are numbered from the first buffer on.
      loop_trap({"loops.order"}, "not in this order", two,
                "loops f(n: 1..9) {\n output y: f32[n]\n input a: f32[n]\n input b: f32[n]\n"
                " for i < n { y[i] = a[i] }\n}"),
      // The kernel would be given one pointer less than it takes.
      loop_trap({"loops.more_buffers"}, "has no tensor for z", copy,
                "loops f(n: 1..9) {\n input x: f32[n]\n input z: f32[n]\n output y: f32[n]\n"
                " for i < n { y[i] = x[i] }\n}"),
      loop_trap({"loops.fewer_buffers"}, "more operands or outputs",
                "program f(x: f32[n]) -> (y, z) {\n y: f32[n] = map (i: n) { x[i] }\n"
                " z: f32[n] = map (i: n) { x[i] * 2:f32 }\n}",
                copying("for i < n { y[i] = x[i] }")),
      loop_trap(
          {"loops.type"}, "differ in type", copy,
          "loops f(n: 1..9) {\n input x: f64[n]\n output y: f32[n]\n for i < n { y[i] = cast:f32(x[i]) }\n}"),
      loop_trap(
          {"loops.dims"}, "differ in their dims",
          "program f(x: f32[n, 8]) -> (y) { y: f32[n] = map (i: n) { x[i, 3] } }",
          "loops f(n: 1..9) {\n input x: f32[n, 9]\n output y: f32[n]\n for i < n { y[i] = x[i, 3] }\n}"),
      loop_trap({"loops.sizes"}, "no size within", copy,
                copying("for i < n { y[i] = x[n - 1 - i] }", "n: 3..5 by 7")),
  };
}

std::vector<Trap> safety_of_loops() {
  const std::string quotient =
      "program f(x: i32[n], d: i32[n]) -> (y) { y: i32[n] = map (i: n) { x[i] / d[i] } }";
  return {
      of_copy({"loops.extent"}, "may be negative", "for i < n { y[i] = x[i] } for k < n - 5 { y[k] = x[k] }"),
      of_copy({"loops.buffer_size"}, "may be negative",
              "allocate s: f32[n - 3] in memory\n for i < max(n - 3, 0) { s[i] = x[i] } for k < n { y[k] = "
              "x[k] }"),
      // What is read is not used; what is written is not read.
      of_copy({"loops.bounds"}, "may be out of bounds",
              "for i < n { y[i] = select(less(index(i), index(n)), x[i], x[i + 7]) }"),
      of_copy({"loops.bounds"}, "may be out of bounds",
              "allocate s: f32[4] in memory\n for i < n { s[i] = x[i]\n y[i] = x[i] }"),
      loop_trap({"loops.lookup_bounds"}, "looked up by",
                "program f(t: f32[5], k: i64[n]) -> (y) { y: f32[n] = map (i: n) { t[0] } }",
                "loops f(n: 1..9) {\n input t: f32[5]\n input k: i64[n]\n output y: f32[n]\n"
                " allocate s: f32[] in registers\n"
                " for i < n { s[] = t[lookup(k[i + 1])]\n y[i] = t[0] }\n}"),
      loop_trap({"loops.divisor"}, "may divide an integer by 0", quotient,
                "loops f(n: 1..9) {\n input x: i32[n]\n input d: i32[n]\n output y: i32[n]\n"
                " for i < n { y[i] = div(x[i], d[i]) }\n}"),
      // Nothing is made of what is read, or nothing yet.
      of_copy({"loops.written"}, "has not been written",
              "allocate s: f32[] in registers\n allocate t: f32[] in registers\n"
              " for i < n { t[] = s[]\n y[i] = x[i] }"),
      of_copy(
          {"loops.written"}, "has not been written",
          "allocate s: f32[n] in memory\n for i < n { y[i] = select(less(index(i), index(n)), x[i], s[i]) }"),
      of_copy({"loops.written_before"}, "has not been written",
              "allocate s: f32[n] in memory\n allocate t: f32[] in registers\n"
              " for i < n { t[] = s[i]\n s[i] = x[i]\n y[i] = x[i] }"),
      of_copy({"loops.inverse"}, "does not give its loops back",
              "for i < n { y[i] = x[i] computes y(i) inverse(x0 + 1) }"),
  };
}

/// Right one iteration after the other; wrong as soon as they run at the same time.
std::vector<Trap> races() {
  const std::string shared = "allocate s: f32[] in cache\n ";
  const std::string neighbours =
      "program f(x: f32[n]) -> (y) { y: f32[n] = map (i: n) { x[max(i - 1, 0)] } }";
  const auto handed_on = [&](const std::string& kind) {
    return copying("allocate s: f32[n] in memory\n " + kind +
                   " i < n { s[i] = x[i]\n y[i] = guarded(s[i - 1], greater(index(i), 0:i64), x[0]) }");
  };
  return {
      of_copy({"loops.parallel_race"}, "parallel loop i may touch",
              shared + "parallel i < n { s[] = x[i]\n y[i] = s[] }"),
      of_copy({"loops.vector_race"}, "vector loop i may touch",
              shared + "vector i < n { s[] = x[i]\n y[i] = s[] }"),
      // Two lanes write one element, which nothing reads.
      of_copy({"loops.vector_race"}, "vector loop k may touch",
              shared + "vector k < n { s[] = x[k] } for i < n { y[i] = x[i] }"),
      loop_trap({"loops.race_in_other_order"}, "parallel loop i may touch", neighbours,
                handed_on("parallel")),
      loop_trap({"loops.race_in_other_order"}, "vector loop i may touch", neighbours, handed_on("vector")),
  };
}

}  // namespace

std::vector<Trap> loop_traps() {
  std::vector<Trap> all = interface_traps();
  for (auto* more : {safety_of_loops, races}) {
    for (Trap& trap : more()) all.push_back(std::move(trap));
  }
  return all;
}

}  // namespace axrun::tests
