#include "jit/binder.h"

#include <algorithm>

#include "ir/error.h"

namespace axrun::jit {

using ir::Dim;
using ir::loop::Role;

namespace {

std::vector<std::string> names_of(const Signature& signature) {
  std::vector<std::string> names;
  for (const ir::loop::Size& size : signature.sizes) names.push_back(size.name);
  return names;
}

bool has(const std::vector<int>& list, int one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

}  // namespace

Binder::Binder(const Signature& signature, const std::vector<bool>& constant)
    : names_(names_of(signature)), sizes_(names_) {
  find_prepared(signature, constant);
  for (const Signature::Buffer& buffer : signature.buffers) {
    Dim elements = 1;
    for (const Dim& dim : buffer.dims) elements = elements * max(dim, Dim(0));
    buffers_.emplace_back(place_of(elements), ir::size_of(buffer.type));
  }
  for (const Signature::Phase& phase : signature.phases) {
    Phase own{
        place_of(phase.parallel ? max(phase.extent, Dim(0)) : Dim(1)), phase.parallel ? phase.step : 1, {}};
    for (const LaneTerm& term : phase.lanes) {
      own.lanes.push_back({term.lanes, {}});
      for (const LaneTerm::Loop& loop : term.loops)
        own.lanes.back().loops.emplace_back(place_of(loop.extent), loop.step);
    }
    phases_.push_back(std::move(own));
  }
}

/// Extents may depend on variables of loops: those are unknown.
size_t Binder::place_of(const Dim& dim) {
  std::vector<std::string> names;
  dim.collect_symbols(names);
  const bool known = std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    return std::find(names_.begin(), names_.end(), name) != names_.end();
  });
  return known ? sizes_.add(dim) : unknown;
}

/// The phases at the beginning that read constants only and write scratch memory that nothing else writes.
/// Without constants nobody calls prepare.
void Binder::find_prepared(const Signature& signature, const std::vector<bool>& constant) {
  const size_t buffers = signature.buffers.size();
  std::vector<bool> available(buffers, false);
  for (size_t id = 0; id < buffers; ++id) {
    if (signature.buffers[id].role == Role::input) {
      available[id] = inputs.size() < constant.size() && constant[inputs.size()];
      inputs.push_back(static_cast<int>(id));
    } else if (signature.buffers[id].role == Role::output) {
      outputs.push_back(static_cast<int>(id));
    }
  }
  prepared_by.assign(buffers, ir::none);
  const bool prepares = std::find(constant.begin(), constant.end(), true) != constant.end();
  for (; prepares && parts < signature.phases.size(); ++parts) {
    const Signature::Phase& phase = signature.phases[parts];
    bool fits = signature.only_fills_scratch(phase);
    for (const int id : phase.reads)
      fits = fits && (available[static_cast<size_t>(id)] || has(phase.writes, id));
    for (const int id : phase.writes) {
      for (size_t other = 0; other < signature.phases.size(); ++other)
        fits = fits && (other == parts || !has(signature.phases[other].writes, id));
    }
    if (!fits) break;
    for (const int id : phase.writes) {
      available[static_cast<size_t>(id)] = true;
      prepared_by[static_cast<size_t>(id)] = static_cast<int>(parts);
    }
  }
  unread.assign(inputs.size(), true);
  for (size_t p = parts; p < signature.phases.size(); ++p) {
    for (size_t k = 0; k < inputs.size(); ++k) {
      if (has(signature.phases[p].reads, inputs[k])) unread[k] = false;
    }
  }
}

void Binder::find(AtSizes& found) const {
  std::vector<int64_t>& values = found.values;
  sizes_.run(values);
  found.bytes.clear();
  found.iterations.clear();
  found.lanes.clear();
  found.bytes.reserve(buffers_.size());
  for (const auto& [elements, bytes] : buffers_) {
    AXRUN_ASSERT(elements != unknown);
    // Sizes saturate: products of them with what elements take must not wrap.
    constexpr int64_t most_elements = int64_t{1} << 48;
    if (values[elements] > most_elements) throw Error(Fault::user, "a kernel's buffer is too large");
    found.bytes.push_back(static_cast<size_t>(values[elements]) * bytes);
  }
  found.iterations.reserve(phases_.size());
  found.lanes.reserve(phases_.size());
  for (const Phase& phase : phases_) {
    AXRUN_ASSERT(phase.extent != unknown);
    found.iterations.push_back((values[phase.extent] + phase.step - 1) / phase.step);
    double sum = 0;
    for (const Term& term : phase.lanes) {
      double lanes = term.lanes;
      for (const auto& [extent, step] : term.loops)
        lanes *= extent == unknown ? 1 : iterations_of(values[extent], step);
      sum += lanes;
    }
    found.lanes.push_back(sum);
  }
}

}  // namespace axrun::jit
