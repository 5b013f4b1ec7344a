// com.microsoft: operators on text, and hashes.
#include <fmt/format.h>

#include <memory>

#include "ir/ops/compute.h"
#include "ir/ops/microsoft.h"
#include "ir/ops/opaque_functions.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

// MurmurHash3_x86_32 (Austin Appleby's, in the public domain): 32 bits at a time. Hashes of strings are
// computed by hash_strings_function.

Scalar word(Builder& b, int64_t value) { return b.integer(value, ElementType::u32); }
Scalar rotated_left(const Scalar& x, int64_t bits) {
  Builder& b = x.builder();
  const Scalar left = binary(ScalarOp::shift_left, x, word(b, bits));
  return binary(ScalarOp::bit_or, left, binary(ScalarOp::shift_right, x, word(b, 32 - bits)));
}
Scalar exclusive_or(const Scalar& x, const Scalar& y) { return binary(ScalarOp::bit_xor, x, y); }
Scalar folded(const Scalar& x, int64_t bits) {
  return exclusive_or(x, binary(ScalarOp::shift_right, x, word(x.builder(), bits)));
}

Scalar mixed_in(const Scalar& hash, const Scalar& block) {
  Builder& b = hash.builder();
  const Scalar scrambled = rotated_left(block * word(b, 0xcc9e2d51), 15) * word(b, 0x1b873593);
  return rotated_left(exclusive_or(hash, scrambled), 13) * word(b, 5) + word(b, 0xe6546b64);
}
Scalar finished(const Scalar& hash, int64_t bytes) {
  Builder& b = hash.builder();
  const Scalar once = folded(exclusive_or(hash, word(b, bytes)), 16) * word(b, 0x85ebca6b);
  return folded(folded(once, 13) * word(b, 0xc2b2ae35), 16);
}

/// The bytes of each element, lowest first, as one number or two.
void murmur_hash(const OperatorContext& context, Builder& b) {
  TensorRef x = typed_operand(b, context, 0,
                              {ElementType::i32, ElementType::u32, ElementType::i64, ElementType::u64,
                               ElementType::f32, ElementType::f64, ElementType::string});
  const auto seed = static_cast<uint32_t>(context.integer("seed", 0));
  const ElementType type = context.integer("positive", 1) == 1 ? ElementType::u32 : ElementType::i32;
  if (x.type() == ElementType::string) {
    b.output(b.opaque("hash_strings", {x}, {{type, x.dims()}},
                      std::make_shared<const HashParameters>(HashParameters{type, seed}))[0]);
    return;
  }
  const bool is_wide = size_of(x.type()) == 8;
  if (is_float(x.type())) {
    const ElementType bits = is_wide ? ElementType::u64 : ElementType::u32;
    x = b.opaque("bit_cast", {x}, {{bits, x.dims()}}, std::make_shared<const ElementType>(bits))[0];
  }
  b.output(b.map(x.dims(), [&](const Indices& i) {
    Scalar hash = mixed_in(word(b, seed), cast(ElementType::u32, x(i)));
    if (is_wide) {
      const Scalar high =
          binary(ScalarOp::shift_right, cast(ElementType::u64, x(i)), b.integer(32, ElementType::u64));
      hash = mixed_in(hash, cast(ElementType::u32, high));
    }
    return cast(type, finished(hash, is_wide ? 8 : 4));
  }));
}

/// Strings [C] or [N, C] to tokens [..., most of one string]: what lies between separators, or what matches
/// tokenexp, from mincharnum characters on.
void tokenizer(const OperatorContext& context, Builder& b) {
  const TensorRef x = typed_operand(b, context, 0, {ElementType::string});
  context.check(x.rank() == 1 || x.rank() == 2, "a shape of [C] or [N, C] is needed");
  for (const char* name : {"mark", "pad_value", "mincharnum"}) {
    context.check(context.has_attribute(name), fmt::format("attribute '{}' is needed", name));
  }
  TokenizerParameters parameters;
  parameters.marks = flag(context, "mark", false);
  parameters.padding = context.string("pad_value", "");
  parameters.fewest = bounded_integer(context, "mincharnum", 1, 1, int64_t{1} << 40);
  const bool separates = context.has_attribute("separators");
  const auto separators = context.strings("separators");
  const std::string token = context.string("tokenexp", "");
  context.check(separates ? !separators.empty() : !token.empty(),
                "one of the attributes 'separators' and 'tokenexp' is needed");
  using Mode = TokenizerParameters::Mode;
  if (separates ? separators == std::vector<std::string>{""} : token == ".") {
    context.check(parameters.fewest == 1, "mincharnum is too large for single characters");
    parameters.mode = Mode::characters;
  } else if (separates) {
    parameters.mode = Mode::separators;
    for (const std::string& separator : separators)
      parameters.patterns.push_back(regex_of(context, "separators", separator));
  } else {
    parameters.mode = Mode::tokens;
    parameters.patterns.push_back(regex_of(context, "tokenexp", token));
  }
  // Where there are no strings there is no dimension of tokens beside [0] or [N, 0].
  const bool is_empty = context.equal(product(x.dims()), Dim(0));
  Dims dims = x.dims();
  if (is_empty) {
    dims.back() = Dim(0);
  } else {
    dims.push_back(context.unknown_dim(0, x.rank()));
  }
  b.output(b.opaque("tokenize", {x}, {{ElementType::string, dims}},
                    std::make_shared<const TokenizerParameters>(std::move(parameters)))[0]);
}

}  // namespace

void microsoft_text_operators(std::vector<OperatorEntry>& table) {
  table.push_back({microsoft_domain, "MurmurHash3", 1, murmur_hash});
  table.push_back({microsoft_domain, "Tokenizer", 1, tokenizer});
}

}  // namespace axrun::ir
