#pragma once

namespace axrun::cli {

/// While it lives, SIGINT, SIGTERM and SIGHUP ask for an orderly end instead of ending the process; whoever
/// asks twice gets what is usual. Signals that are ignored stay so. One at a time.
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
