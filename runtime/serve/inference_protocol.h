#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/session.h"

/// The Open Inference Protocol, version 2 (KServe's "V2 inference protocol", HTTP/REST), with the extension
/// for binary tensor data: between its messages and the values of a session. Everything read is hostile.
namespace axrun::serve {

/// "FP32", "INT64", "BYTES", ...; empty for types that the protocol has no name for.
std::string_view datatype_of(ir::ElementType type);
std::optional<ir::ElementType> type_of(std::string_view datatype);

/// An inference that a client asks for.
struct InferenceRequest {
  std::string id;
  std::vector<runtime::RuntimeValue> inputs;  ///< in the session's order; some borrow from the message
  struct Output {
    size_t index = 0;     ///< of the session's outputs
    bool binary = false;  ///< its elements follow the JSON
  };
  std::vector<Output> outputs;
  double timeout_seconds = 0;  ///< 0: none is given
};

/// body: of the message. json_bytes: how many of it are JSON, where the rest is binary data
/// (Inference-Header-Content-Length); empty: all. Throws Error(user) that names what is wrong. The body must
/// outlive the request.
InferenceRequest parse_request(const runtime::Session& session, std::string_view body,
                               std::optional<size_t> json_bytes);

/// A bound of the memory that parse_request takes beside the message and the inputs, as the message's JSON
/// alone shows it: each element is a value of its own there, many times as large as "1,".
size_t most_bytes_to_parse(std::string_view json);

/// An answer, as it is sent.
struct InferenceAnswer {
  std::string body;
  std::optional<size_t> json_bytes;  ///< where binary data follows
};
/// values: of all outputs of the session.
InferenceAnswer write_answer(const runtime::Session& session, const std::string& model,
                             const InferenceRequest& request,
                             const std::vector<runtime::RuntimeValue>& values);

/// The model's inputs and outputs; sizes that are open are -1.
nlohmann::ordered_json model_metadata(const runtime::Session& session, const std::string& model);
/// Throws Error(unsupported) for models with inputs or outputs that the protocol cannot carry.
void require_servable(const runtime::Session& session);

}  // namespace axrun::serve
