#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/text.h"

namespace axrun::ir::text {
class Scanner;
}

namespace axrun::search::algebra {

/// What each input of a node is to the algebra.
enum class Slot : uint8_t {
  child,      ///< a tensor: an argument of the term
  parameter,  ///< small integers that are known as sizes (the target of a Reshape)
  absent,
};

/// An operator of the graph with everything but its arguments and the values of its parameters. Two nodes of
/// one key are the same function of these.
struct Operation {
  std::string domain;  ///< "" for ai.onnx
  std::string name;
  int version = 0;  ///< canonical_version
  std::map<std::string, ir::Attribute> attributes;
  std::vector<Slot> slots;  ///< empty: all inputs are children, any number of them
  int result = 0;           ///< which output of the node is meant

  /// Its text: "MatMul@7", "Transpose@1{perm=I[1,0]}", "Reshape@5<_,p>", "Split@1^2{...}".
  std::string key() const;
};

/// Whether the attributes have a text: no tensors, no bodies.
bool has_text(const ir::Node& node);

/// The inverse of key, at the scanner's place. Throws Error(user), also for operators that have no
/// definition.
Operation parse_operation(ir::text::Scanner& in);

/// One version of those under which the operator means the same; the version itself where that is not known.
int canonical_version(const std::string& domain, const std::string& op, int version);

/// The inputs of this operator whose values are small integers that shape the result.
bool is_parameter(const std::string& op, int input);

}  // namespace axrun::search::algebra
