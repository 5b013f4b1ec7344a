#pragma once

#include <optional>
#include <string>
#include <vector>

#include "onnx_import/tensor_file.h"
#include "runtime/session.h"

namespace axrun::cli {

/// Between values of a run and ONNX's data files. A map's values, in a file one tensor per key, are one
/// tensor in a run; values that cannot be joined are refused with Error(user).
runtime::RuntimeValue runtime_value_of(const onnx_import::DataValue& data);
onnx_import::DataValue data_value_of(const runtime::RuntimeValue& value, const std::string& name);

/// The inputs in a test_data_set folder, one entry per port, empty where there is no file. input_K.pb is the
/// K-th port, unless the name inside is another port's. Throws Error(user): no such folder, a damaged file, a
/// file that belongs to no input or to the same one as another.
std::vector<std::optional<runtime::RuntimeValue>> read_data_inputs(const std::string& folder,
                                                                   const std::vector<runtime::Port>& ports);

/// output_K.pb; empty when there is none. Throws Error(user) when it is damaged.
std::optional<runtime::RuntimeValue> read_data_output(const std::string& folder, size_t k,
                                                      ir::ValueKind kind);

/// Writes every output as folder/output_K.pb, making the folder. Throws Error(user).
void save_outputs(const std::string& folder, const std::vector<runtime::Port>& ports,
                  const std::vector<runtime::RuntimeValue>& outputs);

}  // namespace axrun::cli
