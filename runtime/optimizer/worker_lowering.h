#pragma once

#include <functional>

#include "runtime/optimizer/worker_protocol.h"
#include "search/lowering.h"

namespace axrun::runtime {

/// search::lower, or what stands for it in tests.
using LowerFunction =
    std::function<search::Lowered(const ir::Program& expression, const search::Sizes& sizes,
                                  const std::vector<bool>& constant, const jit::Target& target, size_t rank)>;

/// What was lowered, as it is sent.
WorkerLowering sent_form(const search::Lowered& lowered);

}  // namespace axrun::runtime
