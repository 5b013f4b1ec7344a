#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ir/api.h"
#include "ir/types.h"

namespace axrun::ir {

using Shape = std::vector<int64_t>;

/// Number of elements; throws Error(user) when the product overflows int64 or a dimension is negative.
AXRUN_API int64_t element_count(const Shape& shape);
/// Strides in elements of a row-major tensor.
AXRUN_API Shape row_major_strides(const Shape& shape);

/// A dense row-major tensor. Copies share the buffer; clone() does not.
///
/// The buffer is owned, or borrowed from an owner kept alive by the tensor (a mapped file, an arena), or
/// borrowed from the caller with no owner. Strings live in std::string elements.
class AXRUN_API Tensor {
 public:
  Tensor() = default;
  /// Zero-initialised, 64-byte aligned. Throws Error(user) for absurd sizes before allocating.
  static Tensor allocate(ElementType type, const Shape& shape);
  /// Not initialised, otherwise as allocate.
  static Tensor allocate_uninitialized(ElementType type, const Shape& shape);
  static Tensor borrow(ElementType type, const Shape& shape, void* data,
                       std::shared_ptr<const void> owner = {});
  /// Becomes what borrow gives, in the memory that the shape has.
  void lend(ElementType type, const Shape& shape, void* data, std::shared_ptr<const void> owner = {});
  static Tensor scalar(ElementType type, double value);
  static Tensor from_i64(const std::vector<int64_t>& values);  ///< one-dimensional, i64
  static Tensor from_strings(const Shape& shape, std::vector<std::string> values);

  bool defined() const { return type_ != ElementType::undefined; }
  ElementType type() const { return type_; }
  const Shape& shape() const { return shape_; }
  int rank() const { return static_cast<int>(shape_.size()); }
  int64_t size() const { return size_; }
  size_t bytes() const;
  void* data() { return data_; }
  const void* data() const { return data_; }
  template <typename T>
  T* as() {
    return static_cast<T*>(data_);
  }
  template <typename T>
  const T* as() const {
    return static_cast<const T*>(data_);
  }
  std::string* strings() { return static_cast<std::string*>(data_); }
  const std::string* strings() const { return static_cast<const std::string*>(data_); }

  /// Element at a row-major position, converted; integers are exact, u64 above INT64_MAX wraps in get_int.
  double get_real(int64_t position) const;
  int64_t get_int(int64_t position) const;
  /// Stores rounded (floats) or wrapped (integers).
  void set_real(int64_t position, double value);
  void set_int(int64_t position, int64_t value);
  std::vector<int64_t> to_ints() const;

  /// False for a tensor that borrows from someone who does not know: it must not outlive the loan.
  bool keeps_buffer() const { return owner_ != nullptr || data_ == nullptr; }

  /// Same buffer under another shape of equal element count.
  Tensor reshaped(const Shape& shape) const;
  Tensor clone() const;
  /// Converted element by element as get and set do.
  Tensor converted(ElementType type) const;

 private:
  ElementType type_ = ElementType::undefined;
  Shape shape_;
  int64_t size_ = 0;
  void* data_ = nullptr;
  std::shared_ptr<const void> owner_;
};

}  // namespace axrun::ir
