#pragma once

#include <vector>

#include "ir/tensor.h"
#include "runtime/warm/lists.h"

namespace axrun::runtime {

/// The shapes of a model's inputs that processes have met.
struct ShapesMet {
  std::vector<ir::Shape> shapes;  ///< the one set that there is; empty: none, or several
  bool vary = false;
};

inline void write_shapes(cache::Writer& out, const ShapesMet& met) {
  out.put(met.vary);
  put_count(out, met.shapes.size());
  for (const ir::Shape& shape : met.shapes) put_all(out, shape);
}
inline ShapesMet read_shapes(cache::Reader& in) {
  ShapesMet met;
  met.vary = in.get<bool>();
  met.shapes.resize(in.count(4));
  for (ir::Shape& shape : met.shapes) shape = get_all<int64_t>(in);
  return met;
}

}  // namespace axrun::runtime
