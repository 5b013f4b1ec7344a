#pragma once

#include "search/loop_writer.h"

namespace axrun::search {

/// How a statement combines what a plain monoid combines.
ir::loop::Combine combine_of(ir::Monoid::Kind kind);

/// The monoid's neutral element as a value.
int identity_value(LoopWriter& writer, ir::Monoid::Kind kind, ir::ElementType type);

/// Whether an expression is that element, literally. Of floating-point numbers only.
bool is_identity(const ir::Program& program, ir::ExprId id, ir::Monoid::Kind kind);

}  // namespace axrun::search
