#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onnx_import/context.h"

namespace axrun::onnx_import {

/// Imported versions by domain, "" for ai.onnx.
using Opsets = std::map<std::string, int, std::less<>>;

/// "ai.onnx" is another spelling of the empty domain.
std::string_view plain_domain(std::string_view domain);
/// For messages: "ai.onnx" for the empty domain.
std::string domain_name(std::string_view domain);

/// Reads OperatorSetIdProto messages. Of two versions of a domain the higher one counts; versions that are
/// not positive become 0, which no node may use. Throws Error(model) for versions beyond 32 bits; notes those
/// of ai.onnx and ai.onnx.ml that are newer than what axrun knows.
Opsets read_opsets(const std::vector<std::string_view>& messages, ImportContext& context);

/// The version of the node's domain: the imported one or, of a domain that has operators here and is not
/// imported, the newest, with a note, as in ONNX Runtime. Throws Error(model) where there is none.
int version_of(const ir::Node& node, const Opsets& opsets, ImportContext& context);

/// Gives the node its custom operator, if it has one. Otherwise notes it in context.unsupported, unless its
/// operator is in the table at this version.
void find_operator_of(ir::Node& node, ImportContext& context);

}  // namespace axrun::onnx_import
