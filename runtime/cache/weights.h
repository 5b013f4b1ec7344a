#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/cache/hash.h"
#include "runtime/cache/store.h"

namespace axrun::cache {

/// A file of the cache begins with one page or more that say what it is; then come its bytes. Its name is the
/// hash of key, version and machine.
struct FileName {
  std::string_view key, generator, machine;

  std::string text() const;
};

struct FileFound {
  std::shared_ptr<const MappedFile> file;
  std::string key, generator, machine;
};
/// Maps a file and looks at everything that it says of itself; whole: at its checksum, too.
std::variant<FileFound, Refusal> map_any(const std::filesystem::path& file, bool whole);
/// The one in the folder that has this name; null where there is none.
std::variant<std::shared_ptr<const MappedFile>, Refusal> map_file(const std::filesystem::path& folder,
                                                                  const FileName& name);
/// Written aside and renamed. Nobody waits for the disk: what is not whole after a power failure is found by
/// its checksum, which is always looked at.
Stored write_file(const std::filesystem::path& folder, const FileName& name, size_t bytes,
                  const std::function<void(std::span<std::byte>)>& fill);

/// What was left by processes that were killed, and nobody writes any more.
void remove_unfinished(const std::filesystem::path& folder);

struct FileInFolder {
  std::filesystem::path path;
  int64_t bytes = 0, used = 0;
};
std::vector<FileInFolder> files_in(const std::filesystem::path& folder);
/// Its last use is now.
void touch(const std::filesystem::path& file);

}  // namespace axrun::cache
