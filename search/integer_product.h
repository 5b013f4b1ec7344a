#pragma once

#include <optional>
#include <string>

#include "search/piece.h"
#include "search/product_form.h"

namespace axrun::search {

/// Sums of products of small integers in i32, of activations by constant weights: both sides become words
/// that lie in pairs along the sum, so that processors multiply and add a pair at a time. Every product is
/// exact; sums wrap as i32 does, in any order.
struct IntegerProductForm {
  ProductForm product;
  int64_t depth = 0;  ///< extent of the sum, which is even
};
struct FoundIntegerProduct {
  bool found = false;
  IntegerProductForm form;
  std::string reason;
};
struct IntegerBounds {
  int64_t low, high;
};
/// Of the values of an integer expression, by the types of what it reads; nothing where they tell none.
std::optional<IntegerBounds> integer_bounds(const ir::Program& program, ir::ExprId id);
/// Whether the values of an integer expression fit 16 bits, by the types of what it reads.
bool is_word(const ir::Program& program, ir::ExprId id);

FoundIntegerProduct find_integer_product(const ir::Program& program, const ir::Stage& sum,
                                         const ir::Stage* epilogue, const std::vector<bool>& constant);

void write_integer_product(PieceContext& context, const IntegerProductForm& form);

}  // namespace axrun::search
