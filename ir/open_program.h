#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "ir/program.h"
#include "ir/size_program.h"

namespace axrun::ir {

/// A program over named sizes that is given numbers again and again: where its sizes stand is found once.
class OpenProgram {
 public:
  /// Its sizes become part of `sizes`.
  OpenProgram(std::shared_ptr<const Program> program, SizeProgram& sizes);

  /// With the numbers that SizeProgram::run has left; the very program where nothing in it is open.
  std::shared_ptr<const Program> at(const std::vector<int64_t>& values) const;
  bool is_open() const { return !places_.empty() || !steps_.empty(); }
  const Program& program() const { return *program_; }
  const std::shared_ptr<const Program>& shared() const { return program_; }
  /// Where its sizes are among the numbers, perhaps several times.
  std::vector<size_t> values() const;

 private:
  struct Place {
    enum class Kind : uint8_t { tensor_dim, extent, axis, reduce_axis, length };
    Kind kind;
    uint32_t owner;  ///< tensor, expression or stage
    uint32_t index;  ///< of the dim or axis
    size_t value;
  };
  void find(const Dim& dim, Place::Kind kind, size_t owner, size_t index, SizeProgram& sizes);
  /// Copies that nobody has any more: giving one of them other numbers takes less time than a new one.
  struct Spares {
    static constexpr size_t most = 2;
    std::mutex mutex;
    std::vector<std::unique_ptr<Program>> programs;
  };
  std::shared_ptr<Program> take_copy() const;

  std::shared_ptr<const Program> program_;
  std::shared_ptr<Spares> spares_ = std::make_shared<Spares>();
  std::vector<Place> places_;
  std::vector<std::pair<size_t, OpenProgram>>
      steps_;  ///< of scans, by stage, where something in them is open
};

}  // namespace axrun::ir
