// GatherBlockQuantized: rows of a table quantised in blocks, as floats.
#include <algorithm>

#include "runtime/operators/indexing_parts.h"
#include "runtime/operators/quantized_parts.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;

enum Port : size_t { table_port, indices_port, scales_port, zeros_port };

constexpr int64_t grain_elements = 8192;

/// The table as [outer][rows][lines][extent][width], all but the last three of which are a gathered row.
/// Where blocks lie along a dimension of the row, that is `extent`; otherwise a row has one element of extent
/// and `width` scales, and `outer` is [...][outer_extent][outer_width] with blocks along outer_extent.
struct TableLayout {
  int64_t outer = 1, rows = 1, lines = 1, extent = 1, width = 1;
  int64_t outer_extent = 1, outer_width = 1;
  int64_t block = 1;   ///< along extent or outer_extent
  int64_t blocks = 1;  ///< of a line
  int64_t outer_blocks = 1;
  int64_t row_elements() const { return lines * extent * width; }

  /// The row of scales for row `row` of part `part` of the outer ones.
  int64_t scale_row(int64_t part, int64_t row) const {
    const int64_t place = part % outer_width, along = part / outer_width % outer_extent;
    const int64_t before = part / outer_width / outer_extent;
    return ((before * outer_blocks + along / block) * outer_width + place) * rows + row;
  }
};

TableLayout layout_of(const ir::Shape& dims, size_t gather, size_t quantize, int64_t block) {
  TableLayout layout;
  layout.rows = dims[gather];
  layout.block = block;
  const auto product = [&](size_t first, size_t last) {
    int64_t count = 1;
    for (size_t d = first; d < last; ++d) count *= dims[d];
    return count;
  };
  layout.outer = product(0, gather);
  if (quantize > gather) {
    layout.lines = product(gather + 1, quantize);
    layout.extent = dims[quantize];
    layout.blocks = (layout.extent + block - 1) / block;
    layout.width = product(quantize + 1, dims.size());
  } else {
    layout.outer_extent = dims[quantize];
    layout.outer_blocks = (layout.outer_extent + block - 1) / block;
    layout.outer_width = product(quantize + 1, gather);
    layout.width = product(gather + 1, dims.size());
  }
  return layout;
}

/// y = (x - zero) * scale for fields of `bits` bits, the first in the lowest, from a whole byte on.
template <int bits>
void dequantize_fields(int64_t count, const uint8_t* x, float scale, float zero, float* y) {
  constexpr int64_t per_byte = 8 / bits;
  constexpr int mask = (1 << bits) - 1;
  const int64_t bytes = count / per_byte;
  for (int64_t i = 0; i < bytes; ++i) {
    for (int64_t f = 0; f < per_byte; ++f)
      y[i * per_byte + f] = (static_cast<float>((x[i] >> (f * bits)) & mask) - zero) * scale;
  }
  for (int64_t i = bytes * per_byte; i < count; ++i)
    y[i] = (static_cast<float>((x[bytes] >> (i % per_byte * bits)) & mask) - zero) * scale;
}

/// Tables with a byte (T) per element.
template <class T>
struct PlainTable {
  const TableLayout& layout;
  const T* x;
  const T* zeros;  ///< or null
  const float* scales;
  float middle;  ///< the zero points where there are none

  void row(int64_t at, int64_t scale_row, float* y) const {
    const int64_t width = layout.width;
    const T* from = x + at * layout.row_elements();
    int64_t block = scale_row * layout.lines * layout.blocks;
    for (int64_t line = 0; line < layout.lines; ++line) {
      for (int64_t first = 0; first < layout.extent; first += layout.block, ++block) {
        const int64_t count = std::min(layout.block, layout.extent - first);
        const float* scale = scales + block * width;
        const T* zero = zeros == nullptr ? nullptr : zeros + block * width;
        if (width == 1) {
          const float own_zero = zero == nullptr ? middle : static_cast<float>(*zero), own_scale = *scale;
          for (int64_t i = 0; i < count; ++i) y[i] = (static_cast<float>(from[i]) - own_zero) * own_scale;
          from += count;
          y += count;
          continue;
        }
        for (int64_t i = 0; i < count; ++i, from += width, y += width) {
          for (int64_t j = 0; j < width; ++j) {
            const float own_zero = zero == nullptr ? middle : static_cast<float>(zero[j]);
            y[j] = (static_cast<float>(from[j]) - own_zero) * scale[j];
          }
        }
      }
    }
  }
};

/// Tables with several elements in a byte: blocks lie along the last dimension.
template <int bits>
struct PackedTable {
  const TableLayout& layout;
  const uint8_t* x;
  const uint8_t* zeros;  ///< or null
  const float* scales;

  void row(int64_t at, int64_t scale_row, float* y) const {
    constexpr int64_t per_byte = 8 / bits;
    const int64_t zeros_bytes = (layout.blocks + per_byte - 1) / per_byte;
    for (int64_t line = 0; line < layout.lines; ++line) {
      const uint8_t* from = x + (at * layout.lines + line) * layout.extent / per_byte;
      const int64_t of_scales = scale_row * layout.lines + line;
      for (int64_t block = 0; block < layout.blocks; ++block) {
        const int64_t first = block * layout.block, count = std::min(layout.block, layout.extent - first);
        float zero = 1 << (bits - 1);
        if (zeros != nullptr) {
          const uint8_t byte = zeros[of_scales * zeros_bytes + block / per_byte];
          zero = static_cast<float>((byte >> (block % per_byte * bits)) & ((1 << bits) - 1));
        }
        dequantize_fields<bits>(count, from + first / per_byte, scales[of_scales * layout.blocks + block],
                                zero, y + first);
      }
      y += layout.extent;
    }
  }
};

class BlockGatherKernel final : public Kernel {
 public:
  BlockGatherKernel(const StepContext& context, const TableLayout& layout, int bits)
      : layout_(layout),
        bits_(bits),
        type_(context.inputs[table_port].type),
        narrow_(context.inputs[indices_port].type == ElementType::i32),
        has_zeros_(context.has_input(zeros_port)),
        indices_(context.inputs[indices_port].count()) {}

  void run(const KernelCall& call) const override {
    const auto* scales = static_cast<const float*>(call.inputs[scales_port]);
    const void* zeros = has_zeros_ ? call.inputs[zeros_port] : nullptr;
    const auto* x = static_cast<const uint8_t*>(call.inputs[table_port]);
    const auto* byte_zeros = static_cast<const uint8_t*>(zeros);
    if (type_ == ElementType::i4) {
      gather(call, PlainTable<int8_t>{layout_, static_cast<const int8_t*>(call.inputs[table_port]),
                                      static_cast<const int8_t*>(zeros), scales, 0});
    } else if (type_ == ElementType::u4 || bits_ == 8) {
      const float middle = type_ == ElementType::u4 ? 0 : 128;
      gather(call, PlainTable<uint8_t>{layout_, x, byte_zeros, scales, middle});
    } else if (bits_ == 4) {
      gather(call, PackedTable<4>{layout_, x, byte_zeros, scales});
    } else {
      gather(call, PackedTable<2>{layout_, x, byte_zeros, scales});
    }
  }
  std::string describe() const override { return "gather from blocks"; }

 private:
  template <class Table>
  void gather(const KernelCall& call, const Table& table) const {
    const IndexReader reader{call.inputs[indices_port], narrow_};
    auto* y = static_cast<float*>(call.outputs[0]);
    const int64_t elements = layout_.row_elements();
    call.pool.parallel_for(layout_.outer * indices_, std::max<int64_t>(1, grain_elements / elements),
                           [&](int64_t begin, int64_t end) {
                             for (int64_t i = begin; i < end; ++i) {
                               const int64_t part = i / indices_, row = reader.at(i % indices_, layout_.rows);
                               float* const to = y + i * elements;
                               // So the operator says of an index out of range.
                               if (row < 0) {
                                 std::fill_n(to, elements, 0.0f);
                               } else {
                                 table.row(part * layout_.rows + row, layout_.scale_row(part, row), to);
                               }
                             }
                           });
  }

  TableLayout layout_;
  int bits_;
  ElementType type_;
  bool narrow_, has_zeros_;
  int64_t indices_;
};

std::unique_ptr<Kernel> make_gather_block_quantized(const StepContext& context) {
  if (context.fused() || !is_index(context, indices_port) || context.outputs[0].count() == 0) return nullptr;
  const StepPort& data = context.inputs[table_port];
  if (data.type != ElementType::u8 && data.type != ElementType::u4 && data.type != ElementType::i4)
    return nullptr;
  if (context.inputs[scales_port].type != ElementType::f32) return nullptr;
  const auto axis = [&](const char* name, int64_t otherwise) {
    const int64_t given = context.integer(name, otherwise);
    return static_cast<size_t>(given < 0 ? given + data.rank() : given);
  };
  const int64_t block = context.integer("block_size", 128);
  const int bits = data.type == ElementType::u8 ? static_cast<int>(context.integer("bits", 4)) : 8;
  const int64_t per_byte = 8 / bits;
  if (block % per_byte != 0) return nullptr;  // blocks that begin within a byte
  ir::Shape dims = data.shape;
  dims.back() *= per_byte;
  return std::make_unique<BlockGatherKernel>(
      context, layout_of(dims, axis("gather_axis", 0), axis("quantize_axis", 1), block), bits);
}

}  // namespace

void block_gathering_factories(std::vector<FactoryEntry>& table) {
  table.push_back({"com.microsoft", "GatherBlockQuantized", make_gather_block_quantized});
}

}  // namespace axrun::runtime
