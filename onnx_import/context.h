#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ir/error_place.h"
#include "ir/tensor.h"
#include "onnx_import/external_data.h"
#include "onnx_import/import.h"
#include "onnx_import/input_file.h"
#include "onnx_import/messages.h"

namespace axrun::onnx_import {

/// What the parts of one import share.
struct ImportContext {
  ByteSource source;
  ExternalData external;
  ImportOptions options;
  /// Tensors that were read from files, by the file and where they begin in it: one for all that share the
  /// bytes.
  std::map<std::pair<const void*, uint64_t>, ir::Tensor> copied = {};
  UnknownFields unknown_fields = {};
  /// One line for each thing that axrun lacks. Reading goes on, so that all of them are found.
  std::vector<std::string> unsupported = {};
  ErrorPlace unsupported_node = {};  ///< the last node among them
  /// Of domains that nodes use and the model does not import.
  std::map<std::string, int> assumed_opsets = {};
  std::vector<ir::Value> declared_outputs = {};  ///< of the main graph
  int64_t nodes = 0;                             ///< met so far, calls and constants included
  int64_t inlined_bytes = 0;                     ///< of functions, once per call
  int64_t dense_bytes = 0;                       ///< of sparse tensors made dense

  /// Tells the importer's caller what is wrong in the file and was understood all the same; once.
  void note(const std::string& text) const;
  /// Throws Error(unsupported) with all of `unsupported` and `unknown_fields`, if there are any.
  /// `what` is what uses them: "the model".
  void refuse_unsupported(std::string_view what) const;
};

}  // namespace axrun::onnx_import
