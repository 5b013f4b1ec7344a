#pragma once

#include "runtime/session.h"

namespace axrun::tests {

/// What most tests run sessions with.
inline runtime::SessionOptions one_thread(runtime::Tier tier = runtime::Tier::automatic) {
  runtime::SessionOptions options;
  options.threads = 1;
  options.tier = tier;
  return options;
}

}  // namespace axrun::tests
