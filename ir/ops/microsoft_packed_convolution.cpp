// com.microsoft: VarlenCausalConvWithState, the causal convolution of requests of unequal lengths.
#include <fmt/format.h>

#include "ir/ops/compute.h"
#include "ir/ops/elementwise_parts.h"
#include "ir/ops/microsoft.h"
#include "ir/ops/microsoft_requests.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

using enum ElementType;

/// A depthwise convolution whose window ends at each token and does not leave its request; what precedes a
/// request comes from its state, the last (k - 1) dilation values. Inputs: tokens [tokens, channels], weight
/// [channels, 1, k], offsets of the requests, bias, states [requests, channels, history], capture_count.
void varlen_causal_convolution(const OperatorContext& context, Builder& b) {
  if (context.has(6) || context.has(7)) context.unsupported("kernel_delta and previous_mask");
  const TensorRef x = typed_operand(b, context, 0, {f32, f16, bf16});
  require_rank(context, 0, 2);
  const TensorRef w = typed_operand(b, context, 1, {x.type()});
  require_rank(context, 1, 3);
  const Dim channels = x.dims()[1], kernel = w.dims()[2];
  check_dims(context, w, {channels, Dim(1), kernel}, "the weight");
  context.check(context.may_be_at_least(kernel, 1), "the kernel is empty");
  const int64_t dilation = bounded_integer(context, "dilation", 1, 1, int64_t{1} << 30);
  const Dim history = (kernel - 1) * dilation;
  const std::string activation = context.string("activation", "none");
  context.check(activation == "none" || activation == "silu" || activation == "swish",
                "attribute 'activation' may not be '" + activation + "'");
  const PackedRequests requests(context, b, 2, x.dims()[0]);
  TensorRef bias;
  if (context.has(3)) {
    bias = typed_operand(b, context, 3, {x.type()});
    check_dims(context, bias, {channels}, "the bias");
  }
  const Dims state_dims = {requests.count(), channels, history};
  const TensorRef past = typed_operand(b, context, 4, {x.type()});
  check_dims(context, past, state_dims, "initial_state");
  const CapturedPrefixes captured(context, b, 5, requests);

  // Position p counts from the start of the request's state.
  const auto at = [&](const Scalar& request, const Scalar& channel, const Scalar& p) {
    const Scalar is_old = p < history, zero = b.real(x.type(), 0);
    const Scalar token = requests.start(request) + p - history;
    return select(is_old, past.guarded({request, channel, p}, is_old, zero),
                  x.guarded({token, channel}, !is_old, zero));
  };
  const TensorRef sum = b.sum(x.dims(), {kernel}, [&](const Indices& i, const Indices& k) {
    const Scalar request = requests.of(i[0]);
    const Scalar p = i[0] - requests.start(request) + k[0] * dilation;
    return widen(at(request, i[1], p)) * widen(w({i[1], b.integer(0), k[0]}));
  });
  b.output(b.map(x.dims(), [&](const Indices& i) {
    const Scalar value = bias.defined() ? sum(i) + widen(bias({i[1]})) : sum(i);
    return cast(x.type(), activation == "none" ? value : value * sigmoid(value));
  }));
  b.output(b.map(state_dims, [&](const Indices& i) { return at(i[0], i[1], i[2] + requests.length(i[0])); }));
  if (!context.wants(2)) return;
  context.check(captured.capacity() > 0, "state_update is wanted, but state_update_capacity is 0");
  b.output(b.map({requests.count(), Dim(captured.capacity()), channels}, [&](const Indices& i) {
    return x.guarded({requests.start(i[0]) + i[1], i[2]}, captured.is_used(i[0], i[1]), b.real(x.type(), 0));
  }));
}

}  // namespace

void microsoft_packed_convolution_operators(std::vector<OperatorEntry>& table) {
  table.push_back({microsoft_domain, "VarlenCausalConvWithState", 1, varlen_causal_convolution});
}

}  // namespace axrun::ir
