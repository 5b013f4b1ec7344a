#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace axrun::cli {

/// Throws Error(user) where the first argument is no command and no file, but nearly a command: CLI11 would
/// take it for the model, and blame the next argument.
void check_command(const CLI::App& app, const std::vector<std::string>& arguments);

/// What is wrong with the command line, in words that name the mistake and what was probably meant.
std::string text_of_mistake(const CLI::App& app, const CLI::ParseError& error,
                            const std::vector<std::string>& arguments);

}  // namespace axrun::cli
