#pragma once

// The reference functions behind opaque stages, and the payloads they expect. ir/ops/opaque_functions.cpp
// lists them with the reason why each cannot be a tensor expression.

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/error.h"
#include "ir/opaque.h"
#include "ir/ops/regex.h"

namespace axrun::ir {

using Tensors = std::vector<Tensor>;

/// Payload Tensor: answers it.
Tensors constant_function(const Stage& stage, const Tensors& arguments);

/// (x) with the new ElementType, of the same width, as payload; neither is boolean or string.
Tensors bit_cast_function(const Stage& stage, const Tensors& arguments);

/// Payload TreeEnsemble (ir/ops/tree_ensemble.h).
Tensors tree_ensemble_function(const Stage& stage, const Tensors& arguments);

/// Elements other than zero of x: their indices, [rank, count].
Tensors nonzero_function(const Stage& stage, const Tensors& arguments);
/// (x, condition) with a payload SelectionAxis.
Tensors compress_function(const Stage& stage, const Tensors& arguments);
/// (x) with a payload UniqueParameters: values, first positions, positions of every element, counts.
Tensors unique_function(const Stage& stage, const Tensors& arguments);
struct SelectionAxis {
  int axis = -1;  ///< -1: the flattened input
};
struct UniqueParameters {
  int axis = -1;  ///< -1: the flattened input
  bool sorted = true;
};

/// (boxes, scores, most boxes per class, overlap threshold, score threshold), the last three perhaps absent,
/// with a payload SuppressionParameters.
Tensors non_max_suppression_function(const Stage& stage, const Tensors& arguments);
struct SuppressionParameters {
  bool center_format = false;
};

/// (buffer, position, new) with a payload SelectionAxis: the buffer with `new` there, and where it ends.
Tensors append_function(const Stage& stage, const Tensors& arguments);

/// (costs), [rows, columns] or [1, rows, columns]: rows and columns along the way, [2, length].
Tensors cheapest_path_function(const Stage& stage, const Tensors& arguments);

/// (source, current, place, predicted), the last one perhaps left out, with a payload SuffixLengths: the
/// extended tokens, and where the source goes on.
Tensors extend_tokens_function(const Stage& stage, const Tensors& arguments);
struct SuffixLengths {
  int64_t least = 1;
  int64_t most = 3;
};

/// (x) with a payload TextConversion.
Tensors cast_string_function(const Stage& stage, const Tensors& arguments);
struct TextConversion {
  ElementType from = ElementType::undefined;
  ElementType to = ElementType::undefined;
};
/// (x, y) of one shape: booleans.
Tensors equal_strings_function(const Stage& stage, const Tensors& arguments);
/// (x, y) of one shape.
Tensors concatenate_strings_function(const Stage& stage, const Tensors& arguments);
/// (x) with a payload StringSplitParameters: parts [..., most parts] and their numbers [...].
Tensors split_strings_function(const Stage& stage, const Tensors& arguments);
struct StringSplitParameters {
  std::string delimiter;  ///< empty: runs of white space
  int64_t most_splits = -1;
};
/// (x) with a payload StringTable: positions of the strings in it.
Tensors find_strings_function(const Stage& stage, const Tensors& arguments);
/// (positions) with a payload StringTable: the strings there.
Tensors choose_strings_function(const Stage& stage, const Tensors& arguments);
struct StringTable {
  std::vector<std::string> strings;
  std::string otherwise;
  std::unordered_map<std::string, int64_t> position_of;  ///< the last one of equal strings
};
/// (x), [C] or [1, C], with a payload NormalizerParameters.
Tensors normalize_strings_function(const Stage& stage, const Tensors& arguments);
struct NormalizerParameters {
  enum class Case : uint8_t { unchanged, lower, upper };
  Case change = Case::unchanged;
  bool case_sensitive = false;
  std::vector<std::string> stop_words;
};
/// (x) with a payload Regex (ir/ops/regex.h): whether the whole of each string matches.
Tensors match_strings_function(const Stage& stage, const Tensors& arguments);

/// (x), [C] or [N, C], with a payload TokenizerParameters: [..., most tokens of one string].
Tensors tokenize_function(const Stage& stage, const Tensors& arguments);
struct TokenizerParameters {
  enum class Mode : uint8_t {
    characters,  ///< each is a token
    separators,  ///< what lies between the matches of all patterns
    tokens,      ///< what matches the one pattern
  };
  Mode mode = Mode::characters;
  std::vector<Regex> patterns;
  int64_t fewest = 1;  ///< characters of a token
  bool marks = false;  ///< at both ends of every string's tokens
  std::string padding;
};
/// (x) with a payload HashParameters.
Tensors hash_strings_function(const Stage& stage, const Tensors& arguments);
struct HashParameters {
  ElementType type = ElementType::u32;  ///< of the hashes, or i32
  uint32_t seed = 0;
};

/// Payload CustomStage (ir/custom_operator.h): any arguments, absent ones undefined.
Tensors custom_function(const Stage& stage, const Tensors& arguments);

/// (x), [C] or [N, C], with a payload NgramParameters.
Tensors count_ngrams_function(const Stage& stage, const Tensors& arguments);
struct NgramParameters {
  struct Ngram {
    std::vector<std::string> strings;  ///< or
    std::vector<int64_t> integers;
    int64_t coordinate = 0;
    double weight = 1;
  };
  enum class Mode : uint8_t { count, presence, weighted_count };
  Mode mode = Mode::count;
  bool strings = false;
  std::vector<Ngram> ngrams;  ///< those of the wanted lengths
  int64_t most_skipped = 0;
  int64_t size = 0;  ///< of a row of the result
};

/// (bytes of a file) with a payload ImageFormat: pixels [height, width, channels], empty where nothing can be
/// decoded.
Tensors decode_image_function(const Stage& stage, const Tensors& arguments);
struct ImageFormat {
  enum class Pixels : uint8_t { rgb, bgr, grayscale };
  Pixels pixels = Pixels::rgb;
};

/// The payload, which the stage must have.
template <typename Payload>
const Payload& payload_of(const Stage& stage) {
  AXRUN_ASSERT(stage.payload != nullptr);
  return *static_cast<const Payload*>(stage.payload.get());
}

}  // namespace axrun::ir
