#include "search/gathered_matrix.h"

#include <algorithm>
#include <string>

#include "search/decided_parts.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::loop::Access;
using ir::loop::Combine;
using ir::loop::LoopKind;
using Layout = GatheredPlan::Layout;

namespace {

/// Taps along the last axis of the sum that are written one by one, so that they need no masks inside.
constexpr int64_t most_matrix_taps = 8;

int64_t whole(int64_t count, int64_t step) { return (count + step - 1) / step * step; }

/// Elements from one line to the next, so that the same place of one row of the matrix after the other does
/// not fall into a few sets of the nearest cache.
int64_t pitch_apart(int64_t places, int64_t lines) {
  constexpr int64_t element = 4, together = 256;
  return lines * places * element % together == 0 ? places + 1 : places;
}

}  // namespace

GatheredMatrix::GatheredMatrix(PieceContext& context, const GatheredForm& form, const GatheredPlan& plan,
                               bool even)
    : context_(context),
      form_(form),
      sum_(*form.sum),
      plan_(plan),
      w_(context.writer),
      even_(even),
      width_(sum_.axes[static_cast<size_t>(form.place)].extent.value()),
      phase_(sum_.reduce_axes.size(), 0) {
  const int64_t lanes = context.target.lanes(4);
  const Reaches reach = reaches(form, plan);
  if (plan.across) {
    pitch_ = pitch_apart(reach.places.of(width_), reach.lines.of(plan.lines));
    columns_computed_ = columns_ = plan.lines * pitch_;
    return;
  }
  if (plan.layout == Layout::lines) {
    pitch_ = whole(reach.places.of(whole(width_, lanes)), lanes);
    columns_computed_ = (plan.lines - 1) * pitch_ + whole(width_, lanes);
    return;
  }
  pitch_ = reach.places.of(width_);
  columns_computed_ = whole((plan.lines - 1) * pitch_ + width_, even ? lanes : plan.tile.columns);
  columns_ = std::max(reach.lines.of(plan.lines) * pitch_,
                      columns_computed_ + reach.lines.beyond * pitch_ + reach.places.beyond);
}

Dim& GatheredMatrix::reduce_coordinate(size_t k) { return point_[sum_.axes.size() + k]; }

void GatheredMatrix::allocate() {
  Dims dims;
  for (size_t k = 0; k < sum_.reduce_axes.size(); ++k) {
    if (!is_shared(k)) {
      dims.push_back(k == 0 && plan_.depth_block != 0 ? Dim(plan_.depth_block) : sum_.reduce_axes[k].extent);
    } else if (phases(k) != 1) {
      dims.emplace_back(phases(k));
    }
  }
  if (plan_.layout == Layout::lines) {
    dims.emplace_back(reaches(form_, plan_).lines.of(plan_.lines));
    dims.emplace_back(pitch_);
  } else {
    dims.emplace_back(columns_);
  }
  buffer_ = w_.allocate("gathered_" + sum_.name, ir::ElementType::f32, dims, ir::loop::Level::cache);
}

Access GatheredMatrix::at(const Dims& point, const Dim& first, const Dim& line, const Dim& column) const {
  const Reaches reach = reaches(form_, plan_);
  Dim lines = Dim(reach.lines.stride) * line, place = Dim(reach.places.stride) * column;
  for (size_t k = 0; k < sum_.reduce_axes.size(); ++k) {
    if (!is_shared(k)) continue;
    const Dim& step = point[sum_.axes.size() + k];
    const GatheredForm::Shift& shift = form_.shifts[k];
    const Dim steps = plan_.in_order ? step : floor_div(step, Dim(shift.stride));
    lines = lines + Dim(shift.lines) * steps;
    place = place + Dim(shift.places) * steps;
  }
  return gathered(point, first, lines, place);
}

Access GatheredMatrix::gathered(const Dims& point, const Dim& first, const Dim& line,
                                const Dim& place) const {
  Access access{buffer_, {}};
  for (size_t k = 0; k < sum_.reduce_axes.size(); ++k) {
    const Dim& step = point[sum_.axes.size() + k];
    if (!is_shared(k)) {
      access.indices.push_back(k == 0 ? step - first : step);
    } else if (phases(k) != 1) {
      access.indices.push_back(floor_mod(step, Dim(form_.shifts[k].stride)));
    }
  }
  if (plan_.layout == Layout::lines) {
    access.indices.push_back(line);
    access.indices.push_back(place);
  } else {
    access.indices.push_back(Dim(pitch_) * line + place);
  }
  return access;
}

void GatheredMatrix::gather(const Dims& point, const Dim& first_line, const Dim& first, const Dim& steps) {
  point_ = point;
  first_ = first;
  const size_t count = sum_.reduce_axes.size();
  const int64_t taps = sum_.reduce_axes.back().extent.value();
  const bool apart = !is_shared(count - 1) && count > 1 && taps <= most_matrix_taps;
  loops(steps, 0, apart ? count - 1 : count, [&] {
    const auto each_tap = [&](const Body& body) {
      if (!apart) return body();
      for (int64_t tap = 0; tap < taps; ++tap) {
        reduce_coordinate(count - 1) = Dim(tap);
        body();
      }
    };
    // Taps within lines: what pads decide about a line is the same for all of them.
    const Reaches reach = reaches(form_, plan_, phase_);
    const int64_t lines = reach.lines.of(plan_.lines);
    w_.loop(LoopKind::sequential, "l1", Dim(lines), [&](const Dim& l1) {
      move_to_line(first_line, l1, reach.lines);
      each_tap([&] { gather_line(l1); });
    });
    if (plan_.layout == Layout::lines) return;
    const int64_t read = columns_computed_ + reach.lines.beyond * pitch_ + reach.places.beyond;
    each_tap([&] { clear(Dim(lines), Dim(0), read - lines * pitch_); });
  });
}

/// Loops over reduce axes [k, end), over `steps` of the first one. What taps share is gathered at the first
/// tap of each phase, for lines and places that reach beyond the last ones.
void GatheredMatrix::loops(const Dim& steps, size_t k, size_t end, const Body& body) {
  if (k == end) return body();
  if (is_shared(k)) {
    for (phase_[k] = 0; phase_[k] < phases(k); ++phase_[k]) {
      reduce_coordinate(k) = Dim(phase_[k]);
      loops(steps, k + 1, end, body);
    }
    phase_[k] = 0;
    return;
  }
  w_.loop(LoopKind::sequential, "k" + std::to_string(k), k == 0 ? steps : sum_.reduce_axes[k].extent,
          [&](const Dim& here) {
            reduce_coordinate(k) = k == 0 ? first_ + here : here;
            loops(steps, k + 1, end, body);
          });
}

/// The axis of the sum along which lines, or places of a line, are gathered. What taps read that move by
/// strides, in order, is what the first place reads at taps 0, 1, 2, ..., however many taps there are.
int GatheredMatrix::gathered_axis(bool lines) const {
  for (size_t k = 0; plan_.in_order && k < form_.shifts.size(); ++k) {
    const GatheredForm::Shift& shift = form_.shifts[k];
    if (shift.stride > 1 && (lines ? shift.lines : shift.places) != 0)
      return static_cast<int>(sum_.axes.size() + k);
  }
  return lines ? form_.line : form_.place;
}

/// Makes the point one of a line of the group that begins with `first`. Groups may reach beyond the last one.
void GatheredMatrix::move_to_line(const Dim& first, const Dim& line, const Reach& reach) {
  const Dim stride(reach.stride), &all = sum_.axes[static_cast<size_t>(form_.line)].extent;
  const Dim here = stride * first + line, last = stride * (all - 1) + Dim(reach.beyond);
  point_[static_cast<size_t>(form_.line)] = Dim(0);
  point_[static_cast<size_t>(gathered_axis(true))] = even_ ? here : min(here, last);
}

/// One line; what is computed beyond it is 0.
void GatheredMatrix::gather_line(const Dim& line) {
  constexpr size_t most_parts = 3;
  if (plan_.in_order) point_[static_cast<size_t>(form_.place)] = Dim(0);
  Dims place = point_;
  for (size_t axis = 0; axis < place.size(); ++axis) {
    if (!place[axis].is_constant()) place[axis] = Dim::symbol("a" + std::to_string(axis));
  }
  const int64_t places = reaches(form_, plan_, phase_).places.of(width_);
  const int axis = gathered_axis(false);
  const auto parts = decided_parts(context_.program, form_.right, place, axis, places, most_parts);
  for (const DecidedPart& part : parts) {
    context_.values.assume(part.known);
    w_.loop(LoopKind::vector, "j1", Dim(part.end - part.first), [&](const Dim& j1) {
      Dim& here = point_[static_cast<size_t>(axis)];
      here = Dim(part.first) + j1;
      int product = context_.values.value(form_.right[0], point_);
      for (size_t f = 1; f < form_.right.size(); ++f)
        product = w_.mul(product, context_.values.value(form_.right[f], point_));
      w_.store(gathered(point_, first_, line, here), Combine::assign, product);
    });
  }
  context_.values.assume({});
  if (plan_.across) return;  // places are read one by one
  const int64_t beyond = whole(width_, context_.target.lanes(4)) - width_;
  clear(line, Dim(places), plan_.layout == Layout::lines ? beyond : pitch_ - places);
}

void GatheredMatrix::clear(const Dim& line, const Dim& from, int64_t count) {
  if (count <= 0) return;
  w_.loop(LoopKind::vector, "z1", Dim(count), [&](const Dim& j1) {
    w_.store(gathered(point_, first_, line, from + j1), Combine::assign, w_.real(0));
  });
}

}  // namespace axrun::search
