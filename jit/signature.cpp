#include "jit/signature.h"

#include <algorithm>
#include <map>
#include <set>

#include "jit/phase_sizes.h"

namespace axrun::jit {
namespace {

using ir::loop::LoopProgram;

/// Sizes that have one value.
std::map<std::string, ir::Dim> fixed_sizes(const LoopProgram& program) {
  std::map<std::string, ir::Dim> fixed;
  for (const ir::loop::Size& size : program.sizes) {
    if (size.low == size.high) fixed.emplace(size.name, size.low);
  }
  return fixed;
}

/// Whether dims are of nothing but the sizes.
class Known {
 public:
  explicit Known(const Signature& signature) {
    for (const ir::loop::Size& size : signature.sizes) names_.insert(size.name);
  }
  bool knows(const ir::Dim& dim) const {
    if (dim.is_constant()) return true;
    std::vector<std::string> names;
    dim.collect_symbols(names);
    return std::all_of(names.begin(), names.end(),
                       [&](const std::string& name) { return names_.count(name) != 0; });
  }
  size_t count() const { return names_.size(); }

 private:
  std::set<std::string> names_;
};

bool is_in(int id, size_t count) { return id >= 0 && static_cast<size_t>(id) < count; }

}  // namespace

bool Signature::only_fills_scratch(const Phase& phase) const {
  return !phase.writes.empty() && std::all_of(phase.writes.begin(), phase.writes.end(), [&](int id) {
    const Buffer& buffer = buffers[static_cast<size_t>(id)];
    return buffer.role == ir::loop::Role::scratch && !buffer.per_worker;
  });
}

Signature signature_of(const LoopProgram& program, const Layout& layout) {
  Signature signature;
  signature.name = program.name;
  signature.sizes = program.sizes;
  signature.arguments = layout.arguments;
  signature.flag_argument = layout.flag_argument;
  for (size_t id = 0; id < program.buffers.size(); ++id) {
    const ir::loop::Buffer& buffer = program.buffers[id];
    const bool in_memory = layout.argument[id] != ir::none;
    signature.buffers.push_back({buffer.role, buffer.type, in_memory ? buffer.dims : ir::Dims(),
                                 layout.argument[id], layout.per_worker[id]});
  }
  const std::map<std::string, ir::Dim> fixed = fixed_sizes(program);
  for (const Phase& phase : layout.phases) {
    Signature::Phase& made = signature.phases.emplace_back();
    made.reads = phase.reads;
    made.writes = phase.writes;
    const std::set<std::string> names = names_in(program, phase);
    for (size_t k = 0; k < program.sizes.size(); ++k) {
      if (names.count(program.sizes[k].name) != 0) made.sizes.push_back(static_cast<int>(k));
    }
    if (phase.parallel == nullptr) continue;
    made.parallel = true;
    made.extent = phase.parallel->extent;
    made.step = phase.parallel->step;
    made.lanes = lanes_of(*phase.parallel, fixed);
  }
  return signature;
}

void add_texts(Signature& signature, const LoopProgram& program, const Layout& layout) {
  const std::map<std::string, ir::Dim> fixed = fixed_sizes(program);
  for (size_t p = 0; p < signature.phases.size(); ++p) {
    Signature::Phase& phase = signature.phases[p];
    // Only phases at the beginning are ever computed once.
    if (!signature.only_fills_scratch(phase)) break;
    const bool same = std::all_of(phase.sizes.begin(), phase.sizes.end(), [&](int size) {
      const ir::loop::Size& range = program.sizes[static_cast<size_t>(size)];
      return range.low == range.high;
    });
    if (same && !phase.text) phase.text = text_of(program, layout.phases[p], fixed);
  }
}

std::string wrong_with(const Signature& signature, int most_arguments) {
  const Known known(signature);
  const auto are_in = [](const std::vector<int>& ids, size_t count) {
    return std::all_of(ids.begin(), ids.end(), [&](int id) { return is_in(id, count); });
  };
  const auto are_in_memory = [&](const std::vector<int>& ids) {
    return std::all_of(ids.begin(), ids.end(), [&](int id) {
      return is_in(id, signature.buffers.size()) &&
             signature.buffers[static_cast<size_t>(id)].argument != ir::none;
    });
  };
  const auto all_known = [&](const ir::Dims& dims) {
    return std::all_of(dims.begin(), dims.end(), [&](const ir::Dim& dim) { return known.knows(dim); });
  };
  if (known.count() != signature.sizes.size()) return "two sizes have one name";
  for (const ir::loop::Size& size : signature.sizes) {
    if (size.divisor < 1 || size.low < 0 || size.high < size.low) return "a size has no values";
  }
  const size_t sizes = signature.sizes.size(), buffers = signature.buffers.size();
  if (signature.arguments < 0 || signature.arguments > most_arguments ||
      sizes > static_cast<size_t>(signature.arguments))
    return "arguments have no room";
  const auto arguments = static_cast<size_t>(signature.arguments);
  // Sizes come first, then each argument has one meaning.
  std::vector<bool> taken(arguments, false);
  std::fill_n(taken.begin(), sizes, true);
  const auto takes = [&](int argument) {
    if (!is_in(argument, arguments) || taken[static_cast<size_t>(argument)]) return false;
    taken[static_cast<size_t>(argument)] = true;
    return true;
  };
  if (signature.flag_argument != ir::none && !takes(signature.flag_argument)) return "arguments are mixed up";
  for (const Signature::Buffer& buffer : signature.buffers) {
    if (buffer.role > ir::loop::Role::scratch || ir::size_of(buffer.type) == 0) return "a buffer has no type";
    const bool in_memory = buffer.argument != ir::none;
    if (in_memory ? !takes(buffer.argument) : buffer.role != ir::loop::Role::scratch)
      return "arguments are mixed up";
    if (buffer.per_worker && buffer.role != ir::loop::Role::scratch) return "results belong to one worker";
    if (!all_known(buffer.dims)) return "a buffer's size is open";
  }
  for (const Signature::Phase& phase : signature.phases) {
    if (phase.step < 1 || !known.knows(phase.extent)) return "a loop has no end";
    if (!are_in_memory(phase.reads) || !are_in_memory(phase.writes)) return "a phase has no such buffer";
    if (!are_in(phase.sizes, sizes)) return "a phase has no such size";
    if (phase.text && !are_in(phase.text->buffers, buffers)) return "a phase has no such buffer";
    for (const LaneTerm& term : phase.lanes) {
      for (const LaneTerm::Loop& loop : term.loops) {
        if (loop.step < 1) return "a loop has no end";
      }
    }
  }
  return {};
}

}  // namespace axrun::jit
