#include "runtime/version.h"

#include <fmt/format.h>

namespace axrun::runtime {

std::string_view version() { return AXRUN_VERSION; }

std::string build_text() {
#ifdef __clang__
  return fmt::format("{}, clang {}.{}.{}", AXRUN_BUILD_TYPE, __clang_major__, __clang_minor__,
                     __clang_patchlevel__);
#else
  return fmt::format("{}, gcc {}.{}.{}", AXRUN_BUILD_TYPE, __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

}  // namespace axrun::runtime
