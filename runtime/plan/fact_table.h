#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "ir/infer.h"

namespace axrun::runtime {

/// Facts of every value of a graph. Plans that differ in sizes alone share those that no size changes.
class FactTable {
 public:
  FactTable() = default;
  explicit FactTable(std::vector<ir::ValueFact> facts)
      : shared_(std::make_shared<const std::vector<ir::ValueFact>>(std::move(facts))) {}
  /// places: per value, where its fact is in `own`, or -1.
  FactTable(std::shared_ptr<const std::vector<ir::ValueFact>> shared,
            std::shared_ptr<const std::vector<int32_t>> places, std::vector<ir::ValueFact> own)
      : shared_(std::move(shared)), places_(std::move(places)), own_(std::move(own)) {}

  size_t size() const { return shared_ ? shared_->size() : 0; }
  const ir::ValueFact& operator[](size_t id) const {
    const int32_t place = places_ ? (*places_)[id] : -1;
    return place < 0 ? (*shared_)[id] : own_[static_cast<size_t>(place)];
  }
  std::vector<ir::ValueFact> list() const {
    std::vector<ir::ValueFact> facts;
    facts.reserve(size());
    for (size_t id = 0; id < size(); ++id) facts.push_back((*this)[id]);
    return facts;
  }

 private:
  std::shared_ptr<const std::vector<ir::ValueFact>> shared_;
  std::shared_ptr<const std::vector<int32_t>> places_;
  std::vector<ir::ValueFact> own_;
};

}  // namespace axrun::runtime
