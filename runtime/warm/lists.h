#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ir/error.h"
#include "runtime/cache/bytes.h"

namespace axrun::runtime {

/// Longer things are not written, and not read.
inline constexpr size_t longest_text = size_t{16} << 20, longest_name = size_t{64} << 10;

/// Lists in images: how many, then one after another. A count that the bytes cannot hold is refused by the
/// reader.
inline void put_count(cache::Writer& out, size_t count) { out.put(static_cast<uint32_t>(count)); }

template <class T>
void put_all(cache::Writer& out, const std::vector<T>& list) {
  put_count(out, list.size());
  for (const T& one : list) out.put(one);
}
template <class T>
std::vector<T> get_all(cache::Reader& in) {
  std::vector<T> list(in.count(sizeof(T)));
  for (T& one : list) one = in.get<T>();
  return list;
}

/// Everything was read, and made sense; throws Error(user) where not.
inline void require_finished(const cache::Reader& in, const char* what) {
  if (!in.finished()) throw Error(Fault::user, std::string("it makes no sense as ") + what);
}

}  // namespace axrun::runtime
