#pragma once

#include <vector>

namespace axrun::jit {

/// A hardware thread that this process may use, by the system's numbers; -1 where the system does not tell.
struct Processor {
  int id = 0;
  int core = -1;     ///< processors of one core share its units
  int package = -1;  ///< socket
  int node = -1;     ///< the NUMA node whose memory is nearest
};

/// Those of the affinity mask, in the order in which threads should take them: one of each core before the
/// second of any, cores in the order of the topology. Never empty.
std::vector<Processor> processors_to_use();

/// Binds the calling thread to that processor. False where the system refuses.
bool bind_this_thread(int processor);

}  // namespace axrun::jit
