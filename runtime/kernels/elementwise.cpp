#include "runtime/kernels/elementwise.h"

#include <algorithm>

#include "runtime/kernels/isa/table.h"
#include "runtime/parallel.h"

namespace axrun::runtime {
namespace {

constexpr int64_t cheap_elements = 32 * 1024;
constexpr int64_t dear_elements = 4 * 1024;

bool is_cheap(Unary function) {
  switch (function) {
    case Unary::exp:
    case Unary::log:
    case Unary::tanh:
    case Unary::sigmoid:
    case Unary::erf:
    case Unary::sin:
    case Unary::cos:
    case Unary::softplus:
    case Unary::gelu_erf:
    case Unary::gelu_by_erf:
    case Unary::gelu_tanh:
    case Unary::silu:
    case Unary::elu:
    case Unary::selu:
    case Unary::mish:
      return false;
    default:
      return true;
  }
}

size_t number_bytes(Number type) { return type == Number::f32 || type == Number::i32 ? 4 : 8; }

/// The same iteration over fewer dims: extents of 1 dropped, neighbours merged where all operands allow it.
/// The innermost strides become 0 or 1.
template <int operands>
struct Loop {
  int rank = 0;
  int64_t extents[max_rank + 1];
  int64_t strides[operands][max_rank + 1];
  int64_t outer = 1;  ///< product of all but the innermost extent

  Loop(int given_rank, const int64_t* given_extents, const int64_t* const (&given_strides)[operands]) {
    for (int d = 0; d < given_rank; ++d) {
      if (given_extents[d] == 1) continue;
      bool merges = rank > 0;
      for (int o = 0; o < operands && merges; ++o) {
        merges = strides[o][rank - 1] == given_strides[o][d] * given_extents[d];
      }
      if (!merges) extents[rank++] = 1;
      extents[rank - 1] *= given_extents[d];
      for (int o = 0; o < operands; ++o) strides[o][rank - 1] = given_strides[o][d];
    }
    bool simple = rank > 0;
    for (int o = 0; o < operands && simple; ++o)
      simple = strides[o][rank - 1] == 0 || strides[o][rank - 1] == 1;
    if (!simple) {
      // One element at a time.
      extents[rank] = 1;
      for (int o = 0; o < operands; ++o) strides[o][rank] = 0;
      ++rank;
    }
    for (int d = 0; d + 1 < rank; ++d) outer *= extents[d];
  }

  int64_t inner() const { return extents[rank - 1]; }
  int64_t inner_stride(int operand) const { return strides[operand][rank - 1]; }

  /// Calls body(position in the output, offsets of the operands, count) for runs along the innermost dim.
  template <class Body>
  void run(ThreadPool& pool, int64_t elements, Body body) const {
    if (outer == 0 || inner() == 0) return;
    if (outer == 1) {
      // One long run: cut it.
      pool.parallel_for(inner(), elements, [&](int64_t begin, int64_t end) {
        int64_t offsets[operands];
        for (int o = 0; o < operands; ++o) offsets[o] = begin * inner_stride(o);
        body(begin, offsets, end - begin);
      });
      return;
    }
    pool.parallel_for(outer, elements / inner() + 1, [&](int64_t begin, int64_t end) {
      int64_t position[max_rank + 1];
      int64_t offsets[operands] = {};
      int64_t rest = begin;
      for (int d = rank - 2; d >= 0; --d) {
        position[d] = rest % extents[d];
        rest /= extents[d];
        for (int o = 0; o < operands; ++o) offsets[o] += position[d] * strides[o][d];
      }
      for (int64_t i = begin; i < end; ++i) {
        body(i * inner(), offsets, inner());
        for (int d = rank - 2; d >= 0; --d) {
          for (int o = 0; o < operands; ++o) offsets[o] += strides[o][d];
          if (++position[d] < extents[d]) break;
          for (int o = 0; o < operands; ++o) offsets[o] -= extents[d] * strides[o][d];
          position[d] = 0;
        }
      }
    });
  }
};

const char* advance(const void* p, int64_t elements, size_t bytes) {
  return static_cast<const char*>(p) + elements * static_cast<int64_t>(bytes);
}

}  // namespace

void unary(Unary function, int64_t count, const float* x, float* y, float alpha, float beta,
           ThreadPool& pool) {
  const KernelTable& table = kernel_table();
  pool.parallel_for(count, is_cheap(function) ? cheap_elements : dear_elements,
                    [&](int64_t begin, int64_t end) {
                      table.unary(function, end - begin, x + begin, y + begin, alpha, beta);
                    });
}

void activate(Activation activation, int64_t count, const float* x, float* y, float alpha, float beta,
              ThreadPool& pool) {
  const KernelTable& table = kernel_table();
  pool.parallel_for(count, 2 * dear_elements, [&](int64_t begin, int64_t end) {
    table.activate(activation, end - begin, x + begin, y + begin, alpha, beta);
  });
}

void channel_affine(int64_t outer, int64_t channels, int64_t inner, const float* x, const float* scale,
                    const float* bias, Activation activation, float alpha, float beta, float* y,
                    ThreadPool& pool) {
  if (outer == 0 || channels == 0 || inner == 0) return;
  const KernelTable& table = kernel_table();
  const bool columns = inner == 1;
  const int64_t rows = columns ? outer : outer * channels;
  const int64_t width = columns ? channels : inner;
  pool.parallel_for(rows, cheap_elements / width + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float* from = x + i * width;
      float* to = y + i * width;
      if (columns) {
        table.affine_columns(width, from, scale, bias, to);
      } else {
        table.affine_row(width, from, scale[i % channels], bias[i % channels], to);
      }
      if (activation != Activation::none) table.activate(activation, width, to, to, alpha, beta);
    }
  });
}

void binary(Binary operation, Number type, const Broadcast& broadcast, const void* a, const void* b, void* y,
            ThreadPool& pool) {
  const Loop<2> loop(broadcast.rank, broadcast.extents, {broadcast.a_strides, broadcast.b_strides});
  const size_t bytes = number_bytes(type);
  const KernelTable& table = kernel_table();
  const bool dear = operation == Binary::power || operation == Binary::modulo || operation == Binary::fmod;
  loop.run(pool, dear ? dear_elements : cheap_elements,
           [&](int64_t at, const int64_t* offsets, int64_t count) {
             table.binary(operation, type, count, advance(a, offsets[0], bytes), loop.inner_stride(0),
                          advance(b, offsets[1], bytes), loop.inner_stride(1),
                          static_cast<char*>(y) + at * static_cast<int64_t>(bytes));
           });
}

void compare(Comparison operation, Number type, const Broadcast& broadcast, const void* a, const void* b,
             uint8_t* y, ThreadPool& pool) {
  const Loop<2> loop(broadcast.rank, broadcast.extents, {broadcast.a_strides, broadcast.b_strides});
  const size_t bytes = number_bytes(type);
  const KernelTable& table = kernel_table();
  loop.run(pool, cheap_elements, [&](int64_t at, const int64_t* offsets, int64_t count) {
    table.compare(operation, type, count, advance(a, offsets[0], bytes), loop.inner_stride(0),
                  advance(b, offsets[1], bytes), loop.inner_stride(1), y + at);
  });
}

void select(size_t element_bytes, const BroadcastSelect& s, const uint8_t* condition, const void* a,
            const void* b, void* y, ThreadPool& pool) {
  const Loop<3> loop(s.rank, s.extents, {s.condition_strides, s.a_strides, s.b_strides});
  const KernelTable& table = kernel_table();
  loop.run(pool, cheap_elements, [&](int64_t at, const int64_t* offsets, int64_t count) {
    table.select(element_bytes, count, condition + offsets[0], loop.inner_stride(0),
                 advance(a, offsets[1], element_bytes), loop.inner_stride(1),
                 advance(b, offsets[2], element_bytes), loop.inner_stride(2),
                 static_cast<char*>(y) + at * static_cast<int64_t>(element_bytes));
  });
}

}  // namespace axrun::runtime
