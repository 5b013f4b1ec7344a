// Tokenizer, MurmurHash3 and MaxpoolWithMask of com.microsoft.
#include <gtest/gtest.h>

#include <chrono>
#include <limits>

#include "ir/error.h"
#include "tests/ir/microsoft_nodes.h"

namespace axrun::ir::test {
namespace {

using Words = std::vector<std::string>;

Tensor texts(const Shape& shape, const Words& words_of) {
  return Tensor::from_strings(shape, Words(words_of));
}

NodeUnderTest tokenizer(const Tensor& x, int64_t mark = 0, int64_t fewest = 1) {
  return microsoft("Tokenizer").input(x).set("mark", mark).set("pad_value", "#").set("mincharnum", fewest);
}

Words words_of(const Tensor& tensor) { return {tensor.strings(), tensor.strings() + tensor.size()}; }

Words separated(const std::string& text, const Words& separators, int64_t fewest = 1) {
  return words_of(tokenizer(texts({1}, {text}), 0, fewest).set_strings("separators", separators).run());
}
Words matched(const std::string& text, const std::string& token, int64_t fewest = 1) {
  return words_of(tokenizer(texts({1}, {text}), 0, fewest).set("tokenexp", token).run());
}

TEST(Tokenizer, SeparatorsAreRemoved) {
  const Tensor x = texts({2}, {"Hello World", "I love computer science !"});
  const Tensor y = tokenizer(x).set_strings("separators", {" "}).run();
  EXPECT_EQ(y.shape(), (Shape{2, 5}));
  EXPECT_EQ(words_of(y), (Words{"Hello", "World", "#", "#", "#", "I", "love", "computer", "science", "!"}));
  EXPECT_EQ(separated("aab  c", {" ", "b"}), (Words{"aa", "c"}));
  EXPECT_EQ(separated("a--b", {"-+"}), (Words{"a", "b"}));
  EXPECT_EQ(separated("a bc def", {" "}, 2), (Words{"bc", "def"}));
  EXPECT_EQ(separated("é日é", {"日"}), (Words{"é", "é"}));
  EXPECT_EQ(separated("  ", {" "}), Words());
  // What follows an empty match goes with it.
  EXPECT_EQ(separated("ab", {"x*"}), Words());
  EXPECT_EQ(separated("a b c", {" $| c"}), (Words{"a b"}));
}

TEST(Tokenizer, MarksArePutAroundTokensBeforePadding) {
  const Tensor y = tokenizer(texts({1, 2}, {"", "é日"}), 1).set_strings("separators", {""}).run();
  EXPECT_EQ(y.shape(), (Shape{1, 2, 4}));
  EXPECT_EQ(words_of(y), (Words{"\x02", "\x03", "#", "#", "\x02", "é", "日", "\x03"}));
  EXPECT_EQ(tokenizer(texts({2}, {"", ""}), 1).set_strings("separators", {" "}).run().shape(), (Shape{2, 0}));
}

TEST(Tokenizer, NoStringsHaveNoTokens) {
  EXPECT_EQ(tokenizer(texts({0}, {})).set_strings("separators", {" "}).run().shape(), (Shape{0}));
  EXPECT_EQ(tokenizer(texts({2, 0}, {})).set_strings("separators", {" "}).run().shape(), (Shape{2, 0}));
  EXPECT_EQ(tokenizer(texts({0, 2}, {})).set("tokenexp", ".").run().shape(), (Shape{0, 0}));
}

TEST(Tokenizer, TokensAreTheLongestMatches) {
  EXPECT_EQ(matched("abab", "a|ab"), (Words{"ab", "ab"}));
  EXPECT_EQ(matched("a\nb", "."), (Words{"a", "\n", "b"}));
  EXPECT_EQ(matched("a\nb", ".|x"), (Words{"a", "b"}));
  EXPECT_EQ(matched("aaa b", "a*"), (Words{"aaa"}));
  EXPECT_EQ(matched("aa aaa", "a+", 3), (Words{"aaa"}));
  EXPECT_EQ(matched("aab", "^a"), (Words{"a"}));
  EXPECT_EQ(matched("foo bar", "\\bo|\\bb"), (Words{"b"}));
  EXPECT_EQ(matched("abcd", "abcd|bc"), (Words{"abcd"}));
  EXPECT_EQ(matched("abce", "abcd|bc"), (Words{"bc"}));
  // A match that is too short is looked at again from its second character on.
  EXPECT_EQ(matched("abbb", "ab|bbb", 3), (Words{"bbb"}));
}

TEST(Tokenizer, SearchesTakeLinearTime) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string text(200000, 'a');
  EXPECT_EQ(matched(text, "(a*)*b").size(), 0u);
  EXPECT_EQ(matched(text, "(a|aa)+", 150000).size(), 1u);
  EXPECT_EQ(matched(text, "a").size(), text.size());
  EXPECT_EQ(separated(text, {"a"}).size(), 0u);
  // Every search looks at the whole rest of the text here: RE2's searches are linear one by one.
  const std::string shorter(10000, 'a');
  EXPECT_EQ(matched(shorter, "a.*z|a").size(), shorter.size());
  EXPECT_EQ(separated(shorter, {"a.*z|a"}).size(), 0u);
  // Backtracking would take for ever.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::minutes(2));
}

TEST(Tokenizer, HostileNodesAreRefused) {
  const Tensor x = texts({1}, {"ab"});
  EXPECT_THROW(tokenizer(x).run(), Error);
  EXPECT_THROW(tokenizer(x).set_strings("separators", {}).run(), Error);
  EXPECT_THROW(tokenizer(x).set("tokenexp", "").run(), Error);
  EXPECT_THROW(tokenizer(x).set("tokenexp", "(").run(), Error);
  EXPECT_THROW(tokenizer(x).set("tokenexp", "((a{1000}){1000}){1000}").run(), Error);
  EXPECT_THROW(tokenizer(x, 0, 0).set("tokenexp", "a").run(), Error);
  EXPECT_THROW(tokenizer(x, 0, 2).set("tokenexp", ".").run(), Error);
  EXPECT_THROW(tokenizer(texts({1, 1, 1}, {"a"})).set("tokenexp", ".").run(), Error);
  EXPECT_THROW(tokenizer(texts({1}, {"a\xff"})).set("tokenexp", ".").run(), Error);
  EXPECT_THROW(tokenizer(texts({1}, {"\xe6\x97"})).set_strings("separators", {" "}).run(), Error);
  EXPECT_THROW(microsoft("Tokenizer").input(x).set("tokenexp", "a").set("mark", int64_t{0}).run(), Error);
}

NodeUnderTest hash(const Tensor& x, int64_t seed, int64_t positive = 1) {
  return microsoft("MurmurHash3").input(x).set("seed", seed).set("positive", positive);
}

TEST(MurmurHash, TextsHaveTheirPublishedHashes) {
  const Tensor x =
      texts({5}, {"", "a", "hello", "hello, world", "The quick brown fox jumps over the lazy dog"});
  EXPECT_EQ(hash(x, 0).run().to_ints(), (Ints{0, 0x3c2569b2, 0x248bfa47, 0x149bbb7f, 0x2e4ff723}));
  EXPECT_EQ(hash(texts({3}, {"", "aa", "aaaa"}), 0x9747b28c).run().to_ints(),
            (Ints{0xebb6c228, 0x5d211726, 0x5a97808a}));
  EXPECT_EQ(hash(texts({1}, {"aa"}), 0x9747b28c, 0).run().type(), ElementType::i32);
}

/// The bytes of a number have the hash of the text that they are.
TEST(MurmurHash, NumbersAreHashedAsTheirBytes) {
  const auto text_of = [](const Tensor& x) {
    const std::string bytes(static_cast<const char*>(x.data()), x.bytes());
    const size_t width = size_of(x.type());
    Words parts;
    for (size_t k = 0; k < bytes.size(); k += width) parts.push_back(bytes.substr(k, width));
    return texts(x.shape(), parts);
  };
  for (const Tensor& x :
       {ints({3}, {1, -2, 77777}, ElementType::i32), ints({3}, {1, 0xfffffffe, 5}, ElementType::u32),
        ints({3}, {1, -2, int64_t{1} << 40}), ints({3}, {1, -2, 7}, ElementType::u64),
        reals({3}, {1.5, -0.0, 1e30}), reals({3}, {1.5, -2e-300, 0}, ElementType::f64)}) {
    for (const int64_t positive : {0, 1}) {
      const Tensor got = hash(x, 123, positive).run();
      EXPECT_EQ(got.type(), positive == 1 ? ElementType::u32 : ElementType::i32);
      EXPECT_EQ(got.to_ints(), hash(text_of(x), 123, positive).run().to_ints());
    }
  }
  EXPECT_THROW(hash(ints({1}, {1}, ElementType::u8), 0).run(), Error);
}

std::vector<double> pooled(const Tensor& x, const Tensor& mask, const std::vector<int64_t>& kernel,
                           const std::vector<int64_t>& pads = {}) {
  NodeUnderTest node = microsoft("MaxpoolWithMask").input(x).input(mask).set("kernel_shape", kernel);
  if (!pads.empty()) node.set("pads", pads);
  return to_reals(node.run());
}

Tensor shown(const Shape& shape, const std::vector<int64_t>& values) {
  return ints(shape, values, ElementType::i32);
}

TEST(MaxpoolWithMask, RowsEndWhereTheMaskHides) {
  const double lowest = std::numeric_limits<float>::lowest();
  const Tensor row = reals({1, 1, 5}, {1, 2, 3, 4, 5});
  EXPECT_EQ(pooled(row, shown({1, 1, 5}, {1, 1, 1, 1, 1}), {3}), (Reals{3, 4, 5}));
  EXPECT_EQ(pooled(row, shown({1, 1, 5}, {1, 1, 0, 1, 1}), {3}), (Reals{2, 2, lowest}));
  EXPECT_EQ(pooled(row, shown({1, 1, 5}, {0, 1, 1, 1, 1}), {3}, {1, 1}), (Reals{lowest, lowest, 4, 5, 5}));
  // In an image the first element is never hidden, and each row of a window ends on its own.
  const Tensor image = reals({1, 1, 2, 3}, {9, 8, 7, 1, 2, 3});
  EXPECT_EQ(pooled(image, shown({1, 1, 2, 3}, {0, 1, 1, 1, 1, 1}), {2, 2}), (Reals{9, 8}));
  EXPECT_EQ(pooled(image, shown({1, 1, 2, 3}, {1, 0, 1, 1, 1, 0}), {2, 3}), (Reals{9}));
  EXPECT_EQ(pooled(image, shown({1, 1, 2, 3}, {1, 0, 1, 1, 1, 0}), {2, 2}), (Reals{9, 2}));
}

TEST(MaxpoolWithMask, ChannelsOfTheMaskAreUsedInTurn) {
  const Tensor x = reals({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(pooled(x, shown({1, 2, 2}, {1, 0, 1, 1}), {2}), (Reals{1, 4, 5, 8}));
  EXPECT_EQ(pooled(x, shown({1, 1, 2}, {1, 0}), {2}), (Reals{1, 3, 5, 7}));
  EXPECT_EQ(pooled(x, shown({3, 1, 2}, {1, 1, 1, 0, 1, 1}), {2}), (Reals{2, 3, 6, 8}));
  EXPECT_EQ(pooled(reals({1, 1, 2}, {nan, 2}), shown({1, 1, 2}, {1, 1}), {2}), (Reals{2}));
  EXPECT_THROW(pooled(x, shown({1, 0, 2}, {}), {2}), Error);
  EXPECT_THROW(pooled(x, shown({1, 1, 3}, {1, 1, 1}), {2}), Error);
  EXPECT_THROW(pooled(x, shown({1, 2}, {1, 1}), {2}), Error);
}

}  // namespace
}  // namespace axrun::ir::test
