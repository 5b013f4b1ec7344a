#include "runtime/closest_word.h"

#include <algorithm>
#include <utility>

namespace axrun::runtime {
namespace {

/// Optimal string alignment: Levenshtein's distance, with transpositions of neighbours.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t k = 0; k <= b.size(); ++k) last[k] = k;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t k = 1; k <= b.size(); ++k) {
      row[k] = std::min({last[k] + 1, row[k - 1] + 1, last[k - 1] + (a[i - 1] != b[k - 1] ? 1 : 0)});
      if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
        row[k] = std::min(row[k], before[k - 2] + 1);
    }
    before = std::exchange(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::string closest_word(std::string_view word, const std::vector<std::string>& words) {
  size_t least = word.size() / 3 + 1;
  std::string closest;
  for (const std::string& one : words) {
    const size_t changes = distance(word, one);
    if (changes >= least) continue;
    least = changes;
    closest = one;
  }
  return closest;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& words) {
  const std::string closest = closest_word(word, words);
  return closest.empty() ? "" : ": did you mean '" + closest + "'?";
}

}  // namespace axrun::runtime
