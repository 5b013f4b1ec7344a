#include "ir/ops/regex.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include "ir/error.h"
#include "ir/operator.h"
#include "ir/ops/opaque_functions.h"

namespace axrun::ir {
namespace {

/// Patterns are shown as far as they can be read.
std::string shown(const std::string& text) {
  constexpr size_t most = 100;
  return text.size() <= most ? text : text.substr(0, most) + "...";
}

std::shared_ptr<const re2::RE2> compiled(const std::string& pattern) {
  re2::RE2::Options options;
  options.set_log_errors(false);  // to stderr
  // A pattern matches a whole text or not, whichever of its matches is preferred.
  options.set_longest_match(true);
  auto expression = std::make_shared<const re2::RE2>(pattern, options);
  if (expression->ok()) return expression;
  if (expression->error_code() == re2::RE2::ErrorPatternTooLarge) {
    throw Error(Fault::unsupported, fmt::format("the pattern '{}' is too large: RE2 has {} MiB for it",
                                                shown(pattern), options.max_mem() >> 20));
  }
  throw Error(Fault::model, fmt::format("the pattern '{}' is none of RE2's: {}", shown(pattern),
                                        shown(expression->error())));
}

}  // namespace

Regex::Regex(const std::string& pattern) : expression_(compiled(pattern)) {}

bool Regex::matches(std::string_view text) const {
  const re2::StringPiece piece(text.data(), text.size());
  return expression_->Match(piece, 0, text.size(), re2::RE2::ANCHOR_BOTH, nullptr, 0);
}

std::optional<Regex::Match> Regex::find(std::string_view text, size_t from) const {
  if (from > text.size()) return std::nullopt;
  const re2::StringPiece piece(text.data(), text.size());
  re2::StringPiece found;
  if (!expression_->Match(piece, from, text.size(), re2::RE2::UNANCHORED, &found, 1)) return std::nullopt;
  const auto begin = static_cast<size_t>(found.data() - text.data());
  return Match{begin, begin + found.size()};
}

Regex regex_of(const OperatorContext& context, const std::string& attribute, const std::string& pattern) {
  try {
    return Regex(pattern);
  } catch (const Error& error) {
    const std::string text = fmt::format("attribute '{}': {}", attribute, error.what());
    if (error.fault() == Fault::unsupported) context.unsupported(text);
    context.fail(text);
  }
}

Tensors match_strings_function(const Stage& stage, const Tensors& arguments) {
  const Tensor& x = arguments.at(0);
  const auto& regex = payload_of<Regex>(stage);
  Tensor result = Tensor::allocate(ElementType::boolean, x.shape());
  for (int64_t k = 0; k < x.size(); ++k) result.set_int(k, regex.matches(x.strings()[k]) ? 1 : 0);
  return {result};
}

}  // namespace axrun::ir
