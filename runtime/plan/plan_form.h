#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/infer.h"
#include "ir/open_program.h"
#include "ir/size_program.h"
#include "ir/sizes_at_hand.h"
#include "runtime/form_counts.h"
#include "runtime/plan/arrangement.h"
#include "runtime/plan/plan.h"

namespace axrun::runtime {

/// What is decided of a graph once, for all sizes of its inputs that a few comparisons let through: which
/// nodes are executed, what they compute, over named sizes, and which of them one kernel may execute
/// together. Plans are bound from it: given numbers. Immutable once made.
struct PlanForm {
  /// Larger extents are left open.
  static constexpr int64_t most_fixed = 1;

  /// An axis of a live-in. Extents of 0 and 1 decide too much to be left open: they are part of the form.
  struct OpenAxis {
    size_t live_in, axis;
    std::string name;
  };
  struct FixedAxis {
    size_t live_in, axis;
    int64_t extent;
  };
  /// What a live-in always holds; of bodies, where the graph around them knows it.
  struct FixedValue {
    size_t live_in;
    ir::Tensor value;
  };
  /// A comparison with 0 of what the program over sizes gives.
  struct Guard {
    size_t value;
    ir::SizeGuard::Relation relation;
    std::string text;
  };
  /// What the program over sizes gives of one value.
  struct OpenFact {
    ir::ValueId id;
    std::vector<size_t> dims;
    std::vector<size_t> elements;  ///< of an integer tensor that the sizes alone tell
  };
  /// What a value takes: the number that says it, or so many bytes.
  struct Bytes {
    int32_t number = -1;
    int64_t bytes = 0;
  };

  std::shared_ptr<const ir::Graph> graph;
  std::vector<ir::ValueId> live_in;
  std::vector<OpenAxis> open;  ///< the first numbers, in order
  std::vector<FixedAxis> fixed;
  std::vector<FixedValue> values;
  std::vector<Guard> guards;
  /// All that is taken for granted of sizes, a line each: where two forms of a graph say the same, nodes
  /// compute the same in both.
  std::string assumptions;
  ir::SizeProgram sizes{{}};
  std::shared_ptr<const std::vector<ir::ValueFact>> facts;  ///< of all values, over names
  std::vector<OpenFact> open_facts;
  std::vector<size_t> dims;                              ///< all numbers that are dims
  std::vector<Bytes> bytes;                              ///< per value: of tensors of numbers
  std::shared_ptr<const std::vector<int32_t>> places;    ///< per value: in open_facts, or -1
  std::vector<std::optional<ir::OpenProgram>> programs;  ///< per node
  /// Per node: the input of which its result is a view for all sizes, -1 for none; or:
  static constexpr int by_size = -2;
  std::vector<int> views;
  std::vector<int> scheduled;
  std::vector<bool> slot;
  std::vector<int> uses;
  std::vector<std::optional<StepOutline>> node_outlines;  ///< of steps of single nodes that are executed
  std::shared_ptr<const Arrangement> plain;               ///< of the groups that fusion forms
  mutable Arrangements arrangements;                      ///< of those that are joined

  /// What the program over sizes gives for live-ins of these facts; nothing where the form is not for them.
  std::optional<std::vector<int64_t>> numbers(const std::vector<ir::ValueFact>& live_in_facts) const;
  /// The same for values, of which only types and shapes count.
  std::optional<std::vector<int64_t>> numbers(const std::vector<RuntimeValue>& values) const;
  FormCounts::Form describe() const;
  /// The elements of such a fact.
  ir::Tensor constant_at(const OpenFact& fact, const std::vector<int64_t>& numbers) const;
  /// With these numbers. Nothing where a size is negative.
  std::optional<FactTable> facts_at(const std::vector<int64_t>& numbers) const;
};

/// Who says how large the live-ins of a form may be.
enum class DeclaredSizes {
  kept,     ///< the graph: what has one name, or a number, was compared before
  ignored,  ///< nobody: every axis has a size of its own
};

/// The form for live-ins like these, all with numbers for dims, or constant; the names of their sizes are
/// those that the graph has for them, where it keeps to them. Null where there is none: with the reason,
/// where other sizes would not help (no size is open, or what a node computes depends on more than sizes),
/// and without one where these are at fault. closed_too: also a form that is for these sizes alone.
std::shared_ptr<const PlanForm> make_form(std::shared_ptr<const ir::Graph> graph,
                                          const std::vector<ir::ValueId>& live_in, DeclaredSizes declared,
                                          const std::vector<ir::ValueFact>& live_in_facts,
                                          const PlanOptions& options, bool closed_too, std::string& reason);

}  // namespace axrun::runtime
