// com.microsoft SkipLayerNormalization and EmbedLayerNormalization: rows are summed, then normalized while
// they are in the first cache level.
#include <algorithm>
#include <cmath>

#include "ir/error.h"
#include "runtime/kernels/isa/table.h"
#include "runtime/operators/attention_parts.h"
#include "runtime/operators/indexing_parts.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;

constexpr int64_t grain_elements = 16384;

bool f32_vector_or_absent(const StepContext& context, size_t k, int64_t count) {
  return !context.has_input(k) ||
         (context.inputs[k].type == ElementType::f32 && context.inputs[k].count() == count);
}

const float* pointer(const KernelCall& call, int port) {
  return port < 0 ? nullptr : static_cast<const float*>(call.inputs[port]);
}
float* output(const KernelCall& call, bool wanted, size_t k) {
  return wanted ? static_cast<float*>(call.outputs[k]) : nullptr;
}

struct SkipSetup {
  int64_t rows = 0, columns = 0, skip_rows = 0;
  float epsilon = 0;
  bool simplified = false;
  int beta = -1, bias = -1;
  bool wants_mean = false, wants_deviation = false, wants_sum = false;

  /// Rows; false where the skip's do not repeat as a whole: its dims are 1, then those of x.
  template <typename Dims>
  bool size(const Dims& x, const Dims& skip) {
    rows = skip_rows = 1;
    for (size_t d = 0; d + 1 < x.size(); ++d) rows *= x[d];
    for (size_t d = 0; d + 1 < skip.size(); ++d) skip_rows *= skip[d];
    const size_t offset = x.size() - skip.size();
    bool repeats = true;
    for (size_t d = 0; d < skip.size(); ++d) {
      if (skip[d] == x[d + offset]) {
        repeats = repeats && skip[d] == 1;
      } else if (!repeats) {
        return false;
      }
    }
    return true;
  }
};

/// Mean and squared deviations of some rows side by side, updated element by element with every operation
/// rounded to float32: the operator's definition. The rows' chains of divisions overlap.
template <int count>
void running_moments(const float* rows, int64_t columns, float* means, float* squares) {
  float mean[count] = {}, square[count] = {};
  for (int64_t i = 0; i < columns; ++i) {
    const auto number = static_cast<float>(i + 1);
    for (int r = 0; r < count; ++r) {
      const float value = rows[r * columns + i];
      const float before = value - mean[r];
      mean[r] += before / number;
      square[r] += before * (value - mean[r]);
    }
  }
  std::copy_n(mean, count, means);
  std::copy_n(square, count, squares);
}

/// Outputs: the normalized sum, mean, inverse deviation, the sum.
class SkipNormKernel final : public Kernel {
 public:
  explicit SkipNormKernel(const SkipSetup& setup) : s_(setup) {}

  void run(const KernelCall& call) const override {
    float* y = static_cast<float*>(call.outputs[0]);
    float* sums = s_.wants_sum ? static_cast<float*>(call.outputs[3]) : y;
    const int64_t grain = std::max<int64_t>(1, grain_elements / s_.columns);
    call.pool.parallel_for(s_.rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end;) {
        const int64_t block = end - r >= block_rows ? block_rows : 1;
        add_rows(call, r, block, sums + r * s_.columns);
        normalize_rows(call, r, block, sums + r * s_.columns, y + r * s_.columns);
        r += block;
      }
    });
  }
  std::string describe() const override { return s_.simplified ? "add, rms norm" : "add, layer norm"; }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    const Extents x = ports.input(0), skip = ports.input(1);
    if (x.count() == 0 || x.back() != s_.columns || skip.empty() || skip.back() != s_.columns) return nullptr;
    SkipSetup setup = s_;
    return setup.size(x, skip) ? make_in_block<SkipNormKernel>(setup) : nullptr;
  }

 private:
  static constexpr int block_rows = 4;

  void add_rows(const KernelCall& call, int64_t first, int64_t rows, float* sums) const {
    const float* bias = pointer(call, s_.bias);
    for (int64_t r = first; r < first + rows; ++r) {
      const float* a = static_cast<const float*>(call.inputs[0]) + r * s_.columns;
      const float* b = static_cast<const float*>(call.inputs[1]) + r % s_.skip_rows * s_.columns;
      if (bias == nullptr) {
        for (int64_t i = 0; i < s_.columns; ++i) sums[i] = a[i] + b[i];
      } else {
        for (int64_t i = 0; i < s_.columns; ++i) {
          const double with_skip = static_cast<double>(a[i]) + static_cast<double>(b[i]);
          sums[i] = static_cast<float>(with_skip + static_cast<double>(bias[i]));
        }
      }
      sums += s_.columns;
    }
  }

  void normalize_rows(const KernelCall& call, int64_t first, int64_t rows, const float* sums,
                      float* y) const {
    const auto* gamma = static_cast<const float*>(call.inputs[2]);
    const float* beta = pointer(call, s_.beta);
    float* means = output(call, s_.wants_mean, 1);
    float* deviations = output(call, s_.wants_deviation, 2);
    float mean[block_rows] = {}, squares[block_rows] = {};
    if (!s_.simplified && rows == block_rows) {
      running_moments<block_rows>(sums, s_.columns, mean, squares);
    } else if (!s_.simplified) {
      running_moments<1>(sums, s_.columns, mean, squares);
    }
    for (int64_t r = 0; r < rows; ++r, sums += s_.columns, y += s_.columns) {
      if (s_.simplified) {
        kernel_table().normalize_row(false, s_.columns, sums, gamma, beta, false, s_.epsilon, y, nullptr,
                                     deviations == nullptr ? nullptr : deviations + first + r);
      } else {
        const float inverse = 1.0f / std::sqrt(squares[r] / static_cast<float>(s_.columns) + s_.epsilon);
        if (beta == nullptr) {
          for (int64_t i = 0; i < s_.columns; ++i) y[i] = (sums[i] - mean[r]) * inverse * gamma[i];
        } else {
          for (int64_t i = 0; i < s_.columns; ++i) y[i] = (sums[i] - mean[r]) * inverse * gamma[i] + beta[i];
        }
        if (deviations != nullptr) deviations[first + r] = inverse;
      }
      if (means != nullptr) means[first + r] = mean[r];
    }
  }

  SkipSetup s_;
};

std::unique_ptr<Kernel> make_skip(const StepContext& context, bool simplified) {
  if (context.fused() || !context.has_output(0) || context.outputs[0].count() == 0) return nullptr;
  const StepPort& x = context.inputs[0];
  SkipSetup setup;
  setup.columns = x.shape.back();
  setup.simplified = simplified;
  setup.epsilon = static_cast<float>(context.real("epsilon", 1e-12F));
  const size_t bias = simplified ? 3 : 4;
  const StepPort& skip = context.inputs[1];
  if (x.type != ElementType::f32 || skip.type != ElementType::f32 || skip.shape.empty() ||
      skip.shape.back() != setup.columns)
    return nullptr;
  if (x.shape.size() > Extents::most || !setup.size(x.shape, skip.shape)) return nullptr;
  if (!context.has_input(2) || !f32_vector_or_absent(context, 2, setup.columns) ||
      !f32_vector_or_absent(context, 3, setup.columns) || !f32_vector_or_absent(context, 4, setup.columns)) {
    return nullptr;
  }
  if (!simplified && context.has_input(3)) setup.beta = 3;
  if (context.has_input(bias)) setup.bias = static_cast<int>(bias);
  setup.wants_mean = context.has_output(1);
  setup.wants_deviation = context.has_output(2);
  setup.wants_sum = context.has_output(3);
  return std::make_unique<SkipNormKernel>(setup);
}
std::unique_ptr<Kernel> make_skip_layer(const StepContext& context) { return make_skip(context, false); }
std::unique_ptr<Kernel> make_skip_rms(const StepContext& context) { return make_skip(context, true); }

struct EmbedSetup {
  int64_t batch = 0, length = 0, columns = 0;
  int64_t words = 0, positions = 0, segments = 0;  ///< rows of the tables
  float epsilon = 0;
  bool has_segments = false;
  int64_t position_strides[2] = {};  ///< of position_ids; used where it is present
  bool has_position_ids = false, has_mask = false;
  bool wants_counts = false, wants_sum = false;
  bool narrow[9] = {};  ///< i32 indices, per port
  std::shared_ptr<const std::string> place;

  /// Of word ids and, where they are present, position ids.
  template <typename Dims>
  void size(const Dims& ids, const Dims& position_ids) {
    batch = ids[0];
    length = ids[1];
    if (!has_position_ids) return;
    position_strides[0] = position_ids[0] == 1 ? 0 : position_ids[1];
    position_strides[1] = position_ids[1] == 1 ? 0 : 1;
  }
};

class EmbedKernel final : public Kernel {
 public:
  explicit EmbedKernel(EmbedSetup setup) : s_(std::move(setup)) {}

  void run(const KernelCall& call) const override {
    const auto* gamma = static_cast<const float*>(call.inputs[5]);
    const auto* beta = static_cast<const float*>(call.inputs[6]);
    auto* y = static_cast<float*>(call.outputs[0]);
    float* sums = output(call, s_.wants_sum, 2);
    const int64_t columns = s_.columns;
    const int64_t tokens = s_.batch * s_.length;
    call.pool.parallel_for(tokens, std::max<int64_t>(1, grain_elements / columns),
                           [&](int64_t begin, int64_t end) {
                             for (int64_t t = begin; t < end; ++t) {
                               float* sum = (sums != nullptr ? sums : y) + t * columns;
                               const float* word = row(call, 0, t, 2, s_.words);
                               const float* position = position_row(call, t);
                               for (int64_t i = 0; i < columns; ++i) sum[i] = word[i] + position[i];
                               if (s_.has_segments) {
                                 const float* segment = row(call, 1, t, 4, s_.segments);
                                 for (int64_t i = 0; i < columns; ++i) sum[i] += segment[i];
                               }
                               kernel_table().normalize_row(true, columns, sum, gamma, beta, false,
                                                            s_.epsilon, y + t * columns, nullptr, nullptr);
                             }
                           });
    if (s_.wants_counts) count_words(call);
  }
  std::string describe() const override { return "embed, layer norm"; }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    const Extents words = ports.input(2), positions = ports.input(3);
    if (words[1] != s_.columns || ports.output(0).count() == 0) return nullptr;
    auto other = make_in_block<EmbedKernel>(*this);
    EmbedSetup& setup = other->s_;
    setup.words = words[0];
    setup.positions = positions[0];
    if (setup.has_segments) setup.segments = ports.input(4)[0];
    setup.size(ports.input(0), setup.has_position_ids ? ports.input(8) : Extents());
    return other;
  }

 private:
  const float* row(const KernelCall& call, int ids, int64_t at, int table, int64_t rows) const {
    const IndexReader reader{call.inputs[ids], s_.narrow[ids]};
    const int64_t index = reader.at(at, rows);
    if (index < 0 || negative(call, ids, at)) fail_index(*s_.place);
    return static_cast<const float*>(call.inputs[table]) + index * s_.columns;
  }
  bool negative(const KernelCall& call, int ids, int64_t at) const {
    return s_.narrow[ids] ? static_cast<const int32_t*>(call.inputs[ids])[at] < 0
                          : static_cast<const int64_t*>(call.inputs[ids])[at] < 0;
  }
  const float* position_row(const KernelCall& call, int64_t token) const {
    const int64_t place = token % s_.length;
    if (s_.has_position_ids) {
      const int64_t at = token / s_.length * s_.position_strides[0] + place * s_.position_strides[1];
      return row(call, 8, at, 3, s_.positions);
    }
    if (place >= s_.positions) fail_index(*s_.place);
    return static_cast<const float*>(call.inputs[3]) + place * s_.columns;
  }

  /// Words of each sequence whose mask is 1; 0 without a mask.
  void count_words(const KernelCall& call) const {
    auto* counts = static_cast<int32_t*>(call.outputs[1]);
    for (int64_t b = 0; b < s_.batch; ++b) {
      counts[b] = 0;
      for (int64_t t = b * s_.length; s_.has_mask && t < (b + 1) * s_.length; ++t) {
        const int64_t value = s_.narrow[7] ? static_cast<const int32_t*>(call.inputs[7])[t]
                                           : static_cast<const int64_t*>(call.inputs[7])[t];
        if (value == 1) ++counts[b];
      }
    }
  }

  EmbedSetup s_;
};

std::unique_ptr<Kernel> make_embed(const StepContext& context) {
  if (context.fused() || !context.has_output(0) || context.outputs[0].count() == 0) return nullptr;
  EmbedSetup setup;
  for (size_t k = 0; k < context.inputs.size(); ++k) {
    if (!context.has_input(k)) continue;
    const bool index = k < 2 || k > 6;
    if (index ? !is_index(context, k) : context.inputs[k].type != ElementType::f32) return nullptr;
    if (k < 9) setup.narrow[k] = context.inputs[k].type == ElementType::i32;
  }
  setup.words = context.inputs[2].shape[0];
  setup.columns = context.inputs[2].shape[1];
  setup.positions = context.inputs[3].shape[0];
  setup.has_segments = context.has_input(1);
  if (setup.has_segments) setup.segments = context.inputs[4].shape[0];
  setup.epsilon = static_cast<float>(context.real("epsilon", 1e-12F));
  setup.has_position_ids = context.has_input(8);
  setup.size(context.inputs[0].shape, setup.has_position_ids ? context.inputs[8].shape : ir::Shape());
  setup.has_mask = context.has_input(7);
  setup.wants_counts = context.has_output(1);
  setup.wants_sum = context.has_output(2);
  setup.place = std::make_shared<const std::string>(place_of(context));
  return std::make_unique<EmbedKernel>(std::move(setup));
}

}  // namespace

void transformer_normalization_factories(std::vector<FactoryEntry>& table) {
  constexpr std::string_view domain = "com.microsoft";
  table.push_back({domain, "SkipLayerNormalization", make_skip_layer});
  table.push_back({domain, "SkipSimplifiedLayerNormalization", make_skip_rms});
  table.push_back({domain, "EmbedLayerNormalization", make_embed});
}

}  // namespace axrun::runtime
