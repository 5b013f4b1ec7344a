// ONNX tensor files: one serialized TensorProto each, as in a `test_data_set_N` folder.
//
// Read and written field by field: linking protobuf would put its start-up time into every measurement.
#pragma once

#include <string>

#include "perf/host/tensor.h"

namespace axrun::perf {

/// Reads a dense tensor stored inside the file. Throws HostError naming the file when it is missing, damaged,
/// stores its data elsewhere, or is not a tensor (a sequence or an optional value).
Tensor read_tensor_file(const std::string& path);

/// Writes name, dims, type and raw data (strings as string data); throws HostError when the file can't be
/// written.
void write_tensor_file(const std::string& path, const Tensor& tensor);

}  // namespace axrun::perf
