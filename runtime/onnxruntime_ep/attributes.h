#pragma once

#include <cstdint>
#include <string>

#include "runtime/onnxruntime_ep/host.h"

namespace axrun::ort {

/// Null where the node has none of this name.
const OpAttr* find_attribute(const Host& host, const Node* node, const char* name);

/// What an attribute holds, as the runtime copies it out: the bytes of numbers, a string, or strings one
/// after another, each with its final zero.
std::string attribute_text(const Host& host, const OpAttr* attribute, int type);
std::int64_t attribute_integer(const Host& host, const OpAttr* attribute);

}  // namespace axrun::ort
