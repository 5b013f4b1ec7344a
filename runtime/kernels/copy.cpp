#include "runtime/kernels/copy.h"

#include <algorithm>
#include <cstring>

#include "runtime/kernels/isa/table.h"
#include "runtime/parallel.h"

namespace axrun::runtime {
namespace {

constexpr int64_t elements_per_range = 32 * 1024;

struct Dim {
  int64_t extent, x_stride, y_stride;
};

int64_t magnitude(int64_t stride) { return stride < 0 ? -stride : stride; }

/// Dims without extents of 1, ordered by output stride, merged where both sides run on.
int simplify(const CopyShape& s, Dim* dims) {
  int rank = 0;
  for (int d = 0; d < s.rank; ++d) {
    if (s.extents[d] != 1) dims[rank++] = {s.extents[d], s.x_strides[d], s.y_strides[d]};
  }
  std::stable_sort(dims, dims + rank,
                   [](const Dim& a, const Dim& b) { return magnitude(a.y_stride) > magnitude(b.y_stride); });
  int kept = 0;
  for (int d = 0; d < rank; ++d) {
    if (kept > 0 && dims[kept - 1].x_stride == dims[d].x_stride * dims[d].extent &&
        dims[kept - 1].y_stride == dims[d].y_stride * dims[d].extent) {
      dims[kept - 1] = {dims[kept - 1].extent * dims[d].extent, dims[d].x_stride, dims[d].y_stride};
    } else {
      dims[kept++] = dims[d];
    }
  }
  return kept;
}

template <class T>
void copy_line(const T* x, int64_t x_stride, T* y, int64_t y_stride, int64_t count) {
  if (x_stride == 1 && y_stride == 1) {
    std::memcpy(y, x, static_cast<size_t>(count) * sizeof(T));
  } else if (x_stride == 0 && y_stride == 1) {
    std::fill_n(y, count, *x);
  } else {
    for (int64_t i = 0; i < count; ++i) y[i * y_stride] = x[i * x_stride];
  }
}

/// Calls body(x offset, y offset) for the positions [begin, end) of the outer dims.
template <class Body>
void walk(const Dim* dims, int rank, int64_t begin, int64_t end, Body body) {
  int64_t position[max_copy_rank];
  int64_t x = 0, y = 0, rest = begin;
  for (int d = rank - 1; d >= 0; --d) {
    position[d] = rest % dims[d].extent;
    rest /= dims[d].extent;
    x += position[d] * dims[d].x_stride;
    y += position[d] * dims[d].y_stride;
  }
  for (int64_t i = begin; i < end; ++i) {
    body(x, y);
    for (int d = rank - 1; d >= 0; --d) {
      x += dims[d].x_stride;
      y += dims[d].y_stride;
      if (++position[d] < dims[d].extent) break;
      x -= dims[d].extent * dims[d].x_stride;
      y -= dims[d].extent * dims[d].y_stride;
      position[d] = 0;
    }
  }
}

struct Pair {
  uint64_t low, high;
};

template <class T>
void copy_elements(const CopyShape& shape, const T* x, T* y, ThreadPool& pool) {
  Dim dims[max_copy_rank];
  int rank = simplify(shape, dims);
  int64_t total = 1;
  for (int d = 0; d < rank; ++d) total *= dims[d].extent;
  if (total == 0) return;
  if (rank == 0) {
    *y = *x;
    return;
  }
  // Where the input runs along another dim than the output, those two are a matrix to transpose.
  int across = -1;
  if (dims[rank - 1].y_stride == 1 && dims[rank - 1].x_stride != 1) {
    for (int d = 0; d < rank - 1; ++d) {
      if (dims[d].x_stride == 1 && dims[d].extent >= 4 && dims[rank - 1].extent >= 4) across = d;
    }
  }
  if (across >= 0 && dims[rank - 1].x_stride > 0 && dims[across].y_stride > 0) {
    const Dim rows = dims[across];
    const Dim columns = dims[rank - 1];
    for (int d = across; d + 2 < rank; ++d) dims[d] = dims[d + 1];
    const int outer_rank = rank - 2;
    int64_t outer = 1;
    for (int d = 0; d < outer_rank; ++d) outer *= dims[d].extent;
    constexpr int64_t band = 64;
    const int64_t bands = divide_up(rows.extent, band);
    const int64_t grain = elements_per_range / (std::min(band, rows.extent) * columns.extent) + 1;
    pool.parallel_for(outer * bands, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % bands * band;
        walk(dims, outer_rank, i / bands, i / bands + 1, [&](int64_t x_at, int64_t y_at) {
          kernel_table().transpose_block(sizeof(T), std::min(band, rows.extent - first), columns.extent,
                                         x + x_at + first, columns.x_stride, y + y_at + first * rows.y_stride,
                                         rows.y_stride);
        });
      }
    });
    return;
  }
  const Dim line = dims[rank - 1];
  if (rank == 1) {
    pool.parallel_for(line.extent, elements_per_range, [&](int64_t begin, int64_t end) {
      copy_line(x + begin * line.x_stride, line.x_stride, y + begin * line.y_stride, line.y_stride,
                end - begin);
    });
    return;
  }
  const int64_t lines = total / line.extent;
  pool.parallel_for(lines, elements_per_range / line.extent + 1, [&](int64_t begin, int64_t end) {
    walk(dims, rank - 1, begin, end, [&](int64_t x_at, int64_t y_at) {
      copy_line(x + x_at, line.x_stride, y + y_at, line.y_stride, line.extent);
    });
  });
}

}  // namespace

void copy_strided(size_t element_bytes, const CopyShape& shape, const void* x, void* y, ThreadPool& pool) {
  const auto run = [&]<class T>(T* to) { copy_elements(shape, static_cast<const T*>(x), to, pool); };
  switch (element_bytes) {
    case 1:
      return run(static_cast<uint8_t*>(y));
    case 2:
      return run(static_cast<uint16_t*>(y));
    case 4:
      return run(static_cast<uint32_t*>(y));
    case 8:
      return run(static_cast<uint64_t*>(y));
    case 16:
      return run(static_cast<Pair*>(y));
  }
}

void transpose(size_t element_bytes, int rank, const int64_t* extents, const int64_t* permutation,
               const void* x, void* y, ThreadPool& pool) {
  int64_t x_strides[max_copy_rank];
  int64_t stride = 1;
  for (int d = rank - 1; d >= 0; --d) {
    x_strides[d] = stride;
    stride *= extents[d];
  }
  CopyShape shape;
  shape.rank = rank;
  stride = 1;
  for (int d = rank - 1; d >= 0; --d) {
    shape.extents[d] = extents[permutation[d]];
    shape.x_strides[d] = x_strides[permutation[d]];
    shape.y_strides[d] = stride;
    stride *= shape.extents[d];
  }
  copy_strided(element_bytes, shape, x, y, pool);
}

bool gather_rows(int64_t outer, int64_t rows, int64_t row_bytes, int64_t index_count, const int64_t* indices,
                 const void* x, void* y, ThreadPool& pool) {
  for (int64_t i = 0; i < index_count; ++i) {
    if (indices[i] < -rows || indices[i] >= rows) return false;
  }
  if (outer == 0 || index_count == 0 || row_bytes == 0) return true;
  pool.parallel_for(
      outer * index_count, 4 * elements_per_range / row_bytes + 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t index = indices[i % index_count];
          const int64_t row = i / index_count * rows + (index < 0 ? index + rows : index);
          std::memcpy(static_cast<char*>(y) + i * row_bytes, static_cast<const char*>(x) + row * row_bytes,
                      static_cast<size_t>(row_bytes));
        }
      });
  return true;
}

}  // namespace axrun::runtime
