#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/loop/loop_program.h"
#include "jit/target.h"

namespace axrun::jit {

/// About what one run of a loop program executes, counted from its loops at given sizes: what no measurement
/// of a kernel tells apart. Vectors are those of the target. Loads of an element are counted once for what is
/// written out between two iterations of a loop, as code keeps them in registers that long; buffers in
/// registers cost nothing. Dot products of small integers count as the operations that they are made of.
struct WorkCount {
  double multiply_adds = 0;      ///< vector instructions x += a * b
  double operations = 0;         ///< other arithmetic on vectors
  double functions = 0;          ///< vector instructions of exp, tanh, erf and their like, and of divisions
  double scalar_operations = 0;  ///< on single elements, with loads and stores of these
  double lanes = 0;              ///< of all vector statements, those that vectors have
  double filled_lanes = 0;       ///< and those of them that compute something
  double loads = 0;              ///< of vectors, and of elements for all lanes
  double stores = 0;             ///< of vectors
  double apart_lanes = 0;  ///< lanes that are loaded or stored one by one, as they do not lie side by side
  double bytes_loaded = 0, bytes_stored = 0;
  double moved_bytes = 0;  ///< of both, by statements that compute no stage: packing, gathering, copies
  /// Per cache of the target, the nearest first: bytes that come from beyond it. What fits into a cache while
  /// a loop runs comes once, whatever was there before; what does not comes again in every iteration.
  std::vector<double> missed_bytes;
  /// Of operations that wait for each other, each at the latency of a multiply-add.
  double chain_cycles = 0;
  int phases = 0;  ///< functions called, each of which may be handed over to other threads

  WorkCount& operator+=(const WorkCount& other);
  WorkCount times(double factor) const;  ///< phases as they are
};

/// constant: one flag per input buffer; leading phases that depend on these only are computed once, and do
/// not count.
WorkCount count_work(const ir::loop::LoopProgram& program, const std::map<std::string, int64_t>& sizes,
                     const std::vector<bool>& constant, const Target& target);

/// The least time that the processor's ports take for what was counted, in cycles, by what they are used for.
struct PortCycles {
  double arithmetic = 0;  ///< of vectors
  double memory = 0;      ///< loads and stores
  double apart = 0;       ///< lanes loaded or stored one by one
  double scalar = 0;
};
/// Of one core, from the measured peak of multiply-adds; 0 where the target is not calibrated.
double cycles_per_second(const Target& target);
PortCycles port_cycles(const WorkCount& work, const Target& target);

}  // namespace axrun::jit
