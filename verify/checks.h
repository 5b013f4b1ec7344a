#pragma once

#include <cstddef>
#include <iterator>
#include <string_view>

/// The checks of verify/ as data: each has an id, and a trap that only it refuses (tests/verify/checks). A
/// site asks `checks::on(id)` before it refuses. In every build but one that is `true` when compiled, and
/// nothing of it is left; a build for tests alone (AXRUN_CHECKS_CAN_BE_TAKEN_OUT) asks a switch, so that a
/// check can be taken out and its trap must pass through.
///
/// A check refuses what is wrong. What a method does not understand (an index that depends on data, a value
/// that is too large) is no check: without it there is no value to go on with. Nor is a condition that
/// follows from others.
namespace axrun::verify::checks {

struct Row {
  std::string_view id;       ///< part of verify/, and what is asked there; never reused
  std::string_view refuses;  ///< what is wrong with what it refuses
};

inline constexpr Row table[] = {
    // Loop programs: loop_proof, loop_safety, races.
    {"loops.grammar", "a loop program or an expression is not well-formed"},
    {"loops.order", "inputs, outputs and scratch buffers are not in this order"},
    {"loops.more_buffers", "an input or output is none of the expression's"},
    {"loops.fewer_buffers", "an operand or output of the expression has no buffer"},
    {"loops.type", "a buffer has another type or rank than its tensor"},
    {"loops.dims", "a buffer has other dims than its tensor"},
    {"loops.sizes", "no size is within the ranges that are claimed"},
    {"loops.extent", "a loop has a negative number of iterations"},
    {"loops.buffer_size", "a buffer has a negative size"},
    {"loops.bounds", "an access is out of bounds"},
    {"loops.lookup_bounds", "an index is looked up out of bounds"},
    {"loops.divisor", "an integer is divided by 0"},
    {"loops.written", "a statement reads what no assignment has reached"},
    {"loops.written_before", "a statement reads what is assigned only later"},
    {"loops.inverse", "an inverse does not give the loops back"},
    {"loops.parallel_race", "iterations of a parallel loop meet in an element"},
    {"loops.vector_race", "lanes of a vector loop meet in an element"},
    {"loops.race_in_other_order", "an iteration meets an earlier one, not a later one"},
    // What a read finds: last_writes.
    {"writes.unwritten", "an element holds nothing"},
    {"writes.unique", "an element is assigned more than once by one statement"},
    {"writes.overwritten", "an element is assigned after something was combined into it"},
    {"writes.written_again", "an element is assigned again by a statement above"},
    {"writes.fresh", "an element was changed in an earlier iteration around the reader"},
    {"writes.contributions",
     "several executions of a statement combine into an element, of which one is seen"},
    {"writes.mixed_combines", "sums and maxima take turns in an element"},
    {"only_writes.combined", "a state is combined with after it was assigned"},
    {"only_writes.written_again", "a state is assigned by two statements"},
    {"only_writes.too_late", "a state is read before it is assigned"},
    {"only_writes.unwritten", "a state is read that is assigned nowhere"},
    {"writes_so_far.unwritten", "what is combined with again and again is not always assigned before"},
    {"writes_so_far.written_again", "what is combined with again and again is assigned in between"},
    {"writes_so_far.too_early",
     "what is combined with again and again is combined with by a statement above"},
    // Sums that are rescaled: rescaling, program_values, same_rescaled.
    {"rescaled.start", "a rescaled sum does not start at 0"},
    {"rescaled.one_factor", "a rescaled sum is multiplied by two statements"},
    {"rescaled.every_iteration", "a rescaled sum is not multiplied in every iteration"},
    {"rescaled.order", "what is added comes before the factor of its iteration"},
    {"rescaled.factor_at_most_one", "a factor is an exponential of what may be positive"},
    {"rescaled.divisor", "a factor may be divided by 0"},
    {"rescaled.telescopes", "a factor does not follow from that of the iteration before"},
    {"rescaled.exponential_at_most_one", "a term is an exponential of what may be positive"},
    {"rescaled.products", "a rescaled sum is another product than the expression's"},
    // Values of both languages: same_value, symbolic_value, value_range.
    {"values.type", "values have different types"},
    {"values.integer", "integers differ"},
    {"values.condition", "truth values differ"},
    {"values.literal", "literals differ"},
    {"values.input", "different inputs are read"},
    {"values.index", "an input is read at different indices"},
    {"values.operation", "one operation stands for another"},
    {"values.argument_order", "arguments of an operation that does not commute are swapped"},
    {"values.narrowed", "a value is cast to a type that does not hold it"},
    // Reductions and recurrences: same_reduction, same_recurrence.
    {"reductions.monoid", "one reduction stands for another"},
    {"reductions.extra_term", "a reduction has a term that it should not have"},
    {"reductions.lacking_term", "a reduction lacks a term"},
    {"reductions.term_twice", "a reduction has a term more than once"},
    {"reductions.parts_meet", "two parts of a reduction have the same term"},
    {"reductions.only_term", "one term stands for a reduction of several"},
    {"recurrences.length", "a recurrence has another number of times"},
    {"recurrences.place", "a state is that of another time or place"},
    // Sums of floats made of integers: scaled_sum.
    {"scaled_sums.varying_factor", "a term has a factor that the sum does not have"},
    {"scaled_sums.literal", "literal factors differ"},
    {"scaled_sums.lacking_factor", "a sum has a factor that its terms do not have"},
    {"scaled_sums.cases", "cases of a factor have different scales"},
    {"scaled_sums.fits", "a sum of integers may wrap"},
    // Questions about integers: solver.
    {"solver.unknown", "a question has no answer"},
    // Rewrites: rewrite_proof, merged_dims.
    {"rewrites.grammar", "an expression is not well-formed"},
    {"rewrites.sizes", "no size is within the ranges that are claimed"},
    {"rewrites.outputs", "there is an output more or less"},
    {"rewrites.operands", "there is an operand more"},
    {"rewrites.type", "a tensor has another type"},
    {"rewrites.dims", "dims are not the original's, merged"},
    // Tensor expressions: tensor_equality, equality/.
    {"equality.grammar", "an expression is not well-formed"},
    {"equality.sizes", "no size is within the ranges that are claimed"},
    {"equality.outputs", "the numbers of outputs differ"},
    {"equality.type", "a tensor has another type"},
    {"equality.rank", "a tensor has another rank"},
    {"equality.dims", "a tensor has other dims"},
    {"equality.reads", "a stage reads what is not there"},
    {"equality.counterpart", "a term is of one side alone"},
    {"equality.term_twice", "a term stands for several"},
    {"equality.whole_domain", "terms cancel on a part of their domains only"},
    {"equality.index", "an input is read at different indices"},
    {"equality.maximum", "a maximum is of other values"},
    {"equality.product_terms", "a product is of other values"},
    {"equality.pointwise_domain", "sums vanish together on a part of their domains only"},
    {"equality.consistent", "values are equal that cannot be"},
    {"equality.body_type", "the same sum is one of another type"},
    {"equality.defined", "one side needs what the other does not: no divisor 0, no root of what is negative"},
    {"equality.infinities_cancel", "an infinity may be subtracted from an infinity"},
    {"equality.infinity_times_zero", "an infinity may be multiplied by 0"},
    {"equality.infinite_argument", "an operation is of what may be infinite"},
    {"equality.undefined", "an operation has no value for a literal"},
    {"equality.fits", "a cast is of a number that its type does not hold"},
    // Safety of rewrites: prove_safe, equality/range_safety.
    {"safety.grammar", "an expression is not well-formed"},
    {"safety.outputs", "the numbers of outputs differ"},
    {"safety.sizes", "no size is within the ranges that are claimed"},
    {"safety.overflow", "a stage may overflow"},
    {"safety.exponential", "an exponential is of what is not bounded"},
    {"safety.division", "a divisor may be 0"},
    {"safety.logarithm", "a logarithm is of what may be 0"},
    {"safety.root", "a root is of what may be negative"},
    {"safety.sign", "an output that is not negative is a difference"},
    {"safety.cancellation", "an output is a difference of what nearly cancels"},
    // Bilinear algorithms: bilinear_identity.
    {"bilinear.scale", "the scale is 0, and so is everything"},
    {"bilinear.coefficient", "a coefficient is another one than the definition's"},
    // Machine code: numeric_gate.
    {"gate.throws", "a kernel throws"},
    {"gate.environment", "a kernel leaves another rounding mode"},
    {"gate.surroundings", "bytes around a result are written"},
    {"gate.written", "an element is not written"},
    {"gate.nan", "an element is a number where it must be NaN"},
    {"gate.exact", "an element is another number where one is right"},
    {"gate.zero_sign", "a zero has the wrong sign"},
    {"gate.bound", "an error is larger than its bound"},
    {"gate.twin", "an element has other bits than the twin's"},
    {"gate.exact_pair", "the kernel with stand-ins gives other bits"},
    // What the gate tries: gate_inputs, gate_trials, guarded_memory.
    {"gate.last_columns", "a kernel is wrong in its last columns"},
    {"gate.corners", "a kernel is wrong in its last element"},
    {"gate.operands_only_read", "a kernel writes an operand"},
    {"gate.guard_after", "a kernel reads past the end of an operand"},
    {"gate.guard_before", "a kernel reads before an operand"},
    {"gate.no_period", "a kernel reads another row, whose numbers might be the same"},
    {"gate.magnitudes", "a kernel is wrong for large or small numbers"},
    {"gate.nans", "a kernel swallows NaN"},
    {"gate.infinities", "a kernel swallows infinities"},
    {"gate.negative_zeros", "a kernel loses the sign of zeros"},
    {"gate.denormals", "a kernel flushes denormals"},
    {"gate.largest", "a kernel clips the largest numbers"},
    // Vector math: ulp_bounds.
    {"ulp.nan", "a function is a number where it must be NaN, or NaN where it must not"},
    {"ulp.sign", "a function has the wrong sign"},
    {"ulp.special", "a function is wrong at a zero or an infinity"},
    {"ulp.error", "a function is further off than it claims"},
};

/// A row of the table, by its id; one that is not there does not compile.
class Id {
 public:
  consteval Id(const char* id) : row_(0) {
    while (table[row_].id != id) ++row_;
  }
  size_t row() const { return row_; }

 private:
  size_t row_;
};

#ifdef AXRUN_CHECKS_CAN_BE_TAKEN_OUT
bool on(Id id);
#else
consteval bool on(Id) { return true; }
#endif

}  // namespace axrun::verify::checks
