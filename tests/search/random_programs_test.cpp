// Random chains of stages of every rank from 0 on: whatever search makes of them is right, and nothing that
// it looks for is taken for granted. Scalars between windows, products and rows are what no operator's test
// has.
//
// In full: AXRUN_TEST_PROGRAMS=20000 build/release/tests/test_search --gtest_filter='RandomPrograms.*'
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "ir/builder.h"
#include "ir/dim_polynomial.h"
#include "ir/grammar.h"
#include "ir/text.h"
#include "tests/search/cases.h"

namespace axrun::tests {
namespace {

using ir::Builder;
using ir::Dim;
using ir::Dims;
using ir::ElementType;
using ir::Indices;
using ir::Monoid;
using ir::Scalar;
using ir::TensorRef;

class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed) : random_(seed) {}

  ir::Program make() {
    TensorRef x = operand(shape());
    scalars_.push_back(operand({}));
    ir::TensorId last = x.id();  // each tensor is an output once at most
    const auto output = [&] {
      if (x.id() != last) b_.output(x);
      last = x.id();
    };
    const int stages = between(2, 6);
    for (int k = 0; k < stages; ++k) {
      x = next(x);
      if (one_in(6)) output();
    }
    x = map(x);
    output();
    return b_.finish();
  }
  /// Per operand.
  const std::vector<bool>& constant() const { return constant_; }

 private:
  int between(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool one_in(int count) { return between(1, count) == 1; }

  Dims shape() {
    // Some are as large as what chains of stages ask for.
    if (one_in(4)) return {between(12, 20), between(36, 44), between(41, 57)};
    Dims dims;
    for (int rank = between(0, 4); rank > 0; --rank) dims.emplace_back(between(1, 9));
    return dims;
  }
  TensorRef operand(const Dims& dims) {
    constant_.push_back(one_in(3));
    return b_.operand(static_cast<int>(constant_.size()) - 1, ElementType::f32, dims);
  }

  /// Never large, so that nothing that follows is.
  Scalar tame(const Scalar& value) {
    switch (between(0, 3)) {
      case 0:
        return tanh(value) * 0.5;
      case 1:
        return min(max(value, -3.0), 3.0);
      case 2:
        return tanh(erf(value) + 0.25);  // too long to be written into what reads it
      default:
        return tanh(value);
    }
  }
  Scalar with_scalar(const Scalar& value) {
    if (one_in(2)) return value;
    const Scalar one = pick(scalars_)({});
    return one_in(2) ? value * one : value + one;
  }
  template <class T>
  const T& pick(const std::vector<T>& list) {
    return list[static_cast<size_t>(between(0, static_cast<int>(list.size()) - 1))];
  }

  TensorRef next(const TensorRef& x) {
    switch (between(0, 8)) {
      case 0:
        return scalar(x);
      case 1:
        return map(x);
      case 2:
      case 3:
        return x.rank() == 0 ? map(x) : windows(x);
      case 4:
        return x.rank() == 0 ? map(x) : rows(x);
      case 5:
        return x.rank() == 0 ? map(x) : product(x);
      case 6:
        return x.rank() < 2 ? map(x) : transposed(x);
      case 7:
        return x.rank() == 0 ? map(x) : b_.reshape(x, {ir::product(x.dims())});
      default:
        return x.rank() == 0 ? grown(x) : map(x);
    }
  }

  /// A scalar stands beside what goes on.
  TensorRef scalar(const TensorRef& x) {
    const TensorRef from = pick(scalars_);
    TensorRef made;
    if (one_in(2)) {
      made = b_.map({}, [&](const Indices&) { return tame(from({})); });
    } else {
      made = b_.reduce(one_in(2) ? Monoid::Kind::max : Monoid::Kind::sum, {}, x.dims(),
                       [&](const Indices&, const Indices& r) { return x(r) * 0.01; });
      made = b_.map({}, [&](const Indices&) { return tanh(made({}) + from({})); });
    }
    scalars_.push_back(made);
    return x;
  }
  TensorRef map(const TensorRef& x) {
    const bool wide = x.rank() > 0 && one_in(3);
    const TensorRef row = wide ? operand({x.dims().back()}) : TensorRef();
    return b_.map(x.dims(), [&](const Indices& i) {
      const Scalar value = wide ? x(i) * row({i.back()}) : x(i);
      return tame(with_scalar(value));
    });
  }
  TensorRef grown(const TensorRef& x) {
    return b_.map({between(1, 40), between(1, 40)}, [&](const Indices& i) {
      return tanh(x({}) + cast(ElementType::f32, i[0] - i[1]) * 0.125);
    });
  }
  TensorRef windows(const TensorRef& x) {
    const int along = x.rank() > 1 ? between(1, 2) : 1;
    const Monoid::Kind kind = one_in(3) ? Monoid::Kind::max : Monoid::Kind::sum;
    const bool weighted = kind == Monoid::Kind::sum && one_in(2), padded = one_in(2);
    const int64_t step = between(1, 2);
    Dims dims = x.dims(), taps;
    for (int k = 0; k < along; ++k) {
      Dim& extent = dims[dims.size() - static_cast<size_t>(along - k)];
      const int64_t most = std::min<int64_t>(3, extent.value());
      taps.emplace_back(between(1, static_cast<int>(most)));
      if (!padded) extent = floor_div(extent - taps.back(), step) + 1;
    }
    const TensorRef weights = weighted ? operand(taps) : TensorRef();
    const bool has_scalar = one_in(2), from_scalar = one_in(6);
    const TensorRef scalar = pick(scalars_);
    return b_.reduce(kind, dims, taps, [&](const Indices& i, const Indices& r) {
      Indices at = i;
      for (size_t k = 0; k < r.size(); ++k) {
        Scalar& index = at[at.size() - r.size() + k];
        index = padded ? index + r[k] - 1 : index * step + r[k];
      }
      Scalar value = padded ? x.padded(at, 0.0) : x(at);
      if (from_scalar) value = scalar({}) * value;
      if (weighted) value = value * weights(r) * 0.125;
      return has_scalar ? value * scalar({}) : value;
    });
  }
  TensorRef rows(const TensorRef& x) {
    const Dims outer(x.dims().begin(), x.dims().end() - 1);
    const auto along = [](const Indices& i, const Scalar& last) {
      Indices at(i.begin(), i.end());
      at.push_back(last);
      return at;
    };
    const TensorRef total =
        b_.reduce(one_in(2) ? Monoid::Kind::sum : Monoid::Kind::max, outer, {x.dims().back()},
                  [&](const Indices& i, const Indices& r) { return x(along(i, r[0])) * 0.125; });
    if (one_in(3)) return total;
    return b_.map(x.dims(), [&](const Indices& i) {
      return tame(with_scalar(x(i) - total(Indices(i.begin(), i.end() - 1))));
    });
  }
  TensorRef product(const TensorRef& x) {
    const Dim columns = between(1, 40);
    const TensorRef weights = operand({x.dims().back(), columns});
    Dims dims = x.dims();
    dims.back() = columns;
    const TensorRef sum = b_.sum(dims, {x.dims().back()}, [&](const Indices& i, const Indices& r) {
      Indices at(i.begin(), i.end() - 1);
      at.push_back(r[0]);
      return x(at) * weights({r[0], i.back()}) * 0.125;
    });
    return one_in(2) ? sum : map(sum);
  }
  TensorRef transposed(const TensorRef& x) {
    Dims dims = x.dims();
    std::swap(dims.front(), dims.back());
    return b_.map(dims, [&](const Indices& i) {
      Indices at = i;
      std::swap(at.front(), at.back());
      return with_scalar(x(at));
    });
  }

  std::mt19937 random_;
  Builder b_{"random"};
  std::vector<bool> constant_;
  std::vector<TensorRef> scalars_;
};

int64_t points_of(const ir::Program& program) {
  int64_t points = 0;
  for (const ir::Stage& stage : program.stages) {
    int64_t here = 1;
    for (const auto* axes : {&stage.axes, &stage.reduce_axes})
      for (const ir::Axis& axis : *axes) here = ir::saturating_multiply(here, axis.extent.value());
    points += here;
  }
  return points;
}

TEST(RandomPrograms, OfEveryRankAreLoweredRight) {
  constexpr unsigned usual = 300;
  constexpr int64_t few = 20'000;
  const char* asked = std::getenv("AXRUN_TEST_PROGRAMS");
  const unsigned count = asked != nullptr ? static_cast<unsigned>(std::atoi(asked)) : usual;
  unsigned lowered_ones = 0;
  for (unsigned seed = 1; seed <= count; ++seed) {
    RandomProgram made(seed);
    const ir::Program program = made.make();
    ASSERT_NO_THROW(ir::require_valid(program)) << seed;
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, ir::print(program)));
    for (const jit::Target& target : {avx512_like(), avx2_like()}) {
      search::Lowered lowered;
      EXPECT_NO_THROW(lowered = search::lower(program, {}, made.constant(), target));
      for (size_t rank = 0; rank <= std::min<size_t>(lowered.alternatives, 2); ++rank) {
        if (rank > 0) lowered = search::lower(program, {}, made.constant(), target, rank);
        if (!lowered.program) continue;
        ++lowered_ones;
        if (points_of(program) > few) continue;
        EXPECT_EQ(difference(program, lowered, {}, seed), "")
            << "rank " << rank << ", " << target.name << '\n'
            << ir::loop::print(*lowered.program);
      }
    }
  }
  EXPECT_GT(lowered_ones, count);
}

}  // namespace
}  // namespace axrun::tests
