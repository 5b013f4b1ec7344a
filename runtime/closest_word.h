#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace axrun::runtime {

/// The word that a misspelt one was probably meant to be: the fewest letters changed, left out, added or
/// exchanged with the next one, and no more than a third of them. Empty: none is that close.
std::string closest_word(std::string_view word, const std::vector<std::string>& words);

/// ": did you mean 'explain'?", or nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& words);

}  // namespace axrun::runtime
