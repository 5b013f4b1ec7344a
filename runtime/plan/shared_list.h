#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "ir/lasting.h"

namespace axrun::runtime {

/// A list that never changes: copies of it share it.
template <typename T>
class SharedList {
 public:
  SharedList() = default;
  SharedList(std::vector<T> list)  // NOLINT: a list is one
      : list_(std::make_shared<const std::vector<T>>(std::move(list))) {}

  operator const std::vector<T>&() const { return list(); }  // NOLINT: and is read as one
  const std::vector<T>& list() const {
    static const auto& none = lasting(std::vector<T>());
    return list_ ? *list_ : none;
  }
  auto begin() const { return list().begin(); }
  auto end() const { return list().end(); }
  size_t size() const { return list().size(); }
  bool empty() const { return list().empty(); }
  const T& operator[](size_t k) const { return list()[k]; }
  const T& front() const { return list().front(); }
  const T& back() const { return list().back(); }
  friend bool operator==(const SharedList& a, const SharedList& b) { return a.list() == b.list(); }
  friend bool operator==(const SharedList& a, const std::vector<T>& b) { return a.list() == b; }

 private:
  std::shared_ptr<const std::vector<T>> list_;
};

}  // namespace axrun::runtime
