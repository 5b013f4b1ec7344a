#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "onnx_import/input_file.h"
#include "onnx_import/origin.h"

namespace axrun::onnx_import {

/// The files beside a model that hold tensor data. Each is opened once.
class ExternalData {
 public:
  /// `directory` is the model's folder; with an empty one external data is refused. Files may also lie in
  /// `second_directory`, where the model file is a symbolic link: the folder it points into.
  explicit ExternalData(std::string directory, std::string second_directory = {});
  /// Both folders of a model file.
  static ExternalData beside(const std::string& path);

  /// The file at `location`, relative to the folder. Throws Error: user when there is none, model when it
  /// lies outside of the folder once symbolic links are resolved. `what` names the tensor.
  std::shared_ptr<const InputFile> find(std::string_view location, const Origin& what);

 private:
  std::string directory_;
  std::string second_directory_;
  std::map<std::string, std::shared_ptr<const InputFile>, std::less<>> files_;  ///< by location
};

}  // namespace axrun::onnx_import
