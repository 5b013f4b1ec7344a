#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/loop/loop_program.h"
#include "ir/program.h"

namespace axrun::tests {

/// Compositions of ONNX operators (version 17) as text, for tables of identities:
///
///   MatMul(Mul(X, s), W)      operators of operators, inputs, and numbers (f32)
///   Transpose(X; perm=[1, 0]) attributes after a semicolon: integers, reals with a point, lists, words
///   Reshape(X, {n, h*d, 2})   a tensor of integers, whose elements are sizes
///   A | B                     several outputs
struct OperatorTerm {
  enum class Kind { input, number, sizes, call };
  Kind kind = Kind::input;
  std::string name;  ///< of the input or the operator; the text of the number
  std::vector<OperatorTerm> arguments;
  std::map<std::string, std::string> attributes;
  std::vector<std::string> sizes;
  std::string text() const;
};

/// Throws std::runtime_error.
std::vector<OperatorTerm> parse_terms(const std::string& text);
std::string text_of(const std::vector<OperatorTerm>& terms);

/// "X: n, k; i: i64 n": names in the order of the operands, with their dims and, if not f32, type.
struct Inputs {
  std::vector<std::string> names;
  std::vector<ir::ElementType> types;
  std::vector<ir::Dims> dims;
};
Inputs parse_inputs(const std::string& text);

/// One expression of them. Throws Error where an operator refuses, std::runtime_error for what is no term.
ir::Program program_of(const Inputs& inputs, const std::vector<OperatorTerm>& terms);

/// All sizes in the dims of the inputs, from 1 to 64.
std::vector<ir::loop::Size> sizes_of(const Inputs& inputs);

}  // namespace axrun::tests
