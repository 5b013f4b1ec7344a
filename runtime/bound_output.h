#pragma once

#include "ir/tensor.h"
#include "runtime/session.h"

namespace axrun::runtime {

/// Throws Error(user) naming the output where the caller's buffer is for another type or shape.
void require_fit(const Port& port, const ir::Tensor& result, const ir::Tensor& bound);
/// Into the caller's buffer; throws as require_fit does.
void deliver_bound(const Port& port, const ir::Tensor& result, ir::Tensor& bound);

}  // namespace axrun::runtime
