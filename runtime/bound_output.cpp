#include "runtime/bound_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ir/error.h"

namespace axrun::runtime {

void require_fit(const Port& port, const ir::Tensor& result, const ir::Tensor& bound) {
  if (bound.type() == result.type() && bound.shape() == result.shape()) return;
  throw Error(Fault::user, fmt::format("output '{}' is {} {}, the buffer given is {} {}", port.name,
                                       ir::name_of(result.type()), ir::to_string(result.shape()),
                                       ir::name_of(bound.type()), ir::to_string(bound.shape())));
}

void deliver_bound(const Port& port, const ir::Tensor& result, ir::Tensor& bound) {
  require_fit(port, result, bound);
  if (result.type() == ir::ElementType::string) {
    std::copy_n(result.strings(), result.size(), bound.strings());
  } else if (result.bytes() > 0) {
    std::memcpy(bound.data(), result.data(), result.bytes());
  }
}

}  // namespace axrun::runtime
