// TfIdfVectorizer.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "ir/error.h"
#include "ir/ops/opaque_functions.h"

namespace axrun::ir {
namespace {

/// The pool as a trie over numbered items: a string or integer that no n-gram holds has no number.
class Trie {
 public:
  explicit Trie(const NgramParameters& parameters) : parameters_(parameters) {
    for (size_t k = 0; k < parameters.ngrams.size(); ++k) {
      const auto& ngram = parameters.ngrams[k];
      int64_t at = 0;
      for (const std::string& item : ngram.strings) at = step(at, number(strings_, item));
      for (int64_t item : ngram.integers) at = step(at, number(integers_, item));
      const size_t length = ngram.strings.size() + ngram.integers.size();
      longest_ = std::max(longest_, static_cast<int64_t>(length));
      ends_.emplace(at, k);
    }
  }

  int64_t longest() const { return longest_; }
  int64_t item(const std::string& text) const { return find(strings_, text); }
  int64_t item(int64_t value) const { return find(integers_, value); }
  /// -1 where no n-gram goes on.
  int64_t next(int64_t at, int64_t item) const {
    const auto found = edges_.find({at, item});
    return found == edges_.end() ? -1 : found->second;
  }
  const NgramParameters::Ngram* ngram_at(int64_t at) const {
    const auto found = ends_.find(at);
    return found == ends_.end() ? nullptr : &parameters_.ngrams[found->second];
  }

 private:
  template <typename Map, typename Item>
  static int64_t number(Map& map, const Item& item) {
    return map.emplace(item, static_cast<int64_t>(map.size())).first->second;
  }
  template <typename Map, typename Item>
  static int64_t find(const Map& map, const Item& item) {
    const auto found = map.find(item);
    return found == map.end() ? -1 : found->second;
  }
  int64_t step(int64_t at, int64_t item) {
    return edges_.emplace(std::pair(at, item), static_cast<int64_t>(edges_.size()) + 1).first->second;
  }

  const NgramParameters& parameters_;
  std::unordered_map<std::string, int64_t> strings_;
  std::unordered_map<int64_t, int64_t> integers_;
  std::map<std::pair<int64_t, int64_t>, int64_t> edges_;
  std::unordered_map<int64_t, size_t> ends_;
  int64_t longest_ = 0;
};

}  // namespace

Tensors count_ngrams_function(const Stage& stage, const Tensors& arguments) {
  const Tensor& x = arguments.at(0);
  const auto& parameters = payload_of<NgramParameters>(stage);
  const Trie trie(parameters);
  const bool is_batch = x.rank() == 2;
  const int64_t rows = is_batch ? x.shape()[0] : 1;
  const int64_t length = x.shape().back();
  Tensor result =
      Tensor::allocate(ElementType::f32, is_batch ? Shape{rows, parameters.size} : Shape{parameters.size});
  std::vector<int64_t> items(static_cast<size_t>(length));
  std::vector<double> counts(static_cast<size_t>(parameters.size));
  std::vector<double> weights(counts.size());
  for (const auto& ngram : parameters.ngrams) weights[static_cast<size_t>(ngram.coordinate)] = ngram.weight;
  // Single items are the same at every skip and count once.
  const auto count = [&](int64_t start, int64_t stride) {
    int64_t at = 0;
    for (int64_t k = start, n = 1; k < length && n <= trie.longest() && at >= 0; k += stride, ++n) {
      at = trie.next(at, items[static_cast<size_t>(k)]);
      const auto* ngram = at >= 0 && (n > 1 || stride == 1) ? trie.ngram_at(at) : nullptr;
      if (ngram != nullptr) counts[static_cast<size_t>(ngram->coordinate)] += 1;
    }
  };
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t k = 0; k < length; ++k) {
      const int64_t position = row * length + k;
      items[static_cast<size_t>(k)] =
          parameters.strings ? trie.item(x.strings()[position]) : trie.item(x.get_int(position));
    }
    std::fill(counts.begin(), counts.end(), 0);
    for (int64_t stride = 1; stride <= std::min(parameters.most_skipped + 1, std::max<int64_t>(length, 1));
         ++stride) {
      for (int64_t start = 0; start < length; ++start) count(start, stride);
    }
    for (int64_t k = 0; k < parameters.size; ++k) {
      const double times = counts[static_cast<size_t>(k)];
      const double weight = weights[static_cast<size_t>(k)];
      const double value = parameters.mode == NgramParameters::Mode::count      ? times
                           : parameters.mode == NgramParameters::Mode::presence ? (times > 0 ? weight : 0)
                                                                                : times * weight;
      result.set_real(row * parameters.size + k, value);
    }
  }
  return {result};
}

}  // namespace axrun::ir
