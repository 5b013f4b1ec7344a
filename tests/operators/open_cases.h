// Cases whose sizes have names: what tests of open sizes draw.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir/infer.h"
#include "ir/open_program.h"
#include "ir/sizes_at_hand.h"
#include "tests/operators/case.h"
#include "tests/operators/generators.h"

namespace axrun::runtime {

using OpenPrograms = std::vector<std::shared_ptr<const ir::Program>>;

ir::Graph graph_of(const Case& given);
std::vector<ir::ValueFact> facts_of(const Case& given, const ir::Graph& graph);
/// The programs of all nodes; empty where one is not known.
OpenPrograms programs_of(ir::Inference& inference);

/// Extents of the inputs of a case by name: all that are one number by one name, or each by a name of its
/// own.
class NamedSizes {
 public:
  NamedSizes(const Case& given, bool by_number);
  /// Calls it for every axis that is open.
  static void for_axes(const Case& given, const std::function<void(size_t, size_t, int64_t)>& call);
  std::string name_of(size_t id, size_t axis, int64_t extent) const;
  const std::map<std::string, int64_t>& numbers() const { return numbers_; }
  std::vector<std::string> names() const;
  std::vector<int64_t> values() const;
  /// Some of the sizes become others.
  void change(Random& random);

 private:
  bool by_number_;
  std::map<std::string, int64_t> numbers_;
};

/// The same case with other extents; elements are those of the given tensors, again and again.
Case at_sizes(const Case& given, const NamedSizes& sizes);

/// A case over named sizes: its programs, where all nodes have one, and what they take for granted.
class OpenCase {
 public:
  OpenCase(const Case& given, const NamedSizes& sizes);

  bool is_known() const { return !programs_.empty(); }
  /// Something in them hangs on sizes.
  bool is_open() const;
  const std::vector<ir::OpenProgram>& programs() const { return programs_; }
  const ir::ValueFact& fact(ir::ValueId id) const { return facts_[static_cast<size_t>(id)]; }
  /// Where the dim is among the numbers.
  size_t place_of(const ir::Dim& dim) { return program_.add(dim); }
  std::vector<int64_t> numbers_at(const NamedSizes& sizes) const;
  bool lets_through(const std::vector<int64_t>& numbers) const;

 private:
  ir::Graph graph_;
  std::vector<ir::ValueFact> facts_;
  ir::SizeProgram program_;
  std::vector<std::pair<size_t, ir::SizeGuard::Relation>> guards_;
  std::vector<ir::OpenProgram> programs_;
};

/// All generators, those of sizes of interest included.
std::vector<GeneratorEntry> drawn_generators();
std::string name_of(const GeneratorEntry& generator, size_t index);

}  // namespace axrun::runtime
