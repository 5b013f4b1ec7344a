#include "tests/fuzz/graphs/operator_exactness.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace axrun::tests {

using ir::Tensor;

bool is_exact(std::string_view op) {
  static const std::set<std::string_view> exact = {"Abs",
                                                   "ArgMax",
                                                   "ArgMin",
                                                   "Cast",
                                                   "CastLike",
                                                   "Ceil",
                                                   "Clip",
                                                   "Compress",
                                                   "Concat",
                                                   "ConstantOfShape",
                                                   "CenterCropPad",
                                                   "DepthToSpace",
                                                   "Equal",
                                                   "Expand",
                                                   "ExpandDims",
                                                   "EyeLike",
                                                   "Flatten",
                                                   "Floor",
                                                   "Gather",
                                                   "GatherElements",
                                                   "GatherND",
                                                   "GlobalMaxPool",
                                                   "Greater",
                                                   "GreaterOrEqual",
                                                   "Hardmax",
                                                   "Identity",
                                                   "IsInf",
                                                   "IsNaN",
                                                   "LabelEncoder",
                                                   "Less",
                                                   "LessOrEqual",
                                                   "Max",
                                                   "MaxPool",
                                                   "Min",
                                                   "Neg",
                                                   "NonZero",
                                                   "OneHot",
                                                   "OneHotEncoder",
                                                   "Pad",
                                                   "ReduceMax",
                                                   "ReduceMin",
                                                   "Relu",
                                                   "Reshape",
                                                   "ReverseSequence",
                                                   "Round",
                                                   "ScatterElements",
                                                   "ScatterND",
                                                   "Shape",
                                                   "Sign",
                                                   "Size",
                                                   "Slice",
                                                   "SpaceToDepth",
                                                   "Split",
                                                   "Squeeze",
                                                   "Tile",
                                                   "TopK",
                                                   "Transpose",
                                                   "Trilu",
                                                   "Unique",
                                                   "Unsqueeze",
                                                   "Where",
                                                   "Binarizer",
                                                   "ArrayFeatureExtractor",
                                                   "UnfoldTensor",
                                                   "Imputer",
                                                   "FeatureVectorizer",
                                                   "ThresholdedRelu"};
  return exact.count(op) > 0;
}

bool accumulates(const ir::Node& node) {
  const auto reduction = node.attributes.find("reduction");
  return reduction != node.attributes.end() && reduction->second.string != "none";
}

bool is_ring(std::string_view op) {
  static const std::set<std::string_view> ring = {"Add",    "Sub",       "Mul",    "Sum",
                                                  "MatMul", "ReduceSum", "CumSum", "Gemm"};
  return ring.count(op) > 0;
}

bool sums_otherwise(std::string_view op) {
  return op == "DFT" || op == "STFT" || op == "MatMulNBits" || op == "BatchNormalization";
}

bool signs_zeros(std::string_view op) { return op == "Add" || op == "Sub" || op == "Mul" || op == "Div"; }

bool chooses_zeros(std::string_view op, const std::vector<Tensor>& operands) {
  static const std::set<std::string_view> choosing = {"Clip", "GlobalMaxPool", "Max",       "MaxPool",
                                                      "Min",  "Relu",          "ReduceMax", "ReduceMin"};
  const auto has_negative_zero = [](const Tensor& tensor) {
    if (!tensor.defined() || !ir::is_float(tensor.type())) return false;
    for (int64_t i = 0; i < tensor.size(); ++i) {
      const double value = tensor.get_real(i);
      if (value == 0 && std::signbit(value)) return true;
    }
    return false;
  };
  return choosing.count(op) > 0 && std::any_of(operands.begin(), operands.end(), has_negative_zero);
}

}  // namespace axrun::tests
