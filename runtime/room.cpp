#include "runtime/room.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/dim.h"
#include "ir/error_place.h"
#include "runtime/machine.h"

namespace axrun::runtime {

void require_room(const std::string& name, ir::ElementType type, const ir::Shape& shape) {
  const int64_t memory = usable_memory_bytes();
  const bool strings = type == ir::ElementType::string;
  const auto element =
      static_cast<int64_t>(strings ? sizeof(std::string) : std::max<size_t>(1, ir::size_of(type)));
  if (memory == 0 || ir::element_count(shape) <= memory / element) return;
  throw PlacedError(Fault::user,
                    fmt::format("input '{}': {} {} does not fit into this machine's {} GiB of memory", name,
                                ir::name_of(type), ir::to_string(shape), memory >> 30),
                    ErrorPlace::of_input(name));
}

}  // namespace axrun::runtime
