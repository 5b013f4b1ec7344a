#include "perf/host/tensor_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

namespace axrun::perf {
namespace {

// Field numbers of onnx.TensorProto.
enum Field : std::uint32_t {
  dims = 1,
  data_type = 2,
  segment = 3,
  float_data = 4,
  int32_data = 5,
  string_data = 6,
  int64_data = 7,
  name = 8,
  raw_data = 9,
  double_data = 10,
  uint64_data = 11,
  data_location = 14,
};

enum Wire : std::uint32_t { varint = 0, fixed64 = 1, delimited = 2, fixed32 = 5 };

struct Damaged {
  const char* why;
};

/// A cursor over protobuf's wire format; every read is checked against the end.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  bool done() const { return bytes_.empty(); }

  std::uint64_t read_varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= static_cast<std::uint64_t>(byte & 127) << shift;
      if (byte < 128) return value;
    }
    throw Damaged{"a number is longer than ten bytes"};
  }

  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size()) throw Damaged{"it ends in the middle of a field"};
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }

  std::string_view read_delimited() { return take(read_varint()); }

  void skip(std::uint32_t wire) {
    switch (wire) {
      case Wire::varint:
        read_varint();
        return;
      case Wire::fixed64:
        take(8);
        return;
      case Wire::delimited:
        read_delimited();
        return;
      case Wire::fixed32:
        take(4);
        return;
      default:
        throw Damaged{"it has a field of unknown wire type"};
    }
  }

 private:
  std::string_view bytes_;
};

/// Appends a repeated number, packed or not.
void append_varints(Reader& reader, std::uint32_t wire, std::vector<std::uint64_t>& numbers) {
  if (wire == Wire::varint) {
    numbers.push_back(reader.read_varint());
    return;
  }
  if (wire != Wire::delimited) throw Damaged{"a repeated number has the wrong wire type"};
  Reader packed(reader.read_delimited());
  while (!packed.done()) numbers.push_back(packed.read_varint());
}

/// Appends repeated floats or doubles as they lie in the file, packed or not.
void append_fixed(Reader& reader, std::uint32_t wire, std::uint32_t single, std::string& bytes) {
  if (wire == single) {
    bytes += reader.take(single == Wire::fixed32 ? 4 : 8);
  } else if (wire == Wire::delimited) {
    bytes += reader.read_delimited();
  } else {
    throw Damaged{"a repeated float has the wrong wire type"};
  }
}

/// One tensor as the file states it, before the parts are checked against each other.
struct Parts {
  std::vector<std::uint64_t> dims;
  std::uint64_t type = 0;
  std::string name;
  bool has_raw = false;
  std::string_view raw;
  std::string fixed;                   // float_data and double_data
  std::vector<std::uint64_t> varints;  // int32_data, int64_data and uint64_data
  std::vector<std::string> strings;
};

Parts parse(std::string_view bytes) {
  Parts parts;
  Reader reader(bytes);
  while (!reader.done()) {
    const std::uint64_t key = reader.read_varint();
    const auto wire = static_cast<std::uint32_t>(key & 7);
    switch (key >> 3) {
      case Field::dims:
        append_varints(reader, wire, parts.dims);
        break;
      case Field::data_type:
        if (wire != Wire::varint) throw Damaged{"its data type is not a number"};
        parts.type = reader.read_varint();
        break;
      case Field::float_data:
        append_fixed(reader, wire, Wire::fixed32, parts.fixed);
        break;
      case Field::double_data:
        append_fixed(reader, wire, Wire::fixed64, parts.fixed);
        break;
      case Field::int32_data:
      case Field::int64_data:
      case Field::uint64_data:
        append_varints(reader, wire, parts.varints);
        break;
      case Field::string_data:
        if (wire != Wire::delimited) throw Damaged{"its strings have the wrong wire type"};
        parts.strings.emplace_back(reader.read_delimited());
        break;
      case Field::name:
        if (wire != Wire::delimited) throw Damaged{"its name is not a string"};
        parts.name = reader.read_delimited();
        break;
      case Field::raw_data:
        if (wire != Wire::delimited) throw Damaged{"its raw data has the wrong wire type"};
        parts.raw = reader.read_delimited();
        parts.has_raw = true;
        break;
      case Field::segment:
        throw Damaged{"it is one segment of a tensor"};
      case Field::data_location:
        if (wire != Wire::varint) throw Damaged{"its data location is not a number"};
        if (reader.read_varint() != 0) throw Damaged{"its data is in another file"};
        break;
      default:
        reader.skip(wire);
    }
  }
  return parts;
}

Tensor assemble(const Parts& parts) {
  std::vector<std::int64_t> shape;
  for (const std::uint64_t dim : parts.dims) shape.push_back(static_cast<std::int64_t>(dim));
  if (parts.type > static_cast<std::uint64_t>(Type::int4)) throw Damaged{"its element type is not supported"};
  // Sizes are compared before anything is allocated: dims alone may claim any amount of memory.
  const auto type = static_cast<Type>(parts.type);
  const std::size_t count = element_count(shape);
  if (type == Type::string) {
    if (parts.strings.size() != count) throw Damaged{"its data does not fit its dims"};
    Tensor tensor = make_tensor(parts.name, type, std::move(shape));
    tensor.strings = parts.strings;
    return tensor;
  }
  const std::size_t bits = static_cast<std::size_t>(bits_of(type));
  if (bits == 0) throw Damaged{"its element type is not supported"};
  const std::size_t size = (count * bits + 7) / 8;
  const std::string_view stored = parts.has_raw ? parts.raw : parts.fixed;
  const bool from_varints = !parts.has_raw && parts.fixed.empty();
  const std::size_t stored_size =
      from_varints ? parts.varints.size() * (bits >= 8 ? bits / 8 : 1) : stored.size();
  if (stored_size != size) throw Damaged{"its data does not fit its dims"};
  Tensor tensor = make_tensor(parts.name, type, std::move(shape));
  if (from_varints) {
    // Each number carries one element (or two of four bits) in its low bytes.
    const std::size_t width = bits >= 8 ? bits / 8 : 1;
    for (std::size_t k = 0; k < parts.varints.size(); ++k) {
      std::memcpy(tensor.bytes.data() + k * width, &parts.varints[k], width);
    }
  } else {
    std::memcpy(tensor.bytes.data(), stored.data(), size);
  }
  return tensor;
}

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 128; value >>= 7) out.push_back(static_cast<char>(value | 128));
  out.push_back(static_cast<char>(value));
}

void put_key(std::string& out, std::uint32_t field, std::uint32_t wire) {
  put_varint(out, field << 3 | wire);
}

void put_string(std::string& out, std::uint32_t field, std::string_view text) {
  put_key(out, field, Wire::delimited);
  put_varint(out, text.size());
  out += text;
}

/// The bytes of a file for as long as the object lives. Mapped: a second copy of large inputs would show in
/// the peak memory of every program measured.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status {};
    const bool readable = file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    size_ = readable ? static_cast<std::size_t>(status.st_size) : 0;
    if (size_ > 0) address_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
    if (file >= 0) close(file);
    if (!readable || address_ == MAP_FAILED) throw HostError(HostError::user, "can't read '" + path + "'");
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (size_ > 0) munmap(address_, size_);
  }
  std::string_view bytes() const { return {static_cast<const char*>(address_), size_}; }

 private:
  void* address_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace

Tensor read_tensor_file(const std::string& path) {
  const MappedFile file(path);
  try {
    return assemble(parse(file.bytes()));
  } catch (const Damaged& damaged) {
    throw HostError(HostError::user, "'" + path + "' can't be used: " + damaged.why);
  } catch (const HostError& error) {
    throw HostError(error.exit_code, "'" + path + "' can't be used: " + error.what());
  }
}

void write_tensor_file(const std::string& path, const Tensor& tensor) {
  std::string out;
  for (const std::int64_t dim : tensor.shape) {
    put_key(out, Field::dims, Wire::varint);
    put_varint(out, static_cast<std::uint64_t>(dim));
  }
  put_key(out, Field::data_type, Wire::varint);
  put_varint(out, static_cast<std::uint64_t>(tensor.type));
  if (!tensor.name.empty()) put_string(out, Field::name, tensor.name);
  if (tensor.type == Type::string) {
    for (const std::string& text : tensor.strings) put_string(out, Field::string_data, text);
  } else {
    put_string(out, Field::raw_data,
               {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()});
  }
  std::ofstream file(path, std::ios::binary);
  file.write(out.data(), static_cast<std::streamsize>(out.size()));
  file.flush();
  if (!file) throw HostError(HostError::user, "can't write '" + path + "'");
}

}  // namespace axrun::perf
