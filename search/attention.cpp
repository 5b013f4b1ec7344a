#include "search/attention.h"

#include <functional>
#include <string>

#include "search/contraction.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::TensorId;
using ir::loop::Access;
using ir::loop::Combine;
using ir::loop::Level;
using ir::loop::LoopKind;

namespace {

class AttentionWriter {
 public:
  AttentionWriter(PieceContext& context, const AttentionForm& form, const AttentionPlan& plan)
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
    const size_t axis = k == 0 ? plan_.first_batch : k <= plan_.first_batch ? k - 1 : k;
    context_.writer.loop(kind(k == 0), "b" + std::to_string(axis), extent(form_.batch[axis]),
                         [&](const Dim& b) {
                           decide(form_.batch[axis], {b, Dim(1)});
                           batches(k + 1);
                         });
  }

  void blocks() {
    const Dim queries = extent(form_.query);
    if (plan_.block == 0) {
      decide(form_.query, {Dim(0), queries});
      return plan_.keys == 0 ? block(queries) : block(queries, pack(plan_.scores), pack(plan_.output));
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
    if (plan_.keys != 0) return block_in_parts(rows, keys, values);
    keep(form_.score_tensor, rows, &Shared::score_dimension);
    write_contraction(context_, plan_.scores, keys);
    read(form_.score_tensor);
    keep(form_.probability_tensor, rows, &Shared::probability_dimension);
    write_rows(context_, form_.rows, plan_.rows);
    read(form_.probability_tensor);
    write_contraction(context_, plan_.output, values);
  }

  /// The same, over parts of the keys. Probabilities take the place of scores.
  void block_in_parts(const Dim& rows, const PackedRight& keys, const PackedRight& values) {
    const ir::Stage &scores = *form_.scores.sum, &output = *form_.output.sum;
    const auto key = static_cast<size_t>(form_.scores.column);
    const Dim all = scores.axes[key].extent, size(plan_.keys);
    const Dim columns = output.axes[static_cast<size_t>(form_.output.column)].extent;
    const AxisPart queries = context_.parts.at({&scores, form_.query.scores});
    const Dim here = queries.block == 0 || queries.has_whole_tiles(queries.block, context_.facts)
                         ? rows
                         : min(rows, queries.rest);
    OnlineSoftmax softmax(context_, form_.rows, plan_.softmax, rows, here);
    softmax.start();
    const int sums = context_.writer.allocate("sums", ir::ElementType::f32, {rows, columns}, Level::cache);
    for_elements(here, columns, [&](const Dim& row, const Dim& column) {
      context_.writer.store({sums, {row, column}}, Combine::assign, context_.writer.real(0));
    });
    context_.writer.loop(LoopKind::sequential, "kb", ceil_div(all, size), [&](const Dim& kb) {
      const AxisPart part{size * kb, all - size * kb, plan_.keys, kb, all};
      context_.parts[{&scores, form_.scores.column}] = part;
      context_.parts[{&output, static_cast<int>(output.axes.size())}] = part;
      keep(form_.score_tensor, rows, &Shared::score_dimension);
      write_contraction(context_, plan_.scores, keys);
      read(form_.score_tensor);
      KeptPart& kept = context_.kept[form_.probability_tensor] = context_.kept.at(form_.score_tensor);
      softmax.part(part, plan_.rows.lanes, [&](const Dim& row, const Dim& column) {
        return Access{kept.buffer, {row, column - part.first}};
      });
      read(form_.probability_tensor);
      for_elements(here, columns, [&](const Dim& row, const Dim& column) {
        context_.writer.store({sums, {row, column}}, Combine::mul, softmax.rescaling(row));
      });
      write_contraction(context_, plan_.output, values, sums);
    });
    context_.parts.erase({&scores, form_.scores.column});
    context_.parts.erase({&output, static_cast<int>(output.axes.size())});
    finish(softmax, sums, here, columns);
  }

  void finish(OnlineSoftmax& softmax, int sums, const Dim& here, const Dim& columns) {
    LoopWriter& w = context_.writer;
    const ir::Stage& output = *form_.output.sum;
    const ir::Stage* epilogue = form_.output.epilogue;
    w.loop(LoopKind::sequential, "r", here, [&](const Dim& row) {
      const int factor = w.allocate("correction", ir::ElementType::f32, {}, Level::registers);
      w.store({factor, {}}, Combine::assign, softmax.correction(row));
      const int done = epilogue == nullptr ? ir::none
                                           : w.allocate("done", ir::ElementType::f32,
                                                        {Dim(plan_.value_lanes)}, Level::registers);
      for_columns(columns, [&](const Dim& column, const Dim& lane) {
        Dims point(output.axes.size(), Dim(0));
        for (const Shared& shared : form_.batch)
          point[static_cast<size_t>(shared.output)] = part_of(context_, output, shared.output).first;
        point[static_cast<size_t>(form_.output.row)] =
            part_of(context_, output, form_.output.row).first + row;
        point[static_cast<size_t>(form_.output.column)] = column;
        const int value = w.mul(w.load({sums, {row, column}}), w.load({factor, {}}));
        if (epilogue == nullptr) return w.store(result_at(context_, output, point), Combine::assign, value);
        const Access element{done, {lane}};
        w.store(element, Combine::assign, value);
        context_.values.read_at(output.results[0], [element](const Dims&) { return element; });
        Dims at;
        for (const int axis : form_.output.epilogue_axes)
          at.push_back(axis == -1 ? Dim(0) : point[static_cast<size_t>(axis)]);
        w.store(result_at(context_, *epilogue, at), Combine::assign,
                context_.values.value(epilogue->body[0], at), epilogue->name, at);
      });
    });
  }

  void for_elements(const Dim& rows, const Dim& columns,
                    const std::function<void(const Dim& row, const Dim& column)>& body) {
    context_.writer.loop(LoopKind::sequential, "r", rows, [&](const Dim& row) {
      for_columns(columns, [&](const Dim& column, const Dim&) { body(row, column); });
    });
  }
  void for_columns(const Dim& columns, const std::function<void(const Dim& column, const Dim& lane)>& body) {
    const Dim lanes(plan_.value_lanes);
    const bool whole = context_.facts.is_multiple(columns, plan_.value_lanes);
    context_.writer.loop(LoopKind::sequential, "j", ceil_div(columns, lanes), [&](const Dim& j) {
      context_.writer.loop(LoopKind::vector, "v", whole ? lanes : min(lanes, columns - lanes * j),
                           [&](const Dim& v) { body(lanes * j + v, v); });
    });
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
    const auto keys = context_.parts.find({form_.scores.sum, form_.scores.column});
    if (keys != context_.parts.end()) {
      kept.dimensions.back().first = keys->second.first;
      dims.back() = Dim(plan_.keys);
    }
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
  AttentionWriter(context, form, plan).run();
}

}  // namespace axrun::search
