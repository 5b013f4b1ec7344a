#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace axrun {

template <class T>
concept PlainValue = std::integral<T> || std::floating_point<T> || std::is_enum_v<T>;

/// Writes values one after the other, as this little-endian machine has them.
class ByteWriter {
 public:
  template <PlainValue T>
  ByteWriter& put(T value) {
    static_assert(std::endian::native == std::endian::little);
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    text_.append(bytes, sizeof(T));
    return *this;
  }
  /// Its length, then the text.
  ByteWriter& put(std::string_view text) {
    put(static_cast<uint32_t>(text.size()));
    text_ += text;
    return *this;
  }
  /// What another one wrote.
  ByteWriter& append(const ByteWriter& other) {
    text_ += other.text_;
    return *this;
  }
  const std::string& text() const& { return text_; }
  std::string text() && { return std::move(text_); }

 private:
  std::string text_;
};

/// Reads what a ByteWriter wrote, or anything else: nothing is trusted. What is not there reads as zero or
/// empty, and from then on the reader has failed. Look at finished() before anything that was read is used.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : left_(bytes) {}

  template <PlainValue T>
  T get() {
    T value{};
    if constexpr (std::is_same_v<T, bool>) {
      // Any other byte would be no bool at all.
      value = get<uint8_t>() == 1;
    } else {
      const std::string_view bytes = take(sizeof(T));
      if (!failed_) std::memcpy(&value, bytes.data(), sizeof(T));
    }
    return value;
  }
  /// A text of at most so many bytes. Valid as long as what is read.
  std::string_view text(size_t most) {
    const auto length = get<uint32_t>();
    if (length > most) fail();
    return take(length);
  }
  /// A number of things of which each takes `least_bytes` or more: never more than can be there, so that
  /// memory may be reserved for them.
  size_t count(size_t least_bytes) {
    const auto number = get<uint32_t>();
    if (number > left_.size() / (least_bytes == 0 ? 1 : least_bytes)) fail();
    return failed_ ? 0 : number;
  }
  /// The value was one that cannot be.
  void fail() {
    failed_ = true;
    left_ = {};
  }
  bool failed() const { return failed_; }
  /// Everything was read, and nothing was missing or wrong.
  bool finished() const { return !failed_ && left_.empty(); }
  size_t left() const { return left_.size(); }

 private:
  std::string_view take(size_t bytes) {
    if (bytes > left_.size()) fail();
    if (failed_) return {};
    const std::string_view taken = left_.substr(0, bytes);
    left_.remove_prefix(bytes);
    return taken;
  }

  std::string_view left_;
  bool failed_ = false;
};

}  // namespace axrun
