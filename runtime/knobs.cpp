#include "runtime/knobs.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

namespace axrun::runtime {
namespace {

// In the order of KnobName.
constexpr std::array<Knob, 17> table = {{
    {"AXRUN_ABLATE", "fusion,layouts,algebra,schedules,measurement", "none",
     "what the optimiser does without, to show what it is worth: fusion (every operator has a kernel of its "
     "own), "
     "layouts (values stay as the model has them), algebra (they are computed as the model says), schedules "
     "(only default ones), measurement (what is "
     "verified is "
     "swapped in without being compared)"},
    {"AXRUN_CACHE", "on|off", "on", "off: nothing is kept between processes, nor found"},
    {"AXRUN_CACHE_DIR", "DIR", "$XDG_CACHE_HOME/axrun, else ~/.cache/axrun",
     "folder for what is kept between processes: only one that nobody else can write to is used"},
    {"AXRUN_CACHE_LAYERS", "DIRS", "none",
     "folders like it that are only read, asked in turn for what the other one lacks: those of a container's "
     "image"},
    {"AXRUN_CACHE_LIMIT", "N", "2048", "MiB of that folder: what was used longest ago makes room"},
    {"AXRUN_ISA", "sse2|avx2|avx512", "the best this processor has",
     "highest instruction-set level that the kernels use"},
    {"AXRUN_LOG", "off|error|warn|info|debug", "off",
     "what the commands write to stderr about what happens, a line each: programs that use the library have "
     "set_log"},
    {"AXRUN_OPTIMIZE", "0|1", "1", "0: no optimiser starts, in any session; the fallback kernels serve"},
    {"AXRUN_OPTIMIZER_PRIORITY", "assured|idle|normal", "assured",
     "idle: the optimiser gets the processor time that nobody else wants; assured: so does it, but at the "
     "start, where others want all of it, about a tenth of each processor; normal: its share like anybody"},
    {"AXRUN_OPTIMIZER_THREADS", "N", "1", "threads of the optimiser where the program does not say"},
    {"AXRUN_PARALLEL", "tbb|threads", "tbb",
     "what runs parallel loops: oneTBB, or plain threads, which ThreadSanitizer can follow"},
    {"AXRUN_REPRODUCERS", "DIR", "reproducers in the folder of AXRUN_CACHE_DIR, where that is used",
     "folder for what is needed to repeat it where a kernel crashed, was refuted, or gave other results"},
    {"AXRUN_SWAP", "faster|always|join|layouts|algebra|bilinear", "faster",
     "always: every verified kernel is swapped in, faster or not, join: every step joined to the next one "
     "where one kernel for both is verified, layouts: every value channels-last that can be, algebra: every "
     "graph rewritten that looks cheaper, bilinear: with --fp bilinear every convolution by such an "
     "algorithm "
     "that there is one for: "
     "for tests"},
    {"AXRUN_TARGET", "FILE", "what is detected",
     "description of the hardware, as axrun target --json writes it; fields that it lacks are detected"},
    {"AXRUN_THREADS", "N", "the processors this process may use",
     "threads of one run where neither the program nor --threads says"},
    {"AXRUN_VALIDATE", "on|off", "off",
     "checks every program against the grammar after each stage that builds a plan: slower loads"},
    {"AXRUN_WORKER", "FILE", "axrun-worker beside the library or the command",
     "program in which candidates are lowered, proved and executed for the first time"},
}};

bool names_files(const Knob& knob) {
  return knob.values == "DIR" || knob.values == "DIRS" || knob.values == "FILE";
}

bool is_one_of(std::string_view values, std::string_view value, char between) {
  while (!values.empty()) {
    const size_t end = std::min(values.find(between), values.size());
    if (values.substr(0, end) == value) return true;
    values.remove_prefix(std::min(end + 1, values.size()));
  }
  return false;
}

std::vector<std::string_view> words_in(std::string_view list) {
  std::vector<std::string_view> words;
  while (!list.empty()) {
    const size_t end = std::min(list.find(','), list.size());
    words.push_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return words;
}

bool takes(const Knob& knob, std::string_view value) {
  if (names_files(knob)) return true;
  if (knob.values.find(',') != std::string_view::npos) {
    const std::vector<std::string_view> words = words_in(value);
    return std::all_of(words.begin(), words.end(),
                       [&](std::string_view word) { return is_one_of(knob.values, word, ','); });
  }
  if (knob.values != "N") return is_one_of(knob.values, value, '|');
  int number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc() && end == value.data() + value.size() && number > 0;
}

}  // namespace

std::span<const Knob> knobs() { return table; }

const char* knob_value(KnobName name) {
  const Knob& knob = table[static_cast<size_t>(name)];
  const char* value = names_files(knob) ? secure_getenv(knob.name) : std::getenv(knob.name);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

std::vector<std::string> knob_mistakes() {
  std::vector<std::string> mistakes;
  for (size_t k = 0; k < table.size(); ++k) {
    const char* value = knob_value(static_cast<KnobName>(k));
    if (value == nullptr || takes(table[k], value)) continue;
    const bool list = table[k].values.find(',') != std::string_view::npos;
    const std::string wanted = table[k].values == "N"
                                   ? "a positive integer"
                                   : (list ? "some of " : "") + std::string(table[k].values);
    mistakes.push_back(std::string(table[k].name) + "=" + value + ": it takes " + wanted);
  }
  return mistakes;
}

bool knob_says(KnobName name, std::string_view word) {
  const char* const value = knob_value(name);
  return value != nullptr && value == word;
}

bool knob_lists(KnobName name, std::string_view word) {
  const char* value = knob_value(name);
  if (value == nullptr) return false;
  const std::vector<std::string_view> words = words_in(value);
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::vector<std::string> knob_names() {
  std::vector<std::string> names;
  for (const Knob& knob : table) names.emplace_back(knob.name);
  return names;
}

std::vector<std::string> unknown_knobs() {
  std::vector<std::string> unknown;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!text.starts_with("AXRUN_")) continue;
    const std::string_view name = text.substr(0, text.find('='));
    if (std::none_of(table.begin(), table.end(), [&](const Knob& knob) { return knob.name == name; })) {
      unknown.emplace_back(name);
    }
  }
  return unknown;
}

}  // namespace axrun::runtime
