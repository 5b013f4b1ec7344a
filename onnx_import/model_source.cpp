#include "onnx_import/model_source.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "onnx_import/wire.h"

namespace axrun::onnx_import {
namespace {

/// Messages from the model's down to an initializer's, with the field that leads on: graph, initializer,
/// raw_data.
constexpr std::array<std::pair<const char*, uint32_t>, 3> path_to_raw_data = {
    {{"ModelProto", 7}, {"GraphProto", 5}, {"TensorProto", 9}}};

/// Reads a file from its begin to its end, parts left out.
class Filling {
 public:
  Filling(const InputFile& file, const FileBytes& bytes) : file_(file), bytes_(bytes) {}

  /// A message that is in memory up to its first field's number and length.
  void message(std::string_view bytes, size_t level) {
    const auto [name, next] = path_to_raw_data[level];
    WireReader reader(bytes, name);
    for (WireField field; reader.next(field);) {
      const bool has_bytes = field.type == WireType::bytes;
      if (has_bytes && field.number == next) {
        if (level + 1 < path_to_raw_data.size()) {
          through(field.bytes.data());
          message(field.bytes, level + 1);
        } else if (field.bytes.size() >= large_raw_data) {
          filled_ = std::max(filled_, position(field.bytes.data() + field.bytes.size()));
        }
      }
      through(has_bytes ? field.bytes.data() + field.bytes.size() : field.at + longest_header);
    }
  }

  /// Up to there, and the head of the field that follows.
  void through(const char* at) {
    constexpr size_t block = 65536;
    const size_t size = bytes_.bytes().size();
    const size_t wanted = std::min(size, position(at) + longest_header);
    if (wanted <= filled_) return;
    const size_t end = std::min(size, std::max(wanted, filled_ + block));
    file_.read(filled_, bytes_.writable() + filled_, end - filled_);
    filled_ = end;
  }

 private:
  /// Two numbers of 10 bytes each at most, and more than a field without bytes takes.
  static constexpr size_t longest_header = 32;
  size_t position(const char* at) const { return static_cast<size_t>(at - bytes_.bytes().data()); }
  const InputFile& file_;
  const FileBytes& bytes_;
  size_t filled_ = 0;
};

}  // namespace

ByteSource model_source(const std::string& path) {
  auto file = InputFile::open(path);
  auto bytes = FileBytes::of_size(*file);
  const std::string_view all = bytes->bytes();
  Filling filling(*file, *bytes);
  filling.through(all.data());
  try {
    filling.message(all, 0);
  } catch (const WireError&) {
    // Whoever reads the message comes upon the same.
  }
  filling.through(all.data() + all.size());
  return {all, std::move(bytes), std::move(file)};
}

}  // namespace axrun::onnx_import
