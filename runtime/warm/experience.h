#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "runtime/cache/bytes.h"
#include "runtime/cache/hash.h"
#include "runtime/optimizer_status.h"

namespace axrun::runtime {

/// What sessions have found for models of one structure, on whatever processor and with however many threads:
/// the portable part of what is known. It says in which order things had better be tried, and nothing else:
/// every kernel is lowered, proved, tested and measured where it is to serve.
struct Experience {
  /// How an expression has fared.
  struct Trial {
    OptimizedKernel::State state = OptimizedKernel::State::waiting;
    TriedKernel::End end = TriedKernel::End::not_tried;  ///< of the default schedule
    double speedup = 0;                                  ///< over what was there before; 0: not measured
    int rank = 0, alternatives_tried = 0;
    double alternative_speedup = 0;  ///< of the best of them
    double seconds = 0;              ///< that proving and testing it took; 0: not known
    std::string kind, reason;
  };
  enum class Layouts : uint8_t { unknown, plain, channels_last };

  std::string processor;  ///< where most of it was found last
  std::map<cache::Hash, Trial> trials;
  /// Sets of the graph's nodes that became one step: the model's graph, without bodies.
  std::vector<std::vector<int>> joined;
  Layouts layouts = Layouts::unknown;

  /// By an expression's key in the library.
  const Trial* of(std::string_view key) const;
  bool empty() const { return trials.empty() && joined.empty() && layouts == Layouts::unknown; }
};

/// What is spared, as a share of the time that is taken now, if things are as they were there. Without a
/// trial a guess that is the same for all.
double expected_gain(const Experience::Trial* trial);
/// The same of other schedules than the default one.
double expected_gain_of_alternatives(const Experience::Trial* trial);

void write(cache::Writer& out, const Experience& experience);
/// False for bytes that cannot be right for this graph; nothing is trusted.
bool read(cache::Reader& in, const ir::Graph& graph, Experience& experience);

}  // namespace axrun::runtime
