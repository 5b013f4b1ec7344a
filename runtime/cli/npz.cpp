// Zip archives as NumPy writes them: PKWARE's APPNOTE.TXT, sections 4.3 to 4.5. Only the central directory is
// believed; local headers are only skipped.
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "ir/error.h"
#include "runtime/cli/npy.h"

namespace axrun::cli {
namespace {

constexpr uint32_t end_signature = 0x06054b50;
constexpr uint32_t end64_signature = 0x06064b50;
constexpr uint32_t end64_locator_signature = 0x07064b50;
constexpr uint32_t entry_signature = 0x02014b50;
constexpr uint32_t local_signature = 0x04034b50;
constexpr size_t end_size = 22;
constexpr size_t end64_size = 56;
constexpr size_t end64_locator_size = 20;
constexpr size_t entry_size = 46;
constexpr size_t local_size = 30;
/// Deflate does not compress beyond this, so a larger claim is a lie that would only cost memory.
constexpr uint64_t highest_ratio = 1032;

struct Entry {
  std::string_view name;
  uint16_t flags = 0;
  uint16_t method = 0;
  uint32_t checksum = 0;
  uint64_t compressed = 0;
  uint64_t size = 0;
  uint64_t local_offset = 0;
};

class Archive {
 public:
  Archive(std::string_view bytes, const std::string& what) : bytes_(bytes), what_(what) { read_directory(); }

  const std::vector<Entry>& entries() const { return entries_; }

  std::string extract(const Entry& entry) const {
    if (entry.flags & 1) fail("is encrypted");
    if (number<uint32_t>(entry.local_offset) != local_signature) fail("has a damaged entry");
    const uint64_t start = entry.local_offset + local_size + number<uint16_t>(entry.local_offset + 26) +
                           number<uint16_t>(entry.local_offset + 28);
    const std::string_view data = part(start, entry.compressed);
    std::string content;
    if (entry.method == 0) {
      if (entry.size != entry.compressed) fail("has a damaged entry");
      content = data;
    } else if (entry.method == 8) {
      content = inflated(data, entry.size);
    } else {
      fail(fmt::format("uses compression method {}", entry.method));
    }
    if (crc(content) != entry.checksum) fail("has a wrong checksum");
    return content;
  }

 private:
  [[noreturn]] void fail(const std::string& how) const {
    throw Error(Fault::user, fmt::format("{} {}", what_, how));
  }

  std::string_view part(uint64_t offset, uint64_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) fail("is cut short or damaged");
    return bytes_.substr(offset, size);
  }
  template <class Number>
  Number number(uint64_t offset) const {
    const std::string_view from = part(offset, sizeof(Number));
    uint64_t value = 0;
    for (size_t k = 0; k < sizeof(Number); ++k) {
      value |= static_cast<uint64_t>(static_cast<unsigned char>(from[k])) << (8 * k);
    }
    return static_cast<Number>(value);
  }

  void read_directory() {
    const size_t end = find_end();
    uint64_t count = number<uint16_t>(end + 10);
    uint64_t offset = number<uint32_t>(end + 16);
    const bool has_locator =
        end >= end64_locator_size && number<uint32_t>(end - end64_locator_size) == end64_locator_signature;
    if (has_locator && (count == 0xffff || offset == 0xffffffff)) {
      const auto end64 = number<uint64_t>(end - end64_locator_size + 8);
      if (part(end64, end64_size).empty() || number<uint32_t>(end64) != end64_signature) {
        fail("has a damaged directory");
      }
      count = number<uint64_t>(end64 + 32);
      offset = number<uint64_t>(end64 + 48);
    }
    for (uint64_t k = 0; k < count; ++k) offset = read_entry(offset);
  }

  /// The end record stands at the end of the file, before a comment of at most 65535 bytes.
  size_t find_end() const {
    if (bytes_.size() < end_size) fail("is no .npz archive");
    const size_t last = bytes_.size() - end_size;
    const size_t first = last - std::min<size_t>(last, 0xffff);
    for (size_t at = last + 1; at-- > first;) {
      if (number<uint32_t>(at) == end_signature) return at;
    }
    fail("is no .npz archive");
  }

  /// Returns where the next entry starts.
  uint64_t read_entry(uint64_t at) {
    if (part(at, entry_size).empty() || number<uint32_t>(at) != entry_signature) {
      fail("has a damaged directory");
    }
    Entry entry;
    entry.flags = number<uint16_t>(at + 8);
    entry.method = number<uint16_t>(at + 10);
    entry.checksum = number<uint32_t>(at + 16);
    entry.compressed = number<uint32_t>(at + 20);
    entry.size = number<uint32_t>(at + 24);
    entry.local_offset = number<uint32_t>(at + 42);
    const auto name_length = number<uint16_t>(at + 28);
    const auto extra_length = number<uint16_t>(at + 30);
    const auto comment_length = number<uint16_t>(at + 32);
    entry.name = part(at + entry_size, name_length);
    read_extra(at + entry_size + name_length, extra_length, entry);
    entries_.push_back(entry);
    return at + entry_size + name_length + extra_length + comment_length;
  }

  /// The Zip64 field holds, in this order, those of the three numbers that are all ones in the entry itself.
  void read_extra(uint64_t at, uint64_t length, Entry& entry) const {
    const uint64_t end = at + length;
    while (end - at >= 4) {
      const auto kind = number<uint16_t>(at);
      const uint64_t next = at + 4 + number<uint16_t>(at + 2);
      if (next > end) fail("has a damaged directory");
      if (kind == 1) {
        uint64_t field = at + 4;
        for (uint64_t* value : {&entry.size, &entry.compressed, &entry.local_offset}) {
          if (*value != 0xffffffff) continue;
          if (field + 8 > next) fail("has a damaged directory");
          *value = number<uint64_t>(field);
          field += 8;
        }
      }
      at = next;
    }
  }

  std::string inflated(std::string_view data, uint64_t size) const {
    if (size > (data.size() + 1) * highest_ratio) fail("has a damaged entry");
    std::string content(size, '\0');
    z_stream stream{};
    // Negative window bits: raw deflate, without zlib's own header.
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
    constexpr uint64_t most = std::numeric_limits<uInt>::max();
    uint64_t read = 0;
    uint64_t written = 0;
    int status = Z_OK;
    while (status == Z_OK) {
      const auto in = static_cast<uInt>(std::min(most, data.size() - read));
      const auto out = static_cast<uInt>(std::min(most, size - written));
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data() + read));
      stream.avail_in = in;
      stream.next_out = reinterpret_cast<Bytef*>(content.data() + written);
      stream.avail_out = out;
      status = ::inflate(&stream, Z_NO_FLUSH);
      read += in - stream.avail_in;
      written += out - stream.avail_out;
    }
    inflateEnd(&stream);
    if (status != Z_STREAM_END || written != size) fail("has damaged compressed data");
    return content;
  }

  static uint32_t crc(std::string_view content) {
    uLong value = ::crc32(0, nullptr, 0);
    while (!content.empty()) {
      const size_t block = std::min<size_t>(content.size(), size_t{1} << 30);
      value = ::crc32(value, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(block));
      content.remove_prefix(block);
    }
    return static_cast<uint32_t>(value);
  }

  std::string_view bytes_;
  const std::string& what_;
  std::vector<Entry> entries_;
};

std::string_view array_name(std::string_view entry) {
  return entry.ends_with(".npy") ? entry.substr(0, entry.size() - 4) : entry;
}

}  // namespace

ir::Tensor parse_npz(std::string_view bytes, const std::string& key, const std::string& what) {
  const Archive archive(bytes, what);
  const Entry* chosen = nullptr;
  std::string names;
  for (const Entry& entry : archive.entries()) {
    names += names.empty() ? "" : ", ";
    names += array_name(entry.name);
    if (key.empty() || array_name(entry.name) == key) chosen = &entry;
  }
  if (key.empty() && archive.entries().size() != 1) {
    throw Error(Fault::user, fmt::format("{} holds the arrays {}: say which, FILE.npz:NAME", what,
                                         names.empty() ? "(none)" : names));
  }
  if (chosen == nullptr) {
    throw Error(Fault::user, fmt::format("{} has no array '{}', only {}", what, key, names));
  }
  return parse_npy(archive.extract(*chosen), fmt::format("{}, array '{}'", what, array_name(chosen->name)));
}

}  // namespace axrun::cli
