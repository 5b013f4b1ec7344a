#pragma once

namespace axrun::runtime {

/// Seconds of processor time that the calling thread has had: what others do meanwhile is not in it.
double seconds_of_thread();
/// What a call of that takes, of the same time: a system call, unlike a look at the clock.
double seconds_to_look();

}  // namespace axrun::runtime
