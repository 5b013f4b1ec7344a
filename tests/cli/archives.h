#pragma once

#include <string>
#include <vector>

namespace axrun::tests {

template <class Number>
std::string raw_bytes(const std::vector<Number>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Number)};
}

/// A .npy file with this header text.
std::string npy(const std::string& header, const std::string& data, int version = 1);

struct ZipFile {
  std::string name;
  std::string content;
  bool deflated;
};

std::string zip(const std::vector<ZipFile>& files);

}  // namespace axrun::tests
