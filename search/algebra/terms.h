#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"
#include "search/algebra/operation.h"

namespace axrun::search::algebra {

using TermId = int;
inline constexpr TermId no_term = -1;

/// What is known of a term's value.
struct Facts {
  ir::ElementType type = ir::ElementType::undefined;
  ir::Dims dims;
  bool constant = false;  ///< the same in every run of the model
};

/// An operation on other terms, or a leaf.
struct Term {
  int operation = -1;  ///< -1: a leaf
  std::vector<ir::Dims> parameters;
  std::vector<TermId> children;
  std::string leaf;               ///< of a leaf that stands for a tensor: its name
  std::optional<double> literal;  ///< of a leaf that is a number, of one element
  Facts facts;
  int kind = 0;                                ///< equal for equal types and dims
  std::shared_ptr<const ir::Program> program;  ///< of the operation: operand k is child k; null if unwanted
};

/// Terms, each once, in normal form: index maps of index maps are composed, sums and products are flat and
/// sorted. What a term means is its program (program_of), made of the operators' definitions.
class Terms {
 public:
  /// What operations give for operands of certain types and dims.
  struct Definition {
    std::shared_ptr<const ir::Program> program;
    std::vector<Facts> results;
  };
  using Definitions = std::map<std::string, std::optional<Definition>>;

  Terms() = default;
  /// Terms that say what is computed, not how: they have no programs, and their facts are found once for all
  /// terms that share `known`, which outlives them.
  explicit Terms(Definitions& known) : known_(&known) {}

  int operation(const Operation& operation);
  const Operation& operation(int id) const { return operations_[static_cast<size_t>(id)]; }

  TermId leaf(const std::string& name, const Facts& facts);
  TermId literal(ir::ElementType type, double value, const ir::Dims& dims);
  /// The normal form of the operation on these children, of which none may be no_term; no_term where it is
  /// not defined.
  TermId make(int operation, const std::vector<ir::Dims>& parameters, const std::vector<TermId>& children);

  const Term& at(TermId id) const { return terms_[static_cast<size_t>(id)]; }
  const Term& operator[](TermId id) const { return at(id); }
  int size() const { return static_cast<int>(terms_.size()); }
  /// Name of the operator; empty for leaves.
  const std::string& name(TermId id) const;
  bool is(TermId id, const char* name) const { return this->name(id) == name; }

  /// Canonical forms of operations that only move elements. no_term as make.
  TermId reshape(TermId x, const ir::Dims& dims);
  TermId transpose(TermId x, const std::vector<int64_t>& permutation);
  /// Elements begin .. begin + size of every dimension.
  TermId slice(TermId x, const ir::Dims& begin, const ir::Dims& size);
  TermId expand(TermId x, const ir::Dims& dims);
  TermId concat(const std::vector<TermId>& list, int64_t axis);

 private:
  const Definition* define(int operation, const std::vector<ir::Dims>& parameters,
                           const std::vector<TermId>& children);
  Definition define_one(const Operation& operation, const std::vector<ir::Dims>& parameters,
                        const std::vector<Facts>& children);
  std::optional<Definition> find_definition(const Operation& operation,
                                            const std::vector<ir::Dims>& parameters,
                                            const std::vector<Facts>& children);
  TermId intern(int operation, const std::vector<ir::Dims>& parameters, const std::vector<TermId>& children);
  TermId add(const std::string& key, Term term);
  TermId normal_slice(int operation, const std::vector<ir::Dims>& parameters, TermId x);
  TermId normal_split(int operation, const std::vector<ir::Dims>& parameters, TermId x);
  int kind_of(const Facts& facts);

  std::deque<Operation> operations_;  ///< what refers to elements stays valid
  std::map<std::string, int> operation_ids_;
  std::deque<Term> terms_;
  std::map<std::string, TermId> ids_;
  Definitions definitions_;
  std::map<std::string, int> kinds_;
  Definitions* known_ = nullptr;  ///< by operation, parameters and operands, as text
};

/// Whether the operation may be written with any number of operands in any order.
bool is_sum_or_product(const Operation& operation);
/// Whether elements are only moved, left out or repeated.
bool is_index_map(const Operation& operation);

/// What the roots mean as functions of the leaves, in this order: operand k is leaves[k]. All leaves that the
/// roots reach must be there, but for literals.
ir::Program program_of(const Terms& terms, const std::vector<TermId>& roots,
                       const std::vector<TermId>& leaves);

/// The leaves that roots reach, in order of appearance, without literals.
std::vector<TermId> leaves_of(const Terms& terms, const std::vector<TermId>& roots);
/// The terms that roots reach, children first.
std::vector<TermId> reached_from(const Terms& terms, const std::vector<TermId>& roots);
/// Number of different operations that roots reach.
int operations_in(const Terms& terms, const std::vector<TermId>& roots);

}  // namespace axrun::search::algebra
