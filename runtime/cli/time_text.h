#pragma once

#include <string>

namespace axrun::cli {

/// Times of one line of a report, all in one unit: milliseconds where the smallest that matters is one or
/// more, else microseconds.
class TimeUnit {
 public:
  explicit TimeUnit(double smallest_ms) : in_ms_(smallest_ms >= 1) {}
  /// "36.0 us", "1.74 ms", "178 us".
  std::string operator()(double ms) const;

 private:
  bool in_ms_;
};

/// A time that stands alone.
inline std::string time_text(double ms) { return TimeUnit(ms)(ms); }

}  // namespace axrun::cli
