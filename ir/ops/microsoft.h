#pragma once

#include <string>
#include <vector>

#include "ir/operator.h"

namespace axrun::ir {

inline constexpr std::string_view microsoft_domain = "com.microsoft";

// The parts of microsoft_operators, one file each. Specification: ONNX Runtime's docs/ContribOperators.md.
void microsoft_activation_operators(std::vector<OperatorEntry>& table);
void microsoft_fused_operators(std::vector<OperatorEntry>& table);
void microsoft_normalization_operators(std::vector<OperatorEntry>& table);
void microsoft_attention_operators(std::vector<OperatorEntry>& table);
void multi_head_attention_operators(std::vector<OperatorEntry>& table);
void microsoft_group_query_operators(std::vector<OperatorEntry>& table);
void microsoft_rotary_operators(std::vector<OperatorEntry>& table);
void microsoft_quantized_operators(std::vector<OperatorEntry>& table);
void microsoft_quantized_model_operators(std::vector<OperatorEntry>& table);
void microsoft_table_operators(std::vector<OperatorEntry>& table);
void microsoft_alias_operators(std::vector<OperatorEntry>& table);
void microsoft_expert_operators(std::vector<OperatorEntry>& table);
void microsoft_recurrent_operators(std::vector<OperatorEntry>& table);
void microsoft_hyper_connection_operators(std::vector<OperatorEntry>& table);
void microsoft_router_operators(std::vector<OperatorEntry>& table);
void microsoft_packed_convolution_operators(std::vector<OperatorEntry>& table);
void microsoft_ngram_hash_operators(std::vector<OperatorEntry>& table);
void microsoft_packed_operators(std::vector<OperatorEntry>& table);
void microsoft_word_operators(std::vector<OperatorEntry>& table);
void microsoft_attention_lstm_operators(std::vector<OperatorEntry>& table);
void microsoft_pooling_operators(std::vector<OperatorEntry>& table);
void microsoft_gated_operators(std::vector<OperatorEntry>& table);
void microsoft_gated_delta_operators(std::vector<OperatorEntry>& table);
void microsoft_diffusion_operators(std::vector<OperatorEntry>& table);
void microsoft_tensor_operators(std::vector<OperatorEntry>& table);
void microsoft_text_operators(std::vector<OperatorEntry>& table);
void microsoft_matmul_operators(std::vector<OperatorEntry>& table);

/// The `count` results that operator `op` of ai.onnx has at `version` for the node's attributes and its first
/// `inputs` inputs.
std::vector<TensorRef> results_of(const OperatorContext& context, Builder& b, std::string_view op,
                                  int version, int inputs, size_t count);
inline TensorRef result_of(const OperatorContext& context, Builder& b, std::string_view op, int version,
                           int inputs) {
  return results_of(context, b, op, version, inputs, 1)[0];
}

/// Output 0 as operator `op` of ai.onnx defines it at `version`: for operators that were published in both
/// domains.
void define_as(const OperatorContext& context, Builder& b, std::string_view op, int version);

}  // namespace axrun::ir
