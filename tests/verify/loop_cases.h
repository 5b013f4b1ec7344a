#pragma once

#include <string>
#include <vector>

namespace axrun::tests {

/// A tensor expression and a loop program that computes it, as text.
struct LoopCase {
  std::string name;
  std::string expression;
  std::string program;
};

/// Written by hand, one for each form of loop program that axrun makes.
const std::vector<LoopCase>& loop_cases();
const LoopCase& loop_case(const std::string& name);

}  // namespace axrun::tests
