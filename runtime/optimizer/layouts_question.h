#pragma once

#include <string>
#include <string_view>

#include "search/layouts/layout_problem.h"

namespace axrun::runtime {

/// What is asked about layouts, and what is answered, as bytes. Both readers throw Error(user) for bytes that
/// make no sense.
std::string write_layout_problem(const search::layouts::LayoutProblem& problem);
search::layouts::LayoutProblem read_layout_problem(std::string_view bytes);

std::string write_layout_choice(const search::layouts::LayoutChoice& choice);
/// One of that problem: whatever the bytes say, it has a layout for everything, and no layout that there is
/// not.
search::layouts::LayoutChoice read_layout_choice(std::string_view bytes,
                                                 const search::layouts::LayoutProblem& problem);

}  // namespace axrun::runtime
