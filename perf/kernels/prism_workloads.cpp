// The five workloads of language models that Prism is evaluated on (arXiv 2604.15272), in float32, with the
// scale, the mask and softmax's subtraction of the maximum that it leaves out. axrun runs the ONNX graph as
// exporters write it, in a session; the others are composed by hand (composed.h).
#include <cmath>
#include <string>

#include "ir/tensor.h"
#include "perf/kernels/array.h"
#include "perf/kernels/composed.h"
#include "perf/kernels/model.h"
#include "perf/kernels/row_loops.h"
#include "perf/kernels/workload.h"

namespace axrun::perf {
namespace {

using ir::Tensor;
using ir::ValueId;

constexpr int opset = 17;

Tensor tensor_over(const Array<float>& buffer, const ir::Shape& shape) {
  return Tensor::borrow(ir::ElementType::f32, shape, buffer.data(), buffer.owner());
}

ValueId rms_norm(ModelWriter& model, ValueId x, ValueId scale) {
  const ValueId square = model.node("Pow", {x, model.number(2)});
  const ValueId mean = model.node("ReduceMean", {square}, {{"axes", ModelWriter::integers({-1})}});
  const ValueId root = model.node("Sqrt", {model.node("Add", {mean, model.number(norm_epsilon)})});
  return model.node("Mul", {model.node("Div", {x, root}), scale});
}

/// The session on bound inputs and output.
Ready run_of(const ModelWriter& model, const std::vector<Tensor>& inputs, const Tensor& output, int threads) {
  const std::shared_ptr<runtime::Session> session = model.session(threads);
  return {[session, inputs, outputs = std::vector<Tensor>{output}]() mutable {
            session->run_into(inputs, outputs);
          },
          {}};
}

Span span_of(const Array<float>& buffer) { return {buffer.data(), buffer.bytes()}; }

// Layers: X[n, d] and square weights
// ------------------------------------------------------------------------------------------------------------

struct LayerKind {
  const char* name;
  bool norm, gated, silu;
};
constexpr LayerKind layer_kinds[] = {
    {"rmsnorm_linear", true, false, false},
    {"rmsnorm_mlp", true, true, false},
    {"swiglu", false, true, true},
};
struct LayerSize {
  int64_t rows, size;
};
constexpr LayerSize layer_sizes[] = {{8, 1024}, {8, 2048}, {8, 4096}, {16, 1024}, {16, 4096}};

ModelWriter layer_model(const LayerKind& kind, const LayerSize& s, const Array<float>& norm_scale,
                        const Array<float>& weights, const Array<float>& gate) {
  ModelWriter model(opset);
  ValueId x = model.input("x", {s.rows, s.size});
  if (kind.norm) x = rms_norm(model, x, model.constant(tensor_over(norm_scale, {s.size})));
  ValueId y = model.node("MatMul", {x, model.constant(tensor_over(weights, {s.size, s.size}))});
  if (kind.gated) {
    ValueId g = model.node("MatMul", {x, model.constant(tensor_over(gate, {s.size, s.size}))});
    if (kind.silu) g = model.node("Mul", {g, model.node("Sigmoid", {g})});
    y = model.node("Mul", {g, y});
  }
  model.output(y);
  return model;
}

Workload make_layer(const LayerKind& kind, const LayerSize& s, Team& team) {
  const float spread = std::sqrt(3.0f / static_cast<float>(s.size));  // results of deviation near 1
  const Array<float> x = random_floats(s.rows * s.size, 1), norm_scale = random_floats(s.size, 2);
  const Array<float> weights = random_floats(s.size * s.size, 3, spread);
  const Array<float> gate = random_floats(kind.gated ? s.size * s.size : 0, 4, spread);
  Workload workload;
  workload.results = s.rows * s.size;
  workload.operations = 2.0 * static_cast<double>(workload.results * s.size) * (kind.gated ? 2 : 1);
  workload.reads = {{span_of(x), span_of(weights), span_of(gate)}};
  workload.tolerance = tolerance_of_sums(s.size);
  workload.keep = {x.owner(), norm_scale.owner(), weights.owner(), gate.owner()};
  for (Library* library : team.libraries) {
    const Array<float> y(workload.results);
    Ready ready;
    if (library == team.libraries[0]) {
      ready = run_of(layer_model(kind, s, norm_scale, weights, gate), {tensor_over(x, {s.rows, s.size})},
                     tensor_over(y, {s.rows, s.size}), team.pool.threads());
    } else {
      const Layer layer{s.rows,         s.size,
                        x.data(),       kind.norm ? norm_scale.data() : nullptr,
                        weights.data(), kind.gated ? gate.data() : nullptr,
                        kind.silu,      y.data()};
      ready = composed_layer(*library, layer, team.pool);
    }
    workload.entrants.push_back({library->name(), ready, y.data()});
    workload.keep.push_back(y.owner());
  }
  return workload;
}

// Attention over a cache of keys
// ------------------------------------------------------------------------------------------------------------

struct AttentionSize {
  int64_t batch, heads, queries, keys, size;
};
constexpr AttentionSize attention_sizes[] = {
    {2, 8, 1, 1024, 128}, {2, 8, 128, 1024, 128}, {2, 32, 1, 1024, 128}, {4, 8, 1, 1024, 128}};

/// The queries are the last of the positions; a query sees the keys up to its own.
Array<float> causal_mask(const AttentionSize& s) {
  constexpr float hidden = -1e9f;
  const Array<float> mask(s.queries * s.keys);
  for (int64_t i = 0; i < s.queries; ++i) {
    for (int64_t j = 0; j < s.keys; ++j)
      mask.data()[i * s.keys + j] = j <= s.keys - s.queries + i ? 0 : hidden;
  }
  return mask;
}

ModelWriter attention_model(bool norm, const AttentionSize& s, const Array<float>& norm_scale) {
  ModelWriter model(opset);
  ValueId query = model.input("query", {s.batch, s.heads, s.queries, s.size});
  const ValueId key = model.input("key", {s.batch, s.heads, s.keys, s.size});
  const ValueId value = model.input("value", {s.batch, s.heads, s.keys, s.size});
  const ValueId mask = model.input("mask", {1, 1, s.queries, s.keys});
  if (norm) query = rms_norm(model, query, model.constant(tensor_over(norm_scale, {s.size})));
  const ValueId turned = model.node("Transpose", {key}, {{"perm", ModelWriter::integers({0, 1, 3, 2})}});
  ValueId scores = model.node("MatMul", {query, turned});
  scores = model.node("Div", {scores, model.number(std::sqrt(static_cast<double>(s.size)))});
  scores = model.node("Add", {scores, mask});
  model.output(
      model.node("MatMul", {model.node("Softmax", {scores}, {{"axis", ModelWriter::integer(-1)}}), value}));
  return model;
}

Workload make_attention(bool norm, const AttentionSize& s, Team& team) {
  const int64_t heads = s.batch * s.heads;
  const Array<float> query = random_floats(heads * s.queries * s.size, 1),
                     norm_scale = random_floats(s.size, 2);
  const Array<float> key = random_floats(heads * s.keys * s.size, 3);
  const Array<float> value = random_floats(heads * s.keys * s.size, 4), mask = causal_mask(s);
  Workload workload;
  workload.results = query.count();
  workload.operations = 4.0 * static_cast<double>(workload.results * s.keys);
  workload.reads = {{span_of(query), span_of(key), span_of(value), span_of(mask)}};
  workload.tolerance = tolerance_of_sums(s.keys);
  workload.keep = {query.owner(), norm_scale.owner(), key.owner(), value.owner(), mask.owner()};
  const ir::Shape q_shape = {s.batch, s.heads, s.queries, s.size},
                  k_shape = {s.batch, s.heads, s.keys, s.size};
  for (Library* library : team.libraries) {
    const Array<float> y(workload.results);
    Ready ready;
    if (library == team.libraries[0]) {
      ready = run_of(attention_model(norm, s, norm_scale),
                     {tensor_over(query, q_shape), tensor_over(key, k_shape), tensor_over(value, k_shape),
                      tensor_over(mask, {1, 1, s.queries, s.keys})},
                     tensor_over(y, q_shape), team.pool.threads());
    } else {
      const HeadAttention attention{heads,        s.queries,    s.keys,
                                    s.size,       query.data(), key.data(),
                                    value.data(), mask.data(),  norm ? norm_scale.data() : nullptr,
                                    y.data()};
      ready = composed_attention(*library, attention, team.pool);
    }
    workload.entrants.push_back({library->name(), ready, y.data()});
    workload.keep.push_back(y.owner());
  }
  return workload;
}

std::string joined(const std::vector<int64_t>& numbers) {
  std::string text;
  for (int64_t number : numbers) text += (text.empty() ? "" : "x") + std::to_string(number);
  return text;
}

}  // namespace

void add_prism_workloads(Bench& bench) {
  for (const LayerKind& kind : layer_kinds) {
    for (const LayerSize& s : layer_sizes) {
      bench.add(std::string("prism/") + kind.name + "/" + joined({s.rows, s.size}),
                [&kind, &s](Team& team) { return make_layer(kind, s, team); });
    }
  }
  for (const bool norm : {false, true}) {
    for (const AttentionSize& s : attention_sizes) {
      bench.add(std::string("prism/") + (norm ? "qknorm_attention/" : "attention/") +
                    joined({s.batch, s.heads, s.queries, s.keys, s.size}),
                [norm, &s](Team& team) { return make_attention(norm, s, team); });
    }
  }
}

}  // namespace axrun::perf
