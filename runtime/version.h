#pragma once

#include <string>
#include <string_view>

namespace axrun::runtime {

/// "0.1.0", as the build was configured.
std::string_view version();

/// How this library was built: "Release, gcc 12.2.0".
std::string build_text();

}  // namespace axrun::runtime
