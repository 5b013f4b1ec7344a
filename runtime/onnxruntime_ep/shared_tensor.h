#pragma once

#include <memory>

#include "runtime/onnxruntime_ep/host.h"

namespace axrun::ort {

/// Keeps the memory of a tensor of the runtime, for as long as it is referred to, whatever the runtime does
/// with the tensor: no copy. Null where this runtime has no way to do so. Outlives the Host, not the runtime.
std::shared_ptr<const void> shared_owner(const Host& host, const Value* tensor);

/// Whether a sequence that this runtime makes of a tensor shares its memory, found out with one.
bool sequences_share(const Host& host);

}  // namespace axrun::ort
