#include "search/gathered_result.h"

#include "search/prepared_parts.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::loop::Access;
using ir::loop::Combine;

GatheredResult::GatheredResult(PieceContext& context, const GatheredForm& form)
    : context_(context), form_(form), buffer_(context.buffers.at(form.last().results[0])) {}

void GatheredResult::prepare() {
  if (form_.epilogue == nullptr) return;
  prepare_parts(context_, *form_.epilogue, [this]() -> const Dims& { return map_point_; });
}

/// The last dimension is all lines.
Dim GatheredResult::index(size_t dimension, const Dims& point, const Dim& column) const {
  const ir::Stage& sum = *form_.sum;
  if (dimension + 1 == sum.groups.size()) return column;
  Dim index;
  for (const int axis : sum.groups[dimension])
    index = index * sum.axes[static_cast<size_t>(axis)].extent + point[static_cast<size_t>(axis)];
  return index;
}

void GatheredResult::store(const Dims& point, const Access& element, const Dim& column) {
  LoopWriter& w = context_.writer;
  if (form_.epilogue == nullptr) {
    Dims place;
    for (size_t d = 0; d < form_.sum->groups.size(); ++d) place.push_back(index(d, point, column));
    return w.store({buffer_, place}, Combine::assign, w.load(element));
  }
  const ir::Stage& map = *form_.epilogue;
  map_point_.clear();
  for (const int d : form_.epilogue_dims)
    map_point_.push_back(d == -1 ? Dim(0) : index(static_cast<size_t>(d), point, column));
  context_.values.read_at(form_.sum->results[0], [element](const Dims&) { return element; });
  w.store({buffer_, element_at(map, map_point_)}, Combine::assign,
          context_.values.value(map.body[0], map_point_));
}

}  // namespace axrun::search
