#include "search/turned_product.h"

#include <utility>

namespace axrun::search {

ProductForm turned(const PieceContext& context, const ProductForm& form) {
  if (!form.left_constant || form.right_constant || form.row == ir::none) return form;
  const auto extent = [&](int axis) { return form.sum->axes[static_cast<size_t>(axis)].extent.constant(); };
  const auto columns = extent(form.column), rows = extent(form.row);
  if (!columns || !rows) return form;
  const int64_t lanes = context.target.lanes(4);
  // Lanes computed for each that is wanted. Turned results pass through the cache, which costs as much as a few
  // steps of the sum.
  const auto padding = [&](int64_t count) {
    return static_cast<double>((count + lanes - 1) / lanes * lanes) / static_cast<double>(count);
  };
  constexpr double worth = 1.15;
  if (*columns < 2 || *rows < lanes || padding(*columns) < worth * padding(*rows)) return form;
  ProductForm other = form;
  std::swap(other.left, other.right);
  std::swap(other.left_constant, other.right_constant);
  std::swap(other.row, other.column);
  other.across = true;
  return other;
}

}  // namespace axrun::search
