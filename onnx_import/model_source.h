#pragma once

#include <cstddef>
#include <string>

#include "onnx_import/input_file.h"

namespace axrun::onnx_import {

/// Raw data of tensors from this size on is taken from ByteSource::file: the source's bytes may be zeros
/// there.
inline constexpr size_t large_raw_data = 65536;

/// The bytes of a model file but for the large raw data of its initializers, which is read where tensors are
/// made of it: weights are copied once, and never in memory twice. Throws Error(user), as InputFile does.
ByteSource model_source(const std::string& path);

}  // namespace axrun::onnx_import
