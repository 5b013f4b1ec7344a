#include "runtime/cli/time_text.h"

#include <fmt/format.h>

namespace axrun::cli {

std::string TimeUnit::operator()(double ms) const {
  const double value = in_ms_ ? ms : ms * 1e3;
  const char* const unit = in_ms_ ? "ms" : "us";
  if (value >= 100) return fmt::format("{:.0f} {}", value, unit);
  return in_ms_ ? fmt::format("{:.2f} {}", value, unit) : fmt::format("{:.1f} {}", value, unit);
}

}  // namespace axrun::cli
