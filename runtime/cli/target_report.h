#pragma once

#include <string>

namespace axrun::cli {

/// The hardware that kernels are emitted for (runtime::host_target), measured first where `calibrate` says so.
/// The JSON object is what AXRUN_TARGET takes. Throws Error.
std::string target_text(bool calibrate);
std::string target_json(bool calibrate);

}  // namespace axrun::cli
