#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace axrun::runtime {

/// Of what sessions leave in the cache: the beginning of every payload, and of keys.
inline constexpr uint32_t form_of_entries = 3;
/// Of files: plans_image.h.
inline constexpr std::string_view prefix_of_plans = "plans of ";
/// form, LibraryImage::Kernel; behind it the threads that schedules are for, and the kernel's key in
/// libraries
inline constexpr std::string_view prefix_of_kernels = "kernel for ";
inline constexpr std::string_view before_kernel = " threads of ";
inline std::string key_of_kernel(int threads, std::string_view in_library) {
  std::string key(prefix_of_kernels);
  key += std::to_string(threads);
  key += before_kernel;
  key += in_library;
  return key;
}
/// Of a key_of_kernel; of another key that begins so, nothing that is the key of a kernel.
inline std::string key_in_library(std::string_view key) {
  const size_t at = key.find(before_kernel);
  return std::string(at == std::string_view::npos ? std::string_view{}
                                                  : key.substr(at + before_kernel.size()));
}
inline constexpr size_t longest_layouts = size_t{4} << 20, longest_rewrites = size_t{16} << 20,
                        longest_nested = size_t{4} << 20;

}  // namespace axrun::runtime
