#include "runtime/cli/packed_verify.h"

#include <fmt/format.h>

#include <map>

#include "ir/error.h"
#include "runtime/cache/survey.h"
#include "runtime/cli/options.h"
#include "runtime/session.h"
#include "runtime/warm/kept_weights.h"
#include "runtime/warm/origin.h"

namespace axrun::cli {
namespace {

using Json = nlohmann::ordered_json;

struct StoredFile {
  std::string where;
  enum class State { not_reached, of_another, same, different } state = State::not_reached;
};

/// By key. What was damaged is not among them: every checksum has been looked at before.
std::map<std::string, StoredFile> stored_files(const cache::Settings& settings) {
  std::map<std::string, StoredFile> files;
  const std::string generator = runtime::generator_text(), machine = runtime::machine_text();
  cache::for_files(settings, runtime::KeptWeights::prefix, [&](const cache::StoredEntry& entry) {
    const bool own = entry.generator == generator && entry.machine == machine;
    files[entry.key] = {entry.where, own ? StoredFile::State::not_reached : StoredFile::State::of_another};
  });
  return files;
}

runtime::PackedComparison packed_anew(const cache::Settings& settings, const std::string& model,
                                      int threads) {
  runtime::SessionOptions options;
  options.threads = threads;
  options.cache_dir = settings.directory.string();
  options.packs_anew = true;
  const auto session = runtime::Session::load(model, options);
  session->freeze();
  runtime::PackedComparison found = session->compare_packed();
  if (!found.same.empty() || !found.different.empty()) return found;
  // Kernels pack when a plan is built; where the cache knows of no shapes, that is in a run.
  session->run(runtime::make_inputs(*session, options, 1, 0, nullptr));
  return session->compare_packed();
}

}  // namespace

PackedReport verify_packed(const cache::Settings& settings, const std::vector<std::string>& models,
                           int threads) {
  using State = StoredFile::State;
  PackedReport report;
  std::map<std::string, StoredFile> files = stored_files(settings);
  for (const std::string& model : models) {
    const runtime::PackedComparison found = packed_anew(settings, model, threads);
    for (const std::string& key : found.same)
      if (const auto file = files.find(key); file != files.end() && file->second.state != State::different)
        file->second.state = State::same;
    for (const std::string& key : found.different)
      if (const auto file = files.find(key); file != files.end()) file->second.state = State::different;
  }
  std::map<State, int> counts;
  Json different = Json::array();
  for (const auto& [key, file] : files) {
    ++counts[file.state];
    if (file.state != State::different) continue;
    different.push_back({{"where", file.where}, {"key", key}});
    report.text += fmt::format("  wrong: packed weights in {}: the model's give other bytes\n", file.where);
    report.exit_code = exit_mismatch;
  }
  if (counts[State::same] > 0)
    report.text += fmt::format("{} files of packed weights packed again: the same\n", counts[State::same]);
  if (counts[State::not_reached] > 0)
    report.text += fmt::format(
        "{} files of packed weights have the right checksums; not packed again: the weights that they were "
        "packed "
        "of are not in the cache{}\n",
        counts[State::not_reached],
        models.empty() ? " (--model FILE gives them)" : ", nor in a plan of the models given");
  if (counts[State::of_another] > 0)
    report.text += fmt::format("{} files of packed weights not checkable: of another version or processor\n",
                               counts[State::of_another]);
  report.json = {{"same", counts[State::same]},
                 {"different", std::move(different)},
                 {"checksums_only", counts[State::not_reached]},
                 {"not_checkable", counts[State::of_another]}};
  return report;
}

}  // namespace axrun::cli
