#pragma once

#include <string>

namespace axrun::runtime {

/// Names the very code that is running: what it has made before can be made of the same steps again. The
/// build's id as the linker has written it; empty where there is none, and then nothing may be kept.
std::string generator_text();

/// The processor's name, and what it is restricted to: for people.
std::string processor_text();

/// What machine code, and what was measured of it, hold for: the processor's name, the features and
/// processors that may be used, the knobs that restrict them, and the file that AXRUN_TARGET names. Takes
/// microseconds where there is none.
std::string machine_text();

}  // namespace axrun::runtime
