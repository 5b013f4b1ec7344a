#include "ir/evaluate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

#include "ir/builder.h"
#include "ir/error.h"
#include "tests/ir/naive_evaluate.h"
#include "tests/ir/random_program.h"

namespace axrun::ir {
namespace {

using enum ElementType;

Tensor reals(ElementType type, const Shape& shape, const std::vector<double>& values) {
  Tensor tensor = Tensor::allocate(type, shape);
  for (size_t k = 0; k < values.size(); ++k) tensor.set_real(static_cast<int64_t>(k), values[k]);
  return tensor;
}

Tensor integers(ElementType type, const Shape& shape, const std::vector<int64_t>& values) {
  Tensor tensor = Tensor::allocate(type, shape);
  for (size_t k = 0; k < values.size(); ++k) tensor.set_int(static_cast<int64_t>(k), values[k]);
  return tensor;
}

void expect_same(const Tensor& got, const Tensor& expected) {
  std::string difference;
  EXPECT_TRUE(same_tensor(got, expected, difference)) << difference;
}

/// Text of the user's error that the action throws.
template <typename Action>
std::string user_error(Action action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::user) << error.what();
    return error.what();
  }
  return "no error";
}

#define EXPECT_USER_ERROR(statement, part) \
  EXPECT_NE(user_error([&] { statement; }).find(part), std::string::npos) << user_error([&] { statement; })

/// One map over `operands`, body given by the caller.
template <typename Body>
Tensor map_of(const std::vector<Tensor>& operands, const Shape& shape, Body body) {
  Builder b("map");
  std::vector<TensorRef> refs;
  for (size_t k = 0; k < operands.size(); ++k) {
    refs.push_back(b.operand(static_cast<int>(k), operands[k].type(), to_dims(operands[k].shape())));
  }
  b.output(b.map(to_dims(shape), [&](const Indices& i) { return body(b, refs, i); }));
  return evaluate(b.finish(), operands)[0];
}

using Refs = const std::vector<TensorRef>&;

Program convolution(const Shape& x, const Shape& w, int64_t pad, int64_t stride) {
  Builder b("convolution");
  TensorRef input = b.operand(0, f32, to_dims(x), "x");
  TensorRef weights = b.operand(1, f32, to_dims(w), "w");
  Dims result = {x[0], w[0], (x[2] + 2 * pad - w[2]) / stride + 1, (x[3] + 2 * pad - w[3]) / stride + 1};
  b.output(b.sum(result, {w[1], w[2], w[3]}, [&](const Indices& i, const Indices& r) {
    return input.padded({i[0], r[0], i[2] * stride + r[1] - pad, i[3] * stride + r[2] - pad}, 0.0) *
           weights({i[1], r[0], r[1], r[2]});
  }));
  return b.finish();
}

TEST(Evaluate, ConvolutionEqualsLoops) {
  std::mt19937_64 random(3);
  for (auto [size, pad, stride] : {std::array<int64_t, 3>{5, 1, 1}, {9, 2, 2}, {17, 0, 1}, {33, 1, 3}}) {
    const Shape xs = {2, 3, size, size + 2};
    const Shape ws = {4, 3, 3, 3};
    Tensor x = Tensor::allocate(f32, xs);
    Tensor w = Tensor::allocate(f32, ws);
    for (int64_t k = 0; k < x.size(); ++k) x.set_real(k, static_cast<double>(random() % 100) / 7);
    for (int64_t k = 0; k < w.size(); ++k) w.set_real(k, static_cast<double>(random() % 100) / 9);
    EvaluateOptions options;
    options.wide = true;
    Tensor y = evaluate(convolution(xs, ws, pad, stride), {x, w}, options)[0];
    EXPECT_EQ(y.type(), f64);
    int64_t at = 0;
    for (int64_t n = 0; n < y.shape()[0]; ++n) {
      for (int64_t o = 0; o < y.shape()[1]; ++o) {
        for (int64_t row = 0; row < y.shape()[2]; ++row) {
          for (int64_t column = 0; column < y.shape()[3]; ++column) {
            double sum = 0;
            for (int64_t c = 0; c < 3; ++c) {
              for (int64_t i = 0; i < 3; ++i) {
                for (int64_t j = 0; j < 3; ++j) {
                  const int64_t h = row * stride + i - pad;
                  const int64_t v = column * stride + j - pad;
                  if (h < 0 || v < 0 || h >= xs[2] || v >= xs[3]) continue;
                  sum += x.get_real(((n * 3 + c) * xs[2] + h) * xs[3] + v) *
                         w.get_real(((o * 3 + c) * 3 + i) * 3 + j);
                }
              }
            }
            ASSERT_EQ(y.get_real(at++), sum);
          }
        }
      }
    }
  }
}

TEST(Evaluate, WideKeepsF64BetweenStages) {
  Builder b("wide");
  TensorRef x = b.operand(0, f32, {2});
  TensorRef third = b.map({2}, [&](const Indices& i) { return x(i) / 3.0; });
  b.output(b.map({2}, [&](const Indices& i) { return third(i) * 3.0; }));
  b.output(x);
  Program program = b.finish();
  EvaluateOptions wide;
  wide.wide = true;
  Tensor given = reals(f64, {2}, {0.1, 0.7});  // not f32 values: a wide operand
  std::vector<Tensor> results = evaluate(program, {given}, wide);
  expect_same(results[0], reals(f64, {2}, {0.1 / 3.0 * 3.0, 0.7 / 3.0 * 3.0}));
  expect_same(results[1], given);
  results = evaluate(program, {given});
  EXPECT_EQ(results[0].type(), f32);
  EXPECT_EQ(
      results[0].get_real(0),
      static_cast<double>(static_cast<float>(static_cast<double>(static_cast<float>(0.1 / 3.0)) * 3.0)));
  expect_same(results[1], given.converted(f32));
}

TEST(Evaluate, SymbolicSizesComeFromShapes) {
  Dim n = Dim::symbol("n");
  Dim m = Dim::symbol("m");
  Builder b("sizes");
  TensorRef x = b.operand(0, i64, {n * 2 + 1, m}, "x");
  TensorRef y = b.operand(1, i64, {n + m}, "y");
  b.output(b.map({n, m}, [&](const Indices& i) { return x(i) + y({i[0] + i[1]}) + n * m; }));
  Program program = b.finish();
  std::vector<Tensor> result = evaluate(program, {Tensor::allocate(i64, {7, 4}), Tensor::allocate(i64, {7})});
  EXPECT_EQ(result[0].shape(), (Shape{3, 4}));
  EXPECT_EQ(result[0].get_int(0), 12);
  EXPECT_USER_ERROR(evaluate(program, {Tensor::allocate(i64, {6, 4}), Tensor::allocate(i64, {7})}), "");
  EXPECT_USER_ERROR(evaluate(program, {Tensor::allocate(i64, {7, 4}), Tensor::allocate(i64, {8})}), "'y'");
  EXPECT_USER_ERROR(evaluate(program, {Tensor::allocate(i64, {7, 4})}), "missing");
  EXPECT_USER_ERROR(evaluate(program, {Tensor::allocate(i64, {7, 4}), Tensor::allocate(f32, {7})}),
                    "type f32");
  EXPECT_USER_ERROR(evaluate(program, {Tensor::allocate(i64, {7, 4}), Tensor::allocate(i64, {7, 1})}),
                    "shape");
}

TEST(Evaluate, AFactThatDeterminesNoNameIsEnoughForItself) {
  Dim product = Dim::symbol("n") * Dim::symbol("m");
  Builder b("product");
  TensorRef x = b.operand(0, i64, {product});
  b.output(b.map({product}, [&](const Indices& i) { return x(i) + 1; }));
  EXPECT_EQ(evaluate(b.finish(), {Tensor::allocate(i64, {6})})[0].shape(), (Shape{6}));
}

TEST(Evaluate, IndicesOutOfBoundsAreTheUsersError) {
  Tensor x = reals(f32, {3, 4}, {});
  auto at = [&](const Tensor& ids) {
    return map_of({x, ids}, {ids.size()}, [](Builder& b, Refs t, const Indices& i) {
      return t[0]({b.integer(1), t[1](i)});
    });
  };
  EXPECT_NO_THROW(at(Tensor::from_i64({0, 3, 2})));
  EXPECT_USER_ERROR(at(Tensor::from_i64({0, 4, 2})),
                    "index 4 is out of bounds for dimension 1 of 'x0', whose size is 4");
  EXPECT_USER_ERROR(at(Tensor::from_i64({0, -1, 2})), "index -1");
  EXPECT_USER_ERROR(at(Tensor::from_i64({INT64_MIN})), "out of bounds");
  EXPECT_USER_ERROR(at(Tensor::from_i64({INT64_MAX})), "out of bounds");
  // Affine indices, many lanes and few.
  for (int64_t count : {3, 300}) {
    Tensor v = Tensor::allocate(f32, {count});
    EXPECT_USER_ERROR(
        map_of({v}, {count}, [](Builder&, Refs t, const Indices& i) { return t[0]({i[0] + 1}); }),
        "index " + std::to_string(count) + " is out of bounds");
    EXPECT_USER_ERROR(
        map_of({v}, {count}, [](Builder&, Refs t, const Indices& i) { return t[0]({i[0] - 1}); }),
        "index -1");
  }
  // Where nothing is evaluated nothing is wrong.
  EXPECT_NO_THROW(map_of({x}, {0}, [](Builder& b, Refs t, const Indices&) {
    return t[0]({b.integer(9), b.integer(9)});
  }));
}

TEST(Evaluate, GuardedLoadsTouchNothingOutside) {
  Tensor empty = Tensor::allocate(f32, {0});
  Tensor y = map_of({empty}, {300}, [](Builder& b, Refs t, const Indices& i) {
    return t[0].guarded({i[0] * 1000 - 7}, b.boolean(false), b.real(f32, 5));
  });
  EXPECT_EQ(y.get_real(299), 5);
  y = map_of({empty}, {300}, [](Builder&, Refs t, const Indices& i) { return t[0].padded({i[0]}, 5.0); });
  EXPECT_EQ(y.get_real(299), 5);
  Tensor ids = Tensor::from_i64({INT64_MIN, 0, INT64_MAX, 1});
  y = map_of({reals(f32, {2}, {1, 2}), ids}, {4},
             [](Builder&, Refs t, const Indices& i) { return t[0].padded({t[1](i)}, -1.0); });
  expect_same(y, reals(f32, {4}, {-1, 1, -1, 2}));
  // A guard that does not imply the bounds does not replace the check.
  EXPECT_USER_ERROR(map_of({reals(f32, {2}, {1, 2})}, {4},
                           [](Builder& b, Refs t, const Indices& i) {
                             return t[0].guarded({i[0]}, i[0] < 3, b.real(f32, 0));
                           }),
                    "index 2");
}

TEST(Evaluate, IntegerDivisionByZeroIsTheUsersError) {
  for (ScalarOp op : {ScalarOp::div, ScalarOp::floor_div, ScalarOp::floor_mod, ScalarOp::remainder}) {
    for (ElementType type : {i64, i32, u8, u64}) {
      Tensor a = integers(type, {3}, {1, 2, 3});
      EXPECT_USER_ERROR(
          map_of({a, integers(type, {3}, {1, 0, 1})}, {3},
                 [&](Builder&, Refs t, const Indices& i) { return binary(op, t[0](i), t[1](i)); }),
          "divided by zero");
    }
  }
}

TEST(Evaluate, UnsignedAndExtremeIntegers) {
  const int64_t lowest = std::numeric_limits<int64_t>::min();
  Tensor a = integers(u64, {3}, {-1, 5, lowest});
  Tensor b = integers(u64, {3}, {2, 7, 3});
  auto apply = [&](const Tensor& x, const Tensor& y, ScalarOp op) {
    return map_of({x, y}, {3},
                  [&](Builder&, Refs t, const Indices& i) { return binary(op, t[0](i), t[1](i)); });
  };
  expect_same(apply(a, b, ScalarOp::div), integers(u64, {3}, {INT64_MAX, 0, 3074457345618258602}));
  expect_same(apply(a, b, ScalarOp::floor_mod), integers(u64, {3}, {1, 5, 2}));
  expect_same(apply(a, b, ScalarOp::min), integers(u64, {3}, {2, 5, 3}));
  expect_same(apply(a, b, ScalarOp::greater), integers(boolean, {3}, {1, 0, 1}));
  expect_same(apply(a, b, ScalarOp::shift_right), integers(u64, {3}, {INT64_MAX >> 1, 0, int64_t{1} << 60}));
  Tensor c = integers(i64, {3}, {lowest, lowest, -7});
  Tensor d = integers(i64, {3}, {-1, 1, 2});
  expect_same(apply(c, d, ScalarOp::div), integers(i64, {3}, {lowest, lowest, -3}));
  expect_same(apply(c, d, ScalarOp::floor_div), integers(i64, {3}, {lowest, lowest, -4}));
  expect_same(apply(c, d, ScalarOp::remainder), integers(i64, {3}, {0, 0, -1}));
  expect_same(apply(c, d, ScalarOp::sub), integers(i64, {3}, {lowest + 1, INT64_MAX, -9}));
  Tensor real = map_of({a}, {3}, [](Builder&, Refs t, const Indices& i) { return cast(f64, t[0](i)); });
  EXPECT_EQ(real.get_real(0), 18446744073709551616.0);
}

TEST(Evaluate, Casts) {
  const double infinity = std::numeric_limits<double>::infinity();
  Tensor x = reals(f64, {7}, {2.9, -2.9, 1e30, -1e30, std::nan(""), infinity, 300});
  auto to = [&](ElementType type) {
    return map_of({x}, {7}, [&](Builder&, Refs t, const Indices& i) { return cast(type, t[0](i)); });
  };
  expect_same(to(i64), integers(i64, {7}, {2, -2, INT64_MAX, INT64_MIN, 0, INT64_MAX, 300}));
  expect_same(to(u8), integers(u8, {7}, {2, 0, 255, 0, 0, 255, 255}));
  expect_same(to(boolean), integers(boolean, {7}, {1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(to(f16).get_real(6), 300);
  EXPECT_TRUE(std::isinf(to(f16).get_real(2)));
  EXPECT_EQ(to(f32).get_real(0), static_cast<double>(2.9F));
  // float8 keeps infinities that the cast did not saturate.
  EXPECT_TRUE(std::isinf(to(f8e5m2).get_real(5)));
  Tensor saturated =
      map_of({x}, {7}, [&](Builder&, Refs t, const Indices& i) { return cast_saturate(f8e5m2, t[0](i)); });
  EXPECT_EQ(saturated.get_real(2), 57344);
}

TEST(Evaluate, EmptyReductionsGiveTheIdentity) {
  Builder b("empty");
  Dim n = Dim::symbol("n");
  TensorRef x = b.operand(0, f32, {n, 3});
  TensorRef k = b.operand(1, i8, {n, 3});
  auto body = [&](const Indices& i, const Indices& r) { return x({r[0], i[0]}); };
  auto whole = [&](const Indices& i, const Indices& r) { return k({r[0], i[0]}); };
  using Kind = Monoid::Kind;
  for (Kind kind : {Kind::sum, Kind::product, Kind::min, Kind::max}) b.output(b.reduce(kind, {3}, {n}, body));
  for (Kind kind : {Kind::sum, Kind::product, Kind::min, Kind::max})
    b.output(b.reduce(kind, {3}, {n}, whole));
  auto pair = b.reduce_tuple(
      {3}, {n}, {b.real(f32, 7), b.integer(9)},
      [&](const Indices& i, const Indices& r) {
        return std::vector<Scalar>{x({r[0], i[0]}), r[0]};
      },
      [](const std::vector<Scalar>&, const std::vector<Scalar>& right) { return right; });
  b.output(pair[0]);
  b.output(pair[1]);
  std::vector<Tensor> y = evaluate(b.finish(), {Tensor::allocate(f32, {0, 3}), Tensor::allocate(i8, {0, 3})});
  const double infinity = std::numeric_limits<double>::infinity();
  const double expected[] = {0, 1, infinity, -infinity, 0, 1, 127, -128, 7, 9};
  for (size_t k = 0; k < 10; ++k) {
    EXPECT_EQ(y[k].shape(), (Shape{3}));
    EXPECT_EQ(y[k].get_real(2), expected[k]) << k;
  }
}

TEST(Evaluate, MinAndMaxPassNaN) {
  Tensor x = reals(f64, {4}, {1, std::nan(""), 3, 2});
  for (auto kind : {Monoid::Kind::min, Monoid::Kind::max}) {
    Builder b("nan");
    TensorRef t = b.operand(0, f64, {4});
    b.output(b.reduce(kind, {}, {4}, [&](const Indices&, const Indices& r) { return t(r); }));
    EXPECT_TRUE(std::isnan(evaluate(b.finish(), {x})[0].get_real(0)));
  }
}

/// The new tuple is read completely before it is written: combine swaps the components.
TEST(Evaluate, TupleComponentsMayBePermuted) {
  for (int64_t results : {1, 300}) {
    Builder b("swap");
    auto pair = b.reduce_tuple(
        {results}, {5}, {b.integer(1), b.integer(2)},
        [&](const Indices&, const Indices& r) {
          return std::vector<Scalar>{r[0], r[0]};
        },
        [](const std::vector<Scalar>& left, const std::vector<Scalar>&) {
          return std::vector<Scalar>{left[1], left[0]};
        });
    b.output(pair[0]);
    b.output(pair[1]);
    std::vector<Tensor> y = evaluate(b.finish(), {});
    EXPECT_EQ(y[0].get_int(results - 1), 2);
    EXPECT_EQ(y[1].get_int(results - 1), 1);
  }
}

TEST(Evaluate, ScanKeepsStatesAndStacksEmitted) {
  Builder b("scan");
  Dim n = Dim::symbol("n");
  TensorRef x = b.operand(0, f32, {n, 3}, "x");
  TensorRef start = b.operand(1, f32, {3}, "start");
  auto results =
      b.scan(n, {x}, {start, start},
             [](Builder& step, const std::vector<TensorRef>& captures, const std::vector<TensorRef>& states) {
               TensorRef sum = step.map({3}, [&](const Indices& i) {
                 return states[0](i) + captures[0]({step.time(), i[0]});
               });
               // The other state is the sum of one step ago: all states change at once.
               TensorRef index = step.map({}, [&](const Indices&) { return step.time() * 10; });
               return Builder::StepResult{{sum, states[0]}, {sum, index}};
             });
  for (const TensorRef& result : results) b.output(result);
  Program program = b.finish();
  for (bool wide : {false, true}) {
    EvaluateOptions options;
    options.wide = wide;
    Tensor values = reals(f32, {4, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
    std::vector<Tensor> y = evaluate(program, {values, reals(f32, {3}, {100, 100, 100})}, options);
    const ElementType type = wide ? f64 : f32;
    expect_same(y[0], reals(type, {3}, {122, 126, 130}));
    expect_same(y[1], reals(type, {3}, {112, 115, 118}));
    expect_same(y[2], reals(type, {4, 3}, {101, 102, 103, 105, 107, 109, 112, 115, 118, 122, 126, 130}));
    expect_same(y[3], integers(i64, {4}, {0, 10, 20, 30}));
  }
  std::vector<Tensor> none_at_all =
      evaluate(program, {Tensor::allocate(f32, {0, 3}), reals(f32, {3}, {1, 2, 3})});
  expect_same(none_at_all[0], reals(f32, {3}, {1, 2, 3}));
  EXPECT_EQ(none_at_all[2].shape(), (Shape{0, 3}));
}

TEST(Evaluate, NestedScansHaveTheirOwnTime) {
  Builder b("nested");
  TensorRef zero = b.operand(0, i64, {});
  auto outer = b.scan(
      3, {}, {zero}, [](Builder& step, const std::vector<TensorRef>&, const std::vector<TensorRef>& states) {
        auto inner = step.scan(
            2, {}, {states[0]},
            [](Builder& deep, const std::vector<TensorRef>&, const std::vector<TensorRef>& inner_states) {
              TensorRef sum =
                  deep.map({}, [&](const Indices&) { return inner_states[0]({}) * 10 + deep.time(); });
              return Builder::StepResult{{sum}, {}};
            });
        TensorRef sum = step.map({}, [&](const Indices&) { return inner[0]({}) * 10 + step.time() + 5; });
        return Builder::StepResult{{sum}, {}};
      });
  b.output(outer[0]);
  EXPECT_EQ(evaluate(b.finish(), {Tensor::scalar(i64, 0)})[0].get_int(0), 15016017);
}

TEST(Evaluate, ScatterCombinesInOrder) {
  Tensor base = reals(f32, {4}, {1, 2, 3, 4});
  Tensor ids = Tensor::from_i64({1, 3, 1, 2});
  Tensor updates = reals(f32, {4}, {10, 20, 30, 40});
  auto run = [&](ScatterCombine combine, const Tensor& to, const Tensor& places, const Tensor& values) {
    Builder b("scatter");
    TensorRef t = b.operand(0, to.type(), to_dims(to.shape()));
    TensorRef i = b.operand(1, i64, to_dims(places.shape()));
    TensorRef u = b.operand(2, to.type(), to_dims(values.shape()));
    b.output(b.scatter(t, i.dims(), combine, [&](const Indices& k) {
      return Builder::Update{{i(k)}, u(k), k[0] != 3};
    }));
    return evaluate(b.finish(), {to, places, values})[0];
  };
  expect_same(run(ScatterCombine::assign, base, ids, updates), reals(f32, {4}, {1, 30, 3, 20}));
  expect_same(run(ScatterCombine::add, base, ids, updates), reals(f32, {4}, {1, 42, 3, 24}));
  expect_same(run(ScatterCombine::mul, base, ids, updates), reals(f32, {4}, {1, 600, 3, 80}));
  expect_same(run(ScatterCombine::max, base, ids, updates), reals(f32, {4}, {1, 30, 3, 20}));
  expect_same(run(ScatterCombine::min, base, ids, updates), base);
  // The point that the guard skips may lie outside.
  EXPECT_NO_THROW(run(ScatterCombine::assign, base, Tensor::from_i64({1, 3, 1, 99}), updates));
  EXPECT_USER_ERROR(run(ScatterCombine::assign, base, Tensor::from_i64({1, 4, 1, 0}), updates), "index 4");
  EXPECT_USER_ERROR(run(ScatterCombine::add, base, Tensor::from_i64({-1, 3, 1, 0}), updates), "index -1");
  // Sums of floats are rounded once.
  Tensor tiny = reals(f16, {1}, {2048});
  expect_same(run(ScatterCombine::add, tiny, Tensor::from_i64({0, 0, 0}), reals(f16, {3}, {1, 1, 1})),
              reals(f16, {1}, {2052}));
  expect_same(
      run(ScatterCombine::add, integers(i8, {1}, {100}), Tensor::from_i64({0}), integers(i8, {1}, {100})),
      integers(i8, {1}, {-56}));
}

TEST(Evaluate, StringsAreCopied) {
  Tensor words = Tensor::from_strings({3}, {"a", "bee", "cee"});
  Tensor ids = Tensor::from_i64({2, 0, 2, 1});
  Tensor gathered =
      map_of({words, ids}, {4}, [](Builder&, Refs t, const Indices& i) { return t[0]({t[1](i)}); });
  expect_same(gathered, Tensor::from_strings({4}, {"cee", "a", "cee", "bee"}));
  Tensor equal = map_of({gathered, words}, {4, 3},
                        [](Builder&, Refs t, const Indices& i) { return t[0]({i[0]}) == t[1]({i[1]}); });
  expect_same(equal, integers(boolean, {4, 3}, {0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 1, 0}));
  Tensor joined = map_of({words, gathered}, {7}, [](Builder& b, Refs t, const Indices& i) {
    Scalar other = t[1].guarded({i[0] - 3}, i[0] >= 3, t[0]({b.integer(0)}));
    return t[0].guarded({i[0]}, i[0] < 3, other);
  });
  expect_same(joined, Tensor::from_strings({7}, {"a", "bee", "cee", "cee", "a", "cee", "bee"}));
  EXPECT_THROW(map_of({words}, {3}, [](Builder&, Refs t, const Indices& i) { return t[0](i) < t[0](i); }),
               Error);
  Builder b("scatter strings");
  TensorRef t = b.operand(0, string, {3});
  b.output(b.scatter(t, {1}, ScatterCombine::assign, [&](const Indices&) {
    return Builder::Update{{b.integer(0)}, t({b.integer(2)}), {}};
  }));
  expect_same(evaluate(b.finish(), {words})[0], Tensor::from_strings({3}, {"cee", "bee", "cee"}));
}

TEST(Evaluate, FailuresInThreadsAreReported) {
  EvaluateOptions options;
  options.parallel_for = [](int64_t count, const std::function<void(int64_t, int64_t)>& body) {
    std::vector<std::thread> threads;
    for (int64_t part = 0; part < 4; ++part) {
      threads.emplace_back([&, part] { body(count * part / 4, count * (part + 1) / 4); });
    }
    for (std::thread& thread : threads) thread.join();
  };
  Builder b("threads");
  TensorRef x = b.operand(0, i64, {100000});
  b.output(b.map({100000}, [&](const Indices& i) { return exp(cast(f64, x({x(i)}))); }));
  Program program = b.finish();
  Tensor ids = Tensor::allocate(i64, {100000});
  EXPECT_NO_THROW(evaluate(program, {ids}, options));
  ids.set_int(77777, 100000);
  EXPECT_USER_ERROR(evaluate(program, {ids}, options), "index 100000");
}

TEST(Evaluate, AbsurdSizesAreRefused) {
  Builder b("absurd");
  Dim n = Dim::symbol("n");
  TensorRef x = b.operand(0, i64, {n});
  b.output(b.map({n, Dim(int64_t{1} << 62), 4}, [&](const Indices& i) { return x({i[0]}); }));
  EXPECT_USER_ERROR(evaluate(b.finish(), {Tensor::allocate(i64, {3})}), "");
  Builder negative("negative");
  negative.operand(0, i64, {n});
  negative.output(negative.map({n - 5}, [&](const Indices& i) { return i[0]; }));
  Program program = negative.finish();
  EXPECT_USER_ERROR(evaluate(program, {Tensor::allocate(i64, {3})}), "n - 5 is -2");
}

}  // namespace
}  // namespace axrun::ir
