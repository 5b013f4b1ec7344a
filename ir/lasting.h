#pragma once

#include <utility>

namespace axrun {

/// What static variables hold is made by this, and never destroyed: a program may end while its threads still
/// compute (a daemon thread of Python's in a run, an optimiser nobody has stopped), and these would read
/// tables that are gone. tests/structure finds those that are.
template <class T>
const T& lasting(T value) {
  return *new const T(std::move(value));
}

}  // namespace axrun
