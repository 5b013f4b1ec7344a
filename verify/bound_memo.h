#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "verify/interval.h"

namespace axrun::verify {

/// Zeroed memory that costs nothing where it is not touched.
template <typename T>
class Sparse {
 public:
  explicit Sparse(int64_t count)
      : data_(static_cast<T*>(std::calloc(static_cast<size_t>(std::max<int64_t>(count, 1)), sizeof(T))),
              std::free) {
    if (data_ == nullptr) throw NoBound{"no memory for an intermediate result"};
  }
  T& operator[](int64_t k) { return data_.get()[k]; }

 private:
  std::unique_ptr<T, void (*)(void*)> data_;
};

/// Elements of a stage's result that have been computed.
struct Memo {
  explicit Memo(int64_t count) : known(count), value(count), low(count), high(count) {}
  enum State : uint8_t { unknown, wanted, done };
  Sparse<uint8_t> known;
  Sparse<double> value;
  Sparse<double> low;
  Sparse<double> high;
};

}  // namespace axrun::verify
