// com.microsoft: operators on whole tensors that exporters emit beside the models proper.
#include <fmt/format.h>

#include <limits>
#include <memory>

#include "ir/ops/compute.h"
#include "ir/ops/microsoft.h"
#include "ir/ops/opaque_functions.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

/// Windows of `size` along dimension `dim`, `step` apart; places in the window are a last dimension.
void unfold_tensor(const OperatorContext& context, Builder& b) {
  const TensorRef x = operand(b, context, 0);
  const auto dim = static_cast<size_t>(context.axis(context.integer("dim", -1), x.rank()));
  const int64_t size = bounded_integer(context, "size", 0, 1, int64_t{1} << 40);
  const int64_t step = bounded_integer(context, "step", 1, 1, int64_t{1} << 40);
  context.check(!context.less(x.dims()[dim], Dim(size)),
                fmt::format("windows of {} in {}", size, to_string(x.dims())));
  Dims dims = x.dims();
  dims[dim] = floor_div(dims[dim] - size, Dim(step)) + 1;
  dims.emplace_back(size);
  b.output(b.map(dims, [&](const Indices& i) {
    Indices at = part(i, 0, i.size() - 1);
    at[dim] = i[dim] * step + i.back();
    return x(at);
  }));
}

/// Scores of tokens that would repeat a sequence of ngram_size tokens become -inf. Inputs: ids, scores.
void n_gram_repeat_block(const OperatorContext& context, Builder& b) {
  const TensorRef ids = typed_operand(b, context, 0, {ElementType::i64});
  const TensorRef scores = typed_operand(b, context, 1, {ElementType::f32});
  context.check(ids.rank() == 2 && scores.rank() == 2 && context.equal(ids.dims()[0], scores.dims()[0]),
                fmt::format("ids of shape {} with scores of shape {}", to_string(ids.dims()),
                            to_string(scores.dims())));
  const int64_t size = bounded_integer(context, "ngram_size", 0, 1, int64_t{1} << 30);
  const Dim length = ids.dims()[1];
  const Dim starts = max(length - (size - 1), Dim(0));
  // Tokens in which a sequence that begins there differs from the last ones.
  const TensorRef different =
      b.sum({ids.dims()[0], starts}, {Dim(size - 1)}, [&](const Indices& i, const Indices& r) {
        const Scalar last = r[0] + (length - (size - 1));
        const Scalar same = ids({i[0], i[1] + r[0]}) == ids({i[0], last});
        return select(same, b.integer(0), b.integer(1));
      });
  const TensorRef repeats = b.sum(scores.dims(), {starts}, [&](const Indices& i, const Indices& r) {
    const Scalar next = ids({i[0], r[0] + (size - 1)});
    const Scalar is_one = logical_and(different({i[0], r[0]}) == 0, next == i[1]);
    return select(is_one, b.integer(1), b.integer(0));
  });
  b.output(b.map(scores.dims(), [&](const Indices& i) {
    const Scalar never = b.literal(ElementType::f32, -std::numeric_limits<double>::infinity());
    return select(repeats(i) > 0, never, scores(i));
  }));
}

/// Values in the order in which they first occur, where each element is among them, and how often each
/// occurs.
void unique(const OperatorContext& context, Builder& b) {
  const TensorRef x = operand(b, context, 0);
  require_rank(context, 0, 1);
  const Dim count = context.unknown_dim(0, 0);
  const ElementType i64 = ElementType::i64;
  const auto results =
      b.opaque("unique", {x}, {{x.type(), {count}}, {i64, {count}}, {i64, x.dims()}, {i64, {count}}},
               std::make_shared<UniqueParameters>(UniqueParameters{-1, false}));
  for (const size_t k : {0, 2, 3}) b.output(results[k]);
}

/// Products of 16-bit integers, summed in 32 bits.
void matmul_integer_16(const OperatorContext& context, Builder& b) {
  for (int k : {0, 1}) typed_operand(b, context, k, {ElementType::i16, ElementType::u16});
  const bool is_unsigned = context.type(0) == ElementType::u16 && context.type(1) == ElementType::u16;
  const ElementType type = is_unsigned ? ElementType::u32 : ElementType::i32;
  const TensorRef x = operand(b, context, 0), y = operand(b, context, 1);
  context.check(x.rank() >= 2 && y.rank() >= 2, "the inputs must be matrices");
  const Dim depth = x.dims().back();
  context.check(context.equal(depth, y.dims()[y.dims().size() - 2]),
                fmt::format("products of {} and {}", to_string(x.dims()), to_string(y.dims())));
  const Dims x_batch = part(x.dims(), 0, x.dims().size() - 2),
             y_batch = part(y.dims(), 0, y.dims().size() - 2);
  const Dims batch = context.broadcast({x_batch, y_batch});
  const Dims dims = joined(batch, {x.dims()[x.dims().size() - 2], y.dims().back()});
  b.output(b.sum(dims, {depth}, [&](const Indices& i, const Indices& r) {
    Dims wide = batch;
    wide.insert(wide.end(), {dims[batch.size()], depth});
    const Indices outer = part(i, 0, batch.size());
    const Scalar left = broadcast_load(context, x, joined(outer, {i[batch.size()], r[0]}), wide);
    wide[batch.size()] = depth;
    wide.back() = dims.back();
    const Scalar right = broadcast_load(context, y, joined(outer, {r[0], i.back()}), wide);
    return cast(type, left) * cast(type, right);
  }));
}

/// ConvTranspose whose pads are input 2; the bias is input 3.
void conv_transpose_with_dynamic_pads(const OperatorContext& context, Builder& b) {
  context.check(context.has(0) && context.has(1), "X and W are needed");
  Node node = context.node();
  node.domain.clear();
  node.version = 11;
  node.inputs.resize(2, absent);
  const std::vector<OperandInfo> operands = {context.operand(0), context.operand(1)};
  if (context.has(2)) {
    Attribute pads;
    pads.kind = Attribute::Kind::integers;
    pads.integers = context.integers(2);
    node.attributes["pads"] = pads;
  }
  const OperatorEntry* entry = find_operator("", "ConvTranspose", node.version);
  AXRUN_ASSERT(entry != nullptr);
  entry->define(OperatorContext(node, operands, context.consulted()), b);
  const TensorRef y = b.take_output();
  if (!context.has(3)) return b.output(y);
  const TensorRef bias = shaped_operand(b, context, 3, {y.dims()[1]}, "the bias");
  context.check(bias.type() == y.type(), "the bias must have the type of X");
  b.output(b.map(y.dims(), [&](const Indices& i) { return y(i) + bias({i[1]}); }));
}

/// The cheapest path through a matrix of costs from its first to its last element, by steps down, right or
/// both: rows and columns, [2, length].
void dynamic_time_warping(const OperatorContext& context, Builder& b) {
  const TensorRef x = typed_operand(b, context, 0, {ElementType::f32});
  const bool is_batch = x.rank() == 3 && context.is_one(x.dims()[0]);
  context.check(x.rank() == 2 || is_batch, fmt::format("costs of shape {}", to_string(x.dims())));
  const Dims dims = {Dim(2), context.unknown_dim(0, 1)};
  b.output(b.opaque("cheapest_path", {x}, {{ElementType::i32, dims}}, {})[0]);
}

}  // namespace

void microsoft_tensor_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(),
               {{microsoft_domain, "ConvTransposeWithDynamicPads", 1, conv_transpose_with_dynamic_pads},
                {microsoft_domain, "DynamicTimeWarping", 1, dynamic_time_warping},
                {microsoft_domain, "MatMulInteger16", 1, matmul_integer_16},
                {microsoft_domain, "NGramRepeatBlock", 1, n_gram_repeat_block},
                {microsoft_domain, "UnfoldTensor", 1, unfold_tensor},
                {microsoft_domain, "Unique", 1, unique}});
}

}  // namespace axrun::ir
