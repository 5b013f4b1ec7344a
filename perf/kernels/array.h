// Operands: aligned memory, filled with repeatable numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace axrun::perf {

/// Memory aligned to 64 bytes, not initialised. Copies share it.
template <class Element>
class Array {
 public:
  explicit Array(int64_t count)
      : count_(count),
        memory_(static_cast<Element*>(allocate(static_cast<size_t>(count) * sizeof(Element))),
                [](Element* p) { std::free(p); }) {}
  Element* data() const { return memory_.get(); }
  int64_t count() const { return count_; }
  std::shared_ptr<const void> owner() const { return memory_; }
  size_t bytes() const { return static_cast<size_t>(count_) * sizeof(Element); }

 private:
  static void* allocate(size_t bytes) {
    void* memory = std::aligned_alloc(64, (bytes / 64 + 1) * 64);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
  }
  int64_t count_;
  std::shared_ptr<Element> memory_;
};

/// Uniform in [-1, 1) times `scale`: no zeros in rows, no denormals.
inline Array<float> random_floats(int64_t count, uint64_t seed, float scale = 1) {
  Array<float> buffer(count);
  uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    buffer.data()[i] = (static_cast<float>(state >> 41) * 0x1p-22f - 1.0f) * scale;
  }
  return buffer;
}

}  // namespace axrun::perf
