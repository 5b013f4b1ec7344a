#include "tests/verify/schedules.h"

#include <fmt/format.h>

#include <random>

namespace axrun::tests {
namespace {

/// A dimension: a literal, or a name with its claimed range.
struct Extent {
  std::string text;
  std::string claim;  ///< empty for a literal
  int64_t multiple = 1;
  int64_t low = 1;

  bool divides_by(int64_t tile) const { return multiple % tile == 0; }
  /// Number of tiles, and what is left of the tile at `index`.
  std::string tiles(int64_t tile) const {
    if (divides_by(tile)) return fmt::format("{} / {}", text, tile);
    return fmt::format("({} + {}) / {}", text, tile - 1, tile);
  }
  std::string rest(int64_t tile, const std::string& index) const {
    if (divides_by(tile)) return std::to_string(tile);
    return fmt::format("min({}, {} - {}*{})", tile, text, tile, index);
  }
};

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed), seed_(seed) {}

  LoopCase run() {
    LoopCase made = draw();
    made.name += fmt::format(" (seed {})", seed_);
    return made;
  }

 private:
  LoopCase draw() {
    switch (below(10)) {
      case 0:
      case 1:
        return product();
      case 2:
        return two_products();
      case 3:
      case 4:
        return chain();
      case 5:
        return row_reduction();
      case 6:
        return column_reduction();
      case 7:
        return softmax();
      case 8:
        return normalization();
      default:
        return convolution();
    }
  }

  int64_t below(int64_t count) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(count)); }
  bool coin() { return below(2) == 0; }
  int64_t one_of(std::initializer_list<int64_t> list) {
    return *(list.begin() + below(static_cast<int64_t>(list.size())));
  }
  std::string word_of(std::initializer_list<const char*> list) {
    return *(list.begin() + below(static_cast<int64_t>(list.size())));
  }

  Extent extent(const std::string& name, bool maybe_empty = false) {
    if (below(3) == 0) {
      const int64_t value = one_of({1, 3, 4, 8, 12, 13, 16, 24, 40});
      return {std::to_string(value), "", value, value};
    }
    const int64_t low = maybe_empty && coin() ? 0 : 1 + below(3), high = one_of({32, 64, 100});
    const int64_t divisor = one_of({1, 1, 1, 4, 8});
    return {name,
            fmt::format("{}: {}..{}{}", name, low, high, divisor == 1 ? "" : fmt::format(" by {}", divisor)),
            divisor, low};
  }

  static std::string claims(std::initializer_list<Extent> extents) {
    std::string out;
    for (const Extent& extent : extents) {
      if (!extent.claim.empty()) out += (out.empty() ? "" : ", ") + extent.claim;
    }
    return out;
  }

  /// What is done with a sum at row `i`, column `j`: the expression's text, and the program's.
  struct Epilogue {
    std::string expression, program;
  };
  Epilogue epilogue(const std::string& sum_e, const std::string& bias_e, const std::string& sum_p,
                    const std::string& bias_p) {
    switch (below(4)) {
      case 0:
        return {sum_e + " + " + bias_e, "add(" + sum_p + ", " + bias_p + ")"};
      case 1:
        return {"max(" + sum_e + " + " + bias_e + ", 0:f32)",
                "max(0:f32, add(" + sum_p + ", " + bias_p + "))"};
      case 2:
        return {"0.125:f32 * " + sum_e + " - " + bias_e,
                "sub(mul(" + sum_p + ", 0.125:f32), " + bias_p + ")"};
      default:
        return {"tanh(" + sum_e + ") * (1:f32 + erf(" + bias_e + "))",
                "mul(tanh(" + sum_p + "), add(1:f32, erf(" + bias_p + ")))"};
    }
  }

  LoopCase product() {
    const Extent b = coin() ? Extent{"1", "", 1, 1} : extent("b"), m = extent("m"), n = extent("n"),
                 k = extent("k", true);
    const int64_t rows = one_of({1, 2, 3, 4, 6, 8}), columns = one_of({4, 8, 16});
    const bool transposed = coin(), packed = coin(), clamped = coin(), unroll = k.divides_by(4) && coin();
    const std::string weight = transposed ? fmt::format("w: f32[{}, {}]", n.text, k.text)
                                          : fmt::format("w: f32[{}, {}]", k.text, n.text);
    const std::string column = fmt::format("{}*jt + j1", columns), row = fmt::format("{}*it + i1", rows);
    const Epilogue last = epilogue("sum[h, i, j]", "bias[j]", "tile[i1, j1]", "bias[" + column + "]");
    LoopCase made;
    made.name = "product";
    made.expression = fmt::format(
        "program product(a: f32[{0}, {1}, {2}], {3}, bias: f32[{4}]) -> (c) {{\n"
        "  sum: f32[{0}, {1}, {4}] = reduce sum (h: {0}, i: {1}, j: {4}; p: {2}) {{ a[h, i, p] * {5} }}\n"
        "  c: f32[{0}, {1}, {4}] = map (h: {0}, i: {1}, j: {4}) {{ {6} }}\n}}",
        b.text, m.text, k.text, weight, n.text, transposed ? "w[j, p]" : "w[p, j]", last.expression);

    const std::string index = unroll ? "4*p0 + p1" : "p";
    const auto element = [&](const std::string& p) {
      const std::string at =
          transposed ? fmt::format("w[{}, {}]", column, p) : fmt::format("w[{}, {}]", p, column);
      if (!packed || n.divides_by(columns)) return at;
      return fmt::format("guarded({}, less(index({}), index({})), 0:f32)", at, column, n.text);
    };
    // Packed columns are full; those of w itself end where it ends.
    const std::string lanes = packed ? std::to_string(columns) : n.rest(columns, "jt");
    const std::string operand = packed ? fmt::format("w_packed[jt, {}, j1]", index) : element(index);
    const bool clamp = clamped && !m.divides_by(rows);
    const std::string lines = clamp ? std::to_string(rows) : m.rest(rows, "it");
    const std::string a_row = clamp ? fmt::format("min({}, {} - 1)", row, m.text) : row;
    const std::string inverse_tile = fmt::format("x1 mod {}, x2 mod {}", rows, columns);
    const bool rows_outside = coin();
    std::string inverse = fmt::format("inverse(x0, {}{}{})",
                                      rows_outside ? fmt::format("x1 / {}, x2 / {}, ", rows, columns)
                                                   : fmt::format("x2 / {}, x1 / {}, ", columns, rows),
                                      unroll ? "x3 / 4, x3 mod 4, " : "x3, ", inverse_tile);
    std::string body = fmt::format(
        "allocate tile: f32[{0}, {1}] in registers\n"
        "unrolled i1 < {2} {{ vector j1 < {3} {{ tile[i1, j1] = 0:f32 }} }}\n",
        rows, columns, lines, lanes);
    const std::string multiply = fmt::format(
        "unrolled i1 < {0} {{ vector j1 < {1} {{ tile[i1, j1] += mul({2}){3} }} }}\n", lines, lanes,
        coin() ? fmt::format("a[h, {}, {}], {}", a_row, index, operand)
               : fmt::format("{}, a[h, {}, {}]", operand, a_row, index),
        coin() ? fmt::format(" computes sum(h, {}, {}, {}) {}", row, column, index, inverse) : "");
    body += unroll ? fmt::format("for p0 < {} / 4 {{ unrolled p1 < 4 {{ {} }} }}\n", k.text, multiply)
                   : fmt::format("for p < {} {{ {} }}\n", k.text, multiply);
    body += fmt::format("unrolled i1 < {} {{ vector j1 < {} {{ c[h, {}, {}] = {} }} }}\n", m.rest(rows, "it"),
                        n.rest(columns, "jt"), row, column, last.program);
    const std::string row_loop = fmt::format("it < {}", m.tiles(rows)),
                      column_loop = fmt::format("jt < {}", n.tiles(columns));
    const std::string outer = rows_outside ? row_loop : column_loop,
                      inner = rows_outside ? column_loop : row_loop;
    // A claimed point includes all loops: the batch is outermost.
    made.program = fmt::format(
        "loops product({}) {{\n input a: f32[{}, {}, {}]\n input {}\n input bias: f32[{}]\n output c: "
        "f32[{}, {}, {}]\n",
        claims({b, m, n, k}), b.text, m.text, k.text, weight, n.text, b.text, m.text, n.text);
    if (packed) {
      made.program += fmt::format(
          "allocate w_packed: f32[{0}, {1}, {2}] in memory\n"
          "parallel jt < {0} {{ for p < {1} {{ vector j1 < {2} {{ w_packed[jt, p, j1] = {3} }} }} }}\n",
          n.tiles(columns), k.text, columns, element("p"));
    }
    made.program +=
        fmt::format("{} h < {} {{ for {} {{ {} {} {{\n{}}} }} }}\n}}\n", word_of({"parallel", "for"}), b.text,
                    outer, word_of({"for", "for"}), inner, body);
    return made;
  }

  /// The second product reads what the first one left in memory.
  LoopCase two_products() {
    const Extent m = extent("m"), n = extent("n"), k = extent("k"), o = extent("o");
    const int64_t lanes = one_of({4, 8, 16});
    LoopCase made;
    made.name = "two products";
    made.expression = fmt::format(
        "program two(a: f32[{0}, {1}], u: f32[{1}, {2}], v: f32[{2}, {3}]) -> (c) {{\n"
        "  first: f32[{0}, {2}] = reduce sum (i: {0}, j: {2}; p: {1}) {{ a[i, p] * u[p, j] }}\n"
        "  hidden: f32[{0}, {2}] = map (i: {0}, j: {2}) {{ max(first[i, j], 0:f32) }}\n"
        "  c: f32[{0}, {3}] = reduce sum (i: {0}, j: {3}; p: {2}) {{ hidden[i, p] * v[p, j] }}\n}}",
        m.text, k.text, n.text, o.text);
    const auto pass = [&](const std::string& target, const Extent& columns, const Extent& depth,
                          const std::string& left, const std::string& right, const std::string& finish) {
      return fmt::format(
          "for jt < {0} {{\n allocate t_{1}: f32[{2}] in registers\n vector j < {3} {{ t_{1}[j] = 0:f32 }}\n"
          " for p < {4} {{ vector j < {3} {{ t_{1}[j] += mul({5}[i, p], {6}[p, {2}*jt + j]) }} }}\n"
          " vector j < {3} {{ {1}[i, {2}*jt + j] = {7} }}\n}}\n",
          columns.tiles(lanes), target, lanes, columns.rest(lanes, "jt"), depth.text, left, right, finish);
    };
    const std::string head = fmt::format(
        "loops two({}) {{\n input a: f32[{}, {}]\n input u: f32[{}, {}]\n input v: f32[{}, {}]\n output c: "
        "f32[{}, {}]\n"
        "allocate hidden: f32[{}, {}] in memory\n",
        claims({m, n, k, o}), m.text, k.text, k.text, n.text, n.text, o.text, m.text, o.text, m.text, n.text);
    const std::string first = pass("hidden", n, k, "a", "u", "max(t_hidden[j], 0:f32)");
    const std::string second = pass("c", o, n, "hidden", "v", "t_c[j]");
    made.program = coin() ? head + fmt::format("parallel i < {0} {{\n{1}}}\nparallel i < {0} {{\n{2}}}\n}}\n",
                                               m.text, first, second)
                          : head + fmt::format("parallel i < {} {{\n{}{}}}\n}}\n", m.text, first, second);
    return made;
  }

  LoopCase chain() {
    const Extent r = extent("r", true), c = extent("c", true);
    const int64_t tile = one_of({4, 8, 16, 64});
    const bool turned = coin(), guarded = coin();
    const std::string at = fmt::format("{}*jt + j1", tile);
    const auto f = [&](const std::string& x, const std::string& y, int form, bool program) {
      switch (form) {
        case 0:
          return program ? fmt::format("add(mul({0}, {1}), {1})", x, y)
                         : fmt::format("{0} * {1} + {1}", x, y);
        case 1:
          return program ? fmt::format("div({0}, add(exp(neg({0})), 1:f32))", x)
                         : fmt::format("{0} / (1:f32 + exp(neg({0})))", x);
        case 2:
          return program ? fmt::format("select(less(0:f32, {0}), {0}, mul({1}, {0}))", x, y)
                         : fmt::format("select({0} > 0:f32, {0}, {0} * {1})", x, y);
        default:
          return program ? fmt::format("min(sqrt(abs({0})), {1})", x, y)
                         : fmt::format("min({1}, sqrt(abs({0})))", x, y);
      }
    };
    const int first = static_cast<int>(below(4)), second = static_cast<int>(below(4));
    LoopCase made;
    made.name = "chain";
    // y is a row, a column or a single number.
    const int shape = static_cast<int>(below(3));
    const std::string dims = shape == 0 ? c.text : shape == 1 ? r.text + ", 1" : "1";
    const auto y_at = [&](const std::string& i, const std::string& j) {
      return shape == 0 ? "y[" + j + "]" : shape == 1 ? "y[" + i + ", 0]" : std::string("y[0]");
    };
    const std::string y_e = y_at("i", "j");
    made.expression = fmt::format(
        "program chain(x: f32[{0}, {1}], y: f32[{2}]) -> (z{6}) {{\n"
        "  t: f32[{0}, {1}] = map (i: {0}, j: {1}) {{ {3} }}\n"
        "  z: f32[{0}, {1}] = map (i: {0}, j: {1}) {{ {4} }}\n{5}}}",
        r.text, c.text, dims, f("x[i, j]", y_e, first, false),
        guarded ? "select(j >= i, " + f("t[i, j]", y_e, second, false) + ", 0:f32)"
                : f("t[i, j]", y_e, second, false),
        turned ? fmt::format("  w: f32[{1}, {0}] = map (i: {1}, j: {0}) {{ t[j, i] }}\n", r.text, c.text)
               : "",
        turned ? ", w" : "");
    const std::string y_p = y_at("i", at), x_p = "x[i, " + at + "]";
    const bool kept = coin();
    std::string body;
    const std::string inner = f(x_p, y_p, first, true);
    const std::string outer = f(kept ? "t[j1]" : inner, y_p, second, true);
    const std::string value =
        guarded ? fmt::format("select(greater_equal(index({}), index(i)), {}, 0:f32)", at, outer) : outer;
    if (kept) body += fmt::format("t[j1] = {}\n", inner);
    body += fmt::format(
        "z[i, {}] = {}{}\n", at, value,
        coin() ? fmt::format(" computes z(i, {0}) inverse(x0, x1 / {1}, x1 mod {1})", at, tile) : "");
    if (turned) body += fmt::format("w[{}, i] = {}\n", at, kept ? "t[j1]" : inner);
    made.program = fmt::format(
        "loops chain({}) {{\n input x: f32[{}, {}]\n input y: f32[{}]\n output z: f32[{}, {}]\n{}"
        "{} i < {} {{ for jt < {} {{\n{}vector j1 < {} {{\n{}}}\n}} }}\n}}\n",
        claims({r, c}), r.text, c.text, dims, r.text, c.text,
        turned ? fmt::format(" output w: f32[{}, {}]\n", c.text, r.text) : "", word_of({"parallel", "for"}),
        r.text, c.tiles(tile), kept ? fmt::format("allocate t: f32[{}] in registers\n", tile) : "",
        c.rest(tile, "jt"), body);
    return made;
  }

  /// A vector of partial results, folded into a scalar.
  struct Fold {
    std::string before, finish;
  };
  Fold fold(const std::string& name, const std::string& combine, const std::string& identity, int64_t lanes,
            const Extent& n, const std::string& value, const std::string& claim) {
    Fold made;
    made.before = fmt::format("allocate {0}_lanes: f32[{1}] in registers\nallocate {0}: f32[] in registers\n",
                              name, lanes);
    made.finish = fmt::format(
        "vector v < {1} {{ {0}_lanes[v] = {2} }}\n"
        "for t < {3} {{ vector v < {4} {{ {0}_lanes[v] {5} {6}{7} }} }}\n"
        "{0}[] = {2}\nvector w < {1} {{ {0}[] {5} {0}_lanes[w] }}\n",
        name, lanes, identity, n.tiles(lanes), n.rest(lanes, "t"), combine, value, claim);
    return made;
  }

  LoopCase row_reduction() {
    const Extent r = extent("r", true), n = extent("n");
    const int64_t lanes = one_of({4, 8, 16});
    const int which = static_cast<int>(below(4));
    const char* const monoids[] = {"sum", "max", "min", "product"};
    const char* const combines[] = {"+=", "max=", "min=", "*="};
    const char* const identities[] = {"0:f32", "-inf:f32", "inf:f32", "1:f32"};
    const bool squared = coin();
    const std::string x = fmt::format("x[i, {}*t + v]", lanes);
    const std::string claim =
        coin() ? fmt::format(" computes s(i, {0}*t + v) inverse(x0, x1 / {0}, x1 mod {0})", lanes) : "";
    const Fold s = fold("s", combines[which], identities[which], lanes, n,
                        squared ? "mul(" + x + ", " + x + ")" : x, claim);
    LoopCase made;
    made.name = "row reduction";
    made.expression = fmt::format(
        "program rows(x: f32[{0}, {1}]) -> (y) {{\n  s: f32[{0}] = reduce {2} (i: {0}; p: {1}) {{ {3} }}\n"
        "  y: f32[{0}] = map (i: {0}) {{ s[i] / cast(f32, dim({1})) }}\n}}",
        r.text, n.text, monoids[which], squared ? "x[i, p] * x[i, p]" : "x[i, p]");
    made.program = fmt::format(
        "loops rows({}) {{\n input x: f32[{}, {}]\n output y: f32[{}]\n{} i < {} {{\n{}{}y[i] = div(s[], "
        "{})\n}}\n}}\n",
        claims({r, n}), r.text, n.text, r.text, word_of({"parallel", "for"}), r.text, s.before, s.finish,
        n.claim.empty() && coin() ? n.text + ":f32" : "cast:f32(index(" + n.text + "))");
    return made;
  }

  LoopCase column_reduction() {
    const Extent r = extent("r", true), n = extent("n", true);
    const int64_t lanes = one_of({4, 8, 16});
    const bool in_output = coin();
    const std::string at = fmt::format("{}*jt + v", lanes);
    const std::string target = in_output ? "y[" + at + "]" : "acc[v]";
    LoopCase made;
    made.name = "column reduction";
    made.expression = fmt::format(
        "program columns(x: f32[{0}, {1}]) -> (y) {{\n  y: f32[{1}] = reduce sum (j: {1}; i: {0}) {{ "
        "abs(x[i, j]) }}\n}}",
        r.text, n.text);
    made.program = fmt::format(
        "loops columns({0}) {{\n input x: f32[{1}, {2}]\n output y: f32[{2}]\n{3} jt < {4} {{\n{5}"
        "vector v < {6} {{ {7} = 0:f32 }}\nfor i < {1} {{ vector v < {6} {{ {7} += abs(x[i, {8}]) }} "
        "}}\n{9}}}\n}}\n",
        claims({r, n}), r.text, n.text, word_of({"parallel", "for"}), n.tiles(lanes),
        in_output ? "" : fmt::format("allocate acc: f32[{}] in registers\n", lanes), n.rest(lanes, "jt"),
        target, at,
        in_output ? "" : fmt::format("vector v < {} {{ y[{}] = acc[v] }}\n", n.rest(lanes, "jt"), at));
    return made;
  }

  LoopCase softmax() {
    const Extent r = extent("r", true), n = extent("n");
    const int64_t lanes = one_of({4, 8, 16});
    const bool kept = coin(), logarithm = coin();
    const std::string at = fmt::format("{}*t + v", lanes);
    const std::string shifted = fmt::format("sub(x[i, {}], m[])", at);
    LoopCase made;
    made.name = "softmax";
    made.expression = fmt::format(
        "program softmax(x: f32[{0}, {1}]) -> (y) {{\n  m: f32[{0}] = reduce max (i: {0}; p: {1}) {{ x[i, p] "
        "}}\n"
        "  s: f32[{0}] = reduce sum (i: {0}; p: {1}) {{ exp(x[i, p] - m[i]) }}\n"
        "  y: f32[{0}, {1}] = map (i: {0}, j: {1}) {{ {2} }}\n}}",
        r.text, n.text, logarithm ? "x[i, j] - m[i] - log(s[i])" : "exp(x[i, j] - m[i]) / s[i]");
    const Fold m = fold("m", "max=", "-inf:f32", lanes, n, "x[i, " + at + "]", "");
    Fold s;
    if (kept) {
      s.before = fmt::format(
          "allocate e: f32[{0}] in cache\nallocate s_lanes: f32[{1}] in registers\nallocate s: f32[] in "
          "registers\n",
          n.text, lanes);
      s.finish = fmt::format(
          "vector v < {0} {{ s_lanes[v] = 0:f32 }}\n"
          "for t < {1} {{ vector v < {2} {{ e[{3}] = exp({4})\n s_lanes[v] += e[{3}] }} }}\n"
          "s[] = 0:f32\nvector w < {0} {{ s[] += s_lanes[w] }}\n",
          lanes, n.tiles(lanes), n.rest(lanes, "t"), at, shifted);
    } else {
      s = fold("s", "+=", "0:f32", lanes, n, "exp(" + shifted + ")", "");
    }
    const std::string value =
        logarithm ? fmt::format("sub({}, log(s[]))", shifted)
                  : fmt::format("div({}, s[])", kept ? "e[" + at + "]" : "exp(" + shifted + ")");
    made.program = fmt::format(
        "loops softmax({0}) {{\n input x: f32[{1}, {2}]\n output y: f32[{1}, {2}]\nparallel i < {1} "
        "{{\n{3}{4}{5}{6}"
        "for t < {7} {{ vector v < {8} {{ y[i, {9}] = {10} }} }}\n}}\n}}\n",
        claims({r, n}), r.text, n.text, m.before, s.before, m.finish, s.finish, n.tiles(lanes),
        n.rest(lanes, "t"), at, value);
    return made;
  }

  LoopCase normalization() {
    const Extent r = extent("r", true), n = extent("n");
    const int64_t lanes = one_of({4, 8, 16});
    const bool centred = coin(), kept = coin();
    const std::string at = fmt::format("{}*t + v", lanes), count = "cast(f32, dim(" + n.text + "))",
                      count_p = "cast:f32(index(" + n.text + "))";
    const std::string d_e = centred ? "(x[i, p] - total[i] / " + count + ")" : "x[i, p]";
    const std::string d_p = centred ? fmt::format("sub(x[i, {}], mean[])", at) : fmt::format("x[i, {}]", at);
    LoopCase made;
    made.name = "normalization";
    made.expression = fmt::format(
        "program normalization(x: f32[{0}, {1}], scale: f32[{1}]) -> (y) {{\n{2}"
        "  square: f32[{0}] = reduce sum (i: {0}; p: {1}) {{ {3} * {3} }}\n"
        "  y: f32[{0}, {1}] = map (i: {0}, p: {1}) {{ {3} / sqrt(square[i] / {4} + 0.5:f32) * scale[p] "
        "}}\n}}",
        r.text, n.text,
        centred
            ? fmt::format("  total: f32[{0}] = reduce sum (i: {0}; p: {1}) {{ x[i, p] }}\n", r.text, n.text)
            : "",
        d_e, count);
    const Fold total = fold("total", "+=", "0:f32", lanes, n, "x[i, " + at + "]", "");
    std::string rows;
    if (centred)
      rows += total.before + "allocate mean: f32[] in registers\n" + total.finish + "mean[] = div(total[], " +
              count_p + ")\n";
    const Fold square = fold("square", "+=", "0:f32", lanes, n, fmt::format("mul({0}, {0})", d_p), "");
    rows += square.before + square.finish;
    if (kept)
      rows += "allocate scaling: f32[] in registers\nscaling[] = sqrt(add(div(square[], " + count_p +
              "), 0.5:f32))\n";
    rows += fmt::format("for t < {} {{ vector v < {} {{ y[i, {}] = mul(scale[{}], div({}, {})) }} }}\n",
                        n.tiles(lanes), n.rest(lanes, "t"), at, at, d_p,
                        kept ? "scaling[]" : "sqrt(add(0.5:f32, div(square[], " + count_p + ")))");
    made.program = fmt::format(
        "loops normalization({0}) {{\n input x: f32[{1}, {2}]\n input scale: f32[{2}]\n output y: f32[{1}, "
        "{2}]\n"
        "{3} i < {1} {{\n{4}}}\n}}\n",
        claims({r, n}), r.text, n.text, word_of({"parallel", "for"}), rows);
    return made;
  }

  /// One dimension, padded by one on both sides.
  LoopCase convolution() {
    const Extent o = extent("co"), c = extent("ci"), n = extent("n");
    const int64_t lanes = one_of({4, 8, 16}), stride = one_of({1, 1, 2});
    const std::string position = stride == 1 ? "i + q" : "2 * i + q", lane = fmt::format("{}*t + v", lanes);
    // Positions of the output: all of the input's, or every second one.
    const std::string width = stride == 1 ? n.text : fmt::format("({} + 1) / 2", n.text);
    const std::string at = fmt::format("{}*({}) + q", stride, lane);
    LoopCase made;
    made.name = "convolution";
    made.expression = fmt::format(
        "program convolution(x: f32[{0}, {1}], k: f32[{2}, {0}, 3]) -> (y) {{\n"
        "  y: f32[{2}, {3}] = reduce sum (o: {2}, i: {3}; c: {0}, q: 3) {{\n"
        "    x[c, {4} - 1; {4} >= 1 and {4} <= dim({1}); 0:f32] * k[o, c, q]\n  }}\n}}",
        c.text, n.text, o.text, width, position);
    made.program = fmt::format(
        "loops convolution({0}) {{\n input x: f32[{1}, {2}]\n input k: f32[{3}, {1}, 3]\n output y: f32[{3}, "
        "{4}]\n"
        "parallel o < {3} {{ for t < ({4} + {5}) / {6} {{\n allocate acc: f32[{6}] in registers\n"
        " vector v < {7} {{ acc[v] = 0:f32 }}\n"
        " for c < {1} {{ unrolled q < 3 {{ vector v < {7} {{\n"
        "  acc[v] += mul(guarded(x[c, {8} - 1], logical_and(greater_equal(index({8}), 1:i64), "
        "less_equal(index({8}), "
        "index({2}))), 0:f32), k[o, c, q])\n }} }} }}\n"
        " vector v < {7} {{ y[o, {9}] = acc[v] }}\n}} }}\n}}\n",
        claims({o, c, n}), c.text, n.text, o.text, width, lanes - 1, lanes,
        fmt::format("min({}, {} - {}*t)", lanes, width, lanes), at, lane);
    return made;
  }

  std::mt19937_64 random_;
  uint64_t seed_;
};

}  // namespace

LoopCase random_schedule(uint64_t seed) { return Draw(seed).run(); }

}  // namespace axrun::tests
