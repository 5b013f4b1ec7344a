#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace axrun::onnx_import {

/// A file mapped for reading.
class MappedFile {
 public:
  /// Throws Error(user), naming the file: missing, not readable, not a regular file. Follows symbolic links.
  static std::shared_ptr<const MappedFile> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view bytes() const { return bytes_; }

 private:
  MappedFile() = default;
  std::string_view bytes_;
};

/// Bytes to read from, and what keeps them alive. Without an owner whatever is kept must be copied.
struct ByteSource {
  std::string_view bytes;
  std::shared_ptr<const void> owner;
  bool mapped = false;  ///< from a MappedFile: pages that have been copied can be given back
};

ByteSource source_of(std::shared_ptr<const MappedFile> file);
/// Tells the kernel that the whole pages inside a part of a mapped file are not needed any more; they can
/// still be read.
void release_pages(std::string_view part);

/// Writes a file aside and renames it. Throws Error(user).
void write_whole_file(const std::string& path, std::string_view bytes);

}  // namespace axrun::onnx_import
