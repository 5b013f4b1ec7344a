// com.microsoft: AttnLSTM, an LSTM whose inputs are joined with what its last output attended to in a memory
// (Bahdanau and others, "Neural machine translation by jointly learning to align and translate", 2015).
#include <limits>

#include "ir/ops/compute.h"
#include "ir/ops/microsoft.h"
#include "ir/ops/recurrent.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

enum Input { query_input = 8, memory_layer_input, vector_input, memory_input, lengths_input, layer_input };

/// The inputs of the attention, checked but for what W and R decide.
struct Memory {
  TensorRef values;       ///< M [batch, steps, depth]
  TensorRef query_layer;  ///< QW [directions, hidden, size]
  TensorRef keys;         ///< M MW, [directions, batch, steps, size]
  TensorRef vector;       ///< V [directions, size]
  TensorRef lengths;      ///< of the memories, [batch], in 1..steps; or undefined
  TensorRef layer;        ///< AW [directions, hidden + depth, attention], or undefined
  Dim hidden, size;

  const Dim& batch() const { return values.dims()[0]; }
  const Dim& steps() const { return values.dims()[1]; }
  const Dim& depth() const { return values.dims()[2]; }
  const Dim& attention() const { return layer.defined() ? layer.dims()[2] : values.dims()[2]; }
};

Memory read_memory(const OperatorContext& context, Builder& b, const RecurrentNode& node, const Dim& hidden) {
  Memory m;
  const Dim directions(node.directions);
  const auto read = [&](int k, int rank) {
    const TensorRef x = typed_operand(b, context, k, {node.type});
    require_rank(context, k, rank);
    return x;
  };
  m.hidden = hidden;
  m.values = read(memory_input, 3);
  check_dims(context, m.values, {node.batch, m.steps(), m.depth()}, "M");
  context.check(context.may_be_at_least(m.steps(), 1), "M has no steps");
  const TensorRef to_keys = read(memory_layer_input, 3);
  m.size = to_keys.dims()[2];
  check_dims(context, to_keys, {directions, m.depth(), m.size}, "MW");
  m.query_layer = read(query_input, 3);
  check_dims(context, m.query_layer, {directions, hidden, m.size}, "QW");
  m.vector = read(vector_input, 2);
  check_dims(context, m.vector, {directions, m.size}, "V");
  if (context.has(layer_input)) {
    m.layer = read(layer_input, 3);
    check_dims(context, m.layer, {directions, hidden + m.depth(), m.layer.dims()[2]}, "AW");
  }
  if (context.has(lengths_input)) {
    const TensorRef given = typed_operand(b, context, lengths_input, {ElementType::i32});
    check_dims(context, given, {node.batch}, "memory_seq_lens");
    // From a table of all there are: others are an error of the user's.
    const TensorRef all = b.map(
        {m.steps()}, [](const Indices& i) { return i[0] + 1; }, "steps_of_memory");
    m.lengths = b.map(
        {node.batch}, [&](const Indices& i) { return all({cast(ElementType::i64, given(i)) - 1}); },
        "memory_seq_lens");
  }
  m.keys = b.sum({directions, node.batch, m.steps(), m.size}, {m.depth()},
                 [&](const Indices& i, const Indices& r) {
                   return widen(m.values({i[1], i[2], r[0]})) * widen(to_keys({i[0], r[0], i[3]}));
                 });
  return m;
}

/// What `output` [batch, hidden] attends to: [batch, attention]. The memory's tensors are those of the step.
TensorRef attended(Builder& b, const Memory& m, const Scalar& direction, const TensorRef& output) {
  const Dim& batch = m.batch();
  const ElementType type = output.type();
  const TensorRef query = b.sum({batch, m.size}, {m.hidden}, [&](const Indices& i, const Indices& r) {
    return output({i[0], r[0]}) * widen(m.query_layer({direction, r[0], i[1]}));
  });
  const TensorRef score = b.sum({batch, m.steps()}, {m.size}, [&](const Indices& i, const Indices& r) {
    const Scalar key = m.keys({direction, i[0], i[1], r[0]});
    return widen(m.vector({direction, r[0]})) * tanh(key + query({i[0], r[0]}));
  });
  const auto is_there = [&](const Scalar& row, const Scalar& step) {
    return m.lengths.defined() ? step < m.lengths({row}) : b.boolean(true);
  };
  const Scalar lowest = b.real(type, -std::numeric_limits<double>::infinity());
  const TensorRef largest =
      b.reduce(Monoid::Kind::max, {batch}, {m.steps()}, [&](const Indices& i, const Indices& r) {
        return select(is_there(i[0], r[0]), score({i[0], r[0]}), lowest);
      });
  const TensorRef power = b.map({batch, m.steps()}, [&](const Indices& i) {
    return select(is_there(i[0], i[1]), exp(score(i) - largest({i[0]})), b.real(type, 0));
  });
  const TensorRef total = b.sum({batch}, {m.steps()}, [&](const Indices& i, const Indices& r) {
    return power({i[0], r[0]});
  });
  const TensorRef sum = b.sum({batch, m.depth()}, {m.steps()}, [&](const Indices& i, const Indices& r) {
    return power({i[0], r[0]}) * widen(m.values({i[0], r[0], i[1]}));
  });
  const TensorRef found = b.map({batch, m.depth()}, [&](const Indices& i) { return sum(i) / total({i[0]}); });
  if (!m.layer.defined()) return found;
  const Dims dims = {batch, m.attention()};
  const TensorRef of_output = b.sum(dims, {m.hidden}, [&](const Indices& i, const Indices& r) {
    return output({i[0], r[0]}) * widen(m.layer({direction, r[0], i[1]}));
  });
  const TensorRef of_found = b.sum(dims, {m.depth()}, [&](const Indices& i, const Indices& r) {
    return found({i[0], r[0]}) * widen(m.layer({direction, r[0] + m.hidden, i[1]}));
  });
  return b.map(dims, [&](const Indices& i) { return of_output(i) + of_found(i); });
}

/// Inputs: those of LSTM, with a W [directions, 4 hidden, input + attention], and those of the attention.
/// Before its first step nothing is attended to.
void attention_lstm(const OperatorContext& context, Builder& b) {
  context.check(!context.has_attribute("layout"), "there is no attribute 'layout'");
  bounded_integer(context, "hidden_size", 0, 1, std::numeric_limits<int32_t>::max());
  Memory memory;
  TensorRef weight;
  const auto weights = [&](RecurrentNode& node) {
    node.recurrence = typed_operand(b, context, 2, {node.type});
    require_rank(context, 2, 3);
    const Dim hidden = node.recurrence.dims()[2];
    memory = read_memory(context, b, node, hidden);
    weight = typed_operand(b, context, 1, {node.type});
    const Dims rows = {Dim(node.directions), 4 * hidden};
    check_dims(context, weight, joined(rows, {node.input_size + memory.attention()}), "W");
    node.weight = b.map(joined(rows, {node.input_size}), [&](const Indices& i) { return weight(i); });
  };
  define_lstm(context, b, weights, [&](const RecurrentNode& node) {
    AddedInput added;
    const auto tensors = [](Memory& m) {
      return std::vector<TensorRef*>{&m.values, &m.query_layer, &m.keys, &m.vector, &m.lengths, &m.layer};
    };
    added.captures = {weight};
    for (const TensorRef* tensor : tensors(memory)) {
      if (tensor->defined()) added.captures.push_back(*tensor);
    }
    const Dim inputs = node.input_size;
    added.value = [&memory, tensors, inputs](RecurrentStep& s, const std::vector<TensorRef>& captured) {
      Builder& inner = s.builder();
      Memory m = memory;
      size_t next = 1;
      for (TensorRef* tensor : tensors(m)) {
        if (tensor->defined()) *tensor = captured[next++];
      }
      const Scalar direction = inner.integer(s.direction());
      const TensorRef found = attended(inner, m, direction, s.state(0));
      return inner.sum({m.batch(), 4 * m.hidden}, {m.attention()}, [&](const Indices& i, const Indices& r) {
        const Scalar value = select(s.is_first(i[0]), inner.real(found.type(), 0), found({i[0], r[0]}));
        return value * widen(captured[0]({direction, i[1], r[0] + inputs}));
      });
    };
    return added;
  });
}

}  // namespace

void microsoft_attention_lstm_operators(std::vector<OperatorEntry>& table) {
  table.push_back({microsoft_domain, "AttnLSTM", 1, attention_lstm});
}

}  // namespace axrun::ir
