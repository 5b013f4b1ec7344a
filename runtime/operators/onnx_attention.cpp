// Attention of ai.onnx (opset 23 and later), float32.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/operators/attention_core.h"
#include "runtime/operators/attention_mask.h"
#include "runtime/operators/attention_parts.h"
#include "runtime/operators/product_sizes.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;

enum { query_port, key_port, value_port, mask_port, past_key_port, past_value_port, valid_port };

/// An input [batch, heads, length, size], or [batch, length, heads * size].
struct HeadsPort {
  int64_t heads = 0, length = 0, size = 0;
  bool packed = false;

  static HeadsPort of(const Extents& shape, int64_t packed_heads) {
    if (shape.size() == 4) return {shape[1], shape[2], shape[3], false};
    return {packed_heads, shape[1], shape[2] / packed_heads, true};
  }
  HeadRows rows(const void* data) const {
    const auto* floats = static_cast<const float*>(data);
    return packed ? side_by_side(floats, heads, length, size) : states(floats, heads, length, size);
  }
};

struct OnnxAttentionSetup {
  AttentionExtents extents;
  HeadsPort query, key, value;
  float scale = 1, softcap = 0;
  bool causal = false;
  int64_t left_window = -1, right_window = -1;
  bool has_past = false, wants_key = false, wants_value = false;
  bool has_valid = false, valid_narrow = false;
  ElementType mask_type = ElementType::undefined;  ///< f32 or boolean
  int64_t mask_strides[4] = {};
  int64_t mask_keys = 0;                   ///< that the mask covers; the others are hidden
  int64_t query_heads = 0, key_heads = 0;  ///< of inputs that have them side by side
  bool spreads_mask = false;               ///< a mask of one column is one for all keys

  struct Dims {
    Extents query, key, value, mask, past_key;  ///< empty: absent
  };
  /// What hangs on sizes; false where there is nothing to compute.
  bool size(Dims dims) {
    query = HeadsPort::of(dims.query, query_heads);
    key = HeadsPort::of(dims.key, key_heads);
    value = HeadsPort::of(dims.value, key_heads);
    AttentionExtents& x = extents;
    x.batch = dims.query[0];
    x.heads = query.heads;
    x.key_heads = key.heads;
    x.queries = query.length;
    x.past = has_past ? dims.past_key[2] : 0;
    x.keys = x.past + key.length;
    x.key_size = query.size;
    x.value_size = value.size;
    if (mask_type != ElementType::undefined) {
      mask_keys = dims.mask.back() == 1 && spreads_mask ? x.keys : dims.mask.back();
      while (dims.mask.size() < 4) dims.mask.insert(0, 1);
      broadcast_strides(dims.mask, mask_strides);
    }
    return x.keys > 0 && x.key_size > 0;
  }

  bool restricts() const {
    return causal || left_window >= 0 || right_window >= 0 || has_valid ||
           mask_type != ElementType::undefined;
  }
};

class OnnxRule final : public LogitRule {
 public:
  OnnxRule(const OnnxAttentionSetup& setup, const KernelCall& call) : s_(setup), call_(call) {}

  KeyRange visible(int64_t batch, int64_t query) const override {
    const AttentionExtents& x = s_.extents;
    KeyRange keys{0, x.keys};
    int64_t position = query + x.past;  // of the query among the keys
    if (s_.has_valid) {
      constexpr int64_t most = int64_t{1} << 40;  // more than there are keys
      const int64_t valid = std::clamp(valid_keys(batch), -most, most);
      position = query + valid - x.queries;
      keys.last = std::min(keys.last, valid);
    }
    if (s_.mask_type != ElementType::undefined) keys.last = std::min(keys.last, s_.mask_keys);
    if (s_.causal) keys.last = std::min(keys.last, position + 1);
    if (s_.right_window >= 0) keys.last = std::min(keys.last, position + s_.right_window + 1);
    if (s_.left_window >= 0) keys.first = std::max(keys.first, position - s_.left_window);
    return keys;
  }

  bool change(int64_t batch, int64_t head, int64_t query, KeyRange keys, float* logits) const override {
    const int64_t count = keys.last - keys.first;
    if (count == 0) return false;
    if (s_.mask_type == ElementType::undefined) return true;
    const int64_t* strides = s_.mask_strides;
    const void* mask = call_.inputs[mask_port];
    const int64_t at = batch * strides[0] + head * strides[1] + query * strides[2] + keys.first * strides[3];
    if (s_.mask_type == ElementType::f32) {
      const auto* added = static_cast<const float*>(mask) + at;
      return strides[3] == 0 ? add<0>(added, count, logits) : add<1>(added, count, logits);
    }
    const auto* allowed = static_cast<const uint8_t*>(mask) + at;
    return strides[3] == 0 ? keep<0>(allowed, count, logits) : keep<1>(allowed, count, logits);
  }

 private:
  static constexpr float forbidden = -std::numeric_limits<float>::infinity();

  // Selected, not added: a product that is infinite or NaN is forbidden as any other. The answer is whether
  // any key may be seen.
  template <int stride>
  static bool add(const float* __restrict mask, int64_t count, float* __restrict logits) {
    int32_t seen = 0;
    for (int64_t t = 0; t < count; ++t) {
      const float added = mask[t * stride];
      seen |= added != forbidden ? 1 : 0;
      logits[t] = added != forbidden ? logits[t] + added : forbidden;
    }
    return seen != 0;
  }
  template <int stride>
  static bool keep(const uint8_t* __restrict mask, int64_t count, float* __restrict logits) {
    int32_t seen = 0;
    for (int64_t t = 0; t < count; ++t) {
      const int32_t allowed = mask[t * stride] != 0 ? 1 : 0;
      seen |= allowed;
      logits[t] = allowed != 0 ? logits[t] : forbidden;
    }
    return seen != 0;
  }

  int64_t valid_keys(int64_t batch) const {
    const void* data = call_.inputs[valid_port];
    return s_.valid_narrow ? static_cast<const int32_t*>(data)[batch]
                           : static_cast<const int64_t*>(data)[batch];
  }

  const OnnxAttentionSetup& s_;
  const KernelCall& call_;
};

class OnnxAttentionKernel final : public Kernel {
 public:
  OnnxAttentionKernel(const OnnxAttentionSetup& setup, int threads)
      : s_(setup),
        x_(setup.extents),
        core_(setup.extents, setup.scale, setup.softcap, threads),
        threads_(threads) {
    const auto round_up = [](int64_t floats) { return (floats + 15) / 16 * 16; };
    const int64_t vectors = x_.batch * x_.key_heads * x_.keys;
    value_at_ = s_.has_past && !s_.wants_key ? round_up(vectors * x_.key_size) : 0;
    core_at_ = value_at_ + (s_.has_past && !s_.wants_value ? round_up(vectors * x_.value_size) : 0);
  }

  void run(const KernelCall& call) const override {
    auto* scratch = static_cast<float*>(call.scratch);
    const HeadRows key = s_.key.rows(call.inputs[key_port]), value = s_.value.rows(call.inputs[value_port]);
    HeadRows present_key, present_value;
    if (joins_key()) {
      present_key = states(s_.wants_key ? static_cast<const float*>(call.outputs[1]) : scratch, x_.key_heads,
                           x_.keys, x_.key_size);
    }
    if (joins_value()) {
      present_value =
          states(s_.wants_value ? static_cast<const float*>(call.outputs[2]) : scratch + value_at_,
                 x_.key_heads, x_.keys, x_.value_size);
    }
    const OnnxRule rule(s_, call);
    AttentionOperands operands;
    operands.query = s_.query.rows(call.inputs[query_port]);
    operands.key = joins_key() ? present_key : key;
    operands.value = joins_value() ? present_value : value;
    HeadsPort output = s_.query;
    output.size = x_.value_size;
    operands.output = output.rows(call.outputs[0]);
    if (s_.restricts()) operands.rule = &rule;
    const auto prepare = [&](int64_t batch, int64_t head) {
      if (joins_key()) join(call, past_key_port, key, x_.key_size, batch, head, present_key);
      if (joins_value()) join(call, past_value_port, value, x_.value_size, batch, head, present_value);
    };
    const PrepareStates prepare_states = prepare;
    if (joins_key() || joins_value()) operands.prepare = &prepare_states;
    core_.run(operands, call.pool, scratch + core_at_);
  }

  std::string describe() const override {
    return fmt::format("attention {}x{} heads in {}, {} queries, {} keys of {}", x_.batch, x_.heads,
                       x_.key_heads, x_.queries, x_.keys, x_.key_size);
  }
  size_t scratch_bytes() const override {
    return static_cast<size_t>(core_at_) * sizeof(float) + core_.scratch_bytes();
  }
  double flops() const override { return core_.flops(); }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    if (ports.output(0).count() == 0) return nullptr;
    const auto dims = [&](size_t k) { return k < ports.inputs() ? ports.input(k) : Extents(); };
    OnnxAttentionSetup setup = s_;
    if (!setup.size(
            {dims(query_port), dims(key_port), dims(value_port), dims(mask_port), dims(past_key_port)}))
      return nullptr;
    if (setup.extents.key_size != x_.key_size) return nullptr;
    return make_in_block<OnnxAttentionKernel>(setup, threads_);
  }

 private:
  bool joins_key() const { return s_.has_past || s_.wants_key; }
  bool joins_value() const { return s_.has_past || s_.wants_value; }

  /// The present states of a head: those of the past, then the new ones.
  void join(const KernelCall& call, int past_port, const HeadRows& added, int64_t size, int64_t batch,
            int64_t head, const HeadRows& present) const {
    if (s_.has_past) {
      const HeadRows past =
          states(static_cast<const float*>(call.inputs[past_port]), x_.key_heads, x_.past, size);
      copy_rows(x_.past, size, past.at(batch, head, 0), size, const_cast<float*>(present.at(batch, head, 0)),
                size);
    }
    copy_rows(x_.keys - x_.past, size, added.at(batch, head, 0), added.row_stride,
              const_cast<float*>(present.at(batch, head, x_.past)), size);
  }

  OnnxAttentionSetup s_;
  AttentionExtents x_;
  AttentionCore core_;
  int threads_;
  int64_t value_at_ = 0, core_at_ = 0;  ///< in the scratch, after the keys
};

/// False: of a type that is left to the interpreter.
bool read_mask(const StepContext& context, OnnxAttentionSetup& setup) {
  if (!context.has_input(mask_port)) return true;
  const StepPort& mask = context.inputs[mask_port];
  if (mask.type != ElementType::f32 && mask.type != ElementType::boolean) return false;
  setup.mask_type = mask.type;
  // Since opset 24 a mask of one column is one that misses the other keys.
  setup.spreads_mask = context.node.version < 24;
  return true;
}

std::unique_ptr<Kernel> make_onnx_attention(const StepContext& context) {
  if (context.fused() || !context.has_output(0) || context.outputs[0].count() == 0) return nullptr;
  if (context.has_output(3)) return nullptr;
  for (const int port : {+query_port, +key_port, +value_port}) {
    if (context.inputs[static_cast<size_t>(port)].type != ElementType::f32) return nullptr;
  }
  OnnxAttentionSetup setup;
  setup.query_heads = context.integer("q_num_heads", 0);
  setup.key_heads = context.integer("kv_num_heads", 0);
  setup.has_past = context.has_input(past_key_port);
  setup.softcap = static_cast<float>(context.real("softcap", 0));
  setup.causal = context.integer("is_causal", 0) != 0;
  setup.left_window = context.integer("left_window_size", -1);
  setup.right_window = context.integer("right_window_size", -1);
  setup.wants_key = context.has_output(1);
  setup.wants_value = context.has_output(2);
  if (context.has_input(valid_port)) {
    const ElementType type = context.inputs[valid_port].type;
    if (type != ElementType::i32 && type != ElementType::i64) return nullptr;
    setup.has_valid = true;
    setup.valid_narrow = type == ElementType::i32;
  }
  if (!read_mask(context, setup)) return nullptr;
  const auto dims = [&](size_t k) {
    return context.has_input(k) ? extents_of(context.inputs[k].shape) : Extents();
  };
  if (!setup.size({dims(query_port), dims(key_port), dims(value_port), dims(mask_port), dims(past_key_port)}))
    return nullptr;
  const auto size = static_cast<double>(setup.extents.key_size);
  setup.scale =
      static_cast<float>(context.has_attribute("scale") ? context.real("scale", 0) : 1 / std::sqrt(size));
  return std::make_unique<OnnxAttentionKernel>(setup, context.threads);
}

}  // namespace

void onnx_attention_factories(std::vector<FactoryEntry>& table) {
  table.push_back({"", "Attention", make_onnx_attention});
}

}  // namespace axrun::runtime
