// RotaryEmbedding of com.microsoft and ai.onnx, float32.
#include "runtime/operators/rotary.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/operators/attention_core.h"
#include "runtime/operators/attention_parts.h"
#include "runtime/operators/indexing_parts.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {

void Rotation::apply(const float* __restrict x, const float* __restrict cosine, const float* __restrict sine,
                     float* __restrict y) const {
  if (interleaved) {
    for (int64_t k = 0; k < half; ++k) {
      const float first = x[2 * k], second = x[2 * k + 1];
      y[2 * k] = first * cosine[k] - second * sine[k];
      y[2 * k + 1] = second * cosine[k] + first * sine[k];
    }
  } else {
    for (int64_t k = 0; k < half; ++k) {
      const float first = x[k], second = x[k + half];
      y[k] = first * cosine[k] - second * sine[k];
      y[k + half] = second * cosine[k] + first * sine[k];
    }
  }
  std::copy(x + 2 * half, x + size, y + 2 * half);
}

namespace {

using ir::ElementType;

constexpr int64_t grain_elements = 8192;

struct RotarySetup {
  /// Which row of the caches turns a position.
  enum class Row : uint8_t {
    identified,  ///< its position id
    offset,      ///< the single position id, plus the position
    own,         ///< the caches have a row for every batch entry and position
  };
  Rotation rotation;
  int64_t batch = 0, heads = 0, length = 0;
  HeadRows rows;  ///< strides of input and output
  Row row = Row::own;
  int cosine = -1, sine = -1, ids = -1;  ///< ports
  int64_t cache_rows = 0;
  bool narrow = false;  ///< ids are i32

  /// x of shape [batch, heads, length, size] or [batch, length, heads * size].
  template <typename Dims>
  void read_rows(const Dims& x, int64_t size) {
    batch = x[0];
    rotation.size = size;
    const bool separate = x.size() == 4;
    heads = separate ? x[1] : x[2] / size;
    length = separate ? x[2] : x[1];
    rows = separate ? states(nullptr, heads, length, size) : side_by_side(nullptr, heads, length, size);
  }
};

class RotaryKernel final : public Kernel {
 public:
  RotaryKernel(const RotarySetup& setup, std::shared_ptr<const std::string> place)
      : s_(setup), place_(std::move(place)) {}

  void run(const KernelCall& call) const override {
    const auto* cosines = static_cast<const float*>(call.inputs[s_.cosine]);
    const auto* sines = static_cast<const float*>(call.inputs[s_.sine]);
    const auto* x = static_cast<const float*>(call.inputs[0]);
    auto* y = static_cast<float*>(call.outputs[0]);
    const int64_t grain = grain_elements / (s_.heads * s_.rotation.size) + 1;
    call.pool.parallel_for(s_.batch * s_.length, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t cached = cache_row(call, i) * s_.rotation.half;
        const int64_t first = i / s_.length * s_.rows.batch_stride + i % s_.length * s_.rows.row_stride;
        for (int64_t h = 0; h < s_.heads; ++h) {
          const int64_t at = first + h * s_.rows.head_stride;
          s_.rotation.apply(x + at, cosines + cached, sines + cached, y + at);
        }
      }
    });
  }
  std::string describe() const override {
    return fmt::format("rotary embedding {}x{} positions, {} heads of {}", s_.batch, s_.length, s_.heads,
                       s_.rotation.size);
  }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    const Extents x = ports.input(0), cosine = ports.input(static_cast<size_t>(s_.cosine));
    const int64_t size = s_.rotation.size;
    const bool same_heads = x.size() == 4 ? x[3] == size : x[2] == s_.heads * size;
    if (!same_heads || cosine.back() != s_.rotation.half || ports.output(0).count() == 0) return nullptr;
    RotarySetup setup = s_;
    setup.read_rows(x, size);
    if (s_.row != RotarySetup::Row::own) setup.cache_rows = cosine[0];
    return make_in_block<RotaryKernel>(setup, place_);
  }
  double flops() const override {
    return 6.0 * static_cast<double>(s_.batch * s_.length * s_.heads * s_.rotation.half);
  }

 private:
  /// Of the position i, counted over all batch entries.
  int64_t cache_row(const KernelCall& call, int64_t i) const {
    if (s_.row == RotarySetup::Row::own) return i;
    const bool offset = s_.row == RotarySetup::Row::offset;
    const int64_t at = offset ? 0 : i;
    const void* ids = call.inputs[s_.ids];
    const int64_t id =
        s_.narrow ? static_cast<const int32_t*>(ids)[at] : static_cast<const int64_t*>(ids)[at];
    const int64_t added = offset ? i % s_.length : 0;
    if (id < 0 || id >= s_.cache_rows - added) fail_index(*place_);
    return id + added;
  }

  RotarySetup s_;
  std::shared_ptr<const std::string> place_;
};

bool all_f32(const StepContext& context, const RotarySetup& setup) {
  for (const int port : {0, setup.cosine, setup.sine}) {
    if (context.inputs[static_cast<size_t>(port)].type != ElementType::f32) return false;
  }
  return context.outputs[0].count() > 0;
}

std::unique_ptr<Kernel> make_microsoft(const StepContext& context) {
  if (context.fused() || !context.has_output(0)) return nullptr;
  RotarySetup setup;
  setup.ids = 1;
  setup.cosine = 2;
  setup.sine = 3;
  if (!all_f32(context, setup)) return nullptr;
  setup.cache_rows = context.inputs[2].shape[0];
  setup.rotation.half = context.inputs[2].shape[1];
  setup.rotation.interleaved = context.integer("interleaved", 0) != 0;
  if (setup.rotation.half == 0) return nullptr;
  const ir::Shape& x = context.inputs[0].shape;
  int64_t size = 2 * setup.rotation.half;
  if (x.size() == 4) {
    size = x[3];
  } else if (context.integer("rotary_embedding_dim", 0) > 0) {
    size = x[2] / context.integer("num_heads", 0);
  }
  setup.read_rows(x, size);
  setup.row = context.inputs[1].rank() == 1 ? RotarySetup::Row::offset : RotarySetup::Row::identified;
  return std::make_unique<RotaryKernel>(setup, std::make_shared<const std::string>(place_of(context)));
}

std::unique_ptr<Kernel> make_onnx(const StepContext& context) {
  if (context.fused() || !context.has_output(0)) return nullptr;
  RotarySetup setup;
  setup.cosine = 1;
  setup.sine = 2;
  if (!all_f32(context, setup)) return nullptr;
  setup.rotation.half = context.inputs[1].shape.back();
  setup.rotation.interleaved = context.integer("interleaved", 0) != 0;
  if (setup.rotation.half == 0) return nullptr;
  const ir::Shape& x = context.inputs[0].shape;
  setup.read_rows(x, x.size() == 4 ? x[3] : x[2] / context.integer("num_heads", 0));
  if (context.has_input(3)) {
    if (!is_index(context, 3)) return nullptr;
    setup.row = RotarySetup::Row::identified;
    setup.ids = 3;
    setup.narrow = context.inputs[3].type == ElementType::i32;
    setup.cache_rows = context.inputs[1].shape[0];
  }
  return std::make_unique<RotaryKernel>(setup, std::make_shared<const std::string>(place_of(context)));
}

}  // namespace

void rotary_factories(std::vector<FactoryEntry>& table) {
  table.push_back({"com.microsoft", "RotaryEmbedding", make_microsoft});
  table.push_back({"", "RotaryEmbedding", make_onnx});
}

}  // namespace axrun::runtime
