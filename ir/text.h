#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/program.h"

namespace axrun::ir {

/// The text form of tensor expressions:
///
///   program Softmax(x: f32[n, c]) -> (y) {
///     m: f32[n] = reduce max (i0: n; r0: c) {
///       x[i0, r0]
///     }
///     s: f32[n] = reduce sum (i0: n; r0: c) {
///       exp(x[i0, r0] - m[i0])
///     }
///     y: f32[n, c] = map (i0: n, i1: c) {
///       exp(x[i0, i1] - m[i0]) / s[i0]
///     }
///   }
///
/// In parentheses stand a stage's axes, grouped as they merge into dimensions: (i0: n, (i1: c, i2: d), ())
/// are three dimensions, the last of size 1; after a semicolon the reduce axes. `$0 = ...;` names a value
/// that occurs more than once. x[i, j; guard; otherwise] is a guarded load. Literals other than i64 and
/// booleans state their type: 0.5:f32. dim(2*n) is an extent, @0 a parameter of a monoid. Names that are not
/// plain words stand in double quotes. ir/text.md has the grammar.

/// Parameters of opaque stages have no text; it refers to them by their position in this list.
struct OpaquePayload {
  std::string function;
  std::shared_ptr<const void> value;
};
/// The payloads of a program, those of scans' steps included, in the order of its text.
std::vector<OpaquePayload> payloads_of(const Program& program);

/// Text of a valid program. Expressions that no stage uses are left out.
std::string print(const Program& program);

/// The inverse: parse(print(p), payloads_of(p)) equals p up to the numbering of expressions and tensors.
/// Equal expressions are one node. Throws Error(user) with line and column for malformed text, and with the
/// rule for text that is not a valid program.
Program parse(std::string_view text, const std::vector<OpaquePayload>& payloads = {});

}  // namespace axrun::ir
