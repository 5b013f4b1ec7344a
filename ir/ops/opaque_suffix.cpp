// How BifurcationDetector extends tokens.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "ir/error.h"
#include "ir/ops/opaque_functions.h"

namespace axrun::ir {
namespace {

using Tokens = std::span<const int64_t>;

Tokens tokens_of(const Tensor& tensor) { return {tensor.as<int64_t>(), static_cast<size_t>(tensor.size())}; }

/// How many predicted tokens are taken: those that agree with the source from `place` on, and one more.
size_t agreement(Tokens source, int64_t place, Tokens predicted) {
  if (place < 0 || place > static_cast<int64_t>(source.size())) {
    throw Error(Fault::user,
                fmt::format("BifurcationDetector: place {} in a source of {} tokens", place, source.size()));
  }
  const Tokens rest = source.subspan(static_cast<size_t>(place));
  if (predicted.size() != rest.size() + 1) {
    throw Error(Fault::user, fmt::format("BifurcationDetector: {} tokens are predicted where {} are left",
                                         predicted.size(), rest.size()));
  }
  const auto differs = std::mismatch(rest.begin(), rest.end(), predicted.begin()).first;
  return static_cast<size_t>(differs - rest.begin()) + 1;
}

/// Where the source goes on behind the most of the last tokens that it has, -1 where it has these several
/// times, or none.
int64_t continuation(Tokens source, Tokens tokens, const SuffixLengths& lengths) {
  int64_t place = -1;
  const int64_t most = std::min(lengths.most, static_cast<int64_t>(tokens.size()));
  for (int64_t length = lengths.least; length <= most; ++length) {
    const Tokens suffix = tokens.last(static_cast<size_t>(length));
    const auto found = std::search(source.begin(), source.end(), suffix.begin(), suffix.end());
    if (found == source.end()) break;
    place = found - source.begin() + length;
    if (std::search(found + 1, source.end(), suffix.begin(), suffix.end()) != source.end()) place = -1;
  }
  return place;
}

}  // namespace

Tensors extend_tokens_function(const Stage& stage, const Tensors& arguments) {
  const Tokens source = tokens_of(arguments.at(0)), current = tokens_of(arguments.at(1));
  Tokens added;
  if (arguments.size() > 3) {
    const Tokens predicted = tokens_of(arguments[3]);
    added = predicted.first(agreement(source, arguments[2].get_int(0), predicted));
  }
  Tensor tokens = Tensor::allocate(ElementType::i64, {static_cast<int64_t>(current.size() + added.size())});
  std::copy(added.begin(), added.end(), std::copy(current.begin(), current.end(), tokens.as<int64_t>()));
  Tensor place = Tensor::allocate(ElementType::i64, arguments[2].shape());
  place.set_int(0, continuation(source, tokens_of(tokens), payload_of<SuffixLengths>(stage)));
  return {tokens, place};
}

}  // namespace axrun::ir
