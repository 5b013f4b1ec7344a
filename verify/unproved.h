#pragma once

#include <string>

namespace axrun::verify {

/// An obligation that does not go through: thrown within a proof, never out of it.
struct Unproved {
  std::string reason;
};

}  // namespace axrun::verify
