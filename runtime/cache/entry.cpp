#include "runtime/cache/entry.h"

#include <zstd.h>

#include <algorithm>
#include <cstring>

#include "runtime/cache/bytes.h"

namespace axrun::cache {
namespace {

constexpr size_t longest_body = longest_key + longest_payload + 2 * sizeof(uint32_t);

std::string_view view(const Hash& hash) { return {reinterpret_cast<const char*>(hash.data()), hash.size()}; }

Hash checksum_of(Part part, std::string_view subject, std::string_view origin, std::string_view generator,
                 std::string_view machine, std::string_view body) {
  const std::string head = Writer().put(format_version).put(static_cast<uint32_t>(part)).text();
  return hash_of({head, subject, origin, generator, machine, body});
}

std::string compressed(std::string_view text) {
  std::string result(ZSTD_compressBound(text.size()), '\0');
  constexpr int level = 3;
  const size_t bytes = ZSTD_compress(result.data(), result.size(), text.data(), text.size(), level);
  result.resize(ZSTD_isError(bytes) != 0 ? 0 : bytes);
  return result;
}

/// Only what says its size, and keeps to it.
std::optional<std::string> decompressed(std::string_view body) {
  const unsigned long long bytes = ZSTD_getFrameContentSize(body.data(), body.size());
  if (bytes == ZSTD_CONTENTSIZE_UNKNOWN || bytes == ZSTD_CONTENTSIZE_ERROR || bytes > longest_body)
    return std::nullopt;
  std::string result(bytes, '\0');
  const size_t got = ZSTD_decompress(result.data(), result.size(), body.data(), body.size());
  if (ZSTD_isError(got) != 0 || got != bytes) return std::nullopt;
  return result;
}

}  // namespace

Hash Address::subject() const { return hash_of({name_of(part), key}); }
Hash Address::origin() const { return hash_of({generator, machine}); }

std::optional<Sealed> seal(const Address& address, std::string_view payload) {
  if (address.key.size() > longest_key || payload.size() > longest_payload) return std::nullopt;
  Sealed sealed;
  sealed.body = compressed(Writer().put(address.key).put(payload).text());
  if (sealed.body.empty()) return std::nullopt;
  sealed.checksum = checksum_of(address.part, view(address.subject()), view(address.origin()),
                                address.generator, address.machine, sealed.body);
  return sealed;
}

std::variant<Opened, Refusal> open_any(const Found& found) {
  const Hash checksum =
      checksum_of(found.part, found.subject, found.origin, found.generator, found.machine, found.body);
  if (view(checksum) != found.checksum) return Refusal::damaged;
  const std::optional<std::string> text = decompressed(found.body);
  if (!text) return Refusal::damaged;
  Reader reader(*text);
  Opened opened;
  opened.key = reader.text(longest_key);
  opened.payload = reader.text(longest_payload);
  if (!reader.finished()) return Refusal::damaged;
  // Where it lies follows from what it is.
  const Address address{found.part, opened.key, found.generator, found.machine};
  if (view(address.subject()) != found.subject || view(address.origin()) != found.origin ||
      (is_portable(found.part) && !found.machine.empty()))
    return Refusal::damaged;
  return opened;
}

std::variant<std::string, Refusal> open_entry(const Address& wanted, const Found& found) {
  if (found.origin != view(wanted.origin())) {
    if (found.generator != wanted.generator) return Refusal::outdated;
    return found.machine != wanted.machine ? Refusal::other_machine : Refusal::damaged;
  }
  auto opened = open_any(found);
  if (const Refusal* refusal = std::get_if<Refusal>(&opened)) return *refusal;
  auto& [key, payload] = std::get<Opened>(opened);
  if (found.generator != wanted.generator) return Refusal::outdated;
  if (found.machine != wanted.machine) return Refusal::other_machine;
  if (found.part != wanted.part || key != wanted.key) return Refusal::other_key;
  return std::move(payload);
}

}  // namespace axrun::cache
