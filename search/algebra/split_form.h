#pragma once

#include <vector>

#include "search/algebra/terms.h"

namespace axrun::search::algebra {

/// A reduction that reads others over the same axis, as a fold over parts of that axis: every component of a
/// state is worked out of a part by itself, and put together out of those of two parts that are joined. By
/// induction over parts, whatever their sizes, that is the state of the whole axis.
struct SplitForm {
  struct Component {
    TermId joined = no_term;    ///< of two parts, joined
    TermId combined = no_term;  ///< what the parts' states make of it
    TermId single = no_term;    ///< of one element
    TermId first = no_term;     ///< what that is
  };
  std::vector<Component> state;  ///< those that others read first
  TermId root = no_term;         ///< what is wanted
  TermId finished = no_term;     ///< of the state, and of what the root reads; the root where it is a state
};

/// The ways to do so that follow from the operators (rescaled_parts.h): none of them is believed. The root
/// may be made of any operators; leaves have names of their own.
std::vector<SplitForm> split_forms(Terms& terms, TermId root);

}  // namespace axrun::search::algebra
