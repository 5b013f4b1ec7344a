#include "runtime/cli/option_mistakes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "ir/error.h"
#include "runtime/closest_word.h"

namespace axrun::cli {
namespace {

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// The innermost command that was named.
const CLI::App& command_of(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  return *command;
}

/// "axrun cache prune".
std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? command.get_name() : full_name(*parent) + " " + command.get_name();
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Of the words between the program's name and the options, the one that is no command below `command`.
std::string word_after(const CLI::App& command, const std::vector<std::string>& arguments) {
  const auto found = std::find(arguments.begin(), arguments.end(), command.get_name());
  if (found == arguments.end() || found + 1 == arguments.end() || (found + 1)->starts_with("-")) return "";
  return *(found + 1);
}

}  // namespace

void check_command(const CLI::App& app, const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front().starts_with("-")) return;
  const std::string& word = arguments.front();
  const std::vector<std::string> commands = command_names(app);
  std::error_code error;
  if (has(commands, word) || std::filesystem::exists(word, error)) return;
  const std::string meant = runtime::did_you_mean(word, commands);
  if (!meant.empty())
    throw Error(Fault::user, fmt::format("there is no command or file '{}'{}", word, meant));
}

std::string text_of_mistake(const CLI::App& app, const CLI::ParseError& error,
                            const std::vector<std::string>& arguments) {
  const CLI::App& command = command_of(app);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    const std::vector<std::string> known = option_names(command);
    for (const std::string& argument : arguments) {
      const std::string name = argument.substr(0, argument.find('='));
      if (!name.starts_with("--") || name == "--" || has(known, name)) continue;
      return fmt::format("{} has no option '{}'{}", full_name(command), name,
                         runtime::did_you_mean(name, known));
    }
  }
  const std::vector<std::string> below = command_names(command);
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && !below.empty()) {
    const std::string word = word_after(command, arguments);
    return fmt::format("{} is followed by {}{}{}", full_name(command), fmt::join(below, ", "),
                       word.empty() ? "" : fmt::format("; there is no '{}'", word),
                       runtime::did_you_mean(word, below));
  }
  return error.what();
}

}  // namespace axrun::cli
