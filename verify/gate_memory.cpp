#include "verify/gate_memory.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace axrun::verify {
namespace {

constexpr uint32_t unwritten_f32 = 0x7FE5A9C3;
/// Neither 0 nor 1, which are all that booleans are.
unsigned char unwritten_byte(int trial) { return static_cast<unsigned char>(0xA5 - 8 * (trial % 16)); }

}  // namespace

uint64_t hash_of(const void* data, size_t bytes, uint64_t hash) {
  const auto* from = static_cast<const unsigned char*>(data);
  constexpr uint64_t factor = 0x9FB21C651E98DF25u;
  const auto taken_in = [](uint64_t so_far, uint64_t word) {
    const uint64_t product = (so_far ^ word) * factor;
    return product ^ product >> 29;
  };
  // Side by side: one after the other would wait for every product.
  constexpr size_t ways = 8, block = 8 * ways;
  std::array<uint64_t, ways> sides;
  for (size_t w = 0; w < ways; ++w) sides[w] = hash ^ (0xCBF29CE484222325u + w);
  size_t k = 0;
  for (; k + block <= bytes; k += block) {
    std::array<uint64_t, ways> words;
    std::memcpy(words.data(), from + k, block);
    for (size_t w = 0; w < ways; ++w) sides[w] = taken_in(sides[w], words[w]);
  }
  for (; k < bytes; k += 8) {
    uint64_t word = 0;
    std::memcpy(&word, from + k, std::min<size_t>(8, bytes - k));
    sides[0] = taken_in(sides[0], word);
  }
  for (const uint64_t side : sides) hash = taken_in(hash, side);
  return hash;
}

void mark_unwritten(void* data, size_t bytes, bool is_f32, int trial) {
  if (bytes == 0) return;
  if (!is_f32) {
    std::memset(data, unwritten_byte(trial), bytes);
    return;
  }
  auto* words = static_cast<uint32_t*>(data);
  std::fill(words, words + bytes / 4, unwritten_f32);
}

int64_t first_unwritten(const void* data, size_t bytes) {
  const auto* words = static_cast<const uint32_t*>(data);
  const size_t count = bytes / 4;
  constexpr size_t block = 1024;
  for (size_t first = 0; first < count; first += block) {
    const size_t end = std::min(count, first + block);
    uint32_t found = 0;
    for (size_t k = first; k < end; ++k) found |= words[k] == unwritten_f32 ? 1U : 0U;
    if (found != 0) return std::find(words + first, words + end, unwritten_f32) - words;
  }
  return -1;
}

std::vector<int64_t> perhaps_unwritten(const void* data, size_t bytes, size_t element_bytes, int trial,
                                       size_t most) {
  const auto* from = static_cast<const unsigned char*>(data);
  const std::vector<unsigned char> unwritten(element_bytes, unwritten_byte(trial));
  std::vector<int64_t> found;
  for (size_t k = 0; k < bytes; k += element_bytes) {
    if (std::memcmp(from + k, unwritten.data(), element_bytes) == 0)
      found.push_back(static_cast<int64_t>(k / element_bytes));
  }
  if (found.size() <= most) return found;
  const size_t first = static_cast<size_t>(trial) * most % found.size();
  std::rotate(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(first), found.end());
  found.resize(most);
  return found;
}

}  // namespace axrun::verify
