#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cache/parts.h"

namespace axrun::cache {

/// Which cache, and for whom.
struct Settings {
  std::filesystem::path directory;            ///< made where it is missing; empty: nothing is written
  std::string why_none;                       ///< why there is no directory: one of the troubles then
  std::vector<std::filesystem::path> layers;  ///< read only, asked in turn for what the directory lacks
  int64_t limit_bytes = int64_t{2} << 30;     ///< of the directory: what was used longest ago goes beyond
  /// What machine code and packed weights depend on, as text: processor features, vector width, ...
  std::string machine;
  /// Version of everything that makes what is stored. Never empty: nothing is stored or found then.
  std::string generator;
  /// Longest wait for another process.
  int busy_milliseconds = 50;
};

/// What was asked and what came of it, since the store was opened.
struct Counters {
  int64_t hits = 0, misses = 0;
  int64_t bytes_read = 0, bytes_written = 0;  ///< of payloads and files
  int64_t evicted = 0;                        ///< entries and files that made room
  int64_t set_aside = 0;                      ///< databases that were damaged, and begun anew
  std::array<int64_t, refusal_count> refused = {};
  std::array<int64_t, stored_count> stored = {};

  int64_t of(Refusal refusal) const { return refused[static_cast<size_t>(refusal)]; }
  int64_t of(Stored outcome) const { return stored[static_cast<size_t>(outcome)]; }
  int64_t all_refused() const;
};

/// A file of the cache in memory: read only, shared with every process that maps it. Starts at a page.
class MappedFile {
 public:
  MappedFile(const void* mapping, size_t mapped, size_t offset, size_t bytes)
      : mapping_(mapping), mapped_(mapped), offset_(offset), bytes_(bytes) {}
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  /// Whoever reads it trusts nothing in it, but that it stays as it is.
  std::string_view text() const { return {static_cast<const char*>(mapping_) + offset_, bytes_}; }
  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(mapping_) + offset_, bytes_};
  }

 private:
  const void* mapping_;
  size_t mapped_, offset_, bytes_;
};

/// The cache: what is found is what was put under the same key by the same version (for parts that are bound
/// to a machine: on the same kind of machine), byte by byte; everything else is a miss, counted by its
/// reason.
///
/// Nothing here throws for what the environment does (no room, no permission, damaged files, other
/// processes): the session goes on without. Any thread may call it. No call waits longer than
/// busy_milliseconds for other processes. Forks are allowed at any time: the child's store opens files of its
/// own.
///
/// Payloads come from a file: whoever reads one trusts nothing in it (see Reader), and rejects what it cannot
/// use.
class Store {
 public:
  /// Never null; a store that is off where there is nothing to use.
  static std::shared_ptr<Store> open(Settings settings);
  virtual ~Store() = default;

  /// The payload that was put under the key.
  virtual std::optional<std::string> get(Part part, std::string_view key) = 0;
  /// Instead of what was there. Whole, or not at all, whatever happens meanwhile.
  virtual Stored put(Part part, std::string_view key, std::string_view payload) = 0;
  /// What get gave for this key made no sense: it goes, and is counted.
  virtual void reject(Part part, std::string_view key) = 0;

  /// A file that was put under the key, by the same version for the same machine; null where there is none.
  /// Its checksum has been looked at.
  virtual std::shared_ptr<const MappedFile> get_file(std::string_view key) = 0;
  /// What get_file gave for this key made no sense: it goes, and is counted.
  virtual void reject_file(std::string_view key) = 0;
  /// There is one, by its name; what is in it nobody has looked at.
  virtual bool has_file(std::string_view key) const = 0;
  /// `fill` gets so many zero bytes. The mapping of what was stored, in place of what was there; null where
  /// it could not be stored (see counters()): `fill` may or may not have been called then.
  virtual std::shared_ptr<const MappedFile> put_file(
      std::string_view key, size_t bytes, const std::function<void(std::span<std::byte>)>& fill) = 0;

  /// Whether some version has put something for this subject, on whatever machine, and said so by mark():
  /// where not, no database needs to be opened. A look at file names.
  virtual bool is_marked(std::string_view subject) const = 0;
  virtual void mark(std::string_view subject) = 0;

  /// Writes down what was used when, and closes all files; the next call opens them again.
  virtual void release() = 0;

  virtual bool writable() const = 0;
  virtual bool readable() const = 0;
  /// Why it cannot be used, or only read, or a layer not: a line each.
  virtual std::vector<std::string> troubles() const = 0;
  virtual Counters counters() const = 0;
  virtual const Settings& settings() const = 0;
};

}  // namespace axrun::cache
