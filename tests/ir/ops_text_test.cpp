// Letters and regular expressions in strings.
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "ir/error.h"
#include "ir/error_place.h"
#include "ir/ops/regex.h"
#include "ir/unicode.h"
#include "tests/ir/microsoft_nodes.h"

namespace axrun::ir::test {
namespace {

int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * 4096;
}

/// One word in the case that the node gives it.
std::string cased(const std::string& word, const std::string& change) {
  return to_words(NodeUnderTest("StringNormalizer", 10)
                      .input(words({1}, {word}))
                      .set("case_change_action", change)
                      .set("is_case_sensitive", int64_t{1})
                      .run())[0];
}

TEST(Unicode, LettersOfEveryAlphabetHaveTheirCase) {
  // Vietnamese, Greek, Cyrillic, Armenian, Cherokee, and beyond 16 bits: Deseret.
  const std::string capitals = "\u1EA0\u01AF\u1EE8 \u03A3\u0386 \u0416\u0460 \u0531 \u13A0 \U00010400 \u0178";
  const std::string letters = "\u1EA1\u01B0\u1EE9 \u03C3\u03AC \u0436\u0461 \u0561 \uAB70 \U00010428 \u00FF";
  EXPECT_EQ(cased(capitals, "LOWER"), letters);
  EXPECT_EQ(cased(letters, "UPPER"), capitals);
  // One code point for one, whatever stands around it: no SS of a sharp s, no final sigma. As ONNX Runtime.
  EXPECT_EQ(cased("\u00DF\u1E9E\u0130\u0149", "LOWER"), "\u00DF\u00DFi\u0149");
  EXPECT_EQ(cased("\u00DF\u1E9E\u0131\u0149\uFB03", "UPPER"), "\u00DF\u1E9EI\u0149\uFB03");
  EXPECT_EQ(cased("\u03A3A\u03A3", "LOWER"), "\u03C3a\u03C3");
  // What is no UTF-8 stays: a byte alone, half a character, a surrogate.
  for (const char* bytes : {"A\xFF", "A\xE1\xBA", "A\xED\xA0\x80", "\xC1\x81"}) {
    std::string lower = bytes;
    if (lower[0] == 'A') lower[0] = 'a';
    EXPECT_EQ(cased(bytes, "LOWER"), lower);
  }
}

/// UTF-8 of a code point, written by hand.
std::string encoded(uint32_t c) {
  std::string text;
  const auto put = [&](uint32_t byte) { text += static_cast<char>(byte); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6), put(0x80 | (c & 63));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12), put(0x80 | (c >> 6 & 63)), put(0x80 | (c & 63));
  } else {
    put(0xF0 | c >> 18), put(0x80 | (c >> 12 & 63)), put(0x80 | (c >> 6 & 63)), put(0x80 | (c & 63));
  }
  return text;
}

/// Every letter at once: how many change, and a sum over them that no two tables are likely to share. Both
/// are those of Python 3.11's unicodedata (Unicode 14): for each c, in order, that changes to l, sum = sum *
/// 31 + c * 0x10001 + l modulo 2^64. A letter whose lower() has two code points (U+0130) becomes the first of
/// them; one whose upper() has several stays, but for the 27 Greek ones with an iota below or beside that
/// have a capital of one code point (U+1F80 is U+1F88).
TEST(Unicode, TheCaseOfEveryLetterIsUnicodes) {
  std::string all;
  for (uint32_t c = 1; c < 0x110000; ++c) {
    if (c < 0xD800 || c >= 0xE000) all += encoded(c);
  }
  const auto summed = [&](const std::string& change) {
    const std::string text = cased(all, change);
    uint64_t count = 0, sum = 0;
    size_t at = 0;
    for (uint32_t c = 1; c < 0x110000; ++c) {
      if (c >= 0xD800 && c < 0xE000) continue;
      const Character now = character_at(text, at);
      at += now.length;
      if (now.point == c) continue;
      ++count;
      sum = sum * 31 + c * uint64_t{0x10001} + now.point;
    }
    EXPECT_EQ(at, text.size());
    return std::pair(count, sum);
  };
  EXPECT_EQ(summed("LOWER"), (std::pair<uint64_t, uint64_t>(1433, 2029884889628968528u)));
  EXPECT_EQ(summed("UPPER"), (std::pair<uint64_t, uint64_t>(1450, 16830359832186841493u)));
}

TEST(Unicode, RegularExpressions) {
  struct Case {
    const char* pattern;
    const char* text;
    bool matches;
  };
  const Case cases[] = {
      {"abc", "abc", true},
      {"abc", "abcd", false},
      {"a.c", "a\nc", false},
      {"(?s)a.c", "a\nc", true},
      {"(?i)aBc", "AbC", true},
      {"(a|ab)(c|bcd)", "abcd", true},
      {"a{2,3}", "aaaa", false},
      {"[^]a]+", "bcd", true},
      {"[a-]+", "a-a", true},
      {"\\w+@\\w+", "x@y", true},
      {"\\bab\\b", "ab", true},
      {"..", "\xE6\x97\xA5\xE6\x9C\xAC", true},
      {"", "", true},
      {"a*", "", true},
      {"x|", "", true},
      {"a{,2}", "a{,2}", true},
      {"[[:digit:]]{2}", "42", true},
      {"\\x{e9}", "\xC3\xA9", true},
      {"(a*)*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
      {"\\p{Lu}\\p{Ll}+", "\u1EA0nh", true},
      {"\\p{Greek}+", "\u03B1\u03B2", true},
      {"\\pN\\PN", "\u0663x", true},
      {"[^\\p{L}]", "\u00E9", false},
      {"(?i)\u1EA0", "\u1EA1", true},
      {"\\w", "\u00E9", false},
      {".", "\xFF", false},
      {"\\C\\C", "\u00E9", true},
  };
  for (const Case& c : cases)
    EXPECT_EQ(Regex(c.pattern).matches(c.text), c.matches) << c.pattern << " " << c.text;
  for (const char* bad :
       {"(", ")", "[a", "*", "a**", "a{3,2}", "a{2000}", "\\1", "\\", "(?q)", "[b-a]", "\\x{110000}"}) {
    EXPECT_THROW(Regex{bad}, Error) << bad;
  }
  EXPECT_THROW(Regex("((((((){1000}){1000}){1000}){1000}){1000})"), Error);  // would be 10^15 steps
  EXPECT_THROW(Regex(std::string(100000, '(')), Error);
}

/// What a program of more than RE2's memory would need is refused; what a search would need is not taken.
TEST(Unicode, HostilePatternsTakeLittleMemory) {
  const auto refused = [](const std::string& op, const char* attribute, const std::string& pattern,
                          Fault fault, const std::string& text) {
    NodeUnderTest node = op == "Tokenizer" ? microsoft("Tokenizer") : NodeUnderTest(op, 20);
    node.input(words({1}, {"a"})).set("mark", int64_t{0}).set("pad_value", "").set("mincharnum", int64_t{1});
    try {
      node.set(attribute, pattern).run();
      ADD_FAILURE() << pattern;
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), fault) << error.what();
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
      EXPECT_EQ(error_place(error).op, op);
    }
  };
  refused("RegexFullMatch", "pattern", "[\\p{L}\\p{N}]{1,1000}.*\\p{Lu}", Fault::unsupported,
          "attribute 'pattern': the pattern '[\\p{L}\\p{N}]{1,1000}.*\\p{Lu}' is too large: RE2 has 8 MiB "
          "for it");
  refused("RegexFullMatch", "pattern", std::string(3000000, 'a'), Fault::unsupported, "a...' is too large");
  refused("RegexFullMatch", "pattern", "(a", Fault::model,
          "attribute 'pattern': the pattern '(a' is none of RE2's: missing ): (a");
  refused("RegexFullMatch", "pattern", "\xFF", Fault::model, "invalid UTF-8");
  refused("Tokenizer", "tokenexp", "a(?=b)", Fault::model, "attribute 'tokenexp'");
  refused("Tokenizer", "tokenexp", "((a{1000}){1000}){1000}", Fault::model, "invalid repetition size");

  // An automaton of 2^300 states.
  std::mt19937 random(1);
  std::string text;
  for (int k = 0; k < 100000; ++k) text += static_cast<char>('a' + random() % 2);
  const int64_t before = resident_bytes();
  EXPECT_EQ(Regex("(a|b)*a(a|b){300}").matches(text), text[text.size() - 301] == 'a');
  EXPECT_TRUE(Regex("(.*a.{20}){3}.*").matches(text));
  EXPECT_LT(resident_bytes() - before, int64_t{64} << 20);
}

}  // namespace
}  // namespace axrun::ir::test
