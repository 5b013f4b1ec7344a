#pragma once

namespace axrun::cli {

/// While it lives, SIGINT and SIGTERM ask for an orderly end instead of ending the process; whoever asks
/// twice gets what is usual. One at a time.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// The signal that came; 0: none, or nobody listens.
  static int signal();
};

}  // namespace axrun::cli
