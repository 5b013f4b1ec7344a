// com.microsoft: what becomes of words and of predicted tokens.
#include <fmt/format.h>

#include <memory>

#include "ir/ops/compute.h"
#include "ir/ops/indexing_parts.h"
#include "ir/ops/microsoft.h"
#include "ir/ops/opaque_functions.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

using enum ElementType;

/// Words of characters [words, most characters] as vectors [words, filters]: the largest tanh of a
/// convolution over the embeddings of a word's characters. Inputs: characters, filters [filters, 1, width,
/// size], biases, embeddings [characters, size]. A word has as many characters as are positive, none where
/// its first one is not; one that is shorter than a filter is filled up with what follows. Of a word without
/// characters the vector is 0.
void word_conv_embedding(const OperatorContext& context, Builder& b) {
  const TensorRef text = typed_operand(b, context, 0, {i32});
  const TensorRef w = typed_operand(b, context, 1, {f32});
  const TensorRef bias = typed_operand(b, context, 2, {f32});
  const TensorRef table = typed_operand(b, context, 3, {f32});
  require_rank(context, 0, 2);
  require_rank(context, 1, 4);
  require_rank(context, 3, 2);
  const Dim words = text.dims()[0], most = text.dims()[1];
  const Dim filters = w.dims()[0], width = w.dims()[2], size = table.dims()[1];
  check_dims(context, w, {filters, Dim(1), width, size}, "W");
  check_dims(context, bias, {filters}, "B");
  const auto states = [&](const char* name, const Dim& dim) {
    const int64_t stated = context.integer(name, -1);
    context.check(stated == -1 || context.equal(dim, Dim(stated)),
                  fmt::format("attribute '{}' is {}, but there are {}", name, stated, dim.to_string()));
  };
  states("embedding_size", filters);
  states("conv_window_size", width);
  states("char_embedding_size", size);
  const Dim windows = most - width + 1;
  context.check(context.may_be_at_least(windows, 1), "the filters are wider than a word");
  context.check(context.may_be_at_least(width, 1), "the filters are empty");

  const TensorRef length = b.sum({words}, {most}, [&](const Indices& i, const Indices& r) {
    const Scalar counts = logical_and(text({i[0], b.integer(0)}) > 0, text({i[0], r[0]}) > 0);
    return cast(i64, counts);
  });
  // Of how many windows the largest is taken.
  const TensorRef count = b.map({words}, [&](const Indices& i) {
    const Scalar known = max(length(i), b.extent(width)) - width + 1;
    return select(length(i) > 0, known, b.integer(0));
  });
  // Characters of windows that count; an index that data give stands on its own.
  const TensorRef character = b.map(text.dims(), [&](const Indices& i) {
    const Scalar is_used = logical_and(i[1]<count({i[0]}) + width - 1, count({i[0]})> 0);
    const Scalar given = cast(i64, text(i)), beyond = b.extent(table.dims()[0]);
    // One that is negative is none, not one from the end.
    return select(is_used, select(given < 0, beyond, given), b.integer(0));
  });
  const TensorRef embedded = b.map({words, most, size}, [&](const Indices& i) {
    return table({from_end(character({i[0], i[1]}), table.dims()[0]), i[2]});
  });
  const TensorRef sum =
      b.sum({words, windows, filters}, {width, size}, [&](const Indices& i, const Indices& r) {
        return embedded({i[0], i[1] + r[0], r[1]}) * w({i[2], b.integer(0), r[0], r[1]});
      });
  const Scalar lowest = b.real(f32, -1e12F);
  const TensorRef largest =
      b.reduce(Monoid::Kind::max, {words, filters}, {windows}, [&](const Indices& i, const Indices& r) {
        const Scalar value = tanh(sum({i[0], r[0], i[1]}) + bias({i[1]}));
        return select(r[0] < count({i[0]}), value, lowest);
      });
  b.output(b.map({words, filters},
                 [&](const Indices& i) { return select(count({i[0]}) > 0, largest(i), b.real(f32, 0)); }));
}

/// Current tokens with those predicted ones that the source has, too, and the first that it has not; and
/// where in the source the text goes on. Inputs: src_tokens, cur_tokens, prev_suffix_match_idx, pred_tokens.
void bifurcation_detector(const OperatorContext& context, Builder& b) {
  std::vector<TensorRef> arguments;
  for (int k = 0; k < (context.has(3) ? 4 : 3); ++k) {
    arguments.push_back(typed_operand(b, context, k, {i64}));
    if (k != 2) require_rank(context, k, 1);
  }
  only_element(context, b, arguments[2], "prev_suffix_match_idx");
  SuffixLengths lengths;
  lengths.least = bounded_integer(context, "min_ngram_size", 1, 1, int64_t{1} << 40);
  lengths.most = bounded_integer(context, "max_ngram_size", 3, lengths.least, int64_t{1} << 40);
  const Dims dims = {arguments.size() == 4 ? context.unknown_dim(0, 0) : arguments[1].dims()[0]};
  for (const TensorRef& result :
       b.opaque("extend_tokens", arguments, {{i64, dims}, {i64, arguments[2].dims()}},
                std::make_shared<SuffixLengths>(lengths))) {
    b.output(result);
  }
}

}  // namespace

void microsoft_word_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {{microsoft_domain, "BifurcationDetector", 1, bifurcation_detector},
                             {microsoft_domain, "WordConvEmbedding", 1, word_conv_embedding}});
}

}  // namespace axrun::ir
