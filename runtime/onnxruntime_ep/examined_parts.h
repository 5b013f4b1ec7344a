#pragma once

#include <memory>
#include <string>

#include "runtime/cache/store.h"
#include "runtime/onnxruntime_ep/model_writer.h"
#include "runtime/session.h"

namespace axrun::ort {

/// Parts of graphs in which nothing is refused, as this version has found in any session that had the same
/// cache: marks there, found by all that the importer and the definitions of operators look at. Whoever finds
/// his part among them need not import it to know. Never throws for what the environment does.
class ExaminedParts {
 public:
  /// Where the session uses no cache, nothing is known and nothing is noted.
  explicit ExaminedParts(const runtime::SessionOptions& session);

  bool has(const WrittenModel& part) const;
  void add(const WrittenModel& part);

 private:
  std::shared_ptr<cache::Store> store_;  ///< null: there is none
};

}  // namespace axrun::ort
