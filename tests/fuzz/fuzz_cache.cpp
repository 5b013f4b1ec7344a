// libFuzzer target: an exported cache, a file of weights, and the body of an entry, from arbitrary bytes.
// Nothing may come of them but what was put there by the corpus, byte by byte.

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "runtime/cache/archive.h"
#include "runtime/cache/entry.h"
#include "runtime/cache/store.h"
#include "runtime/cache/survey.h"
#include "runtime/cache/weights.h"

namespace {

namespace fs = std::filesystem;
using namespace axrun::cache;

struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "axrun_fuzz_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path = name;
  }
  ~Folder() {
    std::error_code error;
    fs::remove_all(path, error);
  }
  fs::path path;
};

[[noreturn]] void report(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

/// What the corpus holds: payload N of key N.
bool is_right(std::string_view key, std::string_view payload) {
  return key.starts_with("key ") && payload.starts_with("payload ") && key.substr(4) == payload.substr(8);
}

Settings settings_in(const fs::path& folder) {
  Settings settings;
  settings.directory = folder;
  settings.machine = "this machine";
  settings.generator = "version 1";
  return settings;
}

void import_bytes(const fs::path& file, const fs::path& folder) {
  const Settings settings = settings_in(folder);
  const Archived result = import_archive(settings, file);
  if (result.entries + result.known == 0) return;
  const auto store = Store::open(settings);
  for (const char* number : {"1", "2", "3"}) {
    const std::string key = std::string("key ") + number;
    for (const Part part : {Part::plans, Part::certificates})
      if (const auto found = store->get(part, key); found && !is_right(key, *found))
        report("a wrong payload");
  }
  prune(settings, {.everything = true});
}

void open_body(std::string_view bytes) {
  Found found;
  found.body = bytes;
  if (std::holds_alternative<Opened>(open_any(found))) report("an entry without a checksum");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Folder folder;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const fs::path file = folder.path / "bytes";
  std::ofstream(file, std::ios::binary) << bytes;
  import_bytes(file, folder.path / "cache");
  const auto mapped = map_any(file, true);
  if (const FileFound* found = std::get_if<FileFound>(&mapped)) {
    for (const std::byte byte : found->file->bytes())
      if (byte != std::byte{'w'}) report("a wrong file");
  }
  open_body(bytes);
  return 0;
}
