#pragma once

#include <pthread.h>
#include <signal.h>
#include <time.h>

namespace axrun::jit {

/// While it lives, a write beyond the process's limit on file sizes (ulimit -f) fails with EFBIG in this
/// thread, like any other disk that is full. SIGXFSZ, which comes with it and would end the process, is taken
/// back; a handler of the program's is left alone.
class FileSizeSignal {
 public:
  FileSizeSignal() {
    sigemptyset(&only_);
    sigaddset(&only_, SIGXFSZ);
    sigset_t pending;
    sigpending(&pending);
    if (sigismember(&pending, SIGXFSZ) == 1) return;  // blocked already, and somebody waits for it
    active_ = pthread_sigmask(SIG_BLOCK, &only_, &before_) == 0;
  }
  ~FileSizeSignal() {
    if (!active_) return;
    constexpr timespec at_once{};
    sigtimedwait(&only_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  FileSizeSignal(const FileSizeSignal&) = delete;
  FileSizeSignal& operator=(const FileSizeSignal&) = delete;

 private:
  sigset_t only_{}, before_{};
  bool active_ = false;
};

}  // namespace axrun::jit
