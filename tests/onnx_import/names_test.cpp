#include "onnx_import/names.h"

#include <gtest/gtest.h>

namespace axrun::onnx_import {
namespace {

TEST(Names, Printable) {
  EXPECT_EQ(printable(""), "");
  EXPECT_EQ(printable("conv1/weights:0 ~"), "conv1/weights:0 ~");
  EXPECT_EQ(printable("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"), "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
  EXPECT_EQ(printable(std::string("a\0\n\x7f", 4)), "a\\x00\\x0a\\x7f");
  EXPECT_EQ(printable("\xc2\x85"), "\\xc2\\x85") << "a control character";
  EXPECT_EQ(printable("\xc3"), "\\xc3") << "cut off";
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf") << "overlong";
  EXPECT_EQ(printable("\xe0\x80\x80"), "\\xe0\\x80\\x80") << "overlong";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond the last code point";
}

TEST(Names, EveryByteAtEveryPlaceOfAWord) {
  for (int byte = 0; byte < 256; ++byte) {
    for (size_t place = 0; place < 17; ++place) {
      std::string name(17, 'a');
      name[place] = static_cast<char>(byte);
      EXPECT_EQ(is_printable_ascii(name), byte >= 0x20 && byte < 0x7F) << byte << " at " << place;
    }
  }
}

TEST(Names, QuotedNamesAreCutBetweenCharacters) {
  EXPECT_EQ(in_quotes("x"), "'x'");
  const std::string name = std::string(199, 'x') + "\xc3\xa9" + std::string(100, 'y');
  EXPECT_EQ(in_quotes(name), "'" + std::string(199, 'x') + "...'");
}

TEST(Names, Unique) {
  UniqueNames names;
  names.exclude("taken_2");
  EXPECT_EQ(names.take("taken"), "taken");
  EXPECT_EQ(names.take("taken"), "taken_3");
  EXPECT_EQ(names.take("taken"), "taken_4");
  EXPECT_EQ(names.take("a/", "\xff"), "a/\\xff");
  EXPECT_EQ(names.take("a/\\xff"), "a/\\xff_2");
}

}  // namespace
}  // namespace axrun::onnx_import
