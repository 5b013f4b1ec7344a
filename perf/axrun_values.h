// Values and failures of axrun in the terms of the host programs (perf/host), for programs that run it.
#pragma once

#include <string>
#include <vector>

#include "ir/error.h"
#include "ir/tensor.h"
#include "perf/host/tensor.h"
#include "runtime/session.h"

namespace axrun::perf {

/// The inputs of a session; throws HostError(model) where one is not a tensor of known rank.
std::vector<InputDeclaration> declarations_of(const runtime::Session& session);

/// The tensor over the same memory; strings are copied, and 4-bit elements unpacked to one per byte.
ir::Tensor to_axrun(const Tensor& tensor);
Tensor to_host(const std::string& name, const ir::Tensor& tensor);

/// A failure with the exit code that axrun documents for it.
HostError translated_error(const Error& error);

/// What `body` returns; axrun's failures become HostErrors.
template <class Body>
auto translated(Body body) {
  try {
    return body();
  } catch (const Error& error) {
    throw translated_error(error);
  }
}

}  // namespace axrun::perf
