#include "ir/grammar.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "ir/builder.h"
#include "ir/error.h"
#include "ir/opaque.h"
#include "tests/ir/random_program.h"

namespace axrun::ir {
namespace {

using enum ElementType;

/// One stage of every kind, strings and guards included.
Program valid_program() {
  Builder b("valid");
  Dim n = Dim::symbol("n");
  TensorRef x = b.operand(0, f32, {n, 4}, "x");
  TensorRef words = b.operand(2, string, {n}, "words");
  TensorRef mapped = b.map_grouped(
      {n, 2, 2}, {{0}, {1, 2}},
      [&](const Indices& i) {
        return x.padded({i[0], i[1] * 2 + i[2] - 1}, 0.0);
      },
      "mapped");
  TensorRef sums = b.sum({n}, {4}, [&](const Indices& i, const Indices& r) {
    return exp(x({i[0], r[0]})) * 2.0;
  });
  auto best = b.reduce_tuple(
      {n}, {4}, {b.real(f32, -1e30), b.integer(0)},
      [&](const Indices& i, const Indices& r) {
        return std::vector<Scalar>{mapped({i[0], r[0]}), r[0]};
      },
      [](const std::vector<Scalar>& left, const std::vector<Scalar>& right) {
        Scalar keep = left[0] >= right[0];
        return std::vector<Scalar>{select(keep, left[0], right[0]), select(keep, left[1], right[1])};
      },
      "best");
  TensorRef scattered = b.scatter(sums, {n}, ScatterCombine::add, [&](const Indices& i) {
    return Builder::Update{{best[1](i)}, cast(f32, i[0]), i[0] != 0};
  });
  auto scanned = b.scan(
      n, {x}, {scattered},
      [&](Builder& step, const std::vector<TensorRef>& captures, const std::vector<TensorRef>& states) {
        TensorRef next = step.map(
            {n},
            [&](const Indices& i) {
              return states[0](i) + captures[0]({step.time(), step.integer(1)});
            },
            "next");
        return Builder::StepResult{{next}, {next}};
      });
  TensorRef copied = b.map(
      {n}, [&](const Indices& i) { return words(i); }, "copied");
  TensorRef constant =
      b.opaque("constant", {}, {{i64, {3}}}, std::make_shared<Tensor>(Tensor::from_i64({1, 2, 3})))[0];
  for (const TensorRef& t : {scanned[0], scanned[1], copied, constant}) b.output(t);
  return b.finish();
}

Stage& stage_of(Program& p, StageKind kind, size_t which = 0) {
  for (Stage& stage : p.stages) {
    if (stage.kind == kind && which-- == 0) return stage;
  }
  throw std::out_of_range("no such stage");
}

Expr& expr_of(Program& p, ScalarOp op, size_t which = 0) {
  for (Expr& expr : p.exprs) {
    if (expr.op == op && which-- == 0) return expr;
  }
  throw std::out_of_range("no such expression");
}

ExprId append(Program& p, ScalarOp op, ElementType type, std::array<ExprId, 3> args = {none, none, none},
              int64_t integer = 0) {
  Expr expr;
  expr.op = op;
  expr.type = type;
  expr.args = args;
  expr.integer = integer;
  p.exprs.push_back(expr);
  return static_cast<ExprId>(p.exprs.size()) - 1;
}

ExprId integer(Program& p, ElementType type, int64_t value) {
  return append(p, ScalarOp::integer, type, {none, none, none}, value);
}
ExprId real(Program& p) { return append(p, ScalarOp::real, f32); }

Program& step_of(Program& p, std::shared_ptr<Program>& copy) {
  Stage& scan = stage_of(p, StageKind::scan);
  copy = std::make_shared<Program>(*scan.step);
  scan.step = copy;
  return *copy;
}

struct Break {
  std::string_view rule;
  std::function<void(Program&)> apply;
};

/// For every rule, ways to break a valid program that this rule and no other notices.
const std::vector<Break>& breaks() {
  using Kind = StageKind;
  static const std::vector<Break> all = {
      {"argument-count", [](Program& p) { expr_of(p, ScalarOp::exp).args[0] = none; }},
      {"argument-count", [](Program& p) { expr_of(p, ScalarOp::exp).args[1] = 0; }},
      {"argument-count",
       [](Program& p) {
         expr_of(p, ScalarOp::load).args = {none, 0, none};
       }},
      {"argument-count", [](Program& p) { expr_of(p, ScalarOp::exp).op = static_cast<ScalarOp>(250); }},
      {"argument-order",
       [](Program& p) { expr_of(p, ScalarOp::exp).args[0] = static_cast<ExprId>(p.exprs.size()) - 1; }},
      {"argument-order", [](Program& p) { expr_of(p, ScalarOp::load).indices[0] = -7; }},
      {"load-tensor", [](Program& p) { expr_of(p, ScalarOp::load).integer = 1000; }},
      {"load-tensor", [](Program& p) { expr_of(p, ScalarOp::load).integer = -1; }},
      {"indices-of-loads", [](Program& p) { expr_of(p, ScalarOp::exp).indices = {0}; }},
      {"leaf-type", [](Program& p) { append(p, ScalarOp::axis, i32); }},
      {"leaf-type", [](Program& p) { append(p, ScalarOp::real, i32); }},
      {"leaf-type", [](Program& p) { append(p, ScalarOp::integer, f32); }},
      {"leaf-type", [](Program& p) { append(p, ScalarOp::extent, f64); }},
      {"literal-range", [](Program& p) { integer(p, u8, 256); }},
      {"literal-range", [](Program& p) { integer(p, boolean, 2); }},
      {"load-type",
       [](Program& p) {
         p.exprs[static_cast<size_t>(stage_of(p, Kind::map, 1).body[0])].type = i64;
         p.tensors[static_cast<size_t>(stage_of(p, Kind::map, 1).results[0])].type = i64;
       }},
      {"load-rank",
       [](Program& p) {
         Expr& load = p.exprs[static_cast<size_t>(stage_of(p, Kind::map, 1).body[0])];
         load.indices.push_back(load.indices[0]);
       }},
      {"load-index-type",
       [](Program& p) {
         ExprId index = integer(p, i32, 0);
         Expr load = p.exprs[static_cast<size_t>(stage_of(p, Kind::map, 1).body[0])];
         load.indices[0] = index;
         p.exprs.push_back(load);
       }},
      {"load-guard",
       [](Program& p) {
         ExprId guard = integer(p, i64, 1);
         ExprId otherwise = real(p);
         Expr load = expr_of(p, ScalarOp::load);
         load.args = {guard, otherwise, none};
         p.exprs.push_back(load);
       }},
      {"load-guard",
       [](Program& p) {
         ExprId guard = integer(p, boolean, 1);
         ExprId otherwise = integer(p, i64, 1);
         Expr load = expr_of(p, ScalarOp::load);
         load.args = {guard, otherwise, none};
         p.exprs.push_back(load);
       }},
      {"select-types",
       [](Program& p) {
         ExprId c = integer(p, i64, 1);
         append(p, ScalarOp::select, i64, {c, c, c});
       }},
      {"select-types",
       [](Program& p) {
         ExprId c = integer(p, boolean, 1);
         ExprId v = integer(p, i64, 1);
         append(p, ScalarOp::select, i64, {c, v, c});
       }},
      {"cast-types",
       [](Program& p) {
         append(p, ScalarOp::cast, string, {0, none, none});
       }},
      {"cast-types",
       [](Program& p) {
         append(p, ScalarOp::cast_saturate, undefined, {0, none, none});
       }},
      {"operand-types",
       [](Program& p) {
         ExprId a = integer(p, i64, 1);
         append(p, ScalarOp::add, i64, {a, integer(p, i32, 1), none});
       }},
      {"operand-types",
       [](Program& p) {
         append(p, ScalarOp::exp, i64, {integer(p, i64, 1), none, none});
       }},
      {"operand-types",
       [](Program& p) {
         append(p, ScalarOp::shift_left, f32, {real(p), 0, none});
       }},
      {"operand-types",
       [](Program& p) {
         append(p, ScalarOp::logical_not, boolean, {integer(p, i64, 1), none, none});
       }},
      {"result-type",
       [](Program& p) {
         ExprId a = integer(p, i64, 1);
         append(p, ScalarOp::less, i64, {a, a, none});
       }},
      {"result-type",
       [](Program& p) {
         ExprId a = integer(p, i64, 1);
         append(p, ScalarOp::add, i32, {a, a, none});
       }},
      {"stage-tensors", [](Program& p) { stage_of(p, Kind::map).results[0] = 99; }},
      {"stage-tensors", [](Program& p) { stage_of(p, Kind::scan).captures[0] = none; }},
      {"stage-tensors", [](Program& p) { stage_of(p, Kind::scatter).base = 99; }},
      {"stage-tensors", [](Program& p) { stage_of(p, Kind::opaque).arguments = {99}; }},
      {"stage-expressions", [](Program& p) { stage_of(p, Kind::map).body[0] = none; }},
      {"stage-expressions", [](Program& p) { stage_of(p, Kind::reduce, 1).monoid.combine[0] = 10000; }},
      {"stage-expressions", [](Program& p) { stage_of(p, Kind::scatter).guard = -9; }},
      {"stage-members",
       [](Program& p) {
         stage_of(p, Kind::map).reduce_axes = {{"r", 2}};
       }},
      {"stage-members", [](Program& p) { stage_of(p, Kind::reduce).monoid.identity = {0}; }},
      {"stage-members",
       [](Program& p) {
         stage_of(p, Kind::opaque).axes = {{"i", 2}};
       }},
      {"stage-members", [](Program& p) { stage_of(p, Kind::map).function = "constant"; }},
      {"stage-members", [](Program& p) { stage_of(p, Kind::reduce).base = 0; }},
      {"stage-members", [](Program& p) { stage_of(p, Kind::scatter).groups = {{0}}; }},
      {"stage-members", [](Program& p) { stage_of(p, Kind::map).captures = {0}; }},
      {"result-count", [](Program& p) { stage_of(p, Kind::map).results.clear(); }},
      {"result-count",
       [](Program& p) {
         Stage& s = stage_of(p, Kind::map);
         s.body.push_back(s.body[0]);
       }},
      {"result-count",
       [](Program& p) {
         Stage& s = stage_of(p, Kind::scatter);
         s.body.clear();
       }},
      {"axis-names", [](Program& p) { stage_of(p, Kind::reduce).reduce_axes[0].name = "i0"; }},
      {"axis-names", [](Program& p) { stage_of(p, Kind::reduce).axes[0].name = ""; }},
      {"axis-extents", [](Program& p) { stage_of(p, Kind::reduce).reduce_axes[0].extent = -1; }},
      {"groups-in-order",
       [](Program& p) {
         stage_of(p, Kind::map).groups = {{1}, {0, 2}};
       }},
      {"groups-in-order",
       [](Program& p) {
         stage_of(p, Kind::map).groups = {{0}, {1}};
       }},
      {"groups-in-order",
       [](Program& p) {
         stage_of(p, Kind::map).groups = {{0}, {1, 2, 3}};
       }},
      {"result-dims", [](Program& p) { stage_of(p, Kind::map).axes[1].extent = 3; }},
      {"result-dims",
       [](Program& p) {
         stage_of(p, Kind::map).groups = {{0}, {1}, {2}};
       }},
      {"body-types", [](Program& p) { stage_of(p, Kind::map).body[0] = integer(p, i64, 1); }},
      {"axis-range",
       [](Program& p) {
         Stage& s = stage_of(p, Kind::map);
         s.body[0] = append(p, ScalarOp::cast, f32,
                            {append(p, ScalarOp::axis, i64, {none, none, none}, 3), none, none});
       }},
      {"time-in-scan",
       [](Program& p) {
         Stage& s = stage_of(p, Kind::map);
         s.body[0] = append(p, ScalarOp::cast, f32, {append(p, ScalarOp::time, i64), none, none});
       }},
      {"parameter-in-monoid",
       [](Program& p) { stage_of(p, Kind::map).body[0] = append(p, ScalarOp::parameter, f32); }},
      {"monoid-type",
       [](Program& p) {
         Stage made;
         made.kind = Kind::reduce;
         made.name = "flags";
         made.reduce_axes = {{"r0", 3}};
         made.body = {integer(p, boolean, 1)};
         made.results = {static_cast<TensorId>(p.tensors.size())};
         p.tensors.push_back({"flags", boolean, {}});
         p.stages.push_back(made);
       }},
      {"tuple-components", [](Program& p) { stage_of(p, Kind::reduce, 1).monoid.identity.pop_back(); }},
      {"tuple-components",
       [](Program& p) { stage_of(p, Kind::reduce, 1).monoid.identity[1] = integer(p, i32, 1); }},
      {"tuple-closed",
       [](Program& p) { stage_of(p, Kind::reduce, 1).monoid.combine[1] = append(p, ScalarOp::axis, i64); }},
      {"tuple-closed",
       [](Program& p) {
         stage_of(p, Kind::reduce, 1).monoid.combine[1] =
             append(p, ScalarOp::parameter, i64, {none, none, none}, 4);
       }},
      {"tuple-closed",
       [](Program& p) {
         stage_of(p, Kind::reduce, 1).monoid.combine[1] =
             append(p, ScalarOp::parameter, i64, {none, none, none}, 0);
       }},
      {"tuple-closed",
       [](Program& p) {
         stage_of(p, Kind::reduce, 1).monoid.identity[1] =
             append(p, ScalarOp::parameter, i64, {none, none, none}, 1);
       }},
      {"scatter-base", [](Program& p) { stage_of(p, Kind::scatter).base = none; }},
      {"scatter-base", [](Program& p) { stage_of(p, Kind::scatter).base = 0; }},
      {"scatter-target",
       [](Program& p) {
         Stage& s = stage_of(p, Kind::scatter);
         s.target.push_back(s.target[0]);
       }},
      {"scatter-target", [](Program& p) { stage_of(p, Kind::scatter).target[0] = integer(p, i32, 0); }},
      {"scatter-target", [](Program& p) { stage_of(p, Kind::scatter).guard = integer(p, i64, 0); }},
      {"scan-operands", [](Program& p) { stage_of(p, Kind::scan).step = nullptr; }},
      {"scan-operands", [](Program& p) { stage_of(p, Kind::scan).captures.clear(); }},
      {"scan-operands",
       [](Program& p) { stage_of(p, Kind::scan).captures[0] = stage_of(p, Kind::reduce).results[0]; }},
      {"scan-results", [](Program& p) { stage_of(p, Kind::scan).length = 7; }},
      {"scan-results",
       [](Program& p) {
         std::shared_ptr<Program> copy;
         step_of(p, copy).outputs.pop_back();
       }},
      {"opaque-function", [](Program& p) { stage_of(p, Kind::opaque).function = "no such function"; }},
      {"program-tensors", [](Program& p) { p.outputs[0] = none; }},
      {"program-tensors", [](Program& p) { p.operands[0] = 77; }},
      {"tensor-type",
       [](Program& p) {
         p.outputs.pop_back();
         Stage& s = stage_of(p, Kind::opaque);
         p.tensors[static_cast<size_t>(s.results[0])].type = undefined;
       }},
      {"tensor-dims",
       [](Program& p) {
         Stage& s = stage_of(p, Kind::opaque);
         p.tensors[static_cast<size_t>(s.results[0])].dims = {-3};
       }},
      {"tensor-names", [](Program& p) { p.tensors.back().name = "x"; }},
      {"tensor-names", [](Program& p) { p.tensors.back().name = ""; }},
      {"defined-once",
       [](Program& p) {
         p.tensors.push_back({"loose", f32, {}});
       }},
      {"defined-once", [](Program& p) { p.operands.push_back(0); }},
      {"defined-before-use", [](Program& p) { std::swap(p.stages[0], p.stages[2]); }},
      {"defined-before-use",
       [](Program& p) { std::swap(stage_of(p, Kind::scan), stage_of(p, Kind::scatter)); }},
      {"time-in-scan",
       [](Program& p) {
         std::shared_ptr<Program> copy;
         p = step_of(p, copy);
       }},
      {"body-types",
       [](Program& p) {
         std::shared_ptr<Program> copy;
         Program& step = step_of(p, copy);
         step.stages[0].body[0] = integer(step, i64, 1);
       }},
      {"scatter-combine",
       [](Program& p) {
         Stage made;
         made.kind = Kind::scatter;
         made.name = "joined";
         made.base = p.operands[2];
         made.combine = ScatterCombine::add;
         const Stage& copy = stage_of(p, Kind::map, 1);
         made.target = {integer(p, i64, 0)};
         made.axes = copy.axes;
         made.body = copy.body;
         made.results = {static_cast<TensorId>(p.tensors.size())};
         p.tensors.push_back({"joined", string, p.tensors[static_cast<size_t>(made.base)].dims});
         p.stages.push_back(made);
       }},
      {"scan-depth",
       [](Program& p) {
         for (int level = 0; level < deepest_scan; ++level) {
           auto step = std::make_shared<Program>();
           Stage scan = stage_of(p, Kind::scan);
           const Program& outer = p;
           // The step of the new scan is a program that holds the same scan.
           step->name = "level";
           step->tensors = {outer.tensors[static_cast<size_t>(scan.captures[0])],
                            outer.tensors[static_cast<size_t>(scan.initial[0])],
                            outer.tensors[static_cast<size_t>(scan.results[0])],
                            outer.tensors[static_cast<size_t>(scan.results[1])]};
           step->operands = {0, 1};
           Stage inner = scan;
           inner.captures = {0};
           inner.initial = {1};
           inner.results = {2, 3};
           step->stages = {inner};
           step->outputs = {2, 2};
           stage_of(p, Kind::scan).step = step;
         }
       }},
  };
  return all;
}

TEST(Grammar, ValidProgramsHaveNoViolation) {
  for (const Violation& violation : violations(valid_program())) ADD_FAILURE() << to_string(violation);
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    for (const Violation& violation : violations(random_program(seed).program))
      ADD_FAILURE() << seed << ": " << to_string(violation);
  }
  EXPECT_TRUE(violations(Program{}).empty());
}

TEST(Grammar, EveryBreakIsNoticedByItsRule) {
  for (size_t k = 0; k < breaks().size(); ++k) {
    Program program = valid_program();
    breaks()[k].apply(program);
    const std::vector<Violation> found = violations(program);
    ASSERT_FALSE(found.empty()) << "break " << k << " of " << breaks()[k].rule;
    for (const Violation& violation : found) {
      EXPECT_EQ(violation.rule, breaks()[k].rule) << "break " << k << ": " << to_string(violation);
    }
  }
}

TEST(Grammar, EveryRuleHasABreak) {
  std::set<std::string_view> broken;
  for (const Break& one : breaks()) broken.insert(one.rule);
  std::set<std::string_view> ids;
  for (const GrammarRule& rule : grammar()) {
    EXPECT_TRUE(ids.insert(rule.id).second) << rule.id << " is not unique";
    EXPECT_TRUE(broken.contains(rule.id)) << rule.id;
    const int predicates =
        (rule.expression ? 1 : 0) + (rule.tensor ? 1 : 0) + (rule.stage ? 1 : 0) + (rule.program ? 1 : 0);
    EXPECT_EQ(predicates, 1) << rule.id;
    EXPECT_FALSE(rule.description.empty()) << rule.id;
  }
  for (std::string_view id : broken) EXPECT_TRUE(ids.contains(id)) << id;
}

TEST(Grammar, ViolationsSayWhere) {
  Program program = valid_program();
  std::shared_ptr<Program> copy;
  Program& step = step_of(program, copy);
  step.stages[0].body[0] = integer(step, i64, 1);
  const std::string text = to_string(violations(program).at(0));
  EXPECT_NE(text.find("scan '"), std::string::npos) << text;
  EXPECT_NE(text.find("stage 'next': a value of type i64 for 'next' of type f32 [body-types]"),
            std::string::npos)
      << text;
  EXPECT_THROW(require_valid(program), Error);
  EXPECT_NO_THROW(require_valid(valid_program()));
}

}  // namespace
}  // namespace axrun::ir
