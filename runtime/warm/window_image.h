#pragma once

#include <vector>

#include "runtime/cache/bytes.h"
#include "runtime/optimizer_status.h"
#include "search/algebra/window_recipe.h"

namespace axrun::runtime {

/// Longer rules, and windows, are not read.
inline constexpr size_t longest_rule = size_t{1} << 20;

/// Windows of a graph that are computed in another way, as bytes and back: the reader fails at what makes no
/// sense as bytes; whether it fits a graph is not looked at.
void write_windows(cache::Writer& out, const std::vector<search::algebra::WindowRecipe>& windows);
std::vector<search::algebra::WindowRecipe> read_windows(cache::Reader& in);

/// What is said of one for people, whose steps in words are cut.
void write_report(cache::Writer& out, const AlgebraReport::Window& window);
AlgebraReport::Window read_report_of_window(cache::Reader& in);

}  // namespace axrun::runtime
