#include "ir/ops/opaque_functions.h"

namespace axrun::ir {

Tensors constant_function(const Stage& stage, const Tensors&) { return {payload_of<Tensor>(stage)}; }

void opaque_functions(std::vector<OpaqueEntry>& table) {
  table.insert(
      table.end(),
      {
          {"constant", "the numbers of a list attribute follow no formula", constant_function},
          {"bit_cast", "the bits of a float are not its value", bit_cast_function},
          {"tree_ensemble", "the length and the path of a walk through a tree depend on data",
           tree_ensemble_function},
          {"nonzero", "the size of the result depends on data", nonzero_function},
          {"compress", "the size of the result depends on data", compress_function},
          {"unique", "the size of the result depends on data", unique_function},
          {"non_max_suppression", "the size of the result depends on data, and each choice on all before it",
           non_max_suppression_function},
          {"cheapest_path", "the length of the path depends on data", cheapest_path_function},
          {"extend_tokens", "how many tokens are taken over depends on data", extend_tokens_function},
          {"cast_string", "text is not a number", cast_string_function},
          {"equal_strings", "strings have no arithmetic", equal_strings_function},
          {"concatenate_strings", "strings have no arithmetic", concatenate_strings_function},
          {"split_strings", "the size of the result depends on the text", split_strings_function},
          {"find_strings", "strings have no arithmetic", find_strings_function},
          {"choose_strings", "literals of tensor expressions are numbers", choose_strings_function},
          {"normalize_strings", "the size of the result depends on the text", normalize_strings_function},
          {"match_strings", "the run of an automaton depends on the text", match_strings_function},
          {"tokenize", "the size of the result depends on the text", tokenize_function},
          {"hash_strings", "strings have no arithmetic", hash_strings_function},
          {"count_ngrams", "a look-up in a dictionary of sequences, of strings or integers",
           count_ngrams_function},
          {"decode_image", "a compressed file is no number, and the size of the image is in it",
           decode_image_function},
          {"append", "nothing but what is new is written: in place, by no kernel that would move the rest",
           append_function},
          {"custom", "the kernel of an operator of the user's own", custom_function},
      });
}

}  // namespace axrun::ir
