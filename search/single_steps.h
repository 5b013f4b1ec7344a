#pragma once

#include "ir/program.h"

namespace axrun::search {

/// Scans of one step become the stages of the step.
ir::Program take_single_steps(const ir::Program& program);

}  // namespace axrun::search
