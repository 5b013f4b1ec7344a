#include "ir/ops/microsoft.h"

namespace axrun::ir {
namespace {

template <typename Action>
void with_context(const OperatorContext& context, std::string_view op, int version, int inputs,
                  Action action) {
  Node node = context.node();
  node.domain.clear();
  node.version = version;
  std::vector<OperandInfo> operands;
  for (int k = 0; k < inputs && k < context.inputs(); ++k) {
    operands.push_back(context.has(k) ? context.operand(k) : OperandInfo());
  }
  node.inputs.resize(operands.size(), absent);
  const OperatorEntry* entry = find_operator("", op, version);
  AXRUN_ASSERT(entry != nullptr);
  action(*entry, OperatorContext(node, operands, context.consulted()));
}

}  // namespace

std::vector<TensorRef> results_of(const OperatorContext& context, Builder& b, std::string_view op,
                                  int version, int inputs, size_t count) {
  with_context(context, op, version, inputs,
               [&](const OperatorEntry& entry, const OperatorContext& inner) { entry.define(inner, b); });
  std::vector<TensorRef> results(count);
  for (size_t k = count; k-- > 0;) results[k] = b.take_output();
  return results;
}

void define_as(const OperatorContext& context, Builder& b, std::string_view op, int version) {
  with_context(context, op, version, context.inputs(),
               [&](const OperatorEntry& entry, const OperatorContext& inner) { entry.define(inner, b); });
}

void microsoft_operators(std::vector<OperatorEntry>& table) {
  microsoft_activation_operators(table);
  microsoft_fused_operators(table);
  microsoft_normalization_operators(table);
  microsoft_attention_operators(table);
  microsoft_group_query_operators(table);
  microsoft_quantized_operators(table);
  microsoft_quantized_model_operators(table);
  microsoft_table_operators(table);
  microsoft_alias_operators(table);
  microsoft_matmul_operators(table);
  microsoft_expert_operators(table);
  microsoft_recurrent_operators(table);
  microsoft_hyper_connection_operators(table);
  microsoft_router_operators(table);
  microsoft_packed_convolution_operators(table);
  microsoft_ngram_hash_operators(table);
  microsoft_packed_operators(table);
  microsoft_word_operators(table);
  microsoft_attention_lstm_operators(table);
  microsoft_pooling_operators(table);
  microsoft_gated_operators(table);
  microsoft_gated_delta_operators(table);
  microsoft_diffusion_operators(table);
  microsoft_tensor_operators(table);
  microsoft_text_operators(table);
}

}  // namespace axrun::ir
