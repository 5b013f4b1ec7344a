#include "jit/work_count.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "ir/types.h"
#include "jit/function_instructions.h"
#include "jit/layout.h"

namespace axrun::jit {
namespace {

using ir::Dim;
using ir::ScalarOp;
using ir::loop::Access;
using ir::loop::Block;
using ir::loop::Combine;
using ir::loop::Compute;
using ir::loop::Level;
using ir::loop::Loop;
using ir::loop::LoopKind;
using ir::loop::LoopProgram;
using ir::loop::Role;
using ir::loop::Statement;

// Cycles until a result can be used, as most processors with such vectors have them.
constexpr double operation_latency = 4;
constexpr double memory_latency = 8;
/// Of functions, whose polynomials wait for each other.
constexpr double latency_of_function_instruction = 2.5;
/// Lanes that lie closer are not met one by one.
constexpr int64_t few_elements_apart = 4;
/// Instructions that a processor looks ahead over: what is longer is done before the next iteration has
/// begun.
constexpr double window = 512;

bool is_leaf(ScalarOp op) {
  return op == ScalarOp::real || op == ScalarOp::integer || op == ScalarOp::extent;
}

bool mentions(const Dim& dim, const std::string& name) {
  std::vector<std::string> names;
  dim.collect_symbols(names);
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool mentions(const Access& access, const std::string& name) {
  const auto in = [&](const ir::Dims& dims) {
    return std::any_of(dims.begin(), dims.end(), [&](const Dim& dim) { return mentions(dim, name); });
  };
  return in(access.indices) ||
         std::any_of(access.lookups.begin(), access.lookups.end(),
                     [&](const ir::loop::Lookup& lookup) { return in(lookup.indices); });
}

/// What some statements execute, and how long the longest chain in them is.
struct Part {
  WorkCount work;
  double chain = 0;  ///< cycles from the first operand to the last result
  double carry = 0;  ///< cycles that the next iteration waits, of a loop around them that they add up in
  std::set<int> reads, writes;
  std::map<int, double> footprint;  ///< bytes of a buffer that are met
  double footprint_bytes() const {
    double bytes = 0;
    for (const auto& [id, one] : footprint) bytes += one;
    return bytes;
  }
  double instructions() const {
    return work.multiply_adds + work.operations + work.functions + work.scalar_operations + work.loads +
           work.stores + work.apart_lanes;
  }
};

class Counter {
 public:
  Counter(const LoopProgram& program, const Target& target, std::map<std::string, Dim> sizes)
      : program_(program), target_(target), known_(std::move(sizes)) {}

  WorkCount phase(const Phase& phase) {
    Part part;
    if (phase.parallel != nullptr) {
      part = loop(*phase.parallel);
    } else {
      std::vector<Part> parts;
      for (const Statement* one : phase.statements) parts.push_back(statement(*one));
      part = in_a_row(std::move(parts));
    }
    part.work.chain_cycles = part.chain;
    return part.work;
  }

 private:
  int64_t value_of(const Dim& dim, int64_t otherwise) const {
    return dim.substitute(known_).constant().value_or(otherwise);
  }

  Part statement(const Statement& statement) {
    if (const auto* inner = std::get_if<Loop>(&statement)) return loop(*inner);
    if (const auto* one = std::get_if<Compute>(&statement)) return compute(*one, nullptr, 1);
    return {};
  }

  Part block(const Block& body) {
    std::vector<Part> parts;
    for (const Statement& one : body) parts.push_back(statement(one));
    return in_a_row(std::move(parts));
  }

  /// What reads waits for what has written before it.
  Part in_a_row(std::vector<Part> parts) const {
    Part whole;
    std::vector<double> ends;
    for (size_t k = 0; k < parts.size(); ++k) {
      double start = 0;
      for (size_t before = 0; before < k; ++before) {
        const std::set<int>& writes = parts[before].writes;
        if (std::any_of(writes.begin(), writes.end(), [&](int id) { return parts[k].reads.count(id) != 0; }))
          start = std::max(start, ends[before]);
      }
      ends.push_back(start + parts[k].chain);
      whole.chain = std::max(whole.chain, ends.back());
      whole.carry = std::max(whole.carry, parts[k].carry);
      whole.work += parts[k].work;
      for (const int id : parts[k].reads) {
        // Written here before: it comes from nowhere else.
        if (whole.writes.count(id) == 0) whole.reads.insert(id);
      }
      whole.writes.insert(parts[k].writes.begin(), parts[k].writes.end());
      // The same buffer in several statements: mostly the same part of it.
      for (const auto& [id, bytes] : parts[k].footprint)
        whole.footprint[id] = std::max(whole.footprint[id], bytes);
    }
    stay_in_caches(whole);
    return whole;
  }

  /// Nothing is missed more often than it is met where all of it fits into a cache.
  void stay_in_caches(Part& part) const {
    const double bytes = part.footprint_bytes();
    std::vector<double>& missed = part.work.missed_bytes;
    for (size_t k = 0; k < missed.size(); ++k) {
      if (bytes <= static_cast<double>(target_.caches[k].bytes)) missed[k] = std::min(missed[k], bytes);
    }
  }

  /// A part whose counts are of all iterations of the loop, each for itself, becomes that of the loop.
  void repeat(Part& part, const Loop& loop, double times) {
    if (times <= 1) return;
    const double once = part.footprint_bytes();
    double stays = 0;
    for (auto& [id, bytes] : part.footprint) {
      if (meets_elsewhere(loop.body, id, loop.variable)) {
        bytes = std::min(size_of(id), bytes * times);
      } else {
        stays += bytes;
      }
    }
    std::vector<double>& missed = part.work.missed_bytes;
    for (size_t k = 0; k < missed.size(); ++k) {
      if (once <= static_cast<double>(target_.caches[k].bytes))
        missed[k] -= (times - 1) * std::min(stays, missed[k] / times);
    }
    stay_in_caches(part);
  }

  double size_of(int id) const {
    auto bytes = static_cast<double>(ir::size_of(buffer(id).type));
    for (const Dim& dim : buffer(id).dims) bytes *= static_cast<double>(value_of(dim, 1));
    return bytes;
  }

  /// Whether other elements of the buffer are met in other iterations.
  bool meets_elsewhere(const Block& body, int id, const std::string& variable) {
    return std::any_of(body.begin(), body.end(), [&](const Statement& one) {
      if (const auto* inner = std::get_if<Loop>(&one)) return meets_elsewhere(inner->body, id, variable);
      const auto* const compute_one = std::get_if<Compute>(&one);
      if (compute_one == nullptr) return false;
      const std::vector<const Access*>& all = accesses_of(*compute_one);
      return std::any_of(all.begin(), all.end(), [&](const Access* access) {
        return access->buffer == id && mentions(*access, variable);
      });
    });
  }

  const std::vector<const Access*>& accesses_of(const Compute& statement) {
    const auto [found, fresh] = accesses_.try_emplace(&statement);
    if (!fresh) return found->second;
    found->second.push_back(&statement.target);
    std::set<int> met{ir::none};
    std::vector<int> open{statement.value};
    while (!open.empty()) {
      const int id = open.back();
      open.pop_back();
      if (!met.insert(id).second) continue;
      const ir::loop::Value& one = program_.values[static_cast<size_t>(id)];
      if (one.op == ScalarOp::load) found->second.push_back(&one.access);
      open.insert(open.end(), one.args.begin(), one.args.end());
    }
    return found->second;
  }

  Part loop(const Loop& loop) {
    const int64_t extent = std::max<int64_t>(0, value_of(loop.extent, 1));
    const int64_t trips = (extent + loop.step - 1) / loop.step;
    if (trips == 0) return {};
    if (loop.kind == LoopKind::vector) return vector(loop, extent);
    const bool sums = adds_up_in(loop.body, loop.variable);
    std::vector<Part> parts;
    const auto at = [&](int64_t trip, double times) {
      known_[loop.variable] = trip * loop.step;
      if (loop.kind == LoopKind::unrolled) {
        parts.push_back(block(loop.body));
      } else {
        std::set<std::pair<int, int64_t>> around;
        std::swap(around, loaded_);
        parts.push_back(block(loop.body));
        std::swap(around, loaded_);
      }
      Part& part = parts.back();
      const double once = part.instructions();
      part.work = part.work.times(times);
      repeat(part, loop, times);
      // Results that a later iteration reads: a state.
      const bool state = loop.kind != LoopKind::parallel &&
                         std::any_of(part.reads.begin(), part.reads.end(),
                                     [&](int id) { return part.writes.count(id) != 0 && is_state(id); });
      const double each = state ? part.chain : sums ? part.carry : once > window ? part.chain : 0;
      part.carry = sums ? part.carry * times : part.carry;
      part.chain += (times - 1) * each;
    };
    if (loop.kind == LoopKind::unrolled) {
      for (int64_t trip = 0; trip < trips; ++trip) at(trip, 1);
    } else if (trips > 1 && shapes_of(loop.body, loop.variable)) {
      // The last one is what is left over; one in the middle stands for all others.
      at((trips - 1) / 2, static_cast<double>(trips - 1));
      at(trips - 1, 1);
    } else {
      at(0, static_cast<double>(trips));
    }
    known_.erase(loop.variable);
    Part whole;
    for (const Part& part : parts) {
      whole.work += part.work;
      const bool waits = sums || loop.kind != LoopKind::unrolled;
      whole.chain = waits ? whole.chain + (&part == &parts.front() || !sums ? part.chain : part.carry)
                          : std::max(whole.chain, part.chain);
      whole.carry = sums ? whole.carry + part.carry : std::max(whole.carry, part.carry);
      whole.reads.insert(part.reads.begin(), part.reads.end());
      whole.writes.insert(part.writes.begin(), part.writes.end());
      for (const auto& [id, bytes] : part.footprint) {
        double& all = whole.footprint[id];
        all = meets_elsewhere(loop.body, id, loop.variable) ? std::min(size_of(id), all + bytes)
                                                            : std::max(all, bytes);
      }
    }
    stay_in_caches(whole);
    return whole;
  }

  Part vector(const Loop& loop, int64_t extent) {
    std::vector<Part> parts;
    for (const Statement& one : loop.body) {
      if (const auto* compute_one = std::get_if<Compute>(&one))
        parts.push_back(compute(*compute_one, &loop.variable, extent));
    }
    return in_a_row(std::move(parts));
  }

  /// variable: of the vector loop around it, of so many iterations; null: there is none.
  Part compute(const Compute& statement, const std::string* variable, int64_t extent) {
    Part part;
    WorkCount& work = part.work;
    const int lanes = variable == nullptr ? 1 : target_.lanes(width_of(statement));
    const auto vectors = static_cast<double>((extent + lanes - 1) / lanes);
    const double moved = work.bytes_loaded + work.bytes_stored;
    visited_.clear();
    const bool fused = statement.combine == Combine::add &&
                       program_.values[static_cast<size_t>(statement.value)].op == ScalarOp::mul;
    part.chain = value(statement.value, variable, extent, vectors, fused, part).cycles;
    if (fused) {
      (variable == nullptr ? work.scalar_operations : work.multiply_adds) += vectors;
      part.chain += operation_latency;
    } else if (statement.combine != Combine::assign) {
      (variable == nullptr ? work.scalar_operations : work.operations) += vectors;
      part.chain += operation_latency;
    }
    if (statement.combine != Combine::assign) {
      part.carry = operation_latency;
      access(statement.target, variable, extent, vectors, false, part);
    }
    access(statement.target, variable, extent, vectors, true, part);
    part.writes.insert(statement.target.buffer);
    if (variable != nullptr) {
      work.lanes += vectors * lanes;
      work.filled_lanes += static_cast<double>(extent);
    }
    work.missed_bytes.assign(target_.caches.size(), part.footprint_bytes());
    if (statement.mapping.stage.empty()) work.moved_bytes = work.bytes_loaded + work.bytes_stored - moved;
    return part;
  }

  /// What is known of a value.
  struct Result {
    bool varies = false;  ///< between lanes
    bool data = false;    ///< read from memory; what depends on loops only is known before, or is a mask
    double cycles = 0;    ///< until it is there
  };

  Result value(int id, const std::string* variable, int64_t extent, double vectors, bool fused, Part& part) {
    if (id == ir::none) return {};
    const auto found = visited_.find(id);
    if (found != visited_.end()) return found->second;
    const ir::loop::Value& one = program_.values[static_cast<size_t>(id)];
    Result result;
    bool chooses = one.op == ScalarOp::select;  // by a condition that is known before
    for (const int arg : one.args) {
      const Result from = value(arg, variable, extent, vectors, false, part);
      if (arg == one.args[0] && from.data) chooses = false;
      result = {result.varies || from.varies, result.data || from.data, std::max(result.cycles, from.cycles)};
    }
    if (one.op == ScalarOp::load) {
      result.varies = access(one.access, variable, extent, vectors, false, part) || result.varies;
      result.data = true;
      const bool in_register = buffer(one.access.buffer).level == Level::registers;
      result.cycles += in_register ? 0 : memory_latency;
      part.reads.insert(one.access.buffer);
    } else if (one.op == ScalarOp::extent) {
      result.varies = variable != nullptr && mentions(one.index, *variable);
    } else if (!is_leaf(one.op) && result.data && !fused && !chooses) {
      const double instructions = function_instructions(one.op);
      const double many = result.varies ? vectors : 1;
      if (variable == nullptr) {
        part.work.scalar_operations += std::max(1.0, instructions);
      } else {
        (instructions > 0 ? part.work.functions : part.work.operations) += std::max(1.0, instructions) * many;
      }
      result.cycles += instructions > 0 ? instructions * latency_of_function_instruction : operation_latency;
    }
    visited_[id] = result;
    return result;
  }

  /// Counts a load or store; whether it differs between lanes.
  bool access(const Access& access, const std::string* variable, int64_t extent, double vectors, bool store,
              Part& part) {
    WorkCount& work = part.work;
    const bool varies = variable != nullptr && mentions(access, *variable);
    const ir::loop::Buffer& where = buffer(access.buffer);
    if (where.level == Level::registers) return varies;
    const auto bytes = static_cast<double>(ir::size_of(where.type));
    std::optional<int64_t> stride = 0;
    if (varies) {
      known_[*variable] = 0;
      const std::optional<int64_t> first = place(access);
      known_[*variable] = 1;
      const std::optional<int64_t> second = place(access);
      known_.erase(*variable);
      stride = first && second ? std::optional(*second - *first) : std::nullopt;
    }
    if (!store && access.lookups.empty()) {
      if (variable != nullptr) known_[*variable] = 0;
      const std::optional<int64_t> at = place(access);
      if (variable != nullptr) known_.erase(*variable);
      if (at && !loaded_.emplace(access.buffer, *at).second) return varies;
    }
    double& moved = store ? work.bytes_stored : work.bytes_loaded;
    double& met = part.footprint[access.buffer];
    met = std::max(met, bytes * (varies ? static_cast<double>(extent) : 1));
    if (variable == nullptr) {
      work.scalar_operations += 1;
      moved += bytes;
    } else if (!varies) {
      (store ? work.stores : work.loads) += 1;
      moved += bytes;
    } else {
      moved += bytes * static_cast<double>(extent);
      if (stride == 1) {
        (store ? work.stores : work.loads) += vectors;
      } else if (stride && *stride > 1 && *stride <= few_elements_apart && bytes == 4) {
        // Vectors of all that lies between, whose lanes are put together.
        const double parts = vectors * static_cast<double>(*stride);
        (store ? work.stores : work.loads) += parts;
        work.operations += parts;
      } else {
        work.apart_lanes += static_cast<double>(extent);
      }
    }
    return varies;
  }

  /// In elements from the buffer's beginning; nothing where only data tell.
  std::optional<int64_t> place(const Access& access) const {
    if (!access.lookups.empty()) return std::nullopt;
    const ir::Dims& dims = buffer(access.buffer).dims;
    int64_t at = 0;
    for (size_t k = 0; k < access.indices.size(); ++k) {
      const auto index = access.indices[k].substitute(known_).constant();
      const auto size = dims[k].substitute(known_).constant();
      if (!index || !size) return std::nullopt;
      at = at * *size + *index;
    }
    return at;
  }

  /// Bytes of the widest element that a statement's lanes hold.
  int width_of(const Compute& statement) const {
    const ir::ElementType type = buffer(statement.target.buffer).type;
    return static_cast<int>(std::clamp<size_t>(ir::size_of(type), 4, 8));
  }

  const ir::loop::Buffer& buffer(int id) const { return program_.buffers[static_cast<size_t>(id)]; }
  bool is_state(int id) const { return buffer(id).role != Role::input; }

  /// Whether statements add to elements that are the same in every iteration.
  bool adds_up_in(const Block& body, const std::string& variable) const {
    return std::any_of(body.begin(), body.end(), [&](const Statement& one) {
      if (const auto* inner = std::get_if<Loop>(&one)) return adds_up_in(inner->body, variable);
      const auto* const compute_one = std::get_if<Compute>(&one);
      return compute_one != nullptr && compute_one->combine != Combine::assign &&
             !mentions(compute_one->target, variable);
    });
  }

  /// Whether extents depend on it.
  static bool shapes_of(const Block& body, const std::string& variable) {
    return std::any_of(body.begin(), body.end(), [&](const Statement& one) {
      const auto* const inner = std::get_if<Loop>(&one);
      return inner != nullptr && (mentions(inner->extent, variable) || shapes_of(inner->body, variable));
    });
  }

  const LoopProgram& program_;
  const Target& target_;
  std::map<std::string, Dim> known_;          ///< sizes, and variables of loops around
  std::set<std::pair<int, int64_t>> loaded_;  ///< buffer and place, since the iteration began
  std::map<int, Result> visited_;             ///< values of one statement
  std::map<const Compute*, std::vector<const Access*>> accesses_;
};

/// Of the phases at the beginning, how many depend on constants only: what BoundKernel prepares.
size_t prepared_phases(const LoopProgram& program, const Layout& layout, const std::vector<bool>& constant) {
  std::set<int> available;
  for (size_t id = 0, input = 0; id < program.buffers.size(); ++id) {
    if (program.buffers[id].role != Role::input) continue;
    if (input < constant.size() && constant[input]) available.insert(static_cast<int>(id));
    ++input;
  }
  if (available.empty()) return 0;
  size_t count = 0;
  for (const Phase& phase : layout.phases) {
    const bool fits =
        !phase.writes.empty() &&
        std::all_of(phase.reads.begin(), phase.reads.end(),
                    [&](int id) {
                      return available.count(id) != 0 ||
                             std::find(phase.writes.begin(), phase.writes.end(), id) != phase.writes.end();
                    }) &&
        std::all_of(phase.writes.begin(), phase.writes.end(), [&](int id) {
          return program.buffers[static_cast<size_t>(id)].role == Role::scratch &&
                 !layout.per_worker[static_cast<size_t>(id)];
        });
    if (!fits) break;
    available.insert(phase.writes.begin(), phase.writes.end());
    ++count;
  }
  return count;
}

}  // namespace

WorkCount count_work(const LoopProgram& program, const std::map<std::string, int64_t>& sizes,
                     const std::vector<bool>& constant, const Target& target) {
  const Layout layout = layout_of(program);
  std::map<std::string, Dim> known;
  for (const ir::loop::Size& size : program.sizes) {
    const auto found = sizes.find(size.name);
    known[size.name] = found != sizes.end() ? found->second : size.low;
  }
  WorkCount total;
  for (size_t k = prepared_phases(program, layout, constant); k < layout.phases.size(); ++k) {
    total += Counter(program, target, known).phase(layout.phases[k]);
    ++total.phases;
  }
  return total;
}

}  // namespace axrun::jit
