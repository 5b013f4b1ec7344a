#pragma once

#include <cstdint>
#include <string>

#include "runtime/plan/kernel.h"

namespace axrun::runtime {

// The parts of indexing_factories, one file each.
void gather_factories(std::vector<FactoryEntry>& table);
void scatter_factories(std::vector<FactoryEntry>& table);
void selection_factories(std::vector<FactoryEntry>& table);
void generator_factories(std::vector<FactoryEntry>& table);
void reversal_factories(std::vector<FactoryEntry>& table);
void state_factories(std::vector<FactoryEntry>& table);

/// An axis attribute made non-negative.
size_t axis_of(const StepContext& context, int64_t otherwise, int rank);

/// Indices of an input of type i32 or i64; a negative one counts from the end.
struct IndexReader {
  const void* data = nullptr;
  bool narrow = false;
  /// -1 when it is outside of 0..size-1.
  int64_t at(int64_t position, int64_t size) const {
    int64_t index =
        narrow ? static_cast<const int32_t*>(data)[position] : static_cast<const int64_t*>(data)[position];
    if (index < 0) index += size;
    return index >= 0 && index < size ? index : -1;
  }
};
bool is_index(const StepContext& context, size_t k);
[[noreturn]] void fail_index(const std::string& place);
/// "Gather 'name'" for messages.
std::string place_of(const StepContext& context);

/// Whether the dims of inputs 0 and 1 fit into Extents.
bool has_extents(const StepContext& context);

/// Elements that are only moved: 1, 2, 4 or 8 bytes.
bool is_movable(ir::ElementType type);

/// Calls function(T{}) with an unsigned integer of the element's size.
template <typename Function>
void with_element(size_t bytes, const Function& function) {
  switch (bytes) {
    case 1:
      return function(uint8_t{});
    case 2:
      return function(uint16_t{});
    case 4:
      return function(uint32_t{});
    default:
      return function(uint64_t{});
  }
}

}  // namespace axrun::runtime
