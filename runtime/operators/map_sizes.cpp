// What depends on sizes in maps: how blocks of the output read the inputs.
#include <algorithm>
#include <array>

#include "runtime/operators/map_program.h"

namespace axrun::runtime {

bool walks_in_order(const Extents& axes, const Extents& strides) {
  int64_t stride = 1;
  for (size_t a = axes.size(); a-- > 0;) {
    if (axes[a] != 1 && strides[a] != stride) return false;
    stride *= axes[a];
  }
  return true;
}

MapSizes::MapSizes(const Extents& axes, const Extents* strides, size_t inputs) : walks(inputs) {
  for (size_t a = 0; a < axes.size(); ++a) {
    if (axes[a] == 1) continue;
    bool merges = !extents.empty();
    for (size_t k = 0; k < walks.size() && merges; ++k)
      merges = walks[k].strides.back() == strides[k][a] * axes[a];
    if (merges) {
      extents[extents.size() - 1] *= axes[a];
      for (size_t k = 0; k < walks.size(); ++k) walks[k].strides[extents.size() - 1] = strides[k][a];
    } else {
      extents.push_back(axes[a]);
      for (size_t k = 0; k < walks.size(); ++k) walks[k].strides.push_back(strides[k][a]);
    }
  }
  if (extents.empty()) {
    extents.push_back(1);
    for (MapWalk& walk : walks) walk.strides.push_back(0);
  }
  for (size_t k = 0; k < walks.size(); ++k) {
    MapWalk& walk = walks[k];
    walk.identity = walks_in_order(axes, strides[k]);
    walk.uniform =
        std::all_of(walk.strides.begin(), walk.strides.end(), [](int64_t stride) { return stride == 0; });
    if (walk.uniform && (extents.size() > 1 || extents[0] != 1)) walk.identity = false;
  }
}

MapSizes sizes_at(const MapProgram& program, const PortSizes& ports) {
  const Extents axes = ports.output(0);
  // Few inputs need no memory of their own.
  const size_t inputs = program.inputs.size();
  std::array<Extents, 8> few;
  std::vector<Extents> many(inputs > few.size() ? inputs : 0);
  Extents* const strides = many.empty() ? few.data() : many.data();
  for (size_t k = 0; k < inputs; ++k) {
    const MapInput& input = program.inputs[k];
    const Extents own = ports.input(static_cast<size_t>(input.port)).strides();
    for (size_t a = 0; a < axes.size(); ++a) strides[k].push_back(0);
    for (const MapInput::Term& term : input.terms) {
      if (axes[term.axis] != 1) strides[k][term.axis] += own[term.dim];
    }
  }
  return {axes, strides, inputs};
}

}  // namespace axrun::runtime
