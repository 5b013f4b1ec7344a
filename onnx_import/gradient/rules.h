#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ir/operator.h"
#include "onnx_import/gradient/writer.h"

namespace axrun::onnx_import::gradient {

/// Throws std::out_of_range for an operand that a node does not have: files may leave out what they must not.
class Vars : public std::vector<Var> {
 public:
  using std::vector<Var>::vector;
  Var& operator[](size_t k) { return at(k); }
  const Var& operator[](size_t k) const { return at(k); }
};

/// One node of the differentiated graph: what it computes, and what is known of its derivatives. Shapes that
/// a rule needs and does not get are reported by NotYetKnown.
struct Step {
  Step(Writer& writer, const ir::Node& of);

  Writer& w;
  const ir::Node& node;
  ir::OperatorContext context;  ///< attributes, and what is known of the inputs
  Vars in, out;                 ///< absent where the node leaves them out
  Vars grad;                    ///< by output: the derivative of y; absent where y does not depend on it
  std::vector<bool> wanted;     ///< by input
  Vars result;                  ///< by input: to be set where wanted; absent where the derivative is 0

  int version() const { return node.version; }
  bool has(size_t k) const { return k < in.size() && in[k].present(); }
  bool wants(size_t k) const { return k < wanted.size() && wanted[k]; }
  /// The derivative of output k, zeros where there is none.
  Var grad_or_zeros(size_t k) { return grad[k].present() ? grad[k] : w.filled(0, out[k]); }
  [[noreturn]] void refuse(const std::string& why) const { context.unsupported("Gradient: " + why); }
};

/// Sets `result` of a step from its `grad`.
using Rule = void (*)(Step& step);
/// What the node computes by simpler nodes: one value for each output; absent for those that have no
/// derivative.
using Parts = std::vector<Var> (*)(Step& step);

using Rules = std::map<std::string_view, Rule>;
using PartsTable = std::map<std::string_view, Parts>;

void elementwise_rules(Rules& rules);
void product_rules(Rules& rules);
void convolution_rules(Rules& rules);
void movement_rules(Rules& rules);
void reduction_rules(Rules& rules);

void activation_parts(PartsTable& parts);
void layer_parts(PartsTable& parts);

/// Axes of a reduction, Squeeze or Unsqueeze: an attribute or input 1; absent when neither is given.
Var axes_of(Step& step);
/// Numbers first, first + 1, ... below last.
std::vector<int64_t> range(int64_t first, int64_t last);

}  // namespace axrun::onnx_import::gradient
