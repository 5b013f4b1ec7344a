#include "ir/dim.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>

#include "ir/error.h"

namespace axrun::ir {

/// How GoogleTest shows a Dim.
void PrintTo(const Dim& dim, std::ostream* out) { *out << dim.to_string(); }

namespace {

const Dim n = Dim::symbol("n");
const Dim m = Dim::symbol("m");
const Dim k = Dim::symbol("k");

std::string text(const Dim& dim) { return dim.to_string(); }

TEST(Dims, ConstantsSaturate) {
  EXPECT_EQ(Dim(3) + 4, Dim(7));
  EXPECT_EQ(Dim(INT64_MAX) + 1, Dim(INT64_MAX));
  EXPECT_EQ(Dim(INT64_MIN) - 1, Dim(INT64_MIN));
  EXPECT_EQ(Dim(0) - INT64_MIN, Dim(INT64_MAX));
  EXPECT_EQ(Dim(INT64_MAX) * INT64_MIN, Dim(INT64_MIN));
  EXPECT_EQ(Dim(int64_t{1} << 40) * (int64_t{1} << 40), Dim(INT64_MAX));
  EXPECT_EQ(floor_div(Dim(INT64_MIN), -1), Dim(INT64_MAX));
  EXPECT_EQ(floor_mod(Dim(INT64_MIN), -1), Dim(0));
  EXPECT_EQ(n * INT64_MAX * 2, n * INT64_MAX);
  EXPECT_EQ(n + INT64_MAX + 1, n + INT64_MAX);
}

TEST(Dims, ConstantDivisionRoundsDown) {
  for (int a = -20; a <= 20; ++a) {
    for (int b = -6; b <= 6; ++b) {
      if (b == 0) continue;
      const int quotient = static_cast<int>(std::floor(static_cast<double>(a) / b));
      EXPECT_EQ(floor_div(Dim(a), b), Dim(quotient)) << a << " " << b;
      EXPECT_EQ(floor_mod(Dim(a), b), Dim(a - b * quotient)) << a << " " << b;
      EXPECT_EQ(ceil_div(a, b), Dim(static_cast<int>(std::ceil(static_cast<double>(a) / b))))
          << a << " " << b;
    }
  }
}

TEST(Dims, ConstantOrSymbolic) {
  EXPECT_TRUE(Dim(5).is_constant());
  EXPECT_EQ(Dim(5).constant(), 5);
  EXPECT_EQ(n.constant(), std::nullopt);
  EXPECT_TRUE((n - n).is_constant());
  EXPECT_THROW(n.value(), Error);
  EXPECT_NE(n, m);
  EXPECT_NE(n, Dim(1));
  EXPECT_EQ(n, Dim::symbol("n"));
}

TEST(Dims, EqualPolynomialsAreEqual) {
  EXPECT_EQ((n + m) * (n - m), n * n - m * m);
  EXPECT_EQ((n + 1) * (n + 1) * (n + 1), n * n * n + 3 * n * n + 3 * n + 1);
  EXPECT_EQ(n * m * k, k * n * m);
  EXPECT_EQ(2 * n + m - n - m, n);
  EXPECT_EQ(0 * n, Dim(0));
  EXPECT_EQ(floor_div(n, 2) + floor_div(m, 3), floor_div(m, 3) + floor_div(n, 2));
}

TEST(Dims, DivisionIsExactWhereThePolynomialDivides) {
  EXPECT_EQ(floor_div(6 * n, 3), 2 * n);
  EXPECT_EQ(floor_div(2 * n * m, n), 2 * m);
  EXPECT_EQ(floor_div(n * k + k, k), n + 1);
  EXPECT_EQ(floor_div(n, n), Dim(1));
  EXPECT_EQ(floor_div(n * n - m * m, n + m), n - m);
  EXPECT_EQ(floor_div((n + 1) * (m + 2) * (k + 3), (m + 2) * (n + 1)), k + 3);
  EXPECT_EQ(floor_div(n * m, 0 - n), 0 - m);
  EXPECT_EQ(floor_div(Dim(0), n), Dim(0));
  EXPECT_EQ(floor_div(n, 1), n);
  EXPECT_EQ(ceil_div(n * k, k), n);
  EXPECT_EQ(ceil_div(n * (k + 1) * 4, 4 * (k + 1)), n);
  EXPECT_EQ(floor_mod(n * k + k, k), Dim(0));
  EXPECT_EQ(floor_mod(n, 1), Dim(0));
  EXPECT_EQ(floor_mod(n, n), Dim(0));
}

TEST(Dims, DivisionExtractsCancelsAndMerges) {
  EXPECT_EQ(floor_div(6 * n + 3 * m + 7, 3), 2 * n + m + 2);
  EXPECT_EQ(floor_div(n - 1, 2) + 1, floor_div(n + 1, 2));
  EXPECT_EQ(floor_div(2 * n + 5, 4), floor_div(n + 2, 2));
  EXPECT_EQ(floor_div(n * m + n, n * k), floor_div(m + 1, k));
  EXPECT_EQ(floor_div(floor_div(n + 1, 2) + 1, 2), floor_div(n + 3, 4));
  EXPECT_EQ(ceil_div(ceil_div(n, 3), 5), ceil_div(n, 15));
  EXPECT_EQ(floor_div(n + floor_div(m, k) * 6, 3), floor_div(n, 3) + 2 * floor_div(m, k));
  EXPECT_EQ(floor_div(floor_mod(n, 4), 4), Dim(0));
  EXPECT_EQ(floor_div(floor_mod(n, k), k), Dim(0));
  EXPECT_EQ(floor_div(n * k + floor_mod(m, k), k), n);
}

TEST(Dims, ModuloReducesAndFlattens) {
  EXPECT_EQ(floor_mod(5 * n + 7, 5), Dim(2));
  EXPECT_EQ(floor_mod(7 * n, 5), floor_mod(2 * n, 5));
  EXPECT_EQ(floor_mod(4 * n + 2, 8), 4 * floor_mod(n, 2) + 2);
  EXPECT_EQ(floor_mod(floor_mod(n, 12), 4), floor_mod(n, 4));
  // Padding to a multiple, twice: n + (-n mod 7) is a multiple of 7.
  EXPECT_EQ(floor_mod(0 - (n + floor_mod(0 - n, 7)), 7), Dim(0));
  EXPECT_EQ(floor_mod(n, -3), 0 - floor_mod(0 - n, 3));
}

TEST(Dims, ExtremaAreDecidedByNonNegativity) {
  EXPECT_EQ(max(n, 0), n);
  EXPECT_EQ(max(n, -3), n);
  EXPECT_EQ(min(n, 0), Dim(0));
  EXPECT_EQ(max(n, n), n);
  EXPECT_EQ(max(n + 1, n), n + 1);
  EXPECT_EQ(min(n * m, n * m + k), n * m);
  EXPECT_EQ(min(n, INT64_MAX), n);
  EXPECT_EQ(max(n, INT64_MIN), n);
  EXPECT_EQ(max(n, floor_div(n, 2)), n);
  EXPECT_EQ(max(n, floor_div(n + 1, 2)), n);
  EXPECT_EQ(max(floor_div(n, 2), floor_div(n + 1, 2)), floor_div(n + 1, 2));
  EXPECT_EQ(min(floor_mod(n, 4), 3), floor_mod(n, 4));
  EXPECT_EQ(max(floor_mod(n, k), k), k);
  EXPECT_FALSE(max(n, m).is_constant());
  EXPECT_EQ(text(max(n, 2)), "max(n, 2)");
}

TEST(Dims, ExtremaAreFlatSortedAndWithoutRepetition) {
  EXPECT_EQ(max(max(n, m), k), max(n, max(k, m)));
  EXPECT_EQ(max(max(n, m), n), max(m, n));
  EXPECT_EQ(text(min(k, min(n, m))), "min(k, m, n)");
  EXPECT_EQ(max(max(n, 2), 5), max(n, 5));
}

TEST(Dims, DivisionByZeroIsAUserError) {
  for (const Dim& dividend : {n, Dim(4)}) {
    EXPECT_THROW(floor_div(dividend, 0), Error);
    EXPECT_THROW(floor_mod(dividend, m - m), Error);
    EXPECT_THROW(ceil_div(dividend, 0), Error);
  }
  try {
    floor_div(n + 1, k).substitute({{"k", 0}});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::user);
    EXPECT_EQ(std::string(error.what()), "the size n + 1 is divided by 0");
  }
}

TEST(Dims, SubstituteReplacesAllAtOnce) {
  EXPECT_EQ((n * m + 1).substitute({{"n", m}, {"m", n}}), n * m + 1);
  EXPECT_EQ((n - m).substitute({{"n", m}, {"m", n}}), m - n);
  EXPECT_EQ(floor_div(n + 3, 4).substitute({{"n", 4 * k}}), k);
  EXPECT_EQ(max(n, m).substitute({{"n", 3}, {"m", 7}}), Dim(7));
  EXPECT_EQ((n + k).substitute({{"n", 2}}), k + 2);
  EXPECT_EQ(Dim(4).substitute({{"n", 2}}), Dim(4));
}

TEST(Dims, CollectSymbolsNamesEachOnce) {
  std::vector<std::string> names = {"m"};
  (n * n + floor_div(m + n, k) + max(k, Dim::symbol("z"))).collect_symbols(names);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, std::vector<std::string>({"k", "m", "n", "z"}));
}

TEST(Dims, Vectors) {
  EXPECT_EQ(product({}), Dim(1));
  EXPECT_EQ(product({2, n, 3}), 6 * n);
  EXPECT_EQ(constant_dims({2, 3}), std::vector<int64_t>({2, 3}));
  EXPECT_EQ(constant_dims({2, n}), std::nullopt);
  EXPECT_EQ(constant_dims({}), std::vector<int64_t>());
  EXPECT_EQ(to_dims({4, 5}), Dims({4, 5}));
  EXPECT_EQ(to_string(Dims{2, Dim::symbol("batch"), 3}), "[2, batch, 3]");
  EXPECT_EQ(to_string(std::vector<int64_t>{2, -1}), "[2, -1]");
  EXPECT_EQ(to_string(Dims{}), "[]");
}

TEST(DimText, Prints) {
  const Dim batch = Dim::symbol("batch");
  const Dim seq = Dim::symbol("seq");
  EXPECT_EQ(text(3), "3");
  EXPECT_EQ(text(-3), "-3");
  EXPECT_EQ(text(batch), "batch");
  EXPECT_EQ(text(2 * seq + 1), "2*seq + 1");
  EXPECT_EQ(text(ceil_div(n, 4)), "(n + 3) / 4");
  EXPECT_EQ(text(batch * seq - 1), "batch*seq - 1");
  EXPECT_EQ(text(3 - n), "-n + 3");
  EXPECT_EQ(text(n * n), "n*n");
  EXPECT_EQ(text(2 * floor_div(n, 4) - m), "-m + 2*(n / 4)");
  EXPECT_EQ(text(0 - floor_div(n, 4)), "-(n / 4)");
  EXPECT_EQ(text(floor_mod(n, k)), "n mod k");
  EXPECT_EQ(text(floor_div(n * m, k)), "m*n / k");
  EXPECT_EQ(text(floor_div(k, n * m)), "k / (m*n)");
  EXPECT_EQ(text(floor_div(k, floor_div(n, 4))), "k / (n / 4)");
  EXPECT_EQ(text(n + INT64_MIN), "n + -9223372036854775808");
}

TEST(DimText, OddNamesAreQuoted) {
  for (const std::string name : {"batch size", "?", "unk__12", "länge", "", "min", "mod", "a\"b\\c", "2n",
                                 "x.1", "new\nline", "-1", "a+b"}) {
    const Dim dim = 2 * Dim::symbol(name) + 1;
    EXPECT_EQ(parse_dim(text(dim)), dim) << text(dim);
  }
  const Dim nul = Dim::symbol(std::string("a\0\x7f\xff", 4));
  EXPECT_EQ(parse_dim(text(nul)), nul);
  EXPECT_EQ(text(Dim::symbol("unk__12")), "unk__12");
  EXPECT_EQ(text(Dim::symbol("batch size")), "\"batch size\"");
  EXPECT_EQ(text(Dim::symbol("a\nb")), "\"a\\x0ab\"");
}

TEST(DimText, Parses) {
  EXPECT_EQ(parse_dim(" 2 * n+1 "), 2 * n + 1);
  EXPECT_EQ(parse_dim("n - m - k"), n - m - k);
  EXPECT_EQ(parse_dim("n*m/k mod 3"), floor_mod(floor_div(n * m, k), 3));
  EXPECT_EQ(parse_dim("n / 2 / m"), floor_div(floor_div(n, 2), m));
  EXPECT_EQ(parse_dim("-7 / 2"), Dim(-4));
  EXPECT_EQ(parse_dim("- n * 3"), -3 * n);
  EXPECT_EQ(parse_dim("max(n, m, 3)"), max(n, max(m, 3)));
  EXPECT_EQ(parse_dim("min (\"n\",(k))"), min(n, k));
  EXPECT_EQ(parse_dim("9223372036854775807"), Dim(INT64_MAX));
  EXPECT_EQ(parse_dim("-9223372036854775808"), Dim(INT64_MIN));
  EXPECT_EQ(parse_dim("modulus"), Dim::symbol("modulus"));
}

TEST(DimText, RefusesGarbageWithItsPosition) {
  const std::vector<std::pair<std::string, int>> cases = {
      {"", 0},         {"n +", 3},      {"n + * m", 4},
      {"(n", 2},       {"n)", 1},       {"n m", 2},
      {"2n", 0},       {"n / 0", 2},    {"n mod (m-m)", 2},
      {"min(n)", 5},   {"max(n, )", 7}, {"max n", 4},
      {"mod", 0},      {"\"n", 0},      {"\"\\q\"", 1},
      {"\"\\x4", 1},   {"n # m", 2},    {"9223372036854775808", 0},
      {"n + \xff", 4}, {"n\nm", 1},     {"1.5", 0},
      {"n, m", 1},     {"\"\\", 1},     {"\"\\x", 1}};
  for (const auto& [bad, position] : cases) {
    try {
      parse_dim(bad);
      ADD_FAILURE() << "accepted: " << bad;
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::user);
      const std::string part = ", position " + std::to_string(position) + ":";
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }
}

void expect_refused(const std::string& hostile) {
  try {
    parse_dim(hostile);
    ADD_FAILURE() << "accepted: " << hostile.substr(0, 60);
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::user) << error.what();
    EXPECT_LT(std::string(error.what()).size(), 400u);
  }
}

std::string repeated(const std::string& part, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += part;
  return result;
}

TEST(DimText, HostileTextIsBounded) {
  expect_refused(repeated("(", 10000));
  expect_refused(repeated("-", 10000) + "n");
  expect_refused(repeated("max(n,", 2000));
  expect_refused(repeated("n+", 1 << 20) + "n");
  expect_refused("(n" + repeated("+m)*(n", 100) + ")" + repeated("*(a+b+c+d+e)", 200));
  expect_refused("n" + repeated("*n", 3000));
  std::string many_names = "0";
  for (int i = 0; i < 2000; ++i) many_names += "+a" + std::to_string(i);
  expect_refused(many_names);
  std::string tower = "n";
  for (int i = 0; i < 100; ++i) tower = "(" + tower + ")*m/k";
  expect_refused(tower);
}

TEST(Dims, GrowthIsBounded) {
  const auto grow = [](const std::function<Dim(const Dim&)>& step) {
    Dim dim = n;
    for (int i = 0; i < 10000; ++i) dim = step(dim);
  };
  EXPECT_THROW(grow([](const Dim& dim) { return dim * dim; }), Error);
  EXPECT_THROW(grow([](const Dim& dim) { return floor_div(dim * m + 1, k); }), Error);
  EXPECT_THROW(grow([](const Dim& dim) { return max(dim * m, dim * k) + 1; }), Error);
}

// ---- Random expressions: the Dim must have the value that the expression has when it is simply calculated.

/// A tree of operations, evaluated as int64 and built as a Dim at the same time.
struct Pair {
  Dim dim;
  int64_t value;
};

class RandomExpressions {
 public:
  explicit RandomExpressions(uint64_t seed) : random_(seed) {
    for (const char* name : {"a", "b", "c"}) sizes_[name] = Dim(static_cast<int64_t>(random_() % 13));
    for (const char* name : {"p", "q"}) sizes_[name] = Dim(static_cast<int64_t>(1 + random_() % 7));
  }

  Pair expression(int depth) {
    const uint64_t choice = depth == 0 ? random_() % 2 : random_() % 12;
    if (choice == 0) return constant(-6, 12);
    if (choice == 1) return symbol({"a", "b", "c", "p", "q"});
    const Pair x = expression(depth - 1);
    const Pair y =
        choice >= 8 && choice <= 10 ? divisor(static_cast<int>(random_() % 2)) : expression(depth - 1);
    const int64_t quotient = y.value == 0 ? 0 : floor_quotient(x.value, y.value);
    switch (choice) {
      case 2:
      case 3:
        return {x.dim + y.dim, x.value + y.value};
      case 4:
        return {x.dim - y.dim, x.value - y.value};
      case 5:
        return {x.dim * y.dim, x.value * y.value};
      case 6:
        return {min(x.dim, y.dim), std::min(x.value, y.value)};
      case 7:
        return {max(x.dim, y.dim), std::max(x.value, y.value)};
      case 8:
        return {floor_div(x.dim, y.dim), quotient};
      case 9:
        return {floor_mod(x.dim, y.dim), x.value - y.value * quotient};
      case 10:
        return {ceil_div(x.dim, y.dim), -floor_quotient(-x.value, y.value)};
      default:
        return {x.dim * y.dim + x.dim, x.value * y.value + x.value};
    }
  }

  const std::map<std::string, Dim>& sizes() const { return sizes_; }

  std::map<std::string, Dim> some_sizes() {
    std::map<std::string, Dim> some = sizes_;
    std::erase_if(some, [&](const auto&) { return random_() % 2 == 0; });
    return some;
  }

 private:
  static int64_t floor_quotient(int64_t a, int64_t b) {
    return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
  }
  Pair constant(int64_t low, int64_t high) {
    const int64_t value = low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
    return {value, value};
  }
  Pair symbol(const std::vector<std::string>& names) {
    const std::string& name = names[random_() % names.size()];
    return {Dim::symbol(name), sizes_.at(name).value()};
  }
  /// Never 0: a constant, an odd number, or a sum or product of sizes that are at least 1.
  Pair divisor(int depth) {
    if (random_() % 8 == 0) {
      const Pair size = symbol({"a", "p", "q"});  // an odd number, of either sign
      return {2 * size.dim - 5, 2 * size.value - 5};
    }
    const Pair leaf = random_() % 2 == 0 ? constant(1, 6) : symbol({"p", "q"});
    if (depth == 0) return random_() % 8 == 0 ? Pair{0 - leaf.dim, -leaf.value} : leaf;
    const Pair other = divisor(depth - 1);
    if (leaf.value < 0 || other.value < 0 || random_() % 2 == 0)
      return {leaf.dim * other.dim, leaf.value * other.value};
    return {leaf.dim + other.dim, leaf.value + other.value};
  }

  std::mt19937_64 random_;
  std::map<std::string, Dim> sizes_;
};

TEST(RandomDims, SimplificationKeepsTheValueAndTextParsesBack) {
  int symbolic = 0;
  for (uint64_t seed = 0; seed < 20000; ++seed) {
    RandomExpressions generator(seed);
    const Pair pair = generator.expression(1 + static_cast<int>(seed % 4));
    const std::string form = text(pair.dim);
    symbolic += pair.dim.is_constant() ? 0 : 1;
    ASSERT_EQ(pair.dim.substitute(generator.sizes()), Dim(pair.value)) << "seed " << seed << ": " << form;
    const Dim partly = pair.dim.substitute(generator.some_sizes());
    ASSERT_EQ(partly.substitute(generator.sizes()), Dim(pair.value))
        << "seed " << seed << ": " << form << " by way of " << text(partly);
    ASSERT_EQ(parse_dim(form), pair.dim)
        << "seed " << seed << ": " << form << " against " << text(parse_dim(form));
    ASSERT_EQ(pair.dim.substitute({}), pair.dim) << "seed " << seed << ": " << form;
    ASSERT_EQ(pair.dim - pair.dim, Dim(0)) << "seed " << seed << ": " << form;
  }
  EXPECT_GT(symbolic, 10000);
}

TEST(RandomDims, RandomTextParsesOrIsRefused) {
  const std::vector<std::string> tokens = {"n",    "m",     "k",     "2",  "7",          "0",    "+",
                                           "-",    "*",     "/",     "(",  ")",          "min(", ",",
                                           "max(", " mod ", "\"x\"", "\"", "9999999999", " "};
  int accepted = 0;
  for (uint64_t seed = 0; seed < 30000; ++seed) {
    std::mt19937_64 random(seed);
    std::string candidate;
    for (uint64_t length = 1 + random() % 9; length > 0; --length)
      candidate += tokens[random() % tokens.size()];
    try {
      const Dim dim = parse_dim(candidate);
      ++accepted;
      ASSERT_EQ(parse_dim(text(dim)), dim) << "seed " << seed << ": " << candidate;
    } catch (const Error& error) {
      ASSERT_EQ(error.fault(), Fault::user) << "seed " << seed << ": " << candidate;
    }
  }
  EXPECT_GT(accepted, 1000);
}

}  // namespace
}  // namespace axrun::ir
