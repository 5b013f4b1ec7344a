#pragma once

#include "ir/program.h"
#include "search/size_facts.h"

namespace axrun::search {

/// The expression with maps written into the stages that read them, where that does not repeat costly work:
/// maps that only move elements always, others where each element is read about once, or is cheap and read a
/// few times. Outputs stay stages. For programs of maps and simple reductions.
ir::Program inline_maps(const ir::Program& program, const SizeFacts& facts);

}  // namespace axrun::search
