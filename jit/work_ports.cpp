#include <algorithm>

#include "jit/work_count.h"

namespace axrun::jit {

WorkCount& WorkCount::operator+=(const WorkCount& other) {
  multiply_adds += other.multiply_adds;
  operations += other.operations;
  functions += other.functions;
  scalar_operations += other.scalar_operations;
  lanes += other.lanes;
  filled_lanes += other.filled_lanes;
  loads += other.loads;
  stores += other.stores;
  apart_lanes += other.apart_lanes;
  bytes_loaded += other.bytes_loaded;
  bytes_stored += other.bytes_stored;
  moved_bytes += other.moved_bytes;
  missed_bytes.resize(std::max(missed_bytes.size(), other.missed_bytes.size()));
  for (size_t k = 0; k < other.missed_bytes.size(); ++k) missed_bytes[k] += other.missed_bytes[k];
  chain_cycles += other.chain_cycles;
  phases += other.phases;
  return *this;
}

WorkCount WorkCount::times(double factor) const {
  WorkCount result = *this;
  for (double WorkCount::*const member :
       {&WorkCount::multiply_adds, &WorkCount::operations, &WorkCount::functions,
        &WorkCount::scalar_operations, &WorkCount::lanes, &WorkCount::filled_lanes, &WorkCount::loads,
        &WorkCount::stores, &WorkCount::apart_lanes, &WorkCount::bytes_loaded, &WorkCount::bytes_stored,
        &WorkCount::moved_bytes, &WorkCount::chain_cycles})
    result.*member *= factor;
  for (double& bytes : result.missed_bytes) bytes *= factor;
  return result;
}

double cycles_per_second(const Target& target) {
  const double flops_per_cycle = 2.0 * target.lanes(4) * std::max(1, target.fma_ports);
  return target.flops_per_second / flops_per_cycle;
}

PortCycles port_cycles(const WorkCount& work, const Target& target) {
  constexpr double loads_per_cycle = 2, stores_per_cycle = 1, apart_per_cycle = 1, scalars_per_cycle = 3;
  PortCycles cycles;
  cycles.arithmetic = (work.multiply_adds + work.operations + work.functions) / std::max(1, target.fma_ports);
  cycles.memory = std::max(work.loads / loads_per_cycle, work.stores / stores_per_cycle);
  cycles.apart = work.apart_lanes / apart_per_cycle;
  cycles.scalar = work.scalar_operations / scalars_per_cycle;
  return cycles;
}

}  // namespace axrun::jit
