#pragma once

#include <string>
#include <vector>

#include "ir/scanner.h"
#include "search/algebra/terms.h"

namespace axrun::search::algebra {

/// Parts of terms as text. What is read may come from anywhere: Error(user) where it makes no sense.
ir::Dims parse_dims(ir::text::Scanner& in);
ir::ElementType parse_type(ir::text::Scanner& in);
/// "=0.5:f32[1]"
std::string print_literal(const Term& term);
TermId parse_literal(ir::text::Scanner& in, Terms& terms);
/// "Slice@10<_ppp>[0][2][1]": an operation with its parameters.
std::string print_operation(const Terms& terms, TermId id);
struct ReadOperation {
  Operation operation;
  std::vector<ir::Dims> parameters;
};
ReadOperation parse_operation_with_parameters(ir::text::Scanner& in);
/// What is said for people, as a string of one line.
std::string quoted(const std::string& text);
/// Of a text, in hexadecimal digits: what ids end with.
std::string hash_of(const std::string& text);

}  // namespace axrun::search::algebra
