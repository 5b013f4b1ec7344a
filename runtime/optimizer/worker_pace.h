#pragma once

namespace axrun::runtime {

/// From now on this thread uses no more than that share of a processor: a timer on its processor time makes
/// it sleep in a signal handler, whatever it is doing. For a process of its own, with one thread that works:
/// what it calls must bear interrupted system calls. 1: no limit.
void keep_to_share(double share);

}  // namespace axrun::runtime
