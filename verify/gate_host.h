#pragma once

#include <string>

namespace axrun::verify {

/// The processor's name, as the system has it.
std::string processor();
/// Whether arithmetic still is what callers set: rounding to nearest, denormals kept.
bool environment_intact();

}  // namespace axrun::verify
