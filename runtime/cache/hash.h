#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace axrun::cache {

/// XXH3 of 128 bits. Finds what is damaged, and names what is stored; it is no defence against somebody who
/// may write to the cache, whom its directory keeps out.
using Hash = std::array<uint8_t, 16>;

/// Of several texts one after the other, with their lengths: {"ab", "c"} is not {"a", "bc"}.
Hash hash_of(std::span<const std::string_view> texts);
inline Hash hash_of(std::initializer_list<std::string_view> texts) {
  return hash_of(std::span(texts.begin(), texts.size()));
}
/// Of bytes alone.
Hash hash_of_bytes(const void* bytes, size_t count);

/// 32 hexadecimal digits.
std::string to_text(const Hash& hash);

}  // namespace axrun::cache
