#include "runtime/plan/sequence_kernel.h"

#include <algorithm>
#include <array>
#include <map>

#include "ir/error.h"

namespace axrun::runtime {
namespace {

constexpr size_t scratch_alignment = 64;
/// Pointers of a part, which runs keep on the stack: nothing is allocated in a run.
constexpr size_t most_ports = 64;

size_t aligned(size_t bytes) {
  return (bytes + scratch_alignment - 1) / scratch_alignment * scratch_alignment;
}

}  // namespace

SequenceKernel::SequenceKernel(std::vector<Part> parts, const std::vector<ir::ValueId>& inputs,
                               const std::vector<ir::ValueId>& outputs) {
  std::map<ir::ValueId, Place> places;
  for (size_t k = inputs.size(); k-- > 0;) {
    if (inputs[k] != ir::absent) places[inputs[k]] = {Place::Kind::input, k, nullptr};
  }
  for (size_t k = outputs.size(); k-- > 0;) {
    if (outputs[k] != ir::absent) places[outputs[k]] = {Place::Kind::output, k, nullptr};
  }
  size_t own = 0;
  for (Part& part : parts) {
    Placed placed;
    for (size_t k = 0; k < part.outputs.size(); ++k) {
      const ir::ValueId id = part.outputs[k];
      if (id == ir::absent || places.count(id) != 0) continue;
      places[id] = {Place::Kind::scratch, kept_bytes_, nullptr};
      kept_bytes_ += aligned(part.output_bytes[k]);
    }
    for (size_t k = 0; k < part.inputs.size(); ++k) {
      const auto place = places.find(part.inputs[k]);
      if (place != places.end()) {
        placed.inputs.push_back(place->second);
      } else {
        AXRUN_ASSERT(part.inputs[k] == ir::absent || part.constants[k] != nullptr);
        const auto kind = part.constants[k] != nullptr ? Place::Kind::constant : Place::Kind::absent;
        placed.inputs.push_back({kind, 0, part.constants[k]});
      }
    }
    for (const ir::ValueId id : part.outputs)
      placed.outputs.push_back(id == ir::absent ? Place() : places.at(id));
    AXRUN_ASSERT(std::max(placed.inputs.size(), placed.outputs.size()) <= most_ports);
    own = std::max(own, part.kernel->scratch_bytes());
    placed.kernel = std::move(part.kernel);
    parts_.push_back(std::move(placed));
  }
  scratch_bytes_ = kept_bytes_ + own;
}

void* SequenceKernel::pointer(const KernelCall& call, const Place& place) {
  switch (place.kind) {
    case Place::Kind::input:
      return const_cast<void*>(call.inputs[place.at]);  // parts read their inputs only
    case Place::Kind::output:
      return call.outputs[place.at];
    case Place::Kind::scratch:
      return static_cast<char*>(call.scratch) + place.at;
    default:
      return const_cast<void*>(place.address);
  }
}

void SequenceKernel::run(const KernelCall& call) const {
  for (const Placed& part : parts_) {
    std::array<const void*, most_ports> inputs{};
    std::array<void*, most_ports> outputs{};
    for (size_t k = 0; k < part.inputs.size(); ++k) inputs[k] = pointer(call, part.inputs[k]);
    for (size_t k = 0; k < part.outputs.size(); ++k) outputs[k] = pointer(call, part.outputs[k]);
    part.kernel->run(
        {inputs.data(), outputs.data(), static_cast<char*>(call.scratch) + kept_bytes_, call.pool});
  }
}

std::string SequenceKernel::describe() const {
  std::string text;
  for (const Placed& part : parts_) text += (text.empty() ? "" : ", ") + part.kernel->describe();
  return text;
}

bool SequenceKernel::ignores_input(int k) const {
  for (const Placed& part : parts_) {
    for (size_t p = 0; p < part.inputs.size(); ++p) {
      const Place& place = part.inputs[p];
      const bool reads = place.kind == Place::Kind::input && place.at == static_cast<size_t>(k);
      if (reads && !part.kernel->ignores_input(static_cast<int>(p))) return false;
    }
  }
  return true;
}

double SequenceKernel::flops() const {
  double sum = 0;
  for (const Placed& part : parts_) sum += part.kernel->flops();
  return sum;
}

}  // namespace axrun::runtime
