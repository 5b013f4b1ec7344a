#pragma once

#include "ir/graph.h"

namespace axrun::ir {

/// What the body of a Loop or Scan hands on as it got it is the same on every trip: has the body capture the
/// value that the node begins with, and what reads the node's result read that value. Exporters carry a
/// body's weights so. Number of values that nobody carries any more; of the loops of `graph` itself, not of
/// those inside bodies.
int capture_carried_unchanged(Graph& graph);

}  // namespace axrun::ir
