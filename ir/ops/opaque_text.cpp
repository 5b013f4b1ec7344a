// Tokenizer and MurmurHash3 of com.microsoft on strings.
#include <algorithm>
#include <bit>
#include <cstring>

#include "ir/error.h"
#include "ir/ops/opaque_functions.h"
#include "ir/ops/regex_parser.h"

namespace axrun::ir {
namespace {

/// MurmurHash3_x86_32; the definition of the operator has it for numbers.
uint32_t murmur_hash(const std::string& text, uint32_t seed) {
  const auto scrambled = [](uint32_t block) { return std::rotl(block * 0xcc9e2d51U, 15) * 0x1b873593U; };
  uint32_t hash = seed;
  const size_t whole = text.size() / 4 * 4;
  for (size_t k = 0; k < whole; k += 4) {
    uint32_t block = 0;
    std::memcpy(&block, text.data() + k, 4);
    hash = std::rotl(hash ^ scrambled(block), 13) * 5 + 0xe6546b64U;
  }
  uint32_t rest = 0;
  for (size_t k = text.size(); k-- > whole;) rest = rest << 8 | static_cast<uint8_t>(text[k]);
  hash ^= scrambled(rest);  // of nothing: nothing
  hash ^= static_cast<uint32_t>(text.size());
  hash = (hash ^ hash >> 16) * 0x85ebca6bU;
  hash = (hash ^ hash >> 13) * 0xc2b2ae35U;
  return hash ^ hash >> 16;
}

/// A text with the places of its characters.
struct Characters {
  std::string_view text;
  std::vector<uint32_t> points;
  std::vector<size_t> places;  ///< of each, and the end

  explicit Characters(std::string_view from) : text(from), points(code_points(std::string(from))) {
    size_t place = 0;
    for (const uint32_t point : points) {
      places.push_back(place);
      place += point < 0x80 ? 1U : point < 0x800 ? 2U : point < 0x10000 ? 3U : 4U;
    }
    places.push_back(place);
    // Bytes that are not UTF-8 were read as characters of two bytes.
    if (place != text.size()) throw Error(Fault::user, "Tokenizer: a text is not UTF-8");
  }
  std::string_view part(size_t begin, size_t end) const {
    return text.substr(places[begin], places[end] - places[begin]);
  }
};

using Tokens = std::vector<std::string_view>;

/// What is between matches. A match of nothing takes the character behind it along, as in ONNX Runtime.
void split(const Characters& text, RegexSearch& separator, size_t fewest, Tokens& tokens) {
  const std::vector<size_t>& ends = separator.longest_ends(text.points);
  const size_t length = text.points.size();
  const auto add = [&](size_t begin, size_t end) {
    if (end - begin >= fewest) tokens.push_back(text.part(begin, end));
  };
  size_t begin = 0;
  for (size_t at = 0; at <= length;) {
    if (ends[at] == RegexSearch::nowhere) {
      ++at;
      continue;
    }
    add(begin, at);
    at = std::max(ends[at], at + 1);
    begin = at;
  }
  if (begin <= length) add(begin, length);
}

/// Matches that are long enough; those that are not are looked at again from their second character on.
void collect(const Characters& text, RegexSearch& token, size_t fewest, Tokens& tokens) {
  const std::vector<size_t>& ends = token.longest_ends(text.points);
  for (size_t at = 0; at < text.points.size();) {
    const bool is_token = ends[at] != RegexSearch::nowhere && ends[at] - at >= fewest;
    if (is_token) tokens.push_back(text.part(at, ends[at]));
    at = is_token ? ends[at] : at + 1;
  }
}

Tokens tokens_of(std::string_view text, const TokenizerParameters& parameters,
                 std::vector<RegexSearch>& searches) {
  using Mode = TokenizerParameters::Mode;
  Tokens tokens;
  const Characters characters(text);
  const auto fewest = static_cast<size_t>(parameters.fewest);
  switch (parameters.mode) {
    case Mode::characters:
      for (size_t k = 0; k < characters.points.size(); ++k) tokens.push_back(characters.part(k, k + 1));
      break;
    case Mode::tokens:
      collect(characters, searches[0], fewest, tokens);
      break;
    case Mode::separators:
      tokens.push_back(text);
      for (RegexSearch& separator : searches) {
        Tokens finer;
        for (const std::string_view piece : tokens) split(Characters(piece), separator, fewest, finer);
        tokens.swap(finer);
      }
      break;
  }
  return tokens;
}

}  // namespace

Tensors hash_strings_function(const Stage& stage, const Tensors& arguments) {
  const Tensor& x = arguments.at(0);
  const auto& parameters = payload_of<HashParameters>(stage);
  Tensor result = Tensor::allocate(parameters.type, x.shape());
  for (int64_t k = 0; k < x.size(); ++k) result.set_int(k, murmur_hash(x.strings()[k], parameters.seed));
  return {result};
}

Tensors tokenize_function(const Stage& stage, const Tensors& arguments) {
  const Tensor& x = arguments.at(0);
  const auto& parameters = payload_of<TokenizerParameters>(stage);
  Shape shape = x.shape();
  if (x.size() == 0) {
    shape.back() = 0;
    return {Tensor::allocate(ElementType::string, shape)};
  }
  std::vector<RegexSearch> searches(parameters.patterns.begin(), parameters.patterns.end());
  std::vector<Tokens> rows;
  size_t most = 0;
  for (int64_t k = 0; k < x.size(); ++k) {
    rows.push_back(tokens_of(x.strings()[k], parameters, searches));
    most = std::max(most, rows.back().size());
  }
  const bool marks = parameters.marks && most > 0;
  if (marks) most += 2;
  shape.push_back(static_cast<int64_t>(most));
  Tensor result = Tensor::allocate(ElementType::string, shape);
  std::string* next = result.strings();
  for (const Tokens& row : rows) {
    std::string* const end = next + most;
    if (marks) *next++ = "\x02";
    next = std::copy(row.begin(), row.end(), next);
    if (marks) *next++ = "\x03";
    next = std::fill_n(next, end - next, parameters.padding);
  }
  return {result};
}

}  // namespace axrun::ir
