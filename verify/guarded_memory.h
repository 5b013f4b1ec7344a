#pragma once

#include <cstddef>
#include <cstdint>

namespace axrun::verify {

/// Where an array lies in its pages.
enum class Placement : uint8_t {
  ends_at_guard,    ///< its last byte is the last one before a page that may not be touched
  begins_at_guard,  ///< its first byte is the first one after such a page: 4096-byte aligned
  /// One element after such a page, and nowhere near the next one: an address that is aligned for the element
  /// only.
  off_by_one_element,
};
const char* name_of(Placement placement);

/// Memory for one array between two pages that may not be touched. The bytes around the array inside its own
/// pages hold a pattern, so that a write past the array that meets no guard is noticed too.
class GuardedArray {
 public:
  /// Room for `bytes` in any placement; element_bytes: a power of two, of which `bytes` is a multiple.
  /// Throws Error(user) when the system has no memory.
  GuardedArray(size_t bytes, size_t element_bytes);
  ~GuardedArray();
  GuardedArray(GuardedArray&& other) noexcept;
  GuardedArray(const GuardedArray&) = delete;
  GuardedArray& operator=(const GuardedArray&) = delete;

  /// Makes all of the pages writable, moves the array and fills the rest with the pattern; what the array
  /// holds after that is not defined.
  void place(Placement placement);
  /// Writing it kills the process until it is placed again.
  void forbid_writes();

  /// Of an array without elements: an address at which nothing may be touched.
  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  /// False when a byte around the array has changed since it was placed.
  bool surroundings_intact() const;

 private:
  unsigned char* pages() const;
  size_t page_bytes_ = 0;
  size_t inner_bytes_ = 0;  ///< of the pages between the guards
  size_t bytes_ = 0;
  size_t element_bytes_ = 1;
  unsigned char* mapping_ = nullptr;
  unsigned char* data_ = nullptr;
};

}  // namespace axrun::verify
