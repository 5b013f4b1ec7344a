#include "ir/interpreter/workspace.h"

#include <algorithm>
#include <cstring>

namespace axrun::ir::interpreter {

Workspace::Workspace(const Body& body, const std::vector<Tensor>& tensors, int64_t time)
    : body_(body),
      time_(time),
      storage_(new std::byte[std::max<size_t>(body.size, 1) * 8]),
      tables_(body.tables.size()),
      scalars_(body.forms.size()),
      point_(body.layout.loop_end - body.layout.loop_begin) {
  for (const auto& [offset, bits] : body.constants) std::memcpy(storage_.get() + offset * 8, &bits, 8);
  for (Table& table : tables_) table.values.resize(block_lanes);
  for (size_t k = 0; k < body.forms.size(); ++k) {
    if (body.forms[k].in_loop) moving_.push_back(static_cast<int>(k));
  }
  for (const Load& load : body.loads) data_.push_back(tensors[static_cast<size_t>(load.tensor)].data());
  if (!body.loads.empty()) {
    excluded_.resize(block_lanes);
    addresses_.resize(block_lanes);
  }
}

void Workspace::start(int64_t outer, int64_t first, int count) {
  if (first != first_ || count != count_) {
    count_ = count;
    first_ = first;
    fill_tables(first);
  }
  const Layout& layout = body_.layout;
  for (size_t k = 0; k < body_.forms.size(); ++k) {
    const Form& form = body_.forms[k];
    scalars_[k] = form.constant + form.coefficients.back() * time_;
  }
  for (size_t axis = layout.extents.size() - 1; axis-- > 0;) {
    bool inner = (axis >= layout.lane_begin && axis < layout.lane_end) ||
                 (axis >= layout.loop_begin && axis < layout.loop_end);
    if (inner) continue;
    int64_t coordinate = outer % layout.extents[axis];
    outer /= layout.extents[axis];
    if (coordinate == 0) continue;
    for (size_t k = 0; k < body_.forms.size(); ++k) {
      scalars_[k] += body_.forms[k].coefficients[axis] * coordinate;
    }
  }
  std::fill(point_.begin(), point_.end(), 0);
}

/// Values of the tables at `count_` consecutive points of the lane axes.
void Workspace::fill_tables(int64_t first) {
  const Layout& layout = body_.layout;
  const size_t axes = layout.lane_end - layout.lane_begin;
  std::vector<int64_t> origin(axes);
  for (size_t axis = axes; axis-- > 0;) {
    origin[axis] = first % layout.extents[layout.lane_begin + axis];
    first /= layout.extents[layout.lane_begin + axis];
  }
  for (size_t t = 0; t < tables_.size(); ++t) {
    const std::vector<int64_t>& coefficients = body_.tables[t];
    Table& table = tables_[t];
    std::vector<int64_t> point = origin;
    int64_t value = 0;
    for (size_t axis = 0; axis < axes; ++axis) value += coefficients[axis] * point[axis];
    for (int lane = 0; lane < count_;) {
      // A run along the innermost axis.
      int64_t extent = layout.extents[layout.lane_begin + axes - 1];
      int64_t step = coefficients[axes - 1];
      int run = static_cast<int>(std::min<int64_t>(count_ - lane, extent - point[axes - 1]));
      for (int k = 0; k < run; ++k) table.values[static_cast<size_t>(lane + k)] = value + k * step;
      lane += run;
      value -= step * point[axes - 1];
      point[axes - 1] = 0;
      for (size_t axis = axes - 1; axis-- > 0;) {
        value += coefficients[axis];
        if (++point[axis] < layout.extents[layout.lane_begin + axis]) break;
        value -= coefficients[axis] * point[axis];
        point[axis] = 0;
      }
    }
    auto [low, high] = std::minmax_element(table.values.begin(), table.values.begin() + count_);
    table.low = *low;
    table.high = *high;
    table.contiguous = true;
    for (int lane = 1; lane < count_; ++lane) {
      if (table.values[static_cast<size_t>(lane)] != table.values[0] + lane) table.contiguous = false;
    }
  }
}

void Workspace::advance() {
  const Layout& layout = body_.layout;
  size_t axis = point_.size();
  while (axis-- > 0) {
    if (++point_[axis] < layout.extents[layout.loop_begin + axis]) break;
    point_[axis] = 0;
    if (axis == 0) return;
  }
  for (int form : moving_) {
    scalars_[static_cast<size_t>(form)] += body_.forms[static_cast<size_t>(form)].advance[axis];
  }
}

int64_t Workspace::low(int form) const {
  int table = body_.forms[static_cast<size_t>(form)].table;
  return scalar(form) + (table == none ? 0 : tables_[static_cast<size_t>(table)].low);
}

int64_t Workspace::high(int form) const {
  int table = body_.forms[static_cast<size_t>(form)].table;
  return scalar(form) + (table == none ? 0 : tables_[static_cast<size_t>(table)].high);
}

void Workspace::run(const std::vector<Instruction>& instructions) {
  for (const Instruction& instruction : instructions) {
    instruction.kernel(instruction, *this, instruction.uniform_result ? 1 : count_);
  }
}

}  // namespace axrun::ir::interpreter
