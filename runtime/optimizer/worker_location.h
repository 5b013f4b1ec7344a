#pragma once

#include <string>
#include <vector>

namespace axrun::runtime {

/// Where the worker program may be, in the order in which the places are tried: beside the file that holds
/// this code (the library, or a program that holds it), then where an installed command and a build have it.
std::vector<std::string> worker_places();

/// The knob AXRUN_WORKER, else the first of those places that can be executed; empty where there is none.
std::string find_worker();

}  // namespace axrun::runtime
