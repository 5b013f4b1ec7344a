#pragma once

#include <cstdint>
#include <vector>

#include "runtime/cache/bytes.h"

namespace axrun::runtime {

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

}  // namespace axrun::runtime
