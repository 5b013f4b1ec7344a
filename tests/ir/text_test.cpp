#include "ir/text.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <map>

#include "ir/builder.h"
#include "ir/error.h"
#include "ir/evaluate.h"
#include "tests/ir/naive_evaluate.h"
#include "tests/ir/random_program.h"
#include "tests/ir/same_program.h"

namespace axrun::ir {
namespace {

using enum ElementType;

const char* const softmax_text = R"(program Softmax(x: f32[n, c]) -> (y) {
  m: f32[n] = reduce max (i0: n; r0: c) {
    x[i0, r0]
  }
  s: f32[n] = reduce sum (i0: n; r0: c) {
    exp(x[i0, r0] - m[i0])
  }
  y: f32[n, c] = map (i0: n, i1: c) {
    exp(x[i0, i1] - m[i0]) / s[i0]
  }
}
)";

Program softmax() {
  Builder b("Softmax");
  Dims dims = {Dim::symbol("n"), Dim::symbol("c")};
  TensorRef x = b.operand(0, f32, dims, "x");
  TensorRef m = b.reduce(
      Monoid::Kind::max, {dims[0]}, {dims[1]},
      [&](const Indices& i, const Indices& r) {
        return x({i[0], r[0]});
      },
      "m");
  TensorRef s = b.reduce(
      Monoid::Kind::sum, {dims[0]}, {dims[1]},
      [&](const Indices& i, const Indices& r) {
        return exp(x({i[0], r[0]}) - m(i));
      },
      "s");
  b.output(b.map(
      dims, [&](const Indices& i) { return exp(x(i) - m({i[0]})) / s({i[0]}); }, "y"));
  return b.finish();
}

void expect_round_trip(const Program& program) {
  const std::string text = print(program);
  Program read;
  ASSERT_NO_THROW(read = parse(text, payloads_of(program))) << text;
  EXPECT_EQ(print(read), text);
  std::string difference;
  EXPECT_TRUE(same_program(program, read, difference)) << difference << "\n" << text;
}

/// The text of the user's error; empty if there is none.
std::string parse_error(const std::string& text) {
  try {
    parse(text);
  } catch (const Error& error) {
    EXPECT_NE(error.fault(), Fault::internal) << error.what();
    return error.what();
  }
  return "";
}

/// A program with one map of these lines.
std::string map_text(const std::string& lines) {
  return "program p(x: f32[4], k: i64[4]) -> (y) {\n  y: f32[4] = map (i: 4) {\n" + lines + "\n  }\n}\n";
}

TEST(Text, IsReadable) { EXPECT_EQ(print(softmax()), softmax_text); }

TEST(Text, ReadsWhatItPrints) {
  expect_round_trip(softmax());
  EXPECT_EQ(print(parse(softmax_text)), softmax_text);
}

TEST(Text, LayoutAndCommentsDoNotMatter) {
  std::string squeezed;
  for (const char c : std::string(softmax_text)) squeezed += c == '\n' ? ' ' : c;
  EXPECT_EQ(print(parse(squeezed)), softmax_text);
  EXPECT_EQ(print(parse("# a softmax\n" + std::string(softmax_text) + "# end")), softmax_text);
}

TEST(Text, RandomProgramsRoundTrip) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomProgram made = random_program(seed);
    expect_round_trip(made.program);
    std::vector<Tensor> expected = evaluate(made.program, made.operands);
    std::vector<Tensor> got = evaluate(parse(print(made.program)), made.operands);
    for (size_t k = 0; k < got.size(); ++k) {
      std::string difference;
      ASSERT_TRUE(same_tensor(got[k], expected[k], difference)) << difference;
    }
    if (HasFailure()) return;
  }
}

TEST(Text, EveryKindOfStageRoundTrips) {
  Builder b("every kind");
  Dim n = Dim::symbol("batch size");
  TensorRef x = b.operand(0, f32, {n, 4}, "/layer/x");
  TensorRef words = b.operand(2, string, {n}, "none");
  TensorRef flat = b.reshape(x, {n * 2, 2});
  TensorRef merged = b.reshape(flat, {n * 4, 1});
  TensorRef odd = b.reshape(merged, {4, n});
  auto best = b.reduce_tuple(
      {n}, {4}, {b.real(f32, -std::numeric_limits<double>::infinity()), b.integer(0)},
      [&](const Indices& i, const Indices& r) {
        return std::vector<Scalar>{x({i[0], r[0]}), r[0]};
      },
      [](const std::vector<Scalar>& left, const std::vector<Scalar>& right) {
        Scalar keep = left[0] >= right[0];
        return std::vector<Scalar>{select(keep, left[0], right[0]), select(keep, left[1], right[1])};
      },
      "best \"value\"\n");
  TensorRef zeros = b.map(
      {n}, [&](const Indices&) { return b.real(f32, 0); }, "time");
  TensorRef scattered = b.scatter(zeros, {n}, ScatterCombine::add, [&](const Indices& i) {
    return Builder::Update{{best[1](i)}, best[0](i) + cast(f32, i[0]), i[0] != 3};
  });
  TensorRef scalar_base = b.map({}, [&](const Indices&) { return b.integer(1); });
  TensorRef scalar_scatter = b.scatter(scalar_base, {}, ScatterCombine::assign, [&](const Indices&) {
    return Builder::Update{{}, b.integer(5), {}};
  });
  auto scanned = b.scan(
      n, {x, words}, {scattered},
      [&](Builder& step, const std::vector<TensorRef>& captures, const std::vector<TensorRef>& states) {
        auto deep = step.scan(
            2, {}, {states[0]},
            [](Builder& inner, const std::vector<TensorRef>&, const std::vector<TensorRef>& s) {
              TensorRef next = inner.map(
                  s[0].dims(), [&](const Indices& i) { return s[0](i) * 2.0 + cast(f32, inner.time()); });
              return Builder::StepResult{{next}, {}};
            });
        TensorRef next = step.map({n}, [&](const Indices& i) {
          return deep[0](i) + captures[0]({step.time(), step.integer(1)});
        });
        TensorRef word = step.map({}, [&](const Indices&) { return captures[1]({step.time()}); });
        return Builder::StepResult{{next}, {next, word}};
      });
  TensorRef constant =
      b.opaque("constant", {}, {{i64, {3}}}, std::make_shared<Tensor>(Tensor::from_i64({1, 2, 3})))[0];
  for (const TensorRef& t : {odd, scanned[0], scanned[1], scanned[2], constant, scalar_scatter, x})
    b.output(t);
  Program program = b.finish();
  program.stages[0].name = "another name";
  expect_round_trip(program);
  EXPECT_THROW(parse(print(program)), Error);  // without the payload
  auto wrong = payloads_of(program);
  wrong[0].function = "nonzero";
  EXPECT_THROW(parse(print(program), wrong), Error);
}

TEST(Text, LiteralsAreExact) {
  Builder b("literals");
  const double infinity = std::numeric_limits<double>::infinity();
  const double reals[] = {0.0,
                          -0.0,
                          0.1,
                          1e300,
                          5e-324,
                          infinity,
                          -infinity,
                          std::nan(""),
                          -1.5,
                          1.0,
                          std::bit_cast<double>(0x7ff8000000000123),
                          std::bit_cast<double>(0xfff8000000000000)};
  for (double value : reals) {
    for (ElementType type : {f64, f32, f16, f8e4m3fn})
      b.output(b.map({}, [&](const Indices&) { return b.real(type, value); }));
  }
  const int64_t integers[] = {0, -1, 1, INT64_MIN, INT64_MAX, 200};
  for (int64_t value : integers) {
    for (ElementType type : {i4, i8, i16, i32, i64, u4, u8, u16, u32, u64, boolean}) {
      b.output(b.map({}, [&](const Indices&) { return b.integer(value, type); }));
    }
  }
  Program program = b.finish();
  expect_round_trip(program);
  std::vector<Tensor> expected = evaluate(program, {});
  std::vector<Tensor> got = evaluate(parse(print(program)), {});
  for (size_t k = 0; k < got.size(); ++k) {
    std::string difference;
    EXPECT_TRUE(same_tensor(got[k], expected[k], difference)) << difference;
  }
}

TEST(Text, PrecedenceIsKept) {
  Builder b("precedence");
  TensorRef x = b.operand(0, f32, {4});
  b.output(b.map({4}, [&](const Indices& i) {
    Scalar a = x(i);
    Scalar c = a * 2.0;
    return a - (c - a) - c * (a + c) / (a / c) - (a - 3.0) * -c + min(a + c, c - a);
  }));
  b.output(b.map({4}, [&](const Indices& i) {
    Scalar a = x(i) < 1.0;
    Scalar c = x(i) >= -1.0;
    return logical_or(logical_and(a, logical_or(c, !a)), logical_and(logical_or(a, c), a == c));
  }));
  expect_round_trip(b.finish());
}

/// Deep expressions are cut into named values, so that neither printer nor parser recurses deeply.
TEST(Text, DeepExpressions) {
  Builder b("deep");
  TensorRef x = b.operand(0, f32, {4});
  b.output(b.map({4}, [&](const Indices& i) {
    Scalar value = x(i);
    for (int k = 0; k < 20000; ++k) value = min(value * 1.5, 7.0);
    return value;
  }));
  expect_round_trip(b.finish());
  std::string chain = "x[i]";
  for (int k = 0; k < 20000; ++k) chain += " + x[i]";
  EXPECT_EQ(parse_error(map_text(chain)), "");
  EXPECT_NE(parse_error(map_text(std::string(100000, '('))).find("nested too deeply"), std::string::npos);
  std::string calls;
  for (int k = 0; k < 100000; ++k) calls += "exp(";
  EXPECT_NE(parse_error(map_text(calls)).find("nested too deeply"), std::string::npos);
  std::string loads;
  for (int k = 0; k < 100000; ++k) loads += "k[";
  EXPECT_NE(parse_error(map_text(loads)).find("nested too deeply"), std::string::npos);
  std::string scans;
  for (int k = 0; k < 1000; ++k)
    scans += "program p() -> () { y: f32[] = scan (length: 3; captures: ; states: ) ";
  EXPECT_NE(parse_error(scans).find("nested too deeply"), std::string::npos);
}

TEST(Text, MistakesHaveAPlace) {
  EXPECT_EQ(parse_error(map_text("x[i]")), "");
  const std::pair<const char*, const char*> mistakes[] = {
      {"x[i] +", "line 4, column 3: an expression is expected"},
      {"z[i]", "line 3, column 1: there is no tensor 'z'"},
      {"x[j]", "line 3, column 3: there is no axis 'j'"},
      {"  x[i] * 2", "line 3, column 8: mul of f32 and i64"},
      {"exp(x[i], x[i])", "line 3, column 1: exp has 1 arguments"},
      {"frobnicate(x[i])", "there is no operation 'frobnicate'"},
      {"load(x[i])", "there is no operation 'load'"},
      {"$1 + x[i]", "$1 is not defined"},
      {"$0 = x[i]; $0 = x[i]; $0", "$0 is defined twice"},
      {"x[i]; x[i]", "'}' is expected"},
      {"1e999:f32", "not a double"},
      {"256:u8", "no number of type u8"},
      {"-1:u64", "no number of type u64"},
      {"9223372036854775808", "no number of type i64"},
      {"-9223372036854775809", "no number of type i64"},
      {"1.5", "no number of type i64"},
      {"1:string", "no number of type string"},
      {"1:f33", "a type is expected"},
      {"inf:i64", "only floats"},
      {"nan(0):f32", "not the bits of a NaN"},
      {"99999999999999999999", "no number of type i64"},
      {"@0:f32", "[parameter-in-monoid]"},
      {"@99999999999:f32", "there is no such parameter"},
      {"cast(f32, time)", "[time-in-scan]"},
      {"x[i, i]", "[load-rank]"},
      {"x[x[i]]", "[load-index-type]"},
      {"k[i]", "[body-types]"},
      {"x[i], x[i]", "[result-count]"},
      {"cast(f32, dim(n +))", "line 3, column 15"},
      {"\"x", "no closing quote"},
      {"\"\\q\"[i]", "an escape is"},
      {"x[i; true]", "';' is expected"},
  };
  for (const auto& [lines, message] : mistakes) {
    EXPECT_NE(parse_error(map_text(lines)).find(message), std::string::npos) << lines << "\n"
                                                                             << parse_error(map_text(lines));
  }
  EXPECT_NE(parse_error("program p() -> (y) {}").find("line 1, column 17: there is no tensor 'y'"),
            std::string::npos);
  EXPECT_NE(parse_error("program p(x: f32[], x: f32[]) -> () {}").find("'x' is declared twice"),
            std::string::npos);
  EXPECT_NE(parse_error("program p() -> () {} }").find("the text goes on"), std::string::npos);
  EXPECT_NE(parse_error("program p() -> () { y: f32[2] = map (i: 2, i: 3) { 1:f32 } }").find("two axes 'i'"),
            std::string::npos);
  EXPECT_NE(parse_error("program p() -> () { y: f32[2] = map (i: 2; r: 3) { 1:f32 } }").find("only a reduce"),
            std::string::npos);
  EXPECT_NE(parse_error("program p() -> () { y: f32[-2] = map (i: -2) { 1:f32 } }").find("[axis-extents]"),
            std::string::npos);
  EXPECT_NE(parse_error("program p() -> () { y: f32[2] = opaque nothing() payload 7 }").find("no payload 7"),
            std::string::npos);
  EXPECT_NE(parse_error("").find("line 1, column 1: 'program' is expected"), std::string::npos);
}

std::string sample() {
  std::string text = softmax_text;
  text += R"(# the rest
)";
  return text;
}

TEST(Text, TruncatedTextIsRefused) {
  const std::string text = sample();
  for (size_t length = 0; length + 15 < text.size(); ++length) {
    EXPECT_NE(parse_error(text.substr(0, length)), "") << length;
  }
}

TEST(Text, DamagedTextIsRefusedOrValid) {
  const std::string text = print(random_program(17).program) + sample();
  const std::string whole = print(random_program(17).program);
  std::mt19937_64 random(5);
  const std::string characters = "()[]{};:,=<>+-*/$@\"\\#0123456789eximapflot \n\xff\x01";
  int accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = round % 2 == 0 ? whole : softmax_text;
    for (int k = 0; k < 1 + round % 4; ++k) {
      const size_t at = random() % damaged.size();
      switch (random() % 3) {
        case 0:
          damaged[at] = characters[random() % characters.size()];
          break;
        case 1:
          damaged.erase(at, 1 + random() % 5);
          break;
        default:
          damaged.insert(at, damaged.substr(random() % damaged.size(), random() % 12));
          break;
      }
    }
    if (parse_error(damaged).empty()) {
      ++accepted;
      expect_round_trip(parse(damaged));
    }
    if (HasFailure()) {
      ADD_FAILURE() << "round " << round << ":\n" << damaged;
      return;
    }
  }
  EXPECT_LT(accepted, 2000);
}

}  // namespace
}  // namespace axrun::ir
