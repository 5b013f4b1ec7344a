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

  const std::string& path() const { return path_; }
  uint64_t size() const { return static_cast<uint64_t>(opened_.st_size); }
  /// Throws Error(user) where that fails, or the file has been written to since it was opened.
  void read(uint64_t offset, void* to, size_t count) const;

 private:
  InputFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  std::string path_;
  int descriptor_;
  struct stat opened_ = {};
};

/// The bytes of a file, in pages of their own.
class FileBytes {
 public:
  /// All of them. Throws Error(user), as InputFile does.
  static std::shared_ptr<const FileBytes> read(const std::string& path);
  /// Zeros of the file's size, for whoever fills in what is needed: pages never written to take no memory.
  static std::shared_ptr<const FileBytes> of_size(const InputFile& file);
  char* writable() const { return const_cast<char*>(bytes_.data()); }
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
  std::shared_ptr<const InputFile> file = {};  ///< of a model_source
};

/// Writes a file aside and renames it. Throws Error(user).
void write_whole_file(const std::string& path, std::string_view bytes);

}  // namespace axrun::onnx_import
