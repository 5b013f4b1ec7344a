#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace axrun::runtime {

/// Of what sessions leave in the cache: the beginning of every payload, and of keys.
inline constexpr uint32_t form_of_entries = 1;
/// Of files: plans_image.h.
inline constexpr std::string_view prefix_of_plans = "plans of ";
/// form, LibraryImage::Kernel; behind it the kernel's key in libraries
inline constexpr std::string_view prefix_of_kernels = "kernel of ";
inline constexpr size_t longest_layouts = size_t{4} << 20, longest_rewrites = size_t{16} << 20;

}  // namespace axrun::runtime
