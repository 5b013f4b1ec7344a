#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "verify/interval.h"

namespace axrun::verify {

enum class Untouched { zeros, anything };

/// Memory that costs nothing where it is not touched. Of large arrays the untouched parts take no address
/// space either: where that is limited, a sample of a large tensor must still fit. Zeroed, or with anything
/// in it: memory that was used before costs something to zero.
template <typename T, Untouched content>
class Sparse {
 public:
  explicit Sparse(int64_t count) {
    const int64_t elements = std::max<int64_t>(count, 1);
    if (is_large(elements)) {
      parts_.resize(static_cast<size_t>(elements / part + 1));
    } else {
      whole_ = allocated(elements);
    }
  }
  T& operator[](int64_t k) {
    if (whole_) return whole_[static_cast<size_t>(k)];
    Memory& memory = parts_[static_cast<size_t>(k / part)];
    if (!memory) memory = allocated(part);
    return memory[static_cast<size_t>(k % part)];
  }
  static bool is_large(int64_t count) { return count > largest_whole; }
  /// Where elements [first, first + count) lie one after another; null where they may not.
  const T* run(int64_t first) const { return whole_ ? whole_.get() + first : nullptr; }

 private:
  static constexpr int64_t largest_whole = int64_t{1} << 22, part = int64_t{1} << 12;
  struct Free {
    void operator()(T* data) const { std::free(data); }
  };
  using Memory = std::unique_ptr<T[], Free>;
  static Memory allocated(int64_t count) {
    const auto elements = static_cast<size_t>(count);
    Memory memory(static_cast<T*>(content == Untouched::zeros ? std::calloc(elements, sizeof(T))
                                                              : std::malloc(elements * sizeof(T))));
    if (!memory) throw NoBound{"no memory for an intermediate result"};
    return memory;
  }

  Memory whole_;
  std::vector<Memory> parts_;  ///< of large arrays
};

/// Elements of a stage's result that have been computed: what is not known to be done may have any value.
struct Memo {
  explicit Memo(int64_t count) : known(count), value(count), low(count), high(count) {}
  enum State : uint8_t { unknown, wanted, done };
  using Numbers = Sparse<double, Untouched::anything>;
  Sparse<uint8_t, Untouched::zeros> known;
  Numbers value;
  Numbers low;
  Numbers high;
};

}  // namespace axrun::verify
