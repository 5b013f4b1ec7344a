#pragma once

#include <string>

namespace axrun::cli {

/// The file of the model that the command line names: itself; for a folder, its model.onnx, as ONNX's test
/// folders have it; for "-" or /dev/stdin, a copy of what standard input holds, which goes with this.
class ModelPath {
 public:
  /// Throws Error(user) for a folder without a model, and where standard input cannot be copied.
  explicit ModelPath(const std::string& given);
  ~ModelPath();
  ModelPath(const ModelPath&) = delete;
  ModelPath& operator=(const ModelPath&) = delete;

  const std::string& file() const { return file_; }

 private:
  std::string file_;
  std::string copy_;  ///< empty: there is none
};

}  // namespace axrun::cli
