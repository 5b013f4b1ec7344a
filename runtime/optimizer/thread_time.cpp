#include "runtime/optimizer/thread_time.h"

#include <time.h>

#include <algorithm>

namespace axrun::runtime {

double seconds_of_thread() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double seconds_to_look() {
  static const double least = [] {
    constexpr int looks = 64;
    double fastest = 1;
    for (int look = 0; look < looks; ++look) {
      const double before = seconds_of_thread();
      fastest = std::min(fastest, seconds_of_thread() - before);
    }
    return fastest;
  }();
  return least;
}

}  // namespace axrun::runtime
