// Operators whose whole meaning is an opaque function (ir/ops/opaque_functions.h).
#include <fmt/format.h>

#include "ir/ops/compute.h"
#include "ir/ops/opaque_functions.h"
#include "ir/ops/regex.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

using enum ElementType;

template <typename Payload>
std::shared_ptr<const void> payload(Payload value) {
  return std::make_shared<const Payload>(std::move(value));
}

void nonzero(const OperatorContext& context, Builder& b) {
  const TensorRef x = operand(b, context, 0);
  b.output(b.opaque("nonzero", {x}, {{i64, {Dim(int64_t{x.rank()}), context.unknown_dim(0, 1)}}})[0]);
}

/// The attribute `axis`, or -1 for the flattened input.
int selection_axis(const OperatorContext& context, int rank) {
  return context.has_attribute("axis") ? context.axis(context.integer("axis", 0), rank) : -1;
}

/// x with `count` slices along the axis; of one dimension where the axis is -1.
Dims selected_dims(const TensorRef& x, int axis, const Dim& count) {
  if (axis < 0) return {count};
  Dims dims = x.dims();
  dims[static_cast<size_t>(axis)] = count;
  return dims;
}

void compress(const OperatorContext& context, Builder& b) {
  const TensorRef x = operand(b, context, 0);
  const TensorRef condition = typed_operand(b, context, 1, {ElementType::boolean});
  context.check(condition.rank() == 1, "the condition must have one dimension");
  const int axis = selection_axis(context, x.rank());
  const Dim count = context.unknown_dim(0, std::max(axis, 0));
  b.output(b.opaque("compress", {x, condition}, {{x.type(), selected_dims(x, axis, count)}},
                    payload(SelectionAxis{axis}))[0]);
}

void unique(const OperatorContext& context, Builder& b) {
  const TensorRef x = operand(b, context, 0);
  const int axis = selection_axis(context, x.rank());
  const Dim count = context.unknown_dim(0, std::max(axis, 0));
  const Dim whole = axis < 0 ? product(x.dims()) : x.dims()[static_cast<size_t>(axis)];
  const auto results =
      b.opaque("unique", {x},
               {{x.type(), selected_dims(x, axis, count)}, {i64, {count}}, {i64, {whole}}, {i64, {count}}},
               payload(UniqueParameters{axis, flag(context, "sorted", true)}));
  for (const TensorRef& result : results) b.output(result);
}

void non_max_suppression(const OperatorContext& context, Builder& b) {
  const TensorRef boxes = real_operand(b, context, 0);
  const TensorRef scores = real_operand(b, context, 1);
  context.check(boxes.rank() == 3 && scores.rank() == 3, "boxes and scores must have three dimensions");
  check_dims(context, boxes, {scores.dims()[0], scores.dims()[2], Dim(4)}, "boxes");
  std::vector<TensorRef> arguments = {boxes, scores};
  for (int k = 2; k < 5; ++k) {
    arguments.emplace_back();
    if (!context.has(k)) continue;
    arguments.back() = k == 2 ? typed_operand(b, context, k, {i64}) : real_operand(b, context, k);
    context.check(context.is_one(product(arguments.back().dims())),
                  fmt::format("input {} must be one number", k));
  }
  const bool center = bounded_integer(context, "center_point_box", 0, 0, 1) == 1;
  b.output(b.opaque("non_max_suppression", arguments, {{i64, {context.unknown_dim(0, 0), Dim(3)}}},
                    payload(SuppressionParameters{center}))[0]);
}

TensorRef string_operand(const OperatorContext& context, Builder& b, int k) {
  return typed_operand(b, context, k, {ElementType::string});
}

void string_concat(const OperatorContext& context, Builder& b) {
  const TensorRef x = string_operand(context, b, 0);
  const TensorRef y = string_operand(context, b, 1);
  const Dims dims = context.broadcast({x.dims(), y.dims()});
  const auto spread = [&](const TensorRef& t) {
    if (t.dims() == dims) return t;
    return b.map(dims, [&](const Indices& i) { return broadcast_load(context, t, i, dims); });
  };
  b.output(b.opaque("concatenate_strings", {spread(x), spread(y)}, {{ElementType::string, dims}})[0]);
}

void string_split(const OperatorContext& context, Builder& b) {
  const TensorRef x = string_operand(context, b, 0);
  StringSplitParameters parameters{context.string("delimiter", ""), context.integer("maxsplit", -1)};
  Dims parts = x.dims();
  parts.push_back(context.unknown_dim(0, x.rank()));
  for (const TensorRef& result :
       b.opaque("split_strings", {x}, {{ElementType::string, parts}, {i64, x.dims()}}, payload(parameters))) {
    b.output(result);
  }
}

void regex_full_match(const OperatorContext& context, Builder& b) {
  const TensorRef x = string_operand(context, b, 0);
  context.check(context.has_attribute("pattern"), "attribute 'pattern' is needed");
  b.output(b.opaque("match_strings", {x}, {{ElementType::boolean, x.dims()}},
                    payload(regex_of(context, "pattern", context.string("pattern", ""))))[0]);
}

void string_normalizer(const OperatorContext& context, Builder& b) {
  const TensorRef x = string_operand(context, b, 0);
  context.check(x.rank() == 1 || (x.rank() == 2 && context.is_one(x.dims()[0])),
                "a shape of [C] or [1, C] is needed");
  NormalizerParameters parameters;
  const std::string change = context.string("case_change_action", "NONE");
  context.check(change == "NONE" || change == "LOWER" || change == "UPPER",
                fmt::format("case_change_action '{}' is unknown", change));
  using Case = NormalizerParameters::Case;
  parameters.change = change == "LOWER" ? Case::lower : change == "UPPER" ? Case::upper : Case::unchanged;
  parameters.case_sensitive = flag(context, "is_case_sensitive", false);
  parameters.stop_words = context.strings("stopwords");
  const Dim count = context.unknown_dim(0, x.rank() - 1);
  b.output(b.opaque("normalize_strings", {x},
                    {{ElementType::string, x.rank() == 1 ? Dims{count} : Dims{Dim(1), count}}},
                    payload(std::move(parameters)))[0]);
}

/// The n-grams of the pool whose length is wanted: those of length n are entries counts[n - 1] to counts[n]
/// - 1.
void read_ngrams(const OperatorContext& context, NgramParameters& parameters) {
  const auto integers = context.integers("pool_int64s");
  const auto strings = context.strings("pool_strings");
  context.check(integers.empty() || strings.empty(), "only one of the pools may be there");
  parameters.strings = !strings.empty();
  const size_t pool = parameters.strings ? strings.size() : integers.size();
  const auto counts = context.integers("ngram_counts");
  const auto coordinates = context.integers("ngram_indexes");
  const auto weights = context.reals("weights");
  const int64_t shortest = bounded_integer(context, "min_gram_length", 1, 1, int64_t{1} << 20);
  const int64_t longest = bounded_integer(context, "max_gram_length", 1, shortest, int64_t{1} << 20);
  context.check(weights.empty() || weights.size() == coordinates.size(),
                fmt::format("{} weights for {} n-grams", weights.size(), coordinates.size()));
  for (int64_t coordinate : coordinates) {
    context.check(coordinate >= 0 && coordinate < int64_t{1} << 26, "ngram_indexes is out of range");
    parameters.size = std::max(parameters.size, coordinate + 1);
  }
  size_t number = 0;
  for (size_t n = 1; n <= counts.size(); ++n) {
    const int64_t begin = counts[n - 1];
    const int64_t end = n < counts.size() ? counts[n] : static_cast<int64_t>(pool);
    context.check(begin >= 0 && begin <= end && static_cast<size_t>(end) <= pool &&
                      (end - begin) % static_cast<int64_t>(n) == 0,
                  fmt::format("ngram_counts does not divide a pool of {}", pool));
    for (auto at = static_cast<size_t>(begin); at < static_cast<size_t>(end); at += n, ++number) {
      context.check(number < coordinates.size(), "ngram_indexes is too short");
      if (static_cast<int64_t>(n) < shortest || static_cast<int64_t>(n) > longest) continue;
      NgramParameters::Ngram ngram;
      for (size_t k = at; k < at + n; ++k) {
        if (parameters.strings) {
          ngram.strings.push_back(strings[k]);
        } else {
          ngram.integers.push_back(integers[k]);
        }
      }
      ngram.coordinate = coordinates[number];
      if (!weights.empty()) ngram.weight = weights[number];
      parameters.ngrams.push_back(std::move(ngram));
    }
  }
}

void tf_idf_vectorizer(const OperatorContext& context, Builder& b) {
  const TensorRef x = typed_operand(b, context, 0, {ElementType::string, ElementType::i32, i64});
  context.check(x.rank() == 1 || x.rank() == 2, "a shape of [C] or [N, C] is needed");
  NgramParameters parameters;
  read_ngrams(context, parameters);
  context.check(parameters.ngrams.empty() || parameters.strings == (x.type() == ElementType::string),
                "the pool is not of the input's type");
  parameters.strings = x.type() == ElementType::string;
  const std::string mode = context.string("mode", "");
  using Mode = NgramParameters::Mode;
  if (mode == "TF") {
    parameters.mode = Mode::count;
  } else if (mode == "IDF") {
    parameters.mode = Mode::presence;
  } else if (mode == "TFIDF") {
    parameters.mode = Mode::weighted_count;
  } else {
    context.fail(fmt::format("mode '{}' is unknown", mode));
  }
  parameters.most_skipped = bounded_integer(context, "max_skip_count", 0, 0, int64_t{1} << 31);
  Dims dims = {Dim(parameters.size)};
  if (x.rank() == 2) dims.insert(dims.begin(), x.dims()[0]);
  b.output(b.opaque("count_ngrams", {x}, {{ElementType::f32, dims}}, payload(std::move(parameters)))[0]);
}

/// A file of bytes to pixels [height, width, channels].
void image_decoder(const OperatorContext& context, Builder& b) {
  const TensorRef file = typed_operand(b, context, 0, {ElementType::u8});
  require_rank(context, 0, 1);
  const std::string format = context.string("pixel_format", "RGB");
  context.check(format == "RGB" || format == "BGR" || format == "Grayscale",
                fmt::format("pixel_format '{}' is unknown", format));
  using Pixels = ImageFormat::Pixels;
  const Pixels pixels = format == "RGB" ? Pixels::rgb : format == "BGR" ? Pixels::bgr : Pixels::grayscale;
  const Dims dims = {context.unknown_dim(0, 0), context.unknown_dim(0, 1), context.unknown_dim(0, 2)};
  b.output(b.opaque("decode_image", {file}, {{ElementType::u8, dims}}, payload(ImageFormat{pixels}))[0]);
}

}  // namespace

void opaque_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {{"", "Compress", 9, compress},
                             {"", "ImageDecoder", 20, image_decoder},
                             {"", "NonMaxSuppression", 10, non_max_suppression},
                             {"", "NonZero", 9, nonzero},
                             {"", "RegexFullMatch", 20, regex_full_match},
                             {"", "StringConcat", 20, string_concat},
                             {"", "StringNormalizer", 10, string_normalizer},
                             {"", "StringSplit", 20, string_split},
                             {"", "TfIdfVectorizer", 9, tf_idf_vectorizer},
                             {"", "Unique", 11, unique}});
}

}  // namespace axrun::ir
