#include "search/mapped_windows.h"

#include <functional>
#include <string>
#include <utility>

#include "search/map.h"
#include "search/windows.h"
#include "search/work.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::Program;
using ir::loop::Access;
using ir::loop::Combine;
using ir::loop::Level;
using ir::loop::LoopKind;

namespace {

/// What lies between must be more than the nearest caches keep in any case, and planes worth a loop.
constexpr int64_t least_map_bytes = int64_t{96} << 10, least_plane_bytes = int64_t{1} << 10;

/// So many parts of a plane's columns lie after each other, each with every so many of them, where lanes step
/// over columns: in these parts they are neighbours. With masks lanes are picked out of two vectors at once.
int64_t column_parts(const PieceContext& context, const MappedWindowsForm& form) {
  constexpr int64_t most = 2;  // every other byte is read by one shuffle
  const int64_t step = column_step(context.program, form.windows, form.between);
  const bool steps = step == form.windows.step && step > 1 && step <= most;
  return steps && !context.target.masks && !strips_of(context.program, form.windows) ? step : 1;
}

class MappedWindowsWriter {
 public:
  MappedWindowsWriter(PieceContext& context, const MappedWindowsForm& form)
      : context_(context),
        form_(form),
        map_(context.program.stages[form.map]),
        tensor_(context.program.tensors[static_cast<size_t>(form.between)]),
        parts_(column_parts(context, form)),
        plan_(plan_windows(context, over_parts(form.windows, parts_))),
        point_(map_.axes.size(), Dim(0)) {}

  void run() {
    for (const size_t s : form_.prepared) {
      const ir::Stage& stage = context_.program.stages[s];
      const ir::TensorId result = stage.results[0];
      const ir::TensorDecl& tensor = context_.program.tensors[static_cast<size_t>(result)];
      context_.writer.at_beginning([&] {
        if (context_.buffers.count(result) == 0)
          context_.buffers[result] =
              context_.writer.allocate(tensor.name, tensor.type, tensor.dims, Level::memory);
        write_map(context_, stage, plan_map(context_, stage));
      });
      context_.values.read_buffer(result, context_.buffers.at(result));
    }
    // Planes next to each other are computed with lanes across them.
    if (plan_.planes) {
      one_after_another();
    } else {
      spread_ = std::exchange(plan_.spread, WindowsPlan::Spread::none) != WindowsPlan::Spread::none;
      planes(0);
      for (const auto& shared : form_.shared) context_.parts.erase({form_.windows.reduction, shared.axis});
    }
    context_.buffers.erase(form_.between);
  }

 private:
  static WindowsForm over_parts(WindowsForm windows, int64_t parts) {
    windows.step /= parts;
    return windows;
  }

  void one_after_another() {
    const int buffer = context_.writer.allocate(tensor_.name, tensor_.type, tensor_.dims, Level::memory);
    context_.buffers[form_.between] = buffer;
    write_map(context_, map_, plan_map(context_, map_));
    context_.values.read_buffer(form_.between, buffer);
    write_windows(context_, form_.windows, plan_);
  }

  /// The one shared axis that is spread: the one that keeps all cores at work best.
  size_t spread_axis() const {
    size_t best = 0;
    double most = 0;
    for (size_t k = 0; k < form_.shared.size(); ++k) {
      const Dim& extent = tensor_.dims[form_.shared[k].dimension];
      const double balance = balance_of_axis(context_.facts, extent, 1, context_.target.cores);
      if (balance <= most) continue;
      most = balance;
      best = k;
    }
    return best;
  }

  void planes(size_t k) {
    if (k == form_.shared.size()) return plane();
    // The spread one is the outermost.
    std::vector<MappedWindowsForm::Shared> order = form_.shared;
    if (spread_) std::swap(order[0], order[spread_axis()]);
    const auto& shared = order[k];
    const LoopKind kind = k == 0 && spread_ ? LoopKind::parallel : LoopKind::sequential;
    context_.writer.loop(kind, "n" + std::to_string(k), tensor_.dims[shared.dimension], [&](const Dim& n) {
      context_.parts[{form_.windows.reduction, shared.axis}] = {n, Dim(1)};
      index_[shared.dimension] = n;
      planes(k + 1);
    });
  }

  void plane() {
    Dims dims;
    for (size_t d = 0; d < tensor_.dims.size(); ++d)
      if (index_.count(d) == 0) dims.push_back(tensor_.dims[d]);
    const Dim parts(parts_);
    if (parts_ > 1) {
      dims.back() = parts;
      dims.push_back(ceil_div(tensor_.dims.back(), parts));
    }
    const int buffer = context_.writer.allocate("plane_" + tensor_.name, tensor_.type, dims, Level::cache);
    Dims indices;
    fill(buffer, 0, indices);
    ir::loop::Buffer as;
    as.name = tensor_.name;
    as.type = tensor_.type;
    as.dims = tensor_.dims;
    const auto index = index_;
    context_.buffers[form_.between] = context_.writer.view(std::move(as), [=](const Dims& all) {
      Access access{buffer, {}};
      for (size_t d = 0; d < all.size(); ++d)
        if (index.count(d) == 0) access.indices.push_back(all[d]);
      if (parts == Dim(1)) return access;
      access.indices.back() = floor_mod(all.back(), parts);
      access.indices.push_back(floor_div(all.back(), parts));
      return access;
    });
    context_.values.read_buffer(form_.between, context_.buffers[form_.between]);
    write_windows(context_, form_.windows, plan_);
  }

  /// The map of one plane: dimensions from d on.
  void fill(int buffer, size_t d, Dims& indices) {
    if (d == tensor_.dims.size()) {
      context_.writer.store({buffer, indices}, Combine::assign, context_.values.value(map_.body[0], point_));
      return;
    }
    // Every dimension is one axis of the map (find_mapped_windows).
    Dim& here = point_[static_cast<size_t>(map_.groups[d][0])];
    if (const auto known = index_.find(d); known != index_.end()) {
      here = known->second;
      return fill(buffer, d + 1, indices);
    }
    const std::string name = "m" + std::to_string(d);
    if (d + 1 == tensor_.dims.size()) return fill_columns(buffer, name, here, indices);
    context_.writer.loop(LoopKind::sequential, name, tensor_.dims[d], [&](const Dim& m) {
      here = m;
      indices.push_back(m);
      fill(buffer, d + 1, indices);
      indices.pop_back();
    });
  }

  void fill_columns(int buffer, const std::string& name, Dim& here, const Dims& indices) {
    const int64_t columns = tensor_.dims.back().value(), parts = parts_;
    for (int64_t part = 0; part < parts; ++part) {
      context_.writer.loop(LoopKind::vector, name, Dim((columns - part + parts - 1) / parts),
                           [&](const Dim& m) {
                             here = Dim(parts) * m + Dim(part);
                             Dims place = indices;
                             if (parts > 1) place.emplace_back(part);
                             place.push_back(m);
                             fill(buffer, tensor_.dims.size(), place);
                           });
    }
  }

  PieceContext& context_;
  const MappedWindowsForm& form_;
  const ir::Stage& map_;
  const ir::TensorDecl& tensor_;
  int64_t parts_;  ///< see column_parts
  WindowsPlan plan_;
  bool spread_ = false;
  Dims point_;                        ///< of the map
  std::map<size_t, Dim> index_ = {};  ///< of the plane at hand, by dimension
};

}  // namespace

std::optional<MappedWindowsForm> find_mapped_windows(const Program& program, const SizeFacts& facts,
                                                     const WindowsForm& windows, Range all) {
  MappedWindowsForm form;
  form.map = all.first;
  form.windows = windows;
  const ir::Stage& map = program.stages[form.map];
  form.between = map.results[0];
  const ir::TensorDecl& tensor = program.tensors[static_cast<size_t>(form.between)];
  if (tensor.type != ir::ElementType::f32 || is_read_outside(program, form.between, all)) return {};
  int64_t plane = 4;
  for (size_t d = 0; d < tensor.dims.size(); ++d) {
    if (map.groups[d].size() != 1) return {};
    const int axis = axis_outside_of_windows(program, windows, form.between, d);
    if (axis != ir::none) {
      form.shared.push_back({d, axis});
    } else if (!tensor.dims[d].is_constant()) {
      return {};
    } else {
      plane *= tensor.dims[d].value();
    }
  }
  // A tensor of rank 0 has neither planes nor a last dimension.
  if (form.shared.empty() || form.shared.back().dimension + 1 == tensor.dims.size()) return {};
  const Dim& columns = tensor.dims.back();
  if (!columns.is_constant() || columns.value() <= 1 || plane < least_plane_bytes) return {};
  if (facts.typical(ir::product(tensor.dims)) * 4 < least_map_bytes) return {};
  return form;
}

void write_mapped_windows(PieceContext& context, const MappedWindowsForm& form) {
  MappedWindowsWriter(context, form).run();
}

}  // namespace axrun::search
