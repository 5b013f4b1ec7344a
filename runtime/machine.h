#pragma once

#include <cstdint>
#include <string>

namespace axrun::runtime {

/// Processors that this process may use: its affinity mask, and the processor time of its control group
/// (cgroup cpu.max, as of a second ago), rounded up. At least 1.
int available_processors();

/// Threads of one run where nobody says otherwise: AXRUN_THREADS, else available_processors().
int default_threads();

/// What a measurement has to say of the machine it was made on.
struct Machine {
  std::string cpu;  ///< model name
  int processors = 0;
  int available_processors = 0;
  std::string isa;  ///< instruction-set level of the kernels in force
  int64_t memory_bytes = 0;
  std::string system;  ///< "Linux 6.1.0"
};

Machine describe_machine();

/// All memory of the machine; 0 where the system does not tell.
int64_t physical_memory_bytes();

/// Of it, what this process may use: its control groups may allow less (as of a second ago).
int64_t usable_memory_bytes();

/// The most memory this process has had resident, mapped files included; 0 where the system does not tell.
int64_t peak_rss_bytes();

}  // namespace axrun::runtime
