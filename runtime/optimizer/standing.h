#pragma once

#include <sys/types.h>

#include <string>

namespace axrun::runtime {

/// What the system's scheduler grants background threads.
enum class Standing {
  /// The processor time that nobody else wants. Where everybody wants all of it, next to nothing.
  idle,
  /// About a tenth of each processor where others want all of it, and what is left otherwise; in turns of a
  /// tenth of a millisecond where the system lets threads choose (Linux 6.12), so that who wakes up beside
  /// it hardly waits.
  assured,
  ordinary
};

/// Of the calling thread, and of the threads and processes that it starts. Returns in words what was granted.
std::string take_standing(Standing standing);
/// Of a thread, or of a process with one thread, that has a higher one: idle from now on. There is no way
/// back without privileges. 0: the calling thread. Returns in words what was granted.
std::string become_idle(pid_t thread = 0);

}  // namespace axrun::runtime
