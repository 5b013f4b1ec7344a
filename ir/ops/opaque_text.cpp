// Tokenizer and MurmurHash3 of com.microsoft on strings.
#include <algorithm>
#include <bit>
#include <cstring>

#include "ir/error.h"
#include "ir/ops/opaque_functions.h"
#include "ir/unicode.h"

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

using Tokens = std::vector<std::string_view>;

/// Throws Error(user) where the text is not UTF-8.
size_t character_length(std::string_view text, size_t at) {
  const size_t length = character_at(text, at).length;
  if (length == 0) throw Error(Fault::user, "Tokenizer: a text is not UTF-8");
  return length;
}

size_t count_characters(std::string_view text) {
  size_t count = 0;
  for (size_t at = 0; at < text.size(); at += character_length(text, at)) ++count;
  return count;
}

/// Where a search goes on behind a match of nothing, which takes the character there along, as in ONNX
/// Runtime; behind the end, past it.
size_t behind_nothing(std::string_view text, size_t at) {
  return at < text.size() ? at + character_length(text, at) : at + 1;
}

/// What is between matches.
void split(std::string_view text, const Regex& separator, size_t fewest, Tokens& tokens) {
  const auto add = [&](size_t begin, size_t end) {
    const std::string_view token = text.substr(begin, end - begin);
    if (count_characters(token) >= fewest) tokens.push_back(token);
  };
  size_t begin = 0;
  while (const auto match = separator.find(text, begin)) {
    add(begin, match->begin);
    begin = match->end > match->begin ? match->end : behind_nothing(text, match->begin);
  }
  if (begin <= text.size()) add(begin, text.size());
}

/// Matches that are long enough; those that are not are looked at again from their second character on.
void collect(std::string_view text, const Regex& token, size_t fewest, Tokens& tokens) {
  size_t at = 0;
  while (const auto match = token.find(text, at)) {
    const std::string_view found = text.substr(match->begin, match->end - match->begin);
    const bool is_token = count_characters(found) >= fewest;
    if (is_token) tokens.push_back(found);
    at = is_token ? match->end : behind_nothing(text, match->begin);
  }
}

Tokens tokens_of(std::string_view text, const TokenizerParameters& parameters) {
  using Mode = TokenizerParameters::Mode;
  Tokens tokens;
  count_characters(text);  // refuses what is not UTF-8
  const auto fewest = static_cast<size_t>(parameters.fewest);
  switch (parameters.mode) {
    case Mode::characters:
      for (size_t at = 0; at < text.size(); at += tokens.back().size())
        tokens.push_back(text.substr(at, character_length(text, at)));
      break;
    case Mode::tokens:
      collect(text, parameters.patterns[0], fewest, tokens);
      break;
    case Mode::separators:
      tokens.push_back(text);
      for (const Regex& separator : parameters.patterns) {
        Tokens finer;
        for (const std::string_view piece : tokens) split(piece, separator, fewest, finer);
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
  std::vector<Tokens> rows;
  size_t most = 0;
  for (int64_t k = 0; k < x.size(); ++k) {
    rows.push_back(tokens_of(x.strings()[k], parameters));
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
