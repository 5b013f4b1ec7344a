#pragma once

#include <optional>
#include <string>

#include "ir/lane/program.h"
#include "verify/ulp_bounds.h"

namespace axrun::verify {

/// Reports over all 2^32 floats, kept in a folder, one file per lane program: named by the program's name and
/// the hash of its text, and holding that text, so that a changed program is measured again. Files are made
/// aside and renamed. What does not read back exactly, or belongs to another version of the measurement,
/// counts as absent.
class UlpStore {
 public:
  /// The folder is made when the first report is saved.
  explicit UlpStore(std::string folder) : folder_(std::move(folder)) {}

  std::optional<UlpReport> load(const ir::lane::Program& program) const;
  /// Throws Error(user) when the folder or the file cannot be written.
  void save(const ir::lane::Program& program, const UlpReport& report) const;
  std::string path(const ir::lane::Program& program) const;

 private:
  std::string folder_;
};

}  // namespace axrun::verify
