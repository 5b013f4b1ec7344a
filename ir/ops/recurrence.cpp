// What is a scan along a dimension: CumSum, CumProd, and Det and Inverse (of com.microsoft) by elimination.

#include <limits>

#include "ir/ops/compute.h"
#include "ir/ops/reduction_parts.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

/// A running sum or product. The scan emits the inclusive one; the result reads it backwards (reverse) or one
/// step behind (exclusive).
template <ScalarOp op>
void define_cumulative(const OperatorContext& context, Builder& b) {
  require_type(context, 0, TypeClass::number);
  const TensorRef x = operand(b, context, 0);
  const std::vector<int64_t> listed = context.integers(1);
  context.check(listed.size() == 1, "the axis must be a single number");
  const auto axis = static_cast<size_t>(context.axis(listed[0], x.rank()));
  const bool reverse = flag(context, "reverse", false);
  const bool exclusive = flag(context, "exclusive", false);
  const ElementType type = compute_type(x.type());
  const double neutral = op == ScalarOp::add ? 0 : 1;
  const Dim length = x.dims()[axis];
  Dims others = x.dims();
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(axis));

  const TensorRef start = b.map(others, [&](const Indices&) { return b.literal(type, neutral); });
  const auto results =
      b.scan(length, {x}, {start}, [&](Builder& step, const auto& captures, const auto& states) {
        const Scalar time = reverse ? step.extent(length - 1) - step.time() : step.time();
        const TensorRef sum = step.map(others, [&](const Indices& i) {
          Indices at = i;
          at.insert(at.begin() + static_cast<std::ptrdiff_t>(axis), time);
          return binary(op, states[0](i), widen(captures[0](at)));
        });
        const TensorRef emitted = step.map(others, [&](const Indices& i) { return sum(i); });
        return Builder::StepResult{{sum}, {emitted}};
      });
  const TensorRef& running = results[1];
  const Dims dims = x.dims();
  b.output(b.map(dims, [&](const Indices& i) {
    const Scalar steps = reverse ? b.extent(length - 1) - i[axis] : i[axis];
    Indices at = i;
    at.erase(at.begin() + static_cast<std::ptrdiff_t>(axis));
    at.insert(at.begin(), exclusive ? steps - 1 : steps);
    const Scalar value = exclusive ? running.guarded(at, steps >= 1, b.literal(type, neutral)) : running(at);
    return cast(x.type(), value);
  }));
}

/// The row at or below t with the largest |matrix[.., row, t]|; NaN counts as infinite, so that it reaches
/// the result.
TensorRef pivot_row(Builder& b, const TensorRef& matrix, const Dims& batch, const Dim& size,
                    const Scalar& t) {
  const Scalar passed = b.real(ElementType::f64, -1);
  const Scalar infinity = b.real(ElementType::f64, std::numeric_limits<double>::infinity());
  return b.reduce_tuple(
      batch, {size}, {passed, b.integer(std::numeric_limits<int64_t>::max())},
      [&](const Indices& i, const Indices& row) {
        const Scalar element = matrix(joined(i, {row[0], t}));
        const Scalar magnitude = select(unary(ScalarOp::is_nan, element), infinity, abs(element));
        return std::vector<Scalar>{select(row[0] >= t, magnitude, passed), row[0]};
      },
      [&](const std::vector<Scalar>& left, const std::vector<Scalar>& right) {
        const Scalar tie = logical_and(right[0] == left[0], right[1] < left[1]);
        const Scalar take = logical_or(right[0] > left[0], tie);
        return std::vector<Scalar>{select(take, right[0], left[0]), select(take, right[1], left[1])};
      })[1];
}

/// Gaussian elimination with row pivoting, in float64. Step t exchanges rows t and p, multiplies the pivot
/// into the determinant and clears column t below it; where the pivot is 0, so is the whole column, and
/// nothing is cleared.
void define_det(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  context.check(x.rank() >= 2, "the input must have at least two dimensions");
  const Dims dims = x.dims();
  const Dim size = dims.back();
  context.check(context.equal(size, dims[dims.size() - 2]), "the matrices must be square");
  const Dims batch = part(dims, 0, dims.size() - 2);
  const size_t outer = batch.size();

  const TensorRef initial = b.map(dims, [&](const Indices& i) { return cast(ElementType::f64, x(i)); });
  const TensorRef one = b.map(batch, [&](const Indices&) { return b.real(ElementType::f64, 1); });
  const auto results = b.scan(size, {}, {initial, one}, [&](Builder& step, const auto&, const auto& states) {
    const Scalar t = step.time();
    const TensorRef matrix = states[0];
    const TensorRef pivot = pivot_row(step, matrix, batch, size, t);
    const TensorRef swapped = step.map(dims, [&](const Indices& i) {
      const Scalar p = pivot(part(i, 0, outer));
      const Scalar row = i[outer];
      const Scalar source = select(row == t, p, select(row == p, t, row));
      return matrix(joined(part(i, 0, outer), {source, i[outer + 1]}));
    });
    const TensorRef determinant = step.map(batch, [&](const Indices& i) {
      const Scalar factor = swapped(joined(i, {t, t}));
      return states[1](i) * select(pivot(i) == t, factor, -factor);
    });
    const TensorRef cleared = step.map(dims, [&](const Indices& i) {
      const Indices at = part(i, 0, outer);
      const Scalar head = swapped(joined(at, {t, t}));
      const Scalar factor = swapped(joined(at, {i[outer], t})) / head;
      const Scalar rest = swapped(i) - factor * swapped(joined(at, {t, i[outer + 1]}));
      return select(logical_and(i[outer] > t, head != 0), rest, swapped(i));
    });
    return Builder::StepResult{{cleared, determinant}, {}};
  });
  b.output(b.map(batch, [&](const Indices& i) { return cast(x.type(), results[1](i)); }));
}

/// Gauss-Jordan elimination with row pivoting, in float64, of the matrix and of the identity beside it. Of a
/// matrix that has no inverse the result is not finite.
void define_inverse(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  context.check(x.rank() >= 2, "the input must have at least two dimensions");
  const Dims dims = x.dims();
  const Dim size = dims.back();
  const size_t outer = dims.size() - 2;
  context.check(context.equal(size, dims[outer]), "the matrices must be square");
  const Dims batch = part(dims, 0, outer);
  const TensorRef initial = b.map(dims, [&](const Indices& i) { return cast(ElementType::f64, x(i)); });
  const TensorRef identity = b.map(dims, [&](const Indices& i) {
    return select(i[outer] == i[outer + 1], b.real(ElementType::f64, 1), b.real(ElementType::f64, 0));
  });
  const auto results =
      b.scan(size, {}, {initial, identity}, [&](Builder& step, const auto&, const auto& states) {
        const Scalar t = step.time();
        const TensorRef pivot = pivot_row(step, states[0], batch, size, t);
        std::vector<TensorRef> next;
        for (const TensorRef& side : states) {
          next.push_back(step.map(dims, [&](const Indices& i) {
            const Indices at = part(i, 0, outer);
            const Scalar p = pivot(at), row = i[outer];
            const Scalar source = select(row == t, p, select(row == p, t, row));
            const auto element = [&](const TensorRef& of, const Scalar& r, const Scalar& c) {
              return of(joined(at, {r, c}));
            };
            const Scalar scaled = element(side, p, i[outer + 1]) / element(states[0], p, t);
            const Scalar rest = element(side, source, i[outer + 1]) - element(states[0], source, t) * scaled;
            return select(row == t, scaled, rest);
          }));
        }
        return Builder::StepResult{next, {}};
      });
  b.output(b.map(dims, [&](const Indices& i) { return cast(x.type(), results[1](i)); }));
}

}  // namespace

void recurrence_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {{"", "CumProd", 26, define_cumulative<ScalarOp::mul>},
                             {"", "CumSum", 11, define_cumulative<ScalarOp::add>},
                             {"", "Det", 11, define_det},
                             {"com.microsoft", "Inverse", 1, define_inverse}});
}

}  // namespace axrun::ir
