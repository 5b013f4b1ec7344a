#include "tests/search/attention_cases.h"

#include "ir/builder.h"

namespace axrun::tests {

using ir::Builder;
using ir::Dim;
using ir::Dims;
using ir::ElementType;
using ir::Indices;
using ir::Program;
using ir::Scalar;
using ir::TensorRef;
using Kind = ir::Monoid::Kind;

namespace {

struct Attention {
  Dim heads, queries, keys;
  int64_t key_size = 8, value_size = 8;
  int64_t group = 1;    ///< heads of queries that share keys and values
  bool packed = false;  ///< heads lie side by side in a row: [position, heads * size]
  bool mask = true;
  bool scaled = false;         ///< the result is
  bool shared_scores = false;  ///< the scores are a result as well
};

Program program_of(const Attention& a) {
  Builder b("attention");
  const Dim key_heads = floor_div(a.heads, Dim(a.group));
  const auto operand = [&](int k, const Dim& heads, const Dim& length, int64_t size, const char* name) {
    const Dims dims = a.packed ? Dims{length, heads * Dim(size)} : Dims{heads, length, Dim(size)};
    return b.operand(k, ElementType::f32, dims, name);
  };
  const TensorRef q = operand(0, a.heads, a.queries, a.key_size, "q"),
                  k = operand(1, key_heads, a.keys, a.key_size, "k"),
                  v = operand(2, key_heads, a.keys, a.value_size, "v");
  TensorRef mask;
  if (a.mask) mask = b.operand(3, ElementType::f32, {a.queries, a.keys}, "mask");
  const auto at = [&](const TensorRef& tensor, const Scalar& head, const Scalar& position,
                      const Scalar& component, int64_t size) {
    return a.packed ? tensor({position, head * size + component}) : tensor({head, position, component});
  };
  const auto key_head = [&](const Scalar& head) { return a.group == 1 ? head : floor_div(head, a.group); };
  const Dims scores{a.heads, a.queries, a.keys}, rows{a.heads, a.queries};
  const auto products = b.reduce(
      Kind::sum, scores, {Dim(a.key_size)},
      [&](const Indices& i, const Indices& r) {
        return at(q, i[0], i[1], r[0], a.key_size) * at(k, key_head(i[0]), i[2], r[0], a.key_size);
      },
      "scores");
  const auto logits = b.map(scores, [&](const Indices& i) {
    const Scalar scaled = products(i) * 0.25;
    return a.mask ? scaled + mask({i[1], i[2]}) : scaled;
  });
  const auto in_row = [](const Indices& i, const Indices& r) { return Indices{i[0], i[1], r[0]}; };
  const auto highest = b.reduce(Kind::max, rows, {a.keys},
                                [&](const Indices& i, const Indices& r) { return logits(in_row(i, r)); });
  const auto power = b.map(scores, [&](const Indices& i) { return exp(logits(i) - highest({i[0], i[1]})); });
  const auto total =
      b.sum(rows, {a.keys}, [&](const Indices& i, const Indices& r) { return power(in_row(i, r)); });
  const auto probability = b.map(scores, [&](const Indices& i) { return power(i) / total({i[0], i[1]}); });
  // [queries, heads * size], as what follows reads it.
  const auto products_with_values = b.reduce_grouped(
      Kind::sum, {a.queries, a.heads, Dim(a.value_size)}, {{0}, {1, 2}}, {a.keys},
      [&](const Indices& i, const Indices& r) {
        return probability({i[1], i[0], r[0]}) * at(v, key_head(i[1]), r[0], i[2], a.value_size);
      });
  b.output(a.scaled ? b.map({a.queries, a.heads * Dim(a.value_size)},
                            [&](const Indices& i) { return products_with_values(i) * 0.5 + 1.0; })
                    : products_with_values);
  if (a.shared_scores) b.output(logits);
  return b.finish();
}

}  // namespace

namespace {

std::function<Program()> make(const Attention& a) {
  return [a] { return program_of(a); };
}

const std::vector<bool> four(4, false);
const ir::loop::Size any_queries{"n", 1, 4096, 1};
/// So many keys come in parts.
const ir::loop::Size many_keys{"m", 1, 65536, 1};

}  // namespace

std::vector<Case> attention_in_parts_cases() {
  const std::vector<SizeValues> some = {
      {{"n", 13}, {"m", 512}}, {{"n", 3}, {"m", 513}}, {{"n", 129}, {"m", 5}}, {{"n", 5}, {"m", 1700}}};
  std::vector<Case> cases = {
      {"InParts",
       "attention",
       make({Dim(2), sym("n"), sym("m"), 8, 8}),
       {any_queries, many_keys},
       four,
       some},
      {"InPartsOfPackedHeads",
       "attention",
       make({Dim(4), sym("n"), sym("m"), 16, 24, 1, true}),
       {any_queries, many_keys},
       four,
       some},
      {"InPartsOfGroups",
       "attention",
       make({Dim(4), sym("n"), sym("m"), 8, 80, 2, false, false}),
       {any_queries, many_keys},
       four,
       some},
      {"InPartsWithoutBatch",
       "attention",
       make({Dim(1), sym("n"), Dim(3000), 8, 8}),
       {any_queries},
       four,
       {{{"n", 4}}}},
      {"InPartsScaled",
       "attention",
       make({Dim(2), sym("n"), Dim(3000), 8, 8, 1, false, false, true}),
       {any_queries},
       four,
       {{{"n", 5}}}},
      {"InPartsOfAllQueries", "attention", make({Dim(2), Dim(20), Dim(3000), 8, 40}), {}, four},
      {"InWholeParts",
       "attention",
       make({Dim(2), sym("n"), Dim(4096), 4, 8, 1, true, false}),
       {any_queries},
       four,
       {{{"n", 3}}}},
  };
  // Whatever the machine has.
  for (Case& c : cases) c.caches = {{int64_t{32} << 10}, {int64_t{1} << 20}};
  return cases;
}

std::vector<Case> attention_in_few_parts_cases() {
  const ir::loop::Size up_to_512{"m", 1, 512, 1};
  std::vector<Case> cases = {
      {"InThreeParts", "attention", make({Dim(2), Dim(20), Dim(500), 8, 40}), {}, four},
      {"InTwoParts",
       "attention",
       make({Dim(4), sym("n"), sym("m"), 16, 16, 1, true}),
       {any_queries, up_to_512},
       four,
       {{{"n", 5}, {"m", 400}}, {{"n", 50}, {"m", 7}}}},
      {"InTwoPartsOfGroups",
       "attention",
       make({Dim(4), sym("n"), sym("m"), 8, 16, 2, false, false}),
       {any_queries, up_to_512},
       four,
       {{{"n", 3}, {"m", 512}}}},
  };
  for (Case& c : cases) c.caches = {{int64_t{32} << 10}, {int64_t{16} << 10}};
  return cases;
}

Case attention_at_once_or_in_parts() {
  Case c{"AtOnceOrInParts", "attention", make({Dim(8), Dim(20), Dim(600), 8, 40}), {}, four};
  c.caches = {{int64_t{32} << 10}, {int64_t{1} << 20}};
  return c;
}

std::vector<Case> attention_cases() {
  const ir::loop::Size n = any_queries, m{"m", 1, 512, 1};
  const std::vector<SizeValues> some = {{{"n", 1}, {"m", 1}}, {{"n", 7}, {"m", 33}}, {{"n", 128}, {"m", 3}}};
  return {
      {"AttentionInParts",
       "attention",
       make({Dim(1), sym("n"), sym("m"), 4, 4}),
       {n, many_keys},
       four,
       {{{"n", 1}, {"m", 1}}, {{"n", 7}, {"m", 33}}, {{"n", 2}, {"m", 520}}}},
      {"WholeAttention", "attention", make({Dim(2), Dim(16), Dim(16), 16, 16}), {}, four},
      {"AttentionOfOddSizes", "attention", make({Dim(3), Dim(13), Dim(37), 5, 11}), {}, four},
      {"AttentionInBlocks",
       "attention",
       make({Dim(2), Dim(130), sym("m"), 4, 8, 1, true}),
       {m},
       four,
       {{{"m", 1}}, {{"m", 6}}}},
      {"AttentionOfAnyLength", "attention", make({Dim(2), sym("n"), sym("m")}), {n, m}, four, some},
      {"AttentionOfPackedHeads",
       "attention",
       make({Dim(4), sym("n"), sym("m"), 16, 16, 1, true}),
       {n, m},
       four,
       some},
      {"AttentionOfGroups",
       "attention",
       make({Dim(4), sym("n"), sym("m"), 8, 16, 2, false, false}),
       {n, m},
       four,
       some},
      {"AttentionWithoutBatch",
       "attention",
       make({Dim(1), sym("n"), Dim(24), 16, 32}),
       {n},
       four,
       {{{"n", 3}}, {{"n", 131}}}},
      {"AttentionOfOneQuery",
       "rows+rows+contraction",
       make({Dim(3), Dim(1), sym("m"), 16, 16}),
       {m},
       four,
       {{{"m", 1}}, {{"m", 35}}}},
      {"AttentionWhoseScoresAreAsked",
       "contraction+rows+contraction",
       make({Dim(2), Dim(9), Dim(12), 8, 8, 1, false, true, false, true}),
       {},
       four},
  };
}

}  // namespace axrun::tests
