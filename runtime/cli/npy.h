#pragma once

#include <string>
#include <string_view>

#include "ir/tensor.h"

namespace axrun::cli {

/// The array of a .npy file (NumPy's format, versions 1 to 3): numbers and booleans, either byte order,
/// either memory order. Throws Error(user), with `what` naming the source, for anything else or damage;
/// nothing is allocated before header and length agree.
ir::Tensor parse_npy(std::string_view bytes, const std::string& what);

/// The array `key` of a .npz file (a zip archive of .npy files, stored or deflated); an empty key takes the
/// only one. Throws Error(user).
ir::Tensor parse_npz(std::string_view bytes, const std::string& key, const std::string& what);

}  // namespace axrun::cli
