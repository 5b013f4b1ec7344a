#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "ir/interpreter/body.h"

namespace axrun::ir::interpreter {

/// The registers of one thread executing one body.
class Workspace {
 public:
  Workspace(const Body& body, const std::vector<Tensor>& tensors, int64_t time);

  /// Moves to the block of `count` lanes from `first` on, at point `outer` of the flattened outer axes and
  /// the loop axes' origin.
  void start(int64_t outer, int64_t first, int count);
  /// The instructions outside the loop, then those of one point of it.
  void run_block() { run(body_.block); }
  void run_point() { run(body_.loop); }
  /// Moves to the next point of the loop axes; after the last one nothing is defined.
  void advance();

  template <typename T>
  T* lanes(size_t offset) {
    return reinterpret_cast<T*>(storage_.get() + offset * 8);
  }
  const Body& body() const { return body_; }
  int count() const { return count_; }

  /// Values of an affine form in this block.
  int64_t scalar(int form) const { return scalars_[static_cast<size_t>(form)]; }
  const int64_t* table(int form) const {
    int table = body_.forms[static_cast<size_t>(form)].table;
    return table == none ? nullptr : tables_[static_cast<size_t>(table)].values.data();
  }
  bool contiguous(int form) const {
    int table = body_.forms[static_cast<size_t>(form)].table;
    return table != none && tables_[static_cast<size_t>(table)].contiguous;
  }
  int64_t low(int form) const;
  int64_t high(int form) const;

  const void* data(int load) const { return data_[static_cast<size_t>(load)]; }
  int64_t* excluded() { return excluded_.data(); }
  int64_t* addresses() { return addresses_.data(); }

 private:
  struct Table {
    std::vector<int64_t> values;
    int64_t low = 0;
    int64_t high = 0;
    bool contiguous = false;
  };
  void run(const std::vector<Instruction>& instructions);
  void fill_tables(int64_t first);
  const Body& body_;
  int64_t time_;
  int64_t first_ = -1;
  int count_ = 0;
  std::unique_ptr<std::byte[]> storage_;
  std::vector<Table> tables_;
  std::vector<int64_t> scalars_;
  std::vector<int> moving_;  ///< forms that change in the loop
  std::vector<int64_t> point_;
  std::vector<const void*> data_;
  std::vector<int64_t> excluded_;
  std::vector<int64_t> addresses_;
};

}  // namespace axrun::ir::interpreter
