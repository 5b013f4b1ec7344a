#include "search/padded_lines.h"

#include <algorithm>
#include <string>

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::ElementType;
using ir::ScalarOp;
using ir::loop::Access;
using ir::loop::Combine;
using ir::loop::LoopKind;

PaddedLines::PaddedLines(PieceContext& context, const PixelsForm& form)
    : context_(context),
      form_(form),
      sum_(*form.sum.sum),
      load_(context.program.exprs[static_cast<size_t>(form.load)]),
      w_(context.writer) {}

int64_t PaddedLines::places(const PixelsForm& form) {
  const int64_t width = form.sum.sum->axes[static_cast<size_t>(form.sum.place)].extent.value();
  return (width - 1) * form.along.stride + form.along.reach() + 1;
}

/// From one place to the next: places read together lie an odd number of cache lines apart, and so in
/// different sets of the nearest cache.
int64_t PaddedLines::pitch(int64_t channels) {
  constexpr int64_t line = 16;
  return channels % (2 * line) == 0 ? channels + line : channels;
}

int64_t PaddedLines::bytes(const PixelsForm& form, int64_t lines) {
  if (!copies(form)) return 0;
  int64_t bytes = 4 * places(form) * ((lines - 1) * form.down.stride + form.down.reach() + 1);
  for (const int axis : form.channels) {
    if (axis != ir::none) bytes *= pitch(form.sum.sum->reduce_axes[static_cast<size_t>(axis)].extent.value());
  }
  return bytes;
}

void PaddedLines::write(const Dims& point, const Dim& first, const Dim& here, int64_t most) {
  if (!copies(form_)) return;
  point_ = point;
  first_line_ = first;
  const Dim stride(form_.down.stride), reach(form_.down.reach() + 1);
  lines_read_ = stride * (here - 1) + reach;
  Dims dims;
  for (size_t d = 0; d < load_.indices.size(); ++d) {
    if (d == form_.down.dimension) dims.push_back(stride * Dim(most - 1) + reach);
    if (d == form_.along.dimension) dims.emplace_back(places(form_));
    if (form_.channels[d] != ir::none)
      dims.emplace_back(pitch(sum_.reduce_axes[static_cast<size_t>(form_.channels[d])].extent.value()));
  }
  if (joins_channels()) {
    const Dim channels = dims.back();
    dims.pop_back();
    dims.back() = dims.back() * channels;
  }
  buffer_ = w_.allocate("lines_" + sum_.name, ElementType::f32, dims, ir::loop::Level::cache);
  Dims source, target;
  fill(0, source, target);
}

/// Loops over the dimensions of the operand from one on; lanes run along the last one.
void PaddedLines::fill(size_t dimension, Dims& source, Dims& target) {
  if (dimension == load_.indices.size()) return copy(source, target);
  const auto next = [&](const Dim& from, const Dim& to) {
    source.push_back(from);
    target.push_back(to);
    fill(dimension + 1, source, target);
    source.pop_back();
    target.pop_back();
  };
  const std::string name = "d" + std::to_string(dimension);
  if (dimension == form_.down.dimension) {
    return w_.loop(kind(dimension), name, lines_read_, [&](const Dim& line) {
      next(Dim(form_.down.stride) * first_line_ + line + Dim(form_.down.start), line);
    });
  }
  if (dimension == form_.along.dimension) return places_of_line(dimension, source, target);
  const auto index = [&] { return *index_at(context_.program, load_.indices[dimension], point_); };
  const int axis = form_.channels[dimension];
  if (axis == ir::none) {
    source.push_back(index());
    fill(dimension + 1, source, target);
    source.pop_back();
    return;
  }
  const auto number = static_cast<size_t>(axis);
  w_.loop(kind(dimension), name, sum_.reduce_axes[number].extent, [&](const Dim& channel) {
    point_[sum_.axes.size() + number] = channel;
    next(index(), channel);
  });
}

/// Whether places with their few channels are one dimension of the buffer: a line of them is contiguous.
bool PaddedLines::joins_channels() const {
  constexpr int64_t most = 8;
  const size_t last = load_.indices.size() - 1;
  const Dim& extent = context_.program.tensors[static_cast<size_t>(load_.integer)].dims[last];
  const int axis = form_.channels[last];
  return axis != ir::none && form_.along.dimension + 1 == last && extent.is_constant() &&
         extent.value() <= most && sum_.reduce_axes[static_cast<size_t>(axis)].extent == extent;
}

/// Those that exist, and zeros on both sides.
void PaddedLines::places_of_line(size_t dimension, Dims& source, Dims& target) {
  const int64_t count = places(form_), start = form_.along.start;
  int64_t begin = 0, end = count;
  if (form_.along.guarded) {
    begin = std::clamp<int64_t>(-start, 0, count);
    end = std::clamp<int64_t>(form_.along.extent.value() - start, begin, count);
  }
  const std::string name = "d" + std::to_string(dimension);
  const auto part = [&](int64_t from, int64_t to, bool inside) {
    if (from == to) return;
    if (joins_channels()) {
      const Dim channels = context_.program.tensors[static_cast<size_t>(load_.integer)].dims.back();
      return w_.loop(LoopKind::vector, name, Dim(to - from) * channels, [&](const Dim& q) {
        Dims from_there = source;
        from_there.push_back(from + floor_div(q, channels) + Dim(start));
        from_there.push_back(floor_mod(q, channels));
        target.push_back(channels * Dim(from) + q);
        copy(inside ? from_there : Dims{}, target);
        target.pop_back();
      });
    }
    w_.loop(kind(dimension), name, Dim(to - from), [&](const Dim& place) {
      Dims from_there = source;
      if (inside) from_there.push_back(from + place + Dim(start));
      target.push_back(from + place);
      if (inside) {
        fill(dimension + 1, from_there, target);
      } else {
        from_there.clear();  // nothing is read
        fill(dimension + 1, from_there, target);
      }
      target.pop_back();
    });
  };
  part(0, begin, false);
  part(begin, end, true);
  part(end, count, false);
}

LoopKind PaddedLines::kind(size_t dimension) const {
  return dimension + 1 == load_.indices.size() ? LoopKind::vector : LoopKind::sequential;
}

void PaddedLines::copy(const Dims& source, const Dims& target) {
  const int zero = w_.real(0);
  if (source.size() < load_.indices.size()) return w_.store({buffer_, target}, Combine::assign, zero);
  const Access from = context_.values.access(static_cast<ir::TensorId>(load_.integer), source);
  if (!form_.down.guarded) return w_.store({buffer_, target}, Combine::assign, w_.load(from));
  const int line = w_.index(source[form_.down.dimension]);
  const int below =
      w_.operation(ScalarOp::greater_equal, ElementType::boolean, {line, w_.integer(0, ElementType::i64)});
  const int above = w_.operation(ScalarOp::less, ElementType::boolean, {line, w_.index(form_.down.extent)});
  const int inside = w_.operation(ScalarOp::logical_and, ElementType::boolean, {below, above});
  w_.store({buffer_, target}, Combine::assign, w_.guarded(from, inside, zero));
}

int PaddedLines::value(const Dims& point, const Dim& first, const Dim& line) const {
  const auto line_axis = static_cast<size_t>(form_.sum.line);
  if (!copies(form_)) {
    Dims there = point;
    there[line_axis] = first + line;
    return context_.values.value(form_.load, there);
  }
  const auto tap = [&](const PixelMove& move) {
    if (move.reduce_axis == ir::none) return Dim(0);
    return Dim(move.tap) * point[sum_.axes.size() + static_cast<size_t>(move.reduce_axis)];
  };
  Access access{buffer_, {}};
  for (size_t d = 0; d < load_.indices.size(); ++d) {
    if (d == form_.down.dimension) access.indices.push_back(Dim(form_.down.stride) * line + tap(form_.down));
    if (d == form_.along.dimension)
      access.indices.push_back(Dim(form_.along.stride) * point[static_cast<size_t>(form_.sum.place)] +
                               tap(form_.along));
    if (form_.channels[d] != ir::none)
      access.indices.push_back(point[sum_.axes.size() + static_cast<size_t>(form_.channels[d])]);
  }
  if (joins_channels()) {
    const Dim channel = access.indices.back();
    access.indices.pop_back();
    access.indices.back() =
        context_.program.tensors[static_cast<size_t>(load_.integer)].dims.back() * access.indices.back() +
        channel;
  }
  return w_.load(access);
}

}  // namespace axrun::search
