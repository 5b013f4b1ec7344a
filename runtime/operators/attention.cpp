// com.microsoft Attention, QAttention and MultiHeadAttention, float32 but for the bytes that QAttention
// projects.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/operators/attention_core.h"
#include "runtime/operators/attention_mask.h"
#include "runtime/operators/attention_parts.h"
#include "runtime/operators/attention_projection.h"
#include "runtime/operators/product_sizes.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;

bool all_f32(const StepContext& context, std::initializer_list<size_t> ports) {
  return std::all_of(ports.begin(), ports.end(), [&](size_t k) {
    return !context.has_input(k) || context.inputs[k].type == ElementType::f32;
  });
}

int64_t round_floats(int64_t floats) { return (floats + 15) / 16 * 16; }

/// Scratch of attention under a mask: that of the mask comes first.
size_t masked_scratch_bytes(const AttentionCore& core, const AttentionMask& mask, const AttentionExtents& x) {
  return mask_scratch_bytes(mask, x) + core.scratch_bytes();
}

/// Attention under a mask, with heads side by side in the output.
void attend(const AttentionCore& core, const AttentionMask& mask, const AttentionExtents& x,
            const KernelCall& call, const HeadRows& query, const HeadRows& key, const HeadRows& value,
            void* scratch) {
  const MaskRule rule(mask, x, call, scratch);
  AttentionOperands operands;
  operands.query = query;
  operands.key = key;
  operands.value = value;
  operands.output =
      side_by_side(static_cast<const float*>(call.outputs[0]), x.heads, x.queries, x.value_size);
  if (!mask.plain()) operands.rule = &rule;
  core.run(operands, call.pool, static_cast<char*>(scratch) + mask_scratch_bytes(mask, x));
}

// Attention: projection, then attention over its columns
// ------------------------------------------------------------------------------------------------------------

struct AttentionSetup {
  AttentionExtents extents;
  AttentionMask mask;
  int64_t input = 0;
  size_t past_port = 0;
  bool has_past = false, wants_present = false;

  void size(int64_t batch, int64_t queries, int64_t past) {
    extents.batch = batch;
    extents.queries = queries;
    extents.past = past;
    extents.keys = past + queries;
  }
};

/// None where the port is absent.
Extents dims_of(const PortSizes& ports, size_t k) { return k < ports.inputs() ? ports.input(k) : Extents(); }
Extents dims_of(const PortSizes& ports, int k) {
  return k < 0 ? Extents() : dims_of(ports, static_cast<size_t>(k));
}

class AttentionKernel final : public Kernel {
 public:
  AttentionKernel(const AttentionSetup& setup, std::shared_ptr<const AttentionProjection> projection,
                  float scale, int threads)
      : s_(setup),
        x_(setup.extents),
        projection_(std::move(projection)),
        core_(setup.extents, scale, 0, threads),
        scale_(scale),
        threads_(threads) {
    columns_ = x_.heads * (2 * x_.key_size + x_.value_size);
    states_at_ = round_floats(x_.batch * x_.queries * columns_);
    const bool keeps_states = s_.has_past && !s_.wants_present;
    core_at_ = states_at_ + (keeps_states ? round_floats(2 * state_floats()) : 0);
    scratch_ = static_cast<size_t>(core_at_) * sizeof(float) +
               std::max(masked_scratch_bytes(core_, s_.mask, x_), projection_->scratch_bytes());
  }

  void run(const KernelCall& call) const override {
    auto* projected = static_cast<float*>(call.scratch);
    void* rest = projected + core_at_;
    projection_->run(call, projected, rest);
    float* present = s_.wants_present ? static_cast<float*>(call.outputs[1])
                     : s_.has_past    ? projected + states_at_
                                      : nullptr;
    if (present != nullptr) join_states(call, projected, present);
    attend(core_, s_.mask, x_, call, columns(projected, 0, x_.key_size), key_rows(projected, present),
           value_rows(projected, present), rest);
  }

  std::string describe() const override {
    return fmt::format("attention {}x{} heads, {} queries, {} keys of {}{}", x_.batch, x_.heads, x_.queries,
                       x_.keys, x_.key_size, projection_->packed() ? " packed" : "");
  }
  size_t scratch_bytes() const override { return scratch_; }
  bool ignores_input(int k) const override { return projection_->ignores_input(k); }
  double flops() const override {
    return core_.flops() +
           2.0 * static_cast<double>(x_.batch * x_.queries * s_.input) * static_cast<double>(columns_);
  }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    if (ports.dim_of_input(0, 2) != s_.input || ports.dim_of_input(1, 1) != columns_) return nullptr;
    AttentionSetup setup = s_;
    setup.size(ports.dim_of_input(0, 0), ports.dim_of_input(0, 1),
               s_.has_past ? ports.dim_of_input(s_.past_port, 3) : 0);
    const AttentionExtents& x = setup.extents;
    if (x.batch * x.queries * x_.value_size == 0) return nullptr;
    if (!resize_attention_mask(x, dims_of(ports, s_.mask.port), dims_of(ports, s_.mask.bias_port),
                               setup.mask))
      return nullptr;
    const bool same_rows = x.batch == x_.batch && x.queries == x_.queries;
    auto projection = same_rows ? projection_ : projection_->resized(x.batch * x.queries, ports);
    if (projection == nullptr) return nullptr;
    return make_in_block<AttentionKernel>(setup, std::move(projection), scale_, threads_);
  }

 private:
  int64_t state_floats() const { return x_.batch * x_.heads * x_.keys * x_.key_size; }

  /// Columns first .. of the projection as vectors of all heads.
  HeadRows columns(const float* projected, int64_t first, int64_t size) const {
    return {projected == nullptr ? nullptr : projected + first, x_.queries * columns_, size, columns_};
  }
  HeadRows key_rows(const float* projected, const float* present) const {
    if (s_.has_past || s_.wants_present) return states(present, x_.heads, x_.keys, x_.key_size);
    return columns(projected, x_.heads * x_.key_size, x_.key_size);
  }
  HeadRows value_rows(const float* projected, const float* present) const {
    if (s_.has_past || s_.wants_present) {
      return states(present == nullptr ? nullptr : present + state_floats(), x_.heads, x_.keys,
                    x_.value_size);
    }
    return columns(projected, 2 * x_.heads * x_.key_size, x_.value_size);
  }

  /// present[kind][batch][head] = past's rows, then the projection's.
  void join_states(const KernelCall& call, const float* projected, float* present) const {
    const int64_t size = x_.key_size;
    for (int64_t kind = 0; kind < 2; ++kind) {
      const HeadRows to = states(present + kind * state_floats(), x_.heads, x_.keys, size);
      if (s_.has_past) {
        const auto* past = static_cast<const float*>(call.inputs[s_.past_port]) +
                           kind * x_.batch * x_.heads * x_.past * size;
        copy_heads(x_, x_.past, size, states(past, x_.heads, x_.past, size), nullptr, to, 0);
      }
      copy_heads(x_, x_.queries, size, columns(projected, (kind + 1) * x_.heads * size, size), nullptr, to,
                 x_.past);
    }
  }

  AttentionSetup s_;
  AttentionExtents x_;
  std::shared_ptr<const AttentionProjection> projection_;
  AttentionCore core_;
  float scale_;
  int threads_;
  int64_t columns_ = 0, states_at_ = 0, core_at_ = 0;
  size_t scratch_ = 0;
};

/// Where the inputs are that the operators do not have in the same places.
struct AttentionPorts {
  size_t mask, past, bias;
};
constexpr AttentionPorts plain_ports = {3, 4, 5}, quantized_ports = {5, 8, 9 /* none */};

std::unique_ptr<Kernel> make_projected(const StepContext& context, const AttentionPorts& ports,
                                       decltype(make_float_projection)* make_projection) {
  if (context.fused() || !context.has_output(0) || !all_f32(context, {2, ports.past})) return nullptr;
  if (context.outputs[0].count() == 0) return nullptr;
  AttentionSetup setup;
  AttentionExtents& x = setup.extents;
  const ir::Shape& input = context.inputs[0].shape;
  const int64_t columns = context.inputs[1].shape[1];
  setup.input = input[2];
  x.heads = context.integer("num_heads", 1);
  const std::vector<int64_t> sizes = context.integers("qkv_hidden_sizes");
  x.key_size = (sizes.empty() ? columns / 3 : sizes[0]) / x.heads;
  x.value_size = (sizes.empty() ? columns / 3 : sizes[2]) / x.heads;
  setup.past_port = ports.past;
  setup.has_past = context.has_input(ports.past);
  setup.wants_present = context.has_output(1);
  setup.size(input[0], input[1], setup.has_past ? context.inputs[ports.past].shape[3] : 0);
  if (setup.input == 0 || x.key_size == 0) return nullptr;
  if (!read_attention_mask(context, x, ports.mask, ports.bias, setup.mask)) return nullptr;
  auto projection = make_projection(context, {x.batch * x.queries, columns, setup.input});
  if (!projection) return nullptr;
  return std::make_unique<AttentionKernel>(setup, std::move(projection), attention_scale(context, x.key_size),
                                           context.threads);
}

std::unique_ptr<Kernel> make_attention(const StepContext& context) {
  if (!all_f32(context, {0, 1})) return nullptr;
  return make_projected(context, plain_ports, make_float_projection);
}
std::unique_ptr<Kernel> make_quantized_attention(const StepContext& context) {
  return make_projected(context, quantized_ports, make_byte_projection);
}

// MultiHeadAttention: queries, keys and values are given
// ------------------------------------------------------------------------------------------------------------

/// How queries, keys or values of all heads lie in an input.
struct HeadInput {
  int port = -1;
  int64_t offset = 0;       ///< of the first vector, in floats
  HeadRows rows;            ///< strides; data is set when running
  int64_t bias_first = -1;  ///< entry of the bias of the first column; -1: none

  HeadRows at(const KernelCall& call) const {
    HeadRows result = rows;
    result.data = static_cast<const float*>(call.inputs[port]) + offset;
    return result;
  }
};

struct MultiHeadSetup {
  AttentionExtents extents;
  AttentionMask mask;
  HeadInput query, key, value;
  bool has_bias = false;
  int64_t added = 0;  ///< keys without those of the past
  bool has_past = false, wants_key = false, wants_value = false;
};

HeadInput rows_of(int port, const Extents& dims, int64_t size) {
  return {port, 0, {nullptr, dims[1] * dims[2], size, dims[2]}, -1};
}
HeadInput packed_of(int port, const Extents& dims, int64_t part) {
  const int64_t row = dims[2] * dims[3] * dims[4];
  return {port, part * dims[4], {nullptr, dims[1] * row, dims[3] * dims[4], row}, -1};
}
HeadInput states_of(int port, const Extents& dims) {
  return {port, 0, {nullptr, dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3]}, -1};
}

/// The layouts of the operator: all in the query, or key and value in the key, or three inputs. The dims of
/// what is absent are empty.
void read_layout(const Extents& query, const Extents& key, const Extents& value, const Extents& past,
                 MultiHeadSetup& setup) {
  AttentionExtents& x = setup.extents;
  x.batch = query[0];
  x.queries = query[1];
  bool is_states = false;
  if (query.size() == 5) {
    x.key_size = x.value_size = query[4];
    setup.added = x.queries;
    setup.query = packed_of(0, query, 0);
    setup.key = packed_of(0, query, 1);
    setup.value = packed_of(0, query, 2);
  } else {
    x.key_size = query[2] / x.heads;
    setup.query = rows_of(0, query, x.key_size);
    if (key.size() == 5) {
      x.value_size = x.key_size;
      setup.added = key[1];
      setup.key = packed_of(1, key, 0);
      setup.value = packed_of(1, key, 1);
    } else {
      is_states = key.size() == 4;
      setup.added = key[is_states ? 2 : 1];
      x.value_size = is_states ? value[3] : value[2] / x.heads;
      setup.key = is_states ? states_of(1, key) : rows_of(1, key, x.key_size);
      setup.value = is_states ? states_of(2, value) : rows_of(2, value, x.value_size);
    }
  }
  x.past = setup.has_past ? past[2] : 0;
  x.keys = x.past + setup.added;
  if (!setup.has_bias) return;
  setup.query.bias_first = 0;
  if (is_states) return;
  setup.key.bias_first = x.heads * x.key_size;
  setup.value.bias_first = 2 * x.heads * x.key_size;
}

class MultiHeadKernel final : public Kernel {
 public:
  MultiHeadKernel(const MultiHeadSetup& setup, float scale, int threads)
      : s_(setup),
        x_(setup.extents),
        core_(setup.extents, scale, 0, threads),
        scale_(scale),
        threads_(threads) {
    copies_key_ = s_.has_past || s_.wants_key || s_.key.bias_first >= 0;
    copies_value_ = s_.has_past || s_.wants_value || s_.value.bias_first >= 0;
    const bool copies_query = s_.query.bias_first >= 0;
    key_at_ = copies_query ? round_floats(x_.batch * x_.queries * x_.heads * x_.key_size) : 0;
    value_at_ = key_at_ + (copies_key_ && !s_.wants_key ? round_floats(key_floats()) : 0);
    core_at_ = value_at_ + (copies_value_ && !s_.wants_value ? round_floats(value_floats()) : 0);
    scratch_ = static_cast<size_t>(core_at_) * sizeof(float) + masked_scratch_bytes(core_, s_.mask, x_);
  }

  void run(const KernelCall& call) const override {
    auto* scratch = static_cast<float*>(call.scratch);
    HeadRows query = s_.query.at(call);
    if (s_.query.bias_first >= 0) {
      copy_heads(x_, x_.queries, x_.key_size, query, bias(call, s_.query), query_copy(scratch), 0);
      query = query_copy(scratch);
    }
    HeadRows key = s_.key.at(call), value = s_.value.at(call);
    if (copies_key_) {
      float* to = s_.wants_key ? static_cast<float*>(call.outputs[1]) : scratch + key_at_;
      key = join(call, s_.key, 6, x_.key_size, key_copy(to));
    }
    if (copies_value_) {
      float* to = s_.wants_value ? static_cast<float*>(call.outputs[2]) : scratch + value_at_;
      value = join(call, s_.value, 7, x_.value_size, value_copy(to));
    }
    attend(core_, s_.mask, x_, call, query, key, value, scratch + core_at_);
  }

  std::string describe() const override {
    return fmt::format("multi-head attention {}x{} heads, {} queries, {} keys of {}", x_.batch, x_.heads,
                       x_.queries, x_.keys, x_.key_size);
  }
  size_t scratch_bytes() const override { return scratch_; }
  double flops() const override { return core_.flops(); }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    MultiHeadSetup setup = s_;
    read_layout(ports.input(0), dims_of(ports, size_t{1}), dims_of(ports, size_t{2}),
                dims_of(ports, size_t{6}), setup);
    const AttentionExtents& x = setup.extents;
    const bool same_heads = x.key_size == x_.key_size && x.value_size == x_.value_size;
    if (!same_heads || x.keys == 0 || ports.output(0).count() == 0) return nullptr;
    if (!resize_attention_mask(x, dims_of(ports, s_.mask.port), dims_of(ports, s_.mask.bias_port),
                               setup.mask))
      return nullptr;
    return make_in_block<MultiHeadKernel>(setup, scale_, threads_);
  }

 private:
  int64_t key_floats() const { return x_.batch * x_.heads * x_.keys * x_.key_size; }
  int64_t value_floats() const { return x_.batch * x_.heads * x_.keys * x_.value_size; }
  HeadRows query_copy(const float* data) const { return states(data, x_.heads, x_.queries, x_.key_size); }
  HeadRows key_copy(const float* data) const { return states(data, x_.heads, x_.keys, x_.key_size); }
  HeadRows value_copy(const float* data) const { return states(data, x_.heads, x_.keys, x_.value_size); }

  static const float* bias(const KernelCall& call, const HeadInput& input) {
    return input.bias_first < 0 ? nullptr : static_cast<const float*>(call.inputs[3]) + input.bias_first;
  }

  /// The past's rows, then those of the input with its bias.
  HeadRows join(const KernelCall& call, const HeadInput& input, int past_port, int64_t size,
                const HeadRows& to) const {
    if (s_.has_past) {
      const auto* past = static_cast<const float*>(call.inputs[past_port]);
      copy_heads(x_, x_.past, size, states(past, x_.heads, x_.past, size), nullptr, to, 0);
    }
    copy_heads(x_, s_.added, size, input.at(call), bias(call, input), to, x_.past);
    return to;
  }

  MultiHeadSetup s_;
  AttentionExtents x_;
  AttentionCore core_;
  float scale_;
  int threads_;
  bool copies_key_ = false, copies_value_ = false;
  int64_t key_at_ = 0, value_at_ = 0, core_at_ = 0;
  size_t scratch_ = 0;
};

std::unique_ptr<Kernel> make_multi_head(const StepContext& context) {
  if (context.fused() || !context.has_output(0) || !all_f32(context, {0, 1, 2, 3, 6, 7})) return nullptr;
  if (context.outputs[0].count() == 0 || context.has_output(3)) return nullptr;
  MultiHeadSetup setup;
  AttentionExtents& x = setup.extents;
  x.heads = context.integer("num_heads", 1);
  setup.has_bias = context.has_input(3);
  setup.has_past = context.has_input(6);
  const auto dims = [&](size_t k) {
    return context.has_input(k) ? extents_of(context.inputs[k].shape) : Extents();
  };
  read_layout(dims(0), dims(1), dims(2), dims(6), setup);
  setup.wants_key = context.has_output(1);
  setup.wants_value = context.has_output(2);
  if (x.keys == 0 || x.key_size == 0) return nullptr;
  if (!read_attention_mask(context, x, 4, 5, setup.mask)) return nullptr;
  return std::make_unique<MultiHeadKernel>(setup, attention_scale(context, x.key_size), context.threads);
}

}  // namespace

void attention_factories(std::vector<FactoryEntry>& table) {
  constexpr std::string_view domain = "com.microsoft";
  table.push_back({domain, "Attention", make_attention});
  table.push_back({domain, "QAttention", make_quantized_attention});
  table.push_back({domain, "MultiHeadAttention", make_multi_head});
  onnx_attention_factories(table);
  group_query_factories(table);
  rotary_factories(table);
  transformer_normalization_factories(table);
}

}  // namespace axrun::runtime
