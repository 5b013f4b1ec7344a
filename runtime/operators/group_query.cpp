// com.microsoft GroupQueryAttention, float32.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/operators/attention_core.h"
#include "runtime/operators/attention_mask.h"
#include "runtime/operators/attention_parts.h"
#include "runtime/operators/indexing_parts.h"
#include "runtime/operators/rotary.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;

enum { query_port, key_port, value_port, past_key_port, past_value_port, lengths_port, total_port };
enum { cosine_port = 7, sine_port, positions_port, bias_port, sink_port };

struct GroupQuerySetup {
  AttentionExtents extents;  ///< keys: the length of the present states
  int64_t past = 0;          ///< length of the past states
  int64_t total = 0;         ///< total_sequence_length
  bool packed = false;       ///< query, key and value lie side by side in the query
  bool rotates = false, has_positions = false;
  Rotation rotation;
  int64_t cache_rows = 0;
  float softcap = 0;
  int64_t window = -1;  ///< keys that a query sees, itself included; 0 and less: all before it
  bool has_bias = false;
  int64_t bias_strides[4] = {};
  bool has_sink = false, is_smooth = false;
  bool wants_key = false, wants_value = false;

  /// Length of a sequence with its queries, and positions before the first of them: none in a prompt, whose
  /// queries are the whole sequence and perhaps padding.
  static int64_t whole(const KernelCall& call, int64_t batch) {
    return int64_t{static_cast<const int32_t*>(call.inputs[lengths_port])[batch]} + 1;
  }
  int64_t before(const KernelCall& call, int64_t batch) const {
    return extents.queries == total ? 0 : whole(call, batch) - extents.queries;
  }
};

/// Keys after the query, and those that the window has left behind, are hidden.
class GroupQueryRule final : public LogitRule {
 public:
  GroupQueryRule(const GroupQuerySetup& setup, const KernelCall& call) : s_(setup), call_(call) {}

  KeyRange visible(int64_t batch, int64_t query) const override {
    const int64_t newest = s_.before(call_, batch) + query;
    const int64_t first = s_.window > 0 ? std::max<int64_t>(0, newest - s_.window + 1) : 0;
    return {first, std::min(s_.extents.keys, newest + 1)};
  }
  bool change(int64_t batch, int64_t head, int64_t query, KeyRange keys, float* logits) const override {
    if (!s_.has_bias) return true;
    const int64_t* strides = s_.bias_strides;
    const float* bias = static_cast<const float*>(call_.inputs[bias_port]) + batch * strides[0] +
                        head * strides[1] + query * strides[2];
    const int64_t biased = std::min(keys.last, s_.total);
    for (int64_t t = keys.first; t < biased; ++t) logits[t - keys.first] += bias[t * strides[3]];
    return true;
  }

 private:
  const GroupQuerySetup& s_;
  const KernelCall& call_;
};

class GroupQueryKernel final : public Kernel {
 public:
  GroupQueryKernel(const StepContext& context, const GroupQuerySetup& setup)
      : s_(setup),
        x_(setup.extents),
        core_(setup.extents, attention_scale(context, setup.extents.key_size), setup.softcap,
              context.threads),
        place_(place_of(context)) {
    if (s_.is_smooth) zero_sink_.assign(static_cast<size_t>(x_.heads), 0.0f);
    const auto round_up = [](int64_t floats) { return (floats + 15) / 16 * 16; };
    key_at_ = s_.rotates ? round_up(x_.batch * x_.heads * x_.queries * x_.key_size) : 0;
    const int64_t state_floats = round_up(x_.batch * x_.key_heads * x_.keys * x_.key_size);
    value_at_ = key_at_ + (s_.wants_key ? 0 : state_floats);
    core_at_ = value_at_ + (s_.wants_value ? 0 : state_floats);
  }

  void run(const KernelCall& call) const override {
    auto* scratch = static_cast<float*>(call.scratch);
    const int64_t size = x_.key_size;
    const Tensors t = tensors_of(call);
    const GroupQueryRule rule(s_, call);
    AttentionOperands operands;
    operands.query = s_.rotates ? t.turned_query : t.query;
    operands.key = t.present_key;
    operands.value = t.present_value;
    operands.output = side_by_side(static_cast<const float*>(call.outputs[0]), x_.heads, x_.queries, size);
    operands.rule = &rule;
    if (s_.has_sink) operands.sink = static_cast<const float*>(call.inputs[sink_port]);
    if (s_.is_smooth) operands.sink = zero_sink_.data();
    const auto prepare = [&](int64_t batch, int64_t key_head) {
      extend_states(call, batch, key_head, t.past_key, t.key, t.present_key, s_.rotates);
      extend_states(call, batch, key_head, t.past_value, t.value, t.present_value, false);
      if (!s_.rotates) return;
      for (int64_t h = key_head * x_.group(); h < (key_head + 1) * x_.group(); ++h) {
        for (int64_t s = 0; s < x_.queries; ++s) {
          turn(call, batch, s, t.query.at(batch, h, s), const_cast<float*>(t.turned_query.at(batch, h, s)));
        }
      }
    };
    const PrepareStates prepare_states = prepare;
    operands.prepare = &prepare_states;
    core_.run(operands, call.pool, scratch + core_at_);
  }

  std::string describe() const override {
    return fmt::format("group query attention {}x{} heads in {}, {} queries, {} keys of {}{}", x_.batch,
                       x_.heads, x_.key_heads, x_.queries, x_.keys, x_.key_size, s_.rotates ? " turned" : "");
  }
  size_t scratch_bytes() const override {
    return static_cast<size_t>(core_at_) * sizeof(float) + core_.scratch_bytes();
  }
  double flops() const override { return core_.flops(); }

 private:
  /// Where the vectors of one run lie.
  struct Tensors {
    HeadRows query, key, value, past_key, past_value, turned_query, present_key, present_value;
  };

  Tensors tensors_of(const KernelCall& call) const {
    const auto input = [&](int port) { return static_cast<const float*>(call.inputs[port]); };
    const int64_t size = x_.key_size;
    auto* scratch = static_cast<float*>(call.scratch);
    Tensors t;
    t.query = side_by_side(input(query_port), x_.heads, x_.queries, size);
    if (s_.packed) {
      t.query = side_by_side(input(query_port), x_.heads + 2 * x_.key_heads, x_.queries, size);
      t.key = t.value = t.query;
      t.key.data += x_.heads * size;
      t.value.data += (x_.heads + x_.key_heads) * size;
    } else {
      t.key = side_by_side(input(key_port), x_.key_heads, x_.queries, size);
      t.value = side_by_side(input(value_port), x_.key_heads, x_.queries, size);
    }
    if (s_.past > 0) {
      t.past_key = states(input(past_key_port), x_.key_heads, s_.past, size);
      t.past_value = states(input(past_value_port), x_.key_heads, s_.past, size);
    }
    t.turned_query = states(scratch, x_.heads, x_.queries, size);
    t.present_key = states(s_.wants_key ? static_cast<const float*>(call.outputs[1]) : scratch + key_at_,
                           x_.key_heads, x_.keys, size);
    t.present_value =
        states(s_.wants_value ? static_cast<const float*>(call.outputs[2]) : scratch + value_at_,
               x_.key_heads, x_.keys, size);
    return t;
  }

  /// The present states of a head: those of the past, then the new ones; zero elsewhere.
  void extend_states(const KernelCall& call, int64_t batch, int64_t head, const HeadRows& past,
                     const HeadRows& added, const HeadRows& present, bool turns) const {
    const int64_t size = x_.key_size, keys = x_.keys;
    const int64_t start = s_.before(call, batch);
    float* to = const_cast<float*>(present.at(batch, head, 0));
    const int64_t kept = std::clamp<int64_t>(start, 0, std::min(s_.past, keys));
    if (kept > 0) std::copy_n(past.at(batch, head, 0), kept * size, to);
    const int64_t first = std::clamp<int64_t>(start, 0, keys);
    const int64_t last = std::clamp<int64_t>(start + x_.queries, 0, keys);
    std::fill(to + kept * size, to + first * size, 0.0f);
    for (int64_t t = first; t < last; ++t) {
      const float* from = added.at(batch, head, t - start);
      if (turns) {
        turn(call, batch, t - start, from, to + t * size);
      } else {
        std::copy_n(from, size, to + t * size);
      }
    }
    std::fill(to + last * size, to + keys * size, 0.0f);
  }

  /// A vector of query s, turned by the angles of its position. Those of padding have position 1.
  void turn(const KernelCall& call, int64_t batch, int64_t s, const float* from, float* to) const {
    int64_t position = 0;
    if (s_.has_positions) {
      position = static_cast<const int64_t*>(call.inputs[positions_port])[batch * x_.queries + s];
    } else {
      position = s_.before(call, batch) + s;
      if (position >= GroupQuerySetup::whole(call, batch)) position = 1;
    }
    if (position < 0 || position >= s_.cache_rows) fail_index(place_);
    const int64_t row = position * s_.rotation.half;
    s_.rotation.apply(from, static_cast<const float*>(call.inputs[cosine_port]) + row,
                      static_cast<const float*>(call.inputs[sine_port]) + row, to);
  }

  GroupQuerySetup s_;
  AttentionExtents x_;
  AttentionCore core_;
  std::vector<float> zero_sink_;
  int64_t key_at_ = 0, value_at_ = 0, core_at_ = 0;  ///< in the scratch, after the turned queries
  std::string place_;
};

bool all_f32(const StepContext& context) {
  for (const size_t port :
       {query_port + 0, key_port + 0, value_port + 0, past_key_port + 0, past_value_port + 0, cosine_port + 0,
        sine_port + 0, bias_port + 0, sink_port + 0}) {
    if (context.has_input(port) && context.inputs[port].type != ElementType::f32) return false;
  }
  return true;
}

std::unique_ptr<Kernel> make_group_query(const StepContext& context) {
  if (context.fused() || !context.has_output(0) || context.outputs[0].count() == 0) return nullptr;
  if (!all_f32(context) || context.has_output(3)) return nullptr;
  // The definition has asked for its content, so that it is known where there is a plan.
  const ir::Tensor* total = context.inputs[total_port].constant;
  if (total == nullptr) return nullptr;
  GroupQuerySetup setup;
  AttentionExtents& x = setup.extents;
  const ir::Shape& query = context.inputs[query_port].shape;
  x.batch = query[0];
  x.queries = query[1];
  x.heads = context.integer("num_heads", 1);
  x.key_heads = context.integer("kv_num_heads", 1);
  setup.packed = !context.has_input(key_port);
  x.key_size = x.value_size = query[2] / (setup.packed ? x.heads + 2 * x.key_heads : x.heads);
  setup.total = total->get_int(0);
  if (context.has_input(past_key_port)) setup.past = context.inputs[past_key_port].shape[2];
  x.keys = std::max(setup.past, setup.total);
  if (x.keys <= 0 || x.key_size == 0) return nullptr;
  setup.softcap = static_cast<float>(context.real("softcap", 0));
  setup.window = context.integer("local_window_size", -1);
  setup.rotates = context.integer("do_rotary", 0) != 0;
  if (setup.rotates) {
    const ir::Shape& caches = context.inputs[cosine_port].shape;
    setup.cache_rows = caches[0];
    setup.rotation = {x.key_size, caches[1], context.integer("rotary_interleaved", 0) != 0};
    setup.has_positions = context.has_input(positions_port);
    if (caches[1] == 0) return nullptr;
  }
  if (context.has_input(bias_port)) {
    const ir::Shape& bias = context.inputs[bias_port].shape;
    if (bias[2] != x.queries || bias[3] != setup.total) return nullptr;
    setup.has_bias = true;
    broadcast_strides(bias, setup.bias_strides);
  }
  setup.has_sink = context.has_input(sink_port);
  setup.is_smooth = !setup.has_sink && context.integer("smooth_softmax", 0) != 0;
  setup.wants_key = context.has_output(1);
  setup.wants_value = context.has_output(2);
  return std::make_unique<GroupQueryKernel>(context, setup);
}

}  // namespace

void group_query_factories(std::vector<FactoryEntry>& table) {
  table.push_back({"com.microsoft", "GroupQueryAttention", make_group_query});
}

}  // namespace axrun::runtime
