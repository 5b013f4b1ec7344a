#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace axrun::runtime {

/// An environment variable that axrun reads.
struct Knob {
  const char* name;
  /// "a|b|c": one of these words; "a,b,c": some of these words, with commas between them; "N": a positive
  /// integer; "DIR": a folder; "DIRS": folders with colons between them; "FILE": a file.
  std::string_view values;
  std::string_view standard;  ///< what holds when it is not set
  std::string_view meaning;
};

/// Positions in the table.
enum class KnobName {
  ablate,
  cache,
  cache_dir,
  cache_layers,
  cache_limit,
  isa,
  log,
  optimize,
  optimizer_priority,
  optimizer_threads,
  parallel,
  reproducers,
  swap,
  target,
  threads,
  validate,
  worker
};

/// All of them. The environment is read through knob_value only, so this table is complete.
std::span<const Knob> knobs();

/// The variable's value; null where it is unset or empty. In a program that runs with more rights than its
/// caller has (set-user-ID), variables that name files or folders are unset: what they name is executed,
/// believed or written to.
const char* knob_value(KnobName name);

/// Whether it is this one.
bool knob_says(KnobName name, std::string_view word);

/// Whether the word is in the variable's list.
bool knob_lists(KnobName name, std::string_view word);

/// A line for each variable whose value is none that it takes.
std::vector<std::string> knob_mistakes();

/// "AXRUN_OPTIMIZE", ...: in the table's order.
std::vector<std::string> knob_names();

/// Variables called AXRUN_... that are not in the table: probably misspelt.
std::vector<std::string> unknown_knobs();

}  // namespace axrun::runtime
