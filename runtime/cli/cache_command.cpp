#include "runtime/cli/cache_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "ir/error.h"
#include "runtime/cache/archive.h"
#include "runtime/cache/location.h"
#include "runtime/cache/survey.h"
#include "runtime/cli/deep_verify.h"
#include "runtime/cli/json_text.h"
#include "runtime/cli/packed_verify.h"
#include "runtime/version.h"

namespace axrun::cli {
namespace {

using Json = nlohmann::ordered_json;
using cache::Archived;
using cache::FolderSurvey;
using cache::Group;
using Action = Options::CacheAction;

std::string size_text(int64_t bytes) {
  if (bytes < 10 << 10) return fmt::format("{} bytes", bytes);
  return bytes < 10 << 20 ? fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024)
                          : fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string time_text(int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  char text[32] = "";
  if (gmtime_r(&time, &parts) != nullptr) std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts);
  return text;
}

std::string_view kind_of(const Group& group) {
  if (group.part) return name_of(*group.part);
  if (group.marks || group.files == "models") return "marks";
  return group.files == "plans" ? "models" : "weights";
}
bool is_portable(const Group& group) { return group.part && is_portable(*group.part); }

/// The features of a processor are many.
std::string shortened(std::string text) {
  constexpr size_t longest = 60;
  if (text.size() > longest) text.replace(longest - 3, text.npos, "...");
  return text;
}

std::string text_of(const FolderSurvey& folder) {
  std::string text = fmt::format("{}{}: {} entries and files, {}{}\n", folder.folder.string(),
                                 folder.layer ? " (layer)" : "", folder.entries(), size_text(folder.bytes()),
                                 folder.usable && !folder.writable && !folder.layer ? ", only read" : "");
  for (const std::string& trouble : folder.troubles) text += fmt::format("  note: {}\n", trouble);
  for (const Group& group : folder.groups) {
    text += fmt::format("  {:<13}{:>7}  {:>10}  last used {}\n", kind_of(group), group.entries,
                        size_text(group.bytes), time_text(group.last_used));
    if (group.marks) {
      text += "    which models it has something for\n";
      continue;
    }
    text += fmt::format("    made by {}{}\n", group.generator.empty() ? "nobody knows" : group.generator,
                        is_portable(group) ? "; for every machine" : "; for " + shortened(group.machine));
  }
  return text;
}

Json json_of(const FolderSurvey& folder) {
  Json groups = Json::array(), damages = Json::array();
  for (const Group& group : folder.groups)
    groups.push_back({{"kind", kind_of(group)},
                      {"portable", is_portable(group)},
                      {"version", group.generator},
                      {"machine", group.machine},
                      {"entries", group.entries},
                      {"bytes", group.bytes},
                      {"last_used", group.last_used}});
  for (const cache::Damage& damage : folder.damages)
    damages.push_back({{"where", damage.where}, {"reason", name_of(damage.refusal)}});
  return {{"folder", folder.folder.string()}, {"layer", folder.layer},       {"usable", folder.usable},
          {"writable", folder.writable},      {"entries", folder.entries()}, {"bytes", folder.bytes()},
          {"troubles", folder.troubles},      {"groups", std::move(groups)}, {"damaged", std::move(damages)}};
}

void print(const Options& options, Json json, const std::string& text) {
  const Json head = {{"schema_version", 1}, {"version", runtime::version()}};
  Json whole = head;
  whole.update(json);
  std::fputs((options.json ? line_of(whole) : text).c_str(), stdout);
}

int list_or_verify(const Options& options, const cache::Settings& settings) {
  const bool verify = options.cache_action == Action::verify;
  const std::vector<FolderSurvey> folders = cache::survey(settings, verify);
  Json list = Json::array();
  std::string text;
  size_t damaged = 0;
  for (const FolderSurvey& folder : folders) {
    list.push_back(json_of(folder));
    text += text_of(folder);
    damaged += folder.damages.size();
    for (const cache::Damage& damage : folder.damages)
      text += fmt::format("  {}: {}\n", name_of(damage.refusal), damage.where);
  }
  Json json = {{"limit_bytes", settings.limit_bytes}, {"folders", std::move(list)}};
  if (verify) {
    json["damaged"] = damaged;
    text += damaged == 0 ? "every checksum is right\n"
                         : fmt::format("{} damaged: never used; axrun cache prune removes them\n", damaged);
    text += "machine code and packed weights are bound to their version and machine: made again elsewhere\n";
  }
  int code = verify && damaged > 0 ? exit_model : exit_ok;
  if (verify && options.verify_deeply) {
    DeepReport deep = verify_deeply(settings, isatty(STDERR_FILENO) == 1);
    if (deep.exit_code != exit_ok) code = deep.exit_code;
    text += deep.text;
    json["deep"] = std::move(deep.json);
    PackedReport packed = verify_packed(settings, options.cached_models, options.threads);
    if (code == exit_ok) code = packed.exit_code;
    text += packed.text;
    json["packed"] = std::move(packed.json);
  }
  print(options, std::move(json), text);
  return code;
}

int prune(const Options& options, const cache::Settings& settings) {
  cache::PruneOptions what;
  what.everything = options.prune_all;
  what.unused_days = options.prune_days;
  what.most_bytes = options.prune_mebibytes ? *options.prune_mebibytes << 20 : settings.limit_bytes;
  const cache::Pruned pruned = cache::prune(settings, what);
  if (!pruned.trouble.empty()) throw Error(Fault::user, "nothing was removed: " + pruned.trouble);
  print(options, {{"removed", pruned.entries}, {"bytes", pruned.bytes}},
        fmt::format("{} entries and files removed, {}\n", pruned.entries, size_text(pruned.bytes)));
  return exit_ok;
}

int move(const Options& options, const cache::Settings& settings) {
  const bool out = options.cache_action == Action::export_to;
  const Archived result = out ? cache::export_archive(settings, options.cache_file)
                              : cache::import_archive(settings, options.cache_file);
  if (!result.trouble.empty()) throw Error(Fault::user, result.trouble);
  Json refused = Json::object();
  std::string text = fmt::format("{} entries {}, {}\n", result.entries, out ? "written" : "taken over",
                                 size_text(result.bytes));
  if (result.known > 0) text += fmt::format("{} were there already\n", result.known);
  if (result.not_portable > 0) text += fmt::format("{} left out: of another machine\n", result.not_portable);
  for (size_t k = 0; k < cache::refusal_count; ++k) {
    if (result.refused[k] == 0) continue;
    refused[std::string(cache::refusal_names[k])] = result.refused[k];
    text += fmt::format("{} left out: {}\n", result.refused[k], cache::refusal_names[k]);
  }
  print(options,
        {{"entries", result.entries},
         {"bytes", result.bytes},
         {"known", result.known},
         {"not_portable", result.not_portable},
         {"refused", std::move(refused)}},
        text);
  return exit_ok;
}

}  // namespace

int cache_command(const Options& options) {
  const cache::Settings settings = cache::settings_of_environment(options.cache_dir);
  if (settings.directory.empty() && settings.layers.empty())
    throw Error(Fault::user, "there is no cache: " + settings.why_none);
  switch (options.cache_action) {
    case Action::list:
    case Action::verify:
      return list_or_verify(options, settings);
    case Action::prune:
      return prune(options, settings);
    case Action::export_to:
    case Action::import_from:
      break;
  }
  return move(options, settings);
}

}  // namespace axrun::cli
