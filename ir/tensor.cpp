#include "ir/tensor.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <tuple>
#include <utility>

#include "ir/dim.h"
#include "ir/element_access.h"
#include "ir/error.h"

namespace axrun::ir {
namespace {

constexpr size_t alignment = 64;
constexpr int64_t largest_allocation = int64_t{1} << 40;
/// Elements converted at a time, through a buffer on the stack.
constexpr int64_t chunk_size = 512;

size_t stored_bytes(ElementType type) {
  return type == ElementType::string ? sizeof(std::string) : size_of(type);
}

std::string described(ElementType type, const Shape& shape) {
  return std::string(name_of(type)) + " tensor of shape " + to_string(shape);
}

/// Element count, once it is certain that the bytes may be asked for.
int64_t checked_count(ElementType type, const Shape& shape) {
  AXRUN_ASSERT(type != ElementType::undefined);
  const int64_t count = element_count(shape);
  if (count > largest_allocation / static_cast<int64_t>(stored_bytes(type))) {
    throw Error(Fault::user, "a " + described(type, shape) + " is too large: more than 2^40 bytes");
  }
  return count;
}

[[noreturn]] void throw_out_of_memory(ElementType type, const Shape& shape) {
  throw Error(Fault::user, "not enough memory for a " + described(type, shape));
}

struct FreeBlock {
  void operator()(const void* block) const { std::free(const_cast<void*>(block)); }
};

/// A 64-byte aligned block; the owner holds the start of what malloc or calloc gave. Zeroed memory comes from
/// calloc, which does not touch fresh pages.
std::pair<void*, std::shared_ptr<const void>> allocate_block(size_t bytes, bool zeroed) {
  const size_t padded = bytes + alignment;
  void* block = zeroed ? std::calloc(padded, 1) : std::malloc(padded);
  if (block == nullptr) throw std::bad_alloc();
  std::shared_ptr<const void> owner(block, FreeBlock{});
  size_t space = padded;
  void* aligned = std::align(alignment, std::max<size_t>(bytes, 1), block, space);
  return {aligned, std::move(owner)};
}

}  // namespace

int64_t element_count(const Shape& shape) {
  int64_t count = 1;
  bool overflow = false;
  for (const int64_t size : shape) {
    if (size < 0) throw Error(Fault::user, "the shape " + to_string(shape) + " has a negative dimension");
    // An empty tensor is empty whatever the other dimensions are.
    if (size == 0) {
      count = 0;
      overflow = false;
    }
    if (count != 0 && __builtin_mul_overflow(count, size, &count)) overflow = true;
  }
  if (overflow) throw Error(Fault::user, "the shape " + to_string(shape) + " has more than 2^63 elements");
  return count;
}

Shape row_major_strides(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (size_t axis = shape.size(); axis-- > 1;) {
    if (__builtin_mul_overflow(strides[axis], shape[axis], &strides[axis - 1])) {
      throw Error(Fault::user, "the strides of shape " + to_string(shape) + " overflow");
    }
  }
  return strides;
}

Tensor Tensor::allocate(ElementType type, const Shape& shape) {
  Tensor tensor;
  tensor.size_ = checked_count(type, shape);
  try {
    tensor.shape_ = shape;
    if (type == ElementType::string) {
      auto strings = std::make_shared<std::vector<std::string>>(static_cast<size_t>(tensor.size_));
      tensor.data_ = strings->data();
      tensor.owner_ = std::move(strings);
    } else {
      const size_t bytes = static_cast<size_t>(tensor.size_) * size_of(type);
      std::tie(tensor.data_, tensor.owner_) = allocate_block(bytes, /*zeroed=*/true);
    }
  } catch (const std::bad_alloc&) {
    throw_out_of_memory(type, shape);
  }
  tensor.type_ = type;
  return tensor;
}

Tensor Tensor::allocate_uninitialized(ElementType type, const Shape& shape) {
  if (type == ElementType::string) return allocate(type, shape);
  Tensor tensor;
  tensor.size_ = checked_count(type, shape);
  try {
    tensor.shape_ = shape;
    const size_t bytes = static_cast<size_t>(tensor.size_) * size_of(type);
    std::tie(tensor.data_, tensor.owner_) = allocate_block(bytes, /*zeroed=*/false);
  } catch (const std::bad_alloc&) {
    throw_out_of_memory(type, shape);
  }
  tensor.type_ = type;
  return tensor;
}

Tensor Tensor::borrow(ElementType type, const Shape& shape, void* data, std::shared_ptr<const void> owner) {
  Tensor tensor;
  tensor.lend(type, shape, data, std::move(owner));
  return tensor;
}

void Tensor::lend(ElementType type, const Shape& shape, void* data, std::shared_ptr<const void> owner) {
  if (type_ != type || shape_ != shape || data == nullptr) {
    const int64_t size = checked_count(type, shape);
    if (data == nullptr && size != 0)
      throw Error(Fault::user, "no data was given for a " + described(type, shape));
    size_ = size;
    type_ = type;
    shape_ = shape;
  }
  data_ = data;
  owner_ = std::move(owner);
}

Tensor Tensor::scalar(ElementType type, double value) {
  Tensor tensor = allocate(type, {});
  tensor.set_real(0, value);
  return tensor;
}

Tensor Tensor::from_i64(const std::vector<int64_t>& values) {
  Tensor tensor = allocate_uninitialized(ElementType::i64, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.as<int64_t>());
  return tensor;
}

Tensor Tensor::from_strings(const Shape& shape, std::vector<std::string> values) {
  const int64_t count = checked_count(ElementType::string, shape);
  if (static_cast<size_t>(count) != values.size()) {
    throw Error(Fault::user, std::to_string(values.size()) + " strings were given for a " +
                                 described(ElementType::string, shape));
  }
  auto strings = std::make_shared<std::vector<std::string>>(std::move(values));
  void* data = strings->data();
  return borrow(ElementType::string, shape, data, std::move(strings));
}

size_t Tensor::bytes() const { return static_cast<size_t>(size_) * size_of(type_); }

double Tensor::get_real(int64_t position) const {
  AXRUN_ASSERT(position >= 0 && position < size_);
  return visit_element(type_, [&](auto element) {
    return element.to_real(load_element<typename decltype(element)::Stored>(data_, position));
  });
}

int64_t Tensor::get_int(int64_t position) const {
  AXRUN_ASSERT(position >= 0 && position < size_);
  return visit_element(type_, [&](auto element) {
    return element.to_integer(load_element<typename decltype(element)::Stored>(data_, position));
  });
}

void Tensor::set_real(int64_t position, double value) {
  AXRUN_ASSERT(position >= 0 && position < size_);
  visit_element(type_, [&](auto element) { store_element(data_, position, element.from_real(value)); });
}

void Tensor::set_int(int64_t position, int64_t value) {
  AXRUN_ASSERT(position >= 0 && position < size_);
  visit_element(type_, [&](auto element) { store_element(data_, position, element.from_integer(value)); });
}

std::vector<int64_t> Tensor::to_ints() const {
  std::vector<int64_t> values(static_cast<size_t>(size_));
  visit_element(type_, [&](auto element) {
    for (int64_t position = 0; position < size_; ++position) {
      values[position] =
          element.to_integer(load_element<typename decltype(element)::Stored>(data_, position));
    }
  });
  return values;
}

Tensor Tensor::reshaped(const Shape& shape) const {
  if (element_count(shape) != size_) {
    throw Error(Fault::user, "a " + described(type_, shape_) + " cannot be reshaped to " + to_string(shape));
  }
  Tensor tensor = *this;
  tensor.shape_ = shape;
  return tensor;
}

Tensor Tensor::clone() const {
  if (!defined()) return {};
  Tensor copy = allocate_uninitialized(type_, shape_);
  if (type_ == ElementType::string) {
    std::copy_n(strings(), size_, copy.strings());
  } else if (size_ != 0) {
    std::memcpy(copy.data_, data_, bytes());
  }
  return copy;
}

Tensor Tensor::converted(ElementType type) const {
  if (type == type_) return clone();
  if (type == ElementType::string || type_ == ElementType::string) {
    throw Error(Fault::user,
                "a " + described(type_, shape_) + " cannot be converted to " + std::string(name_of(type)));
  }
  Tensor result = allocate_uninitialized(type, shape_);
  // Integers stay integers between integer types and are rounded once on their way to a float.
  const bool through_integers = !is_float(type_) && (!is_float(type) || type_ != ElementType::u64);
  int64_t integers[chunk_size];
  double reals[chunk_size];
  for (int64_t begin = 0; begin < size_; begin += chunk_size) {
    const int64_t count = std::min(chunk_size, size_ - begin);
    visit_element(type_, [&](auto element) {
      using Stored = typename decltype(element)::Stored;
      for (int64_t i = 0; i < count; ++i) {
        const Stored stored = load_element<Stored>(data_, begin + i);
        if (through_integers) {
          integers[i] = element.to_integer(stored);
        } else if constexpr (std::is_same_v<Stored, uint64_t>) {
          reals[i] = type == ElementType::f64 ? element.to_real(stored) : element.rounded_to_odd(stored);
        } else {
          reals[i] = element.to_real(stored);
        }
      }
    });
    visit_element(type, [&](auto element) {
      for (int64_t i = 0; i < count; ++i) {
        store_element(result.data_, begin + i,
                      through_integers ? element.from_integer(integers[i]) : element.from_real(reals[i]));
      }
    });
  }
  return result;
}

}  // namespace axrun::ir
