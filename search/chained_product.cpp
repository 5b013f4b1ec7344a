#include "search/chained_product.h"

#include <string>
#include <utility>

#include "search/contraction.h"
#include "search/windows.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::loop::Access;
using ir::loop::Level;
using ir::loop::LoopKind;

namespace {

class ChainedProductWriter {
 public:
  ChainedProductWriter(PieceContext& context, const ChainedProductForm& form, const ChainedProductPlan& plan)
      : context_(context), form_(form), plan_(plan) {}

  void run() {
    // Products that are computed from the other side have their rows elsewhere.
    if (plan_.product.form.row != form_.product.row) return one_after_another();
    batches(0);
    for (const Shared& shared : form_.batch) forget(shared);
    forget(form_.channel);
    context_.buffers.erase(form_.between);
  }

 private:
  using Shared = ChainedProductForm::Shared;

  void one_after_another() {
    const ir::TensorDecl& tensor = context_.program.tensors[static_cast<size_t>(form_.between)];
    pass_on(context_.writer.allocate(tensor.name, tensor.type, tensor.dims, Level::memory));
  }

  /// Both, with a buffer of what lies between.
  void pass_on(int buffer) {
    context_.buffers[form_.between] = buffer;
    write_contraction(context_, plan_.product);
    context_.values.read_buffer(form_.between, buffer);
    write_windows(context_, form_.windows, plan_.windows);
  }

  Dim extent(const Shared& shared) const {
    return form_.product.sum->axes[static_cast<size_t>(shared.product)].extent;
  }

  void decide(const Shared& shared, const AxisPart& part) {
    context_.parts[{form_.product.sum, shared.product}] = part;
    context_.parts[{form_.windows.reduction, shared.windows}] = part;
  }
  void forget(const Shared& shared) {
    context_.parts.erase({form_.product.sum, shared.product});
    context_.parts.erase({form_.windows.reduction, shared.windows});
  }

  void batches(size_t k) {
    if (k == form_.batch.size()) return blocks();
    const LoopKind kind = k == 0 && plan_.spread == ChainedProductPlan::Spread::batch ? LoopKind::parallel
                                                                                      : LoopKind::sequential;
    context_.writer.loop(kind, "n" + std::to_string(k), extent(form_.batch[k]), [&](const Dim& n) {
      decide(form_.batch[k], {n, Dim(1)});
      batches(k + 1);
    });
  }

  void blocks() {
    const Dim channels = extent(form_.channel), size(plan_.block);
    const LoopKind kind =
        plan_.spread == ChainedProductPlan::Spread::blocks ? LoopKind::parallel : LoopKind::sequential;
    context_.writer.loop(kind, "cb", ceil_div(channels, size), [&](const Dim& cb) {
      decide(form_.channel, {size * cb, channels - size * cb, plan_.block, cb, channels});
      pass_on(channels_of_block(size * cb));
    });
  }

  /// What lies between of some channels, in the cache.
  int channels_of_block(const Dim& first) {
    const ir::TensorDecl& tensor = context_.program.tensors[static_cast<size_t>(form_.between)];
    std::vector<bool> single(tensor.dims.size(), false);
    for (const Shared& shared : form_.batch) single[static_cast<size_t>(shared.dimension)] = true;
    const auto channel = static_cast<size_t>(form_.channel.dimension);
    ir::loop::Buffer as;
    as.name = tensor.name;
    as.type = tensor.type;
    as.dims = tensor.dims;
    Dims dims;
    for (size_t d = 0; d < tensor.dims.size(); ++d) {
      if (!single[d]) dims.push_back(d == channel ? Dim(plan_.block) : tensor.dims[d]);
    }
    const int buffer = context_.writer.allocate("some_" + tensor.name, tensor.type, dims, Level::cache);
    return context_.writer.view(std::move(as), [=](const Dims& indices) {
      Access access{buffer, {}};
      for (size_t d = 0; d < indices.size(); ++d) {
        if (!single[d]) access.indices.push_back(d == channel ? indices[d] - first : indices[d]);
      }
      return access;
    });
  }

  PieceContext& context_;
  const ChainedProductForm& form_;
  const ChainedProductPlan& plan_;
};

}  // namespace

void write_chained_product(PieceContext& context, const ChainedProductForm& form,
                           const ChainedProductPlan& plan) {
  ChainedProductWriter(context, form, plan).run();
}

}  // namespace axrun::search
