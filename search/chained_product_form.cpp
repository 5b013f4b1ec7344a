#include "search/chained_product_form.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ir/dim_polynomial.h"
#include "search/stage_values.h"

namespace axrun::search {

using ir::Expr;
using ir::ExprId;
using ir::Program;
using ir::Stage;

namespace {

/// What lies between must be more than caches keep in any case, and what is multiplied, which is read once
/// for each block of channels, so little that it stays in the second one as well.
constexpr int64_t least_chain_bytes = int64_t{128} << 10, most_bytes_read = int64_t{256} << 10;
/// Products have lines one by one here: these must fill vectors, but for a share.
constexpr int64_t least_width = 17, share_unused = 16;

class ChainedProductFormFinder {
 public:
  ChainedProductFormFinder(const Program& program, const jit::Target& target, ChainedProductForm& form)
      : program_(program), lanes_(target.lanes(4)), form_(form) {}

  bool run(Range both) {
    const Stage& last = form_.product.last();
    form_.between = last.results[0];
    const ir::TensorDecl& tensor = program_.tensors[static_cast<size_t>(form_.between)];
    if (tensor.type != ir::ElementType::f32 || is_read_outside(program_, form_.between, both)) return false;
    if (!is_worth_it(tensor)) return false;
    bool has_channel = false;
    for (size_t d = 0; d < tensor.dims.size(); ++d) {
      ChainedProductForm::Shared shared;
      shared.dimension = static_cast<int>(d);
      shared.product = axis_of_product(last.groups[d]);
      if (shared.product == ir::none) return false;
      shared.windows = axis_of_windows(d);
      const std::vector<int>& outer = form_.product.outer;
      const bool is_outer = std::find(outer.begin(), outer.end(), shared.product) != outer.end();
      if (shared.product == form_.product.row) {
        if (shared.windows == ir::none) return false;
        form_.channel = shared;
        has_channel = true;
      } else if (is_outer && shared.windows != ir::none) {
        form_.batch.push_back(shared);
      }
    }
    return has_channel;
  }

 private:
  bool is_worth_it(const ir::TensorDecl& tensor) const {
    const ProductForm& product = form_.product;
    if (product.row == ir::none || product.right_constant || product.across) return false;
    if (product.right.size() != 1 || !columns_are_contiguous(program_, product)) return false;
    if (program_.exprs[static_cast<size_t>(product.right[0])].args[0] != ir::none) return false;
    const Stage& sum = *product.sum;
    const int64_t width = sum.axes[static_cast<size_t>(product.column)].extent.constant().value_or(0);
    const int64_t unused = (width + lanes_ - 1) / lanes_ * lanes_ - width;
    if (width < least_width || unused * share_unused > width) return false;
    // Of a batch; sizes are literal but for these.
    int64_t bytes = 4, bytes_read = 4 * width;
    for (const ir::Axis& axis : sum.reduce_axes)
      bytes_read = ir::saturating_multiply(bytes_read, axis.extent.constant().value_or(most_bytes_read));
    for (size_t d = 0; d < tensor.dims.size(); ++d) {
      const int axis = axis_of_product(product.last().groups[d]);
      const bool windowed = axis_of_windows(d) == ir::none;
      const auto extent = tensor.dims[d].constant();
      if (axis == product.row || windowed) {
        if (!extent) return false;
        bytes = ir::saturating_multiply(bytes, *extent);
      }
      if (windowed && axis != product.column) bytes_read = ir::saturating_multiply(bytes_read, *extent);
    }
    return bytes >= least_chain_bytes && bytes_read <= most_bytes_read;
  }

  int axis_of_product(const std::vector<int>& group) const {
    if (group.size() != 1) return ir::none;
    return form_.product.epilogue == nullptr ? group[0]
                                             : form_.product.epilogue_axes[static_cast<size_t>(group[0])];
  }

  int axis_of_windows(size_t dimension) const {
    return axis_outside_of_windows(program_, form_.windows, form_.between, dimension);
  }

  const Program& program_;
  const int64_t lanes_;
  ChainedProductForm& form_;
};

}  // namespace

std::optional<ChainedProductForm> find_chained_product(const Program& program, const jit::Target& target,
                                                       const ProductForm& product, const WindowsForm& windows,
                                                       Range both) {
  ChainedProductForm form;
  form.product = product;
  form.windows = windows;
  return ChainedProductFormFinder(program, target, form).run(both) ? std::optional(std::move(form))
                                                                   : std::nullopt;
}

}  // namespace axrun::search
