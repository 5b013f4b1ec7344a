#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/dim.h"
#include "ir/graph.h"

namespace axrun::runtime {

/// Which values make sense for an input of a model, as far as its use in the graph tells.
struct InputDomain {
  enum class Kind {
    free,      ///< nothing is known
    index,     ///< 0 .. each of `bounds` - 1
    length,    ///< 1 .. each of `bounds`
    constant,  ///< `value` everywhere
  };
  Kind kind = Kind::free;
  std::vector<ir::Dim> bounds;  ///< over the graph's named sizes; empty: not known before a run
  int64_t value = 0;
  std::string reason;  ///< "indexes Gather 'embedding'"
};

/// One per graph input. An input means what the operator means that it reaches through operators that only
/// move values (Cast, Reshape, Concat, ...), into the bodies of If, Loop and Scan too.
std::vector<InputDomain> input_domains(const ir::Graph& graph);

}  // namespace axrun::runtime
