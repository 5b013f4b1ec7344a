// What operators do to floats: which hand them on as they are, and which are free in how they round.
#pragma once

#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ir/tensor.h"

namespace axrun::tests {

/// What hands elements on, chooses among them or compares them: its floats are exact.
bool is_exact(std::string_view op);
/// Whether a scatter adds or multiplies: of equal indices in an order that is free.
bool accumulates(const ir::Node& node);
/// It adds and multiplies alone.
bool is_ring(std::string_view op);
/// These sum in another form than their definitions: a fast transform differences of terms, a product with
/// quantised weights a block before it multiplies by its scale, a batch normalization scales before it takes
/// the mean off. Of infinities and NaN among the operands, one form may make infinities or numbers and the
/// other NaN.
bool sums_otherwise(std::string_view op);
/// Products and quotients have the sign that their operands say; a sum that comes to 0 has one or the other,
/// by the number that it starts from.
bool signs_zeros(std::string_view op);
/// The largest of 0 and -0 is either, by the order in which they are compared.
bool chooses_zeros(std::string_view op, const std::vector<ir::Tensor>& operands);

}  // namespace axrun::tests
