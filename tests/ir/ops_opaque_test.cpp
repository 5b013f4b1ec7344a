#include <gtest/gtest.h>

#include <limits>

#include "ir/error.h"
#include "ir/opaque.h"
#include "tests/ir/node_under_test.h"

namespace axrun::ir::test {
namespace {

TEST(Opaque, EveryFunctionHasAReason) {
  ASSERT_FALSE(all_opaque().empty());
  for (const OpaqueEntry& entry : all_opaque()) {
    EXPECT_FALSE(entry.reason.empty()) << entry.name;
    EXPECT_EQ(find_opaque(entry.name)->function, entry.function) << entry.name;
  }
  EXPECT_EQ(find_opaque("elsewhere"), nullptr);
}

TEST(Opaque, NonZeroListsIndicesByDimension) {
  const Tensor y = NodeUnderTest("NonZero", 13).input(ints({2, 3}, {0, 4, 0, 5, 0, 6})).run();
  EXPECT_EQ(y.shape(), (Shape{2, 3}));
  EXPECT_EQ(y.to_ints(), (std::vector<int64_t>{0, 1, 1, 1, 0, 2}));
  EXPECT_EQ(NodeUnderTest("NonZero", 13).input(ints({}, {1})).run().shape(), (Shape{0, 1}));
  EXPECT_EQ(NodeUnderTest("NonZero", 13).input(ints({0, 3}, {})).run().shape(), (Shape{2, 0}));
}

TEST(Opaque, CompressKeepsSlices) {
  const Tensor condition = ints({2}, {0, 1}, ElementType::boolean);
  const Tensor x = ints({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(NodeUnderTest("Compress", 11).input(x).input(condition).run().to_ints(),
            (std::vector<int64_t>{2}));
  const Tensor columns =
      NodeUnderTest("Compress", 11).input(x).input(condition).set("axis", int64_t{-1}).run();
  EXPECT_EQ(columns.shape(), (Shape{2, 1}));
  EXPECT_EQ(columns.to_ints(), (std::vector<int64_t>{2, 5}));
}

TEST(Opaque, UniqueSortsOrKeepsOrder) {
  NodeUnderTest node("Unique", 11, 4);
  node.input(reals({6}, {2, nan, 1, 2, nan, -1}));
  auto results = node.run_all();
  EXPECT_EQ(results[1].to_ints(), (std::vector<int64_t>{5, 2, 0, 1}));  // NaN is one value, above all
  EXPECT_EQ(results[2].to_ints(), (std::vector<int64_t>{2, 3, 1, 2, 3, 0}));
  EXPECT_EQ(results[3].to_ints(), (std::vector<int64_t>{1, 1, 2, 2}));
  results = node.set("sorted", int64_t{0}).run_all();
  EXPECT_EQ(results[1].to_ints(), (std::vector<int64_t>{0, 1, 2, 5}));
  NodeUnderTest rows("Unique", 11, 1);
  rows.input(ints({3, 2}, {3, 4, 1, 2, 3, 4})).set("axis", int64_t{0});
  EXPECT_EQ(rows.run().to_ints(), (std::vector<int64_t>{1, 2, 3, 4}));
}

TEST(Opaque, NonMaxSuppressionKeepsTheBestOfOverlappingBoxes) {
  const Tensor boxes = reals({1, 3, 4}, {0, 0, 1, 1, 1, 1.1, 0, 0.1, 5, 5, 6, 6});
  const Tensor scores = reals({1, 1, 3}, {0.5, 0.9, 0.3});
  const auto suppressed = [&](double overlap, double score) {
    return NodeUnderTest("NonMaxSuppression", 11)
        .input(boxes)
        .input(scores)
        .input(ints({}, {10}))
        .input(reals({}, {overlap}))
        .input(reals({}, {score}))
        .run()
        .to_ints();
  };
  EXPECT_EQ(suppressed(0.5, 0.1), (std::vector<int64_t>{0, 0, 1, 0, 0, 2}));
  EXPECT_EQ(suppressed(0.5, 0.3), (std::vector<int64_t>{0, 0, 1}));  // a score must be above the threshold
  EXPECT_EQ(suppressed(1, 0.4), (std::vector<int64_t>{0, 0, 1, 0, 0, 0}));
  EXPECT_THROW(suppressed(1.5, 0), Error);
  EXPECT_EQ(NodeUnderTest("NonMaxSuppression", 11).input(boxes).input(scores).run().shape(), (Shape{0, 3}));
}

TEST(Opaque, StringsAreCastConcatenatedAndCompared) {
  const Tensor text =
      NodeUnderTest("Cast", 13).input(reals({3}, {0.1, -2, 1e20})).set("to", int64_t{8}).run();
  EXPECT_EQ(to_words(text), (std::vector<std::string>{"0.1", "-2", "1e+20"}));
  const Tensor numbers =
      NodeUnderTest("Cast", 13).input(words({3}, {" 1.5", "-INF", "+2e3"})).set("to", int64_t{1}).run();
  EXPECT_EQ(to_reals(numbers), (std::vector<double>{1.5, -std::numeric_limits<double>::infinity(), 2000}));
  for (const char* bad : {"", "1.5", "300", "x", "1 2"}) {
    EXPECT_THROW(NodeUnderTest("Cast", 13).input(words({1}, {bad})).set("to", int64_t{2}).run(), Error)
        << bad;
  }
  const Tensor joined =
      NodeUnderTest("StringConcat", 20).input(words({2, 1}, {"a", "b"})).input(words({2}, {"1", "2"})).run();
  EXPECT_EQ(joined.shape(), (Shape{2, 2}));
  EXPECT_EQ(to_words(joined), (std::vector<std::string>{"a1", "a2", "b1", "b2"}));
  const Tensor equal =
      NodeUnderTest("Equal", 19).input(words({2}, {"a", "b"})).input(words({1}, {"b"})).run();
  EXPECT_EQ(equal.to_ints(), (std::vector<int64_t>{0, 1}));
}

TEST(Opaque, StringSplitPadsRows) {
  NodeUnderTest node("StringSplit", 20, 2);
  node.input(words({3}, {"a,b,,c", "x", ""})).set("delimiter", ",");
  auto results = node.run_all();
  EXPECT_EQ(results[0].shape(), (Shape{3, 4}));
  EXPECT_EQ(to_words(results[0]),
            (std::vector<std::string>{"a", "b", "", "c", "x", "", "", "", "", "", "", ""}));
  EXPECT_EQ(results[1].to_ints(), (std::vector<int64_t>{4, 1, 1}));
  results = NodeUnderTest("StringSplit", 20, 2)
                .input(words({2}, {"  one two  three ", " "}))
                .set("maxsplit", int64_t{1})
                .run_all();
  EXPECT_EQ(to_words(results[0]), (std::vector<std::string>{"one", "two  three", "", ""}));
  EXPECT_EQ(results[1].to_ints(), (std::vector<int64_t>{2, 0}));
}

TEST(Opaque, StringNormalizerDropsWordsWhateverTheirCase) {
  const Tensor y = NodeUnderTest("StringNormalizer", 10)
                       .input(words({1, 3}, {"Monday", "\xC3\x89t\xC3\xA9",
                                             "stra\xC3\x9F"
                                             "e"}))
                       .set("case_change_action", "UPPER")
                       .set_strings("stopwords", {"monday"})
                       .run();
  EXPECT_EQ(y.shape(), (Shape{1, 2}));
  EXPECT_EQ(to_words(y), (std::vector<std::string>{"\xC3\x89T\xC3\x89",
                                                   "STRA\xC3\x9F"
                                                   "E"}));
  const Tensor none_left = NodeUnderTest("StringNormalizer", 10)
                               .input(words({1}, {"monday"}))
                               .set_strings("stopwords", {"Monday"})
                               .run();
  EXPECT_EQ(to_words(none_left), (std::vector<std::string>{""}));
}

TEST(Opaque, NgramsAreCountedAtEverySkip) {
  NodeUnderTest node("TfIdfVectorizer", 9);
  node.input(ints({2, 4}, {1, 2, 1, 2, 3, 1, 2, 3}))
      .set("mode", "TF")
      .set("min_gram_length", int64_t{1})
      .set("max_gram_length", int64_t{2})
      .set("max_skip_count", int64_t{1})
      .set("ngram_counts", std::vector<int64_t>{0, 1})
      .set("ngram_indexes", std::vector<int64_t>{1, 0, 2})
      .set("pool_int64s", std::vector<int64_t>{3, 1, 2, 1, 1});
  EXPECT_EQ(to_reals(node.run()), (std::vector<double>{2, 0, 1, 1, 2, 0}));
  node.set("mode", "IDF").set_reals("weights", {5, 6, 7});
  EXPECT_EQ(to_reals(node.run()), (std::vector<double>{6, 0, 7, 6, 5, 0}));
  EXPECT_THROW(node.set("ngram_counts", std::vector<int64_t>{0, 2}).run(), Error);
}

/// Pixels of a file in the format asked for.
Tensor decoded(const std::string& file, const std::string& format) {
  std::vector<int64_t> bytes;
  for (const char c : file) bytes.push_back(static_cast<unsigned char>(c));
  return NodeUnderTest("ImageDecoder", 20)
      .input(ints({static_cast<int64_t>(bytes.size())}, bytes, ElementType::u8))
      .set("pixel_format", format)
      .run();
}

TEST(OpaqueOperators, ImagesAreDecoded) {
  const std::string file = std::string("P6 2 1 255\n") + "\x0a\x14\x1e" + "\xff\x64\x02";
  Tensor rgb;
  try {
    rgb = decoded(file, "RGB");
  } catch (const Error& error) {
    ASSERT_EQ(error.fault(), Fault::unsupported) << error.what();
    GTEST_SKIP() << error.what();
  }
  EXPECT_EQ(rgb.shape(), (Shape{1, 2, 3}));
  EXPECT_EQ(to_reals(rgb), (std::vector<double>{10, 20, 30, 255, 100, 2}));
  EXPECT_EQ(to_reals(decoded(file, "BGR")), (std::vector<double>{30, 20, 10, 2, 100, 255}));
  EXPECT_EQ(to_reals(decoded(file, "Grayscale")), (std::vector<double>{18, 135}));
  EXPECT_EQ(decoded("no image", "RGB").shape(), (Shape{0, 0, 3}));
  EXPECT_EQ(decoded("", "Grayscale").shape(), (Shape{0, 0, 1}));
  EXPECT_THROW(decoded(file, "CMYK"), Error);
}

}  // namespace
}  // namespace axrun::ir::test
