#pragma once

#include <string>
#include <string_view>

#include "jit/target.h"

namespace axrun::jit {

/// The text form of a target: a JSON object with the names of Target's fields.
///
///     {"schema_version": 1, "version": "0.1.0", "name": "...", "features": ["avx", ...],
///      "vector_bytes": 64, "vector_registers": 32, "fma_ports": 2, "masks": true, "cores": 2,
///      "caches": [{"bytes": 32768, "line_bytes": 64, "shared_by": 1, "bytes_per_second": 3.3e11}, ...],
///      "memory_bytes_per_second": 1.3e10, "flops_per_second": 1.5e11}
///
/// Every key may be left out. schema_version is 1; version, of the program that wrote it, is not looked at.
/// All fields of a cache but its bytes may be left out.
std::string print_target(const Target& target);

/// `base` with the fields that the text gives. Where it gives features, the fields on vectors that it does
/// not give follow from them, else everything else is the base's. `source` names the text in errors.
///
/// Text from anywhere: throws Error(user) that names the field for unknown or repeated keys, wrong types,
/// sizes that no machine has, and what contradicts itself. What this processor lacks is no error here: see
/// require_runnable.
Target parse_target(std::string_view text, const Target& base, const std::string& source);

/// The same of a file. Throws Error(user) where it cannot be read, too.
Target read_target_file(const std::string& path, const Target& base);

}  // namespace axrun::jit
