// ai.onnx.ml operators in front of tree ensembles, on rows of features.
#include "runtime/operators/features.h"

#include <algorithm>
#include <cmath>

namespace axrun::runtime {
namespace {

using ir::ElementType;

std::vector<double> reals(const StepContext& context, const char* name) {
  const auto found = context.node.attributes.find(name);
  return found == context.node.attributes.end() ? std::vector<double>() : found->second.reals;
}

bool f32_in_and_out(const StepContext& context) {
  return !context.fused() && context.inputs[0].type == ElementType::f32 &&
         context.outputs[0].type == ElementType::f32 && context.inputs[0].rank() > 0 &&
         context.inputs[0].count() > 0;
}

/// A list of one value, or one per feature, as one per feature.
std::vector<float> per_feature(const std::vector<double>& values, int64_t features) {
  std::vector<float> list(static_cast<size_t>(features));
  for (size_t k = 0; k < list.size(); ++k) list[k] = static_cast<float>(values[values.size() == 1 ? 0 : k]);
  return list;
}

/// y = value is missing ? imputed[feature] : value.
class ImputerKernel final : public Kernel {
 public:
  ImputerKernel(int64_t count, float replaced, std::vector<float> imputed)
      : count_(count), replaced_(replaced), imputed_(std::move(imputed)) {}
  void run(const KernelCall& call) const override {
    const auto* x = static_cast<const float*>(call.inputs[0]);
    auto* y = static_cast<float*>(call.outputs[0]);
    const auto features = static_cast<int64_t>(imputed_.size());
    const bool replaces_nan = std::isnan(replaced_);
    for (int64_t first = 0; first < count_; first += features) {
      for (int64_t k = 0; k < features; ++k) {
        const float value = x[first + k];
        const bool missing = replaces_nan ? std::isnan(value) : value == replaced_;
        y[first + k] = missing ? imputed_[static_cast<size_t>(k)] : value;
      }
    }
  }
  std::string describe() const override { return "impute"; }
  std::vector<int> in_place() const override { return {0}; }

 private:
  int64_t count_;
  float replaced_;
  std::vector<float> imputed_;
};

std::unique_ptr<Kernel> make_imputer(const StepContext& context) {
  if (!f32_in_and_out(context)) return nullptr;
  const auto replaced = context.real("replaced_value_float", 0);
  // A value that no float can equal is left to the expression.
  if (!std::isnan(replaced) && static_cast<double>(static_cast<float>(replaced)) != replaced) return nullptr;
  return std::make_unique<ImputerKernel>(
      context.inputs[0].count(), static_cast<float>(replaced),
      per_feature(reals(context, "imputed_value_floats"), context.inputs[0].shape.back()));
}

/// y = (x - offset[feature]) * scale[feature].
class ScalerKernel final : public Kernel {
 public:
  ScalerKernel(int64_t count, std::vector<float> offsets, std::vector<float> scales)
      : count_(count), offsets_(std::move(offsets)), scales_(std::move(scales)) {}
  void run(const KernelCall& call) const override {
    const auto* x = static_cast<const float*>(call.inputs[0]);
    auto* y = static_cast<float*>(call.outputs[0]);
    const auto features = static_cast<int64_t>(offsets_.size());
    for (int64_t first = 0; first < count_; first += features) {
      for (int64_t k = 0; k < features; ++k) {
        const auto at = static_cast<size_t>(k);
        y[first + k] = (x[first + k] - offsets_[at]) * scales_[at];
      }
    }
  }
  std::string describe() const override { return "scale"; }
  std::vector<int> in_place() const override { return {0}; }

 private:
  int64_t count_;
  std::vector<float> offsets_, scales_;
};

std::unique_ptr<Kernel> make_scaler(const StepContext& context) {
  if (!f32_in_and_out(context)) return nullptr;
  const int64_t features = context.inputs[0].shape.back();
  return std::make_unique<ScalerKernel>(context.inputs[0].count(),
                                        per_feature(reals(context, "offset"), features),
                                        per_feature(reals(context, "scale"), features));
}

/// Rows of all inputs side by side, as float32.
class VectorizerKernel final : public Kernel {
 public:
  struct Part {
    ElementType type;
    int64_t columns;  ///< of the input
    int64_t width;    ///< in the result: missing columns are 0, superfluous ones dropped
  };
  VectorizerKernel(int64_t rows, std::vector<Part> parts) : rows_(rows), parts_(std::move(parts)) {}

  void run(const KernelCall& call) const override {
    auto* y = static_cast<float*>(call.outputs[0]);
    for (int64_t row = 0; row < rows_; ++row) {
      for (size_t k = 0; k < parts_.size(); ++k) {
        const Part& part = parts_[k];
        const int64_t copied = std::min(part.columns, part.width);
        const int64_t first = row * part.columns;
        switch (part.type) {
          case ElementType::f64:
            convert(static_cast<const double*>(call.inputs[k]) + first, copied, y);
            break;
          case ElementType::i32:
            convert(static_cast<const int32_t*>(call.inputs[k]) + first, copied, y);
            break;
          case ElementType::i64:
            convert(static_cast<const int64_t*>(call.inputs[k]) + first, copied, y);
            break;
          default:
            convert(static_cast<const float*>(call.inputs[k]) + first, copied, y);
            break;
        }
        std::fill(y + copied, y + part.width, 0.0f);
        y += part.width;
      }
    }
  }
  std::string describe() const override { return "join features"; }

 private:
  template <typename T>
  static void convert(const T* x, int64_t count, float* y) {
    for (int64_t i = 0; i < count; ++i) y[i] = static_cast<float>(x[i]);
  }
  int64_t rows_;
  std::vector<Part> parts_;
};

std::unique_ptr<Kernel> make_vectorizer(const StepContext& context) {
  if (context.fused() || context.outputs[0].type != ElementType::f32) return nullptr;
  const std::vector<int64_t> widths = context.integers("inputdimensions");
  std::vector<VectorizerKernel::Part> parts;
  const int64_t rows = context.outputs[0].shape[0];
  for (size_t k = 0; k < context.inputs.size(); ++k) {
    const StepPort& input = context.inputs[k];
    if (!input.present || rows == 0) return nullptr;
    const int64_t columns = input.rank() == 1 ? input.shape[0] : input.count() / rows;
    parts.push_back({input.type, columns, widths.empty() ? columns : widths[k]});
  }
  return std::make_unique<VectorizerKernel>(rows, std::move(parts));
}

}  // namespace

void feature_factories(std::vector<FactoryEntry>& table) {
  table.push_back({"ai.onnx.ml", "Imputer", make_imputer});
  table.push_back({"ai.onnx.ml", "Scaler", make_scaler});
  table.push_back({"ai.onnx.ml", "FeatureVectorizer", make_vectorizer});
}

}  // namespace axrun::runtime
