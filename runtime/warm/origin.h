#pragma once

#include <string>

namespace axrun::runtime {

/// A hash of everything that decides which kernels are made, proved and kept: its sources, compiler and
/// options (cmake/generator_id.cmake writes it). The same in every program and library of a build, and in
/// every build of the same sources.
extern const char* const generator_id;

/// The version and generator_id: what it has made before can be made of the same steps again.
std::string generator_text();

/// The processor's name, and what it is restricted to: for people.
std::string processor_text();

/// What machine code, and what was measured of it, hold for: the processor's name, the features and
/// processors that may be used, the knobs that restrict them, and the file that AXRUN_TARGET names. Takes
/// microseconds where there is none.
std::string machine_text();

}  // namespace axrun::runtime
