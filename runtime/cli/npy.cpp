#include "runtime/cli/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "ir/dim.h"
#include "ir/error.h"

namespace axrun::cli {

using ir::ElementType;
using ir::Shape;
using ir::Tensor;

namespace {

struct Header {
  std::string descr;
  bool fortran_order = false;
  Shape shape;
};

/// Reads the header, a Python dictionary such as {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& what) : rest_(text), what_(what) {}

  Header parse() {
    Header header;
    bool has_descr = false;
    bool has_order = false;
    bool has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = text();
      expect(':');
      if (key == "descr") {
        header.descr = text();
        has_descr = true;
      } else if (key == "fortran_order") {
        header.fortran_order = boolean();
        has_order = true;
      } else if (key == "shape") {
        header.shape = tuple();
        has_shape = true;
      } else {
        fail("has an unknown header field");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!has_descr || !has_order || !has_shape) fail("lacks a header field");
    return header;
  }

 private:
  [[noreturn]] void fail(const char* how) const {
    throw Error(Fault::user, fmt::format("{} {}", what_, how));
  }
  void skip_blanks() {
    const size_t start = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(std::min(start, rest_.size()));
  }
  bool accept(char wanted) {
    skip_blanks();
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted)) fail("has a damaged header, or holds no plain array");
  }
  std::string text() {
    skip_blanks();
    const char quote = rest_.empty() ? ' ' : rest_.front();
    if (quote != '\'' && quote != '"') fail("has a damaged header, or holds no plain array");
    const size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) fail("has a damaged header");
    std::string result(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return result;
  }
  bool boolean() {
    skip_blanks();
    const bool is_true = rest_.starts_with("True");
    if (!is_true && !rest_.starts_with("False")) fail("has a damaged header");
    rest_.remove_prefix(is_true ? 4 : 5);
    return is_true;
  }
  Shape tuple() {
    Shape shape;
    expect('(');
    while (!accept(')')) {
      int64_t size = 0;
      skip_blanks();
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
      if (error != std::errc() || size < 0) fail("has a damaged shape");
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      shape.push_back(size);
      if (shape.size() > 64) fail("has too many dimensions");
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }

  std::string_view rest_;
  const std::string& what_;
};

ElementType type_of(std::string_view descr) {
  struct Row {
    std::string_view code;
    ElementType type;
  };
  static constexpr Row rows[] = {
      {"f2", ElementType::f16}, {"f4", ElementType::f32}, {"f8", ElementType::f64},
      {"i1", ElementType::i8},  {"i2", ElementType::i16}, {"i4", ElementType::i32},
      {"i8", ElementType::i64}, {"u1", ElementType::u8},  {"u2", ElementType::u16},
      {"u4", ElementType::u32}, {"u8", ElementType::u64}, {"b1", ElementType::boolean},
  };
  for (const Row& row : rows) {
    if (row.code == descr) return row.type;
  }
  return ElementType::undefined;
}

void swap_bytes(Tensor& tensor) {
  const size_t size = ir::size_of(tensor.type());
  char* bytes = tensor.as<char>();
  for (int64_t k = 0; k < tensor.size(); ++k) std::reverse(bytes + k * size, bytes + (k + 1) * size);
}

/// Elements in column-major order to row-major order.
Tensor from_column_major(const Tensor& columns) {
  const Shape& shape = columns.shape();
  Tensor rows = Tensor::allocate_uninitialized(columns.type(), shape);
  const size_t size = ir::size_of(columns.type());
  Shape strides(shape.size(), 1);  // of the column-major source
  for (size_t d = 1; d < shape.size(); ++d) strides[d] = strides[d - 1] * shape[d - 1];
  Shape position(shape.size(), 0);
  int64_t source = 0;
  for (int64_t k = 0; k < rows.size(); ++k) {
    std::memcpy(rows.as<char>() + static_cast<size_t>(k) * size,
                columns.as<char>() + static_cast<size_t>(source) * size, size);
    for (size_t d = shape.size(); d-- > 0;) {
      source += strides[d];
      if (++position[d] < shape[d]) break;
      source -= strides[d] * shape[d];
      position[d] = 0;
    }
  }
  return rows;
}

}  // namespace

Tensor parse_npy(std::string_view bytes, const std::string& what) {
  const auto fail = [&](const std::string& how) {
    throw Error(Fault::user, fmt::format("{} {}", what, how));
  };
  constexpr std::string_view magic = "\x93NUMPY";
  if (!bytes.starts_with(magic) || bytes.size() < 10) fail("is no .npy array");
  const int version = bytes[6];
  if (version < 1 || version > 3) fail(fmt::format("has the unknown format version {}", version));
  const size_t length_bytes = version == 1 ? 2 : 4;
  const size_t header_start = 8 + length_bytes;
  if (bytes.size() < header_start) fail("is cut short");
  size_t header_length = 0;
  for (size_t k = 0; k < length_bytes; ++k) {
    header_length |= static_cast<size_t>(static_cast<unsigned char>(bytes[8 + k])) << (8 * k);
  }
  if (header_length > bytes.size() - header_start) fail("is cut short");
  const Header header = HeaderParser(bytes.substr(header_start, header_length), what).parse();
  const std::string_view data = bytes.substr(header_start + header_length);

  if (header.descr.empty()) fail("has no element type");
  const bool has_order = std::string_view("<>=|").find(header.descr[0]) != std::string_view::npos;
  const ElementType type = type_of(std::string_view(header.descr).substr(has_order ? 1 : 0));
  if (type == ElementType::undefined) fail(fmt::format("has element type '{}', not a number", header.descr));

  // element_count refuses overflows; the file's own length bounds what is allocated.
  const auto count = static_cast<size_t>(ir::element_count(header.shape));
  const size_t size = ir::size_of(type);
  if (data.size() / size < count || data.size() != count * size) {
    fail(fmt::format("has {} bytes of data, its shape {} needs {} elements of {}", data.size(),
                     ir::to_string(header.shape), count, size));
  }
  Tensor tensor = Tensor::allocate_uninitialized(type, header.shape);
  if (!data.empty()) std::memcpy(tensor.data(), data.data(), data.size());
  if (header.descr[0] == '>') swap_bytes(tensor);
  if (type == ElementType::boolean) {
    for (int64_t k = 0; k < tensor.size(); ++k) tensor.as<uint8_t>()[k] = tensor.as<uint8_t>()[k] != 0;
  }
  return header.fortran_order && tensor.rank() > 1 ? from_column_major(tensor) : tensor;
}

}  // namespace axrun::cli
