#include "search/attention.h"

#include <string>

#include "search/contraction.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::TensorId;
using ir::loop::Level;
using ir::loop::LoopKind;

namespace {

class Writer {
 public:
  Writer(PieceContext& context, const AttentionForm& form, const AttentionPlan& plan)
      : context_(context), form_(form), plan_(plan) {}

  void run() {
    if (!plan_.together) return one_after_another();
    batches(0);
    context_.parts.clear();
    context_.kept.clear();
  }

 private:
  using Shared = AttentionForm::Shared;

  void one_after_another() {
    store(form_.score_tensor);
    write_contraction(context_, plan_.scores);
    context_.values.read_buffer(form_.score_tensor, context_.buffers.at(form_.score_tensor));
    store(form_.probability_tensor);
    write_rows(context_, form_.rows, plan_.rows);
    context_.values.read_buffer(form_.probability_tensor, context_.buffers.at(form_.probability_tensor));
    write_contraction(context_, plan_.output);
  }
  void store(TensorId tensor) {
    const ir::TensorDecl& whole = context_.program.tensors[static_cast<size_t>(tensor)];
    context_.buffers[tensor] = context_.writer.allocate(whole.name, whole.type, whole.dims, Level::memory);
  }

  Dim extent(const Shared& shared) const {
    return form_.scores.sum->axes[static_cast<size_t>(shared.scores)].extent;
  }

  void decide(const Shared& shared, const AxisPart& part) {
    const RowsForm::Member& any = form_.rows.members.front();
    context_.parts[{form_.scores.sum, shared.scores}] = part;
    context_.parts[{any.stage, any.rows[static_cast<size_t>(shared.row)]}] = part;
    context_.parts[{form_.output.sum, shared.output}] = part;
  }

  LoopKind kind(bool outermost) const {
    return outermost && plan_.spread ? LoopKind::parallel : LoopKind::sequential;
  }

  void batches(size_t k) {
    if (k == form_.batch.size()) return blocks();
    context_.writer.loop(kind(k == 0), "b" + std::to_string(k), extent(form_.batch[k]), [&](const Dim& b) {
      decide(form_.batch[k], {b, Dim(1)});
      batches(k + 1);
    });
  }

  void blocks() {
    const Dim queries = extent(form_.query);
    if (plan_.block == 0) {
      decide(form_.query, {Dim(0), queries});
      return block(queries);
    }
    const Dim size(plan_.block);
    const PackedRight keys = pack(plan_.scores), values = pack(plan_.output);
    context_.writer.loop(kind(form_.batch.empty()), "qb", ceil_div(queries, size), [&](const Dim& qb) {
      decide(form_.query, {size * qb, queries - size * qb, plan_.block, qb, queries});
      block(size, keys, values);
    });
  }

  PackedRight pack(const ContractionPlan& plan) {
    return plan.right == ContractionPlan::Right::packed_once ? pack_right(context_, plan) : PackedRight{};
  }

  /// The rows of one block, at most `rows`.
  void block(const Dim& rows, const PackedRight& keys = {}, const PackedRight& values = {}) {
    keep(form_.score_tensor, rows, &Shared::score_dimension);
    write_contraction(context_, plan_.scores, keys);
    read(form_.score_tensor);
    keep(form_.probability_tensor, rows, &Shared::probability_dimension);
    write_rows(context_, form_.rows, plan_.rows);
    read(form_.probability_tensor);
    write_contraction(context_, plan_.output, values);
  }

  void keep(TensorId tensor, const Dim& rows, int Shared::*dimension) {
    const ir::TensorDecl& whole = context_.program.tensors[static_cast<size_t>(tensor)];
    KeptPart kept;
    kept.dimensions.resize(whole.dims.size(), {Dim(0), false});
    std::vector<Dim> dims = whole.dims;
    const auto part = [&](const Shared& shared) {
      return context_.parts.at({form_.scores.sum, shared.scores});
    };
    for (const Shared& shared : form_.batch)
      kept.dimensions[static_cast<size_t>(shared.*dimension)] = {part(shared).first, true};
    const auto query = static_cast<size_t>(form_.query.*dimension);
    kept.dimensions[query].first = part(form_.query).first;
    dims[query] = rows;
    Dims own;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (!kept.dimensions[d].single) own.push_back(dims[d]);
    }
    kept.buffer = context_.writer.allocate("some_" + whole.name, whole.type, own, Level::cache);
    context_.kept[tensor] = std::move(kept);
  }

  void read(TensorId tensor) {
    context_.values.read_at(
        tensor, [kept = context_.kept.at(tensor)](const Dims& indices) { return place_in(kept, indices); });
  }

  PieceContext& context_;
  const AttentionForm& form_;
  const AttentionPlan& plan_;
};

}  // namespace

void write_attention(PieceContext& context, const AttentionForm& form, const AttentionPlan& plan) {
  Writer(context, form, plan).run();
}

}  // namespace axrun::search
