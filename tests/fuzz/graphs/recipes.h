#pragma once

#include <span>
#include <string_view>

namespace axrun::tests {

/// How nodes of one operator are drawn. Draws need not be valid: the definition decides whether a node is
/// kept.
///
/// `inputs`, separated by spaces:
///   f g i n b s t   a tensor of floats, of f32, of integers, of numbers, of booleans, of strings, of
///   anything =               a tensor of the first input's type, which mostly broadcasts with it I S C A B
///   0 to 4 integers (a shape or its like), one, one from 0 to 3, an axis, one boolean m c d h l       f32:
///   the right operand of a product with the first input, weights of a convolution over it
///                   and of a transposed one, a vector as long as its dimension 1, as its last one
///   x X             indices of any shape, and of the first input's
///   q o             a sequence, an optional
/// followed by ? where it may be left out, by * where there may be several.
///
/// `attributes`, as name:kind, with ! in front where they are always there:
///   a L P k   an axis of the first input, some of its axes, a permutation of them, 0 or 1
///   T i z r   an element type, an integer from 1 to 4, one from -1 to 2, a real number
///   I O D     some small integers, two of them, four of them which are 0 or 1
///   W V R     three or four texts, integers and real numbers as many as the list before
///   w F       a text, real numbers as many as the last dimension of the first input
///   v         a tensor of one element
///   {A|B}     one of these texts
///   #1 @1     this integer, a list of it
struct Recipe {
  std::string_view domain;
  std::string_view op;
  int since, before;  ///< versions of the domain
  std::string_view inputs;
  std::string_view attributes = "";
  int outputs = 1;  ///< the most
};

std::span<const Recipe> recipes();

}  // namespace axrun::tests
