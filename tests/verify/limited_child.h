#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

namespace axrun::tests {

/// Work in a process of its own, which the kernel ends after so many seconds of processor time, or ten times
/// as many by the clock: what cannot be interrupted, such as a question to Z3, ends nevertheless. Begins at
/// once. No other thread of this process may hold a lock that the work needs.
class LimitedChild {
 public:
  LimitedChild(const std::function<std::string()>& work, int seconds);
  ~LimitedChild();
  LimitedChild(const LimitedChild&) = delete;
  LimitedChild& operator=(const LimitedChild&) = delete;

  /// Waits; nothing where the process was ended, or the work threw.
  std::optional<std::string> result();

 private:
  pid_t process_ = -1;
  int pipe_ = -1;
};

}  // namespace axrun::tests
