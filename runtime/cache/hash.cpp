#include "runtime/cache/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>

namespace axrun::cache {
namespace {

Hash canonical(XXH128_hash_t value) {
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, value);
  Hash hash;
  static_assert(sizeof bytes.digest == sizeof hash);
  std::memcpy(hash.data(), bytes.digest, sizeof hash);
  return hash;
}

}  // namespace

Hash hash_of(std::span<const std::string_view> texts) {
  XXH3_state_t state;
  XXH3_INITSTATE(&state);
  XXH3_128bits_reset(&state);
  for (const std::string_view text : texts) {
    const uint64_t length = text.size();
    XXH3_128bits_update(&state, &length, sizeof length);
    XXH3_128bits_update(&state, text.data(), text.size());
  }
  return canonical(XXH3_128bits_digest(&state));
}

Hash hash_of_bytes(const void* bytes, size_t count) { return canonical(XXH3_128bits(bytes, count)); }

std::string to_text(const Hash& hash) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : hash) {
    text += digits[byte >> 4U];
    text += digits[byte & 15U];
  }
  return text;
}

}  // namespace axrun::cache
