#include "tests/cli/archives.h"

#include <zlib.h>

#include <cstdint>
#include <stdexcept>

namespace axrun::tests {
namespace {

std::string little_endian(uint64_t value, int bytes) {
  std::string text;
  for (int k = 0; k < bytes; ++k, value >>= 8) text.push_back(static_cast<char>(value & 255));
  return text;
}

std::string deflated(const std::string& content) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::runtime_error("deflate");
  }
  std::string result(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) throw std::runtime_error("deflate");
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

}  // namespace

std::string npy(const std::string& header, const std::string& data, int version) {
  return std::string("\x93NUMPY") + static_cast<char>(version) + '\0' +
         little_endian(header.size(), version == 1 ? 2 : 4) + header + data;
}

std::string zip(const std::vector<ZipFile>& files) {
  std::string archive;
  std::string directory;
  for (const ZipFile& file : files) {
    const std::string data = file.deflated ? deflated(file.content) : file.content;
    const auto crc =
        crc32(0, reinterpret_cast<const Bytef*>(file.content.data()), static_cast<uInt>(file.content.size()));
    // Version needed, flags, method, time, date, checksum, sizes, length of the name; the same in both
    // headers.
    const std::string common = little_endian(20, 2) + little_endian(0, 2) +
                               little_endian(file.deflated ? 8 : 0, 2) + little_endian(0, 4) +
                               little_endian(crc, 4) + little_endian(data.size(), 4) +
                               little_endian(file.content.size(), 4) + little_endian(file.name.size(), 2);
    directory += "PK\1\2" + little_endian(20, 2) + common + little_endian(0, 2 + 2 + 2 + 2 + 4) +
                 little_endian(archive.size(), 4) + file.name;
    archive += "PK\3\4" + common + little_endian(0, 2) + file.name + data;
  }
  const size_t start = archive.size();
  return archive + directory + "PK\5\6" + little_endian(0, 4) + little_endian(files.size(), 2) +
         little_endian(files.size(), 2) + little_endian(directory.size(), 4) + little_endian(start, 4) +
         little_endian(0, 2);
}

}  // namespace axrun::tests
