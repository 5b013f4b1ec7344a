#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <functional>

namespace axrun::cache {

/// Runs something in a process of its own, which ends with its answer.
inline pid_t start_child(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child != 0) return child;
  try {
    _exit(work());
  } catch (const std::exception&) {
    _exit(99);
  }
}

/// Its answer; 128 and the signal where one has killed it.
inline int end_of(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

inline int in_child(const std::function<int()>& work) { return end_of(start_child(work)); }

}  // namespace axrun::cache
