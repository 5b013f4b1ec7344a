#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ir/program.h"
#include "verify/solver.h"

namespace axrun::verify {

class Symbolic;

/// Which point of which stage of the tensor expression a reduction's terms are. A claim of the loop program
/// is a hint: nothing is believed because of it.
struct Claim {
  std::string stage;
  TermList point;
};

/// The values of `body` for all values of the variables (multiples of their steps) in the domain.
struct Part {
  TermList variables;
  std::vector<int64_t> steps;
  TermList domain;
  Symbolic* body = nullptr;
  Claim claim;
};

/// Values that are defined from those at earlier times: the states of a scan, or a buffer that holds them
/// all. The first coordinate is the time, from 0.
struct Recurrence {
  int number = 0;    ///< of the state, or the buffer
  int order = 0;     ///< states of a scan may use any of those of a scan of lower order
  TermList extents;  ///< of the coordinates
  /// The value at coordinates within the extents, as it is defined.
  std::function<Symbolic*(const TermList&)> at;
};

/// What happens to sums that are multiplied by a factor once in every iteration of a loop, before more is
/// added: the body of a part counts times the factors of all later times, up to the last one.
struct Rescaling {
  TermList times;  ///< for each part, which of its variables is the time, from 0
  Term last;       ///< there is a factor for every time from 0 to this, which may be -1; no part is later
  std::function<Symbolic*(Term time)> factor;
};

/// What a value is at its outermost operation.
struct ValueHead {
  enum class Kind : uint8_t {
    cases,      ///< arguments[k] where terms[k]; exactly one of the terms is true
    integer,    ///< terms[0]: an integer of sizes and coordinates
    condition,  ///< terms[0]: a truth value of them
    real,       ///< a literal
    input,      ///< element `terms` of input number `input`
    operation,  ///< op of the arguments
    reduction,  ///< of all parts together; the identity where there is none
    carried,    ///< the value of `recurrence` at the coordinates `terms`
    rescaled,   ///< sum of all parts under a `rescaling`
  };
  Kind kind = Kind::operation;
  ir::ElementType type = ir::ElementType::f32;
  ir::ScalarOp op = ir::ScalarOp::add;
  std::vector<Symbolic*> arguments;
  TermList terms;
  double real = 0;
  int input = ir::none;
  ir::Monoid::Kind monoid = ir::Monoid::Kind::sum;
  std::vector<Part> parts;
  std::shared_ptr<const Recurrence> recurrence;
  std::shared_ptr<const Rescaling> rescaling;
};

/// A value over the elements of the inputs, unfolded on demand.
class Symbolic {
 public:
  virtual ~Symbolic() = default;
  /// Wherever the facts hold. Throws Unproved.
  std::shared_ptr<const ValueHead> head(const TermList& facts);

 protected:
  virtual ValueHead unfold(const TermList& facts) = 0;

 private:
  std::shared_ptr<const ValueHead> known_;
  TermList known_for_;  ///< sorted; what holds under these facts holds under more
};

/// A head that is known already.
class Unfolded final : public Symbolic {
 public:
  explicit Unfolded(ValueHead head) : head_(std::move(head)) {}

 private:
  ValueHead unfold(const TermList&) override { return head_; }
  ValueHead head_;
};

ValueHead integer_head(ir::ElementType type, Term term);
ValueHead real_head(ir::ElementType type, double value);
/// Of one argument, with what changes nothing over the reals dropped: between f32 and f64, and to the type
/// that is there already. Literals are converted.
ValueHead cast_head(Terms& terms, ir::ScalarOp op, ir::ElementType to, ir::ElementType from,
                    Symbolic* argument, const TermList& facts);
/// The type of a value, cases looked into.
ir::ElementType type_of(Symbolic* value, const TermList& facts);
/// The operation by which a plain monoid combines two values.
ir::ScalarOp operation_of(ir::Monoid::Kind monoid);
/// Whether it is the literal that is neutral for the monoid.
bool is_identity(const Terms& terms, const ValueHead& head, ir::Monoid::Kind monoid);

}  // namespace axrun::verify
