#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace axrun::onnx_import {

/// A regular file open for reading. Its bytes are copied and never mapped: pages of a mapped file change with
/// it, and reading them kills the process once the file is cut.
class InputFile {
 public:
  /// Throws Error(user), naming the file: missing, not readable, not a regular file. Follows symbolic links.
  static std::shared_ptr<const InputFile> open(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  uint64_t size() const { return static_cast<uint64_t>(opened_.st_size); }
  /// Throws Error(user) where that fails, or the file has been written to since it was opened.
  void read(uint64_t offset, void* to, size_t count) const;

 private:
  InputFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  std::string path_;
  int descriptor_;
  struct stat opened_ = {};
};

/// All bytes of a file, in pages of their own.
class FileBytes {
 public:
  /// Throws Error(user), as InputFile does.
  static std::shared_ptr<const FileBytes> read(const std::string& path);
  ~FileBytes();
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  std::string_view bytes() const { return bytes_; }

 private:
  FileBytes() = default;
  std::string_view bytes_;
};

/// Bytes to read from, and what keeps them alive. Without an owner whatever is kept must be copied.
struct ByteSource {
  std::string_view bytes;
  std::shared_ptr<const void> owner;
  bool has_pages = false;  ///< of a FileBytes: those that have been copied can be given back
};

ByteSource source_of(std::shared_ptr<const FileBytes> file);
/// Gives the whole pages inside a part of a FileBytes back to the kernel. They are zeros from now on.
void give_back_pages(std::string_view part);

/// Writes a file aside and renames it. Throws Error(user).
void write_whole_file(const std::string& path, std::string_view bytes);

}  // namespace axrun::onnx_import
