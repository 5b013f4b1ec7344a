#include "runtime/cache/survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <memory>
#include <system_error>
#include <tuple>
#include <utility>

#include "runtime/cache/database.h"
#include "runtime/cache/entry.h"
#include "runtime/cache/place.h"
#include "runtime/cache/weights.h"

namespace axrun::cache {
namespace {

namespace fs = std::filesystem;

class Surveyor {
 public:
  Surveyor(FolderSurvey& result, bool check) : result_(result), check_(check) {}

  void look_at(Place& place) {
    for (Database* database : {&place.results(), &place.machine()}) {
      const Access access = database->each([&](const Database::Row& row) { add(*database, row); });
      if (access != Access::done && access != Access::absent)
        result_.troubles.push_back(
            fmt::format("{}: {}", database->file().string(),
                        access == Access::newer ? "made by a later version" : database->message()));
      if (access == Access::damaged) result_.damages.push_back({database->file().string(), Refusal::damaged});
    }
    for (const FileInFolder& file : files_in(place.weights())) add(file);
    for (auto& [key, group] : groups_) result_.groups.push_back(std::move(group));
  }

 private:
  void add(const Database& database, const Database::Row& row) {
    count(row.found.part, "", row.found.generator, row.found.machine, row.bytes, row.used);
    if (!check_) return;
    const auto opened = open_any(row.found);
    if (const Refusal* refusal = std::get_if<Refusal>(&opened))
      result_.damages.push_back({fmt::format("{} row {}", database.file().string(), row.row), *refusal});
  }
  void add(const FileInFolder& file) {
    const auto mapped = map_any(file.path, check_);
    if (const Refusal* refusal = std::get_if<Refusal>(&mapped)) {
      if (check_) result_.damages.push_back({file.path.string(), *refusal});
      count(std::nullopt, "", "", "", file.bytes, file.used);
      return;
    }
    const FileFound& found = std::get<FileFound>(mapped);
    const bool marks = found.generator.empty() && found.machine.empty();
    count(std::nullopt, found.key.substr(0, found.key.find(' ')), found.generator, found.machine, file.bytes,
          file.used, marks);
    const FileName name{found.key, found.generator, found.machine};
    if (check_ && file.path.filename() != name.text())
      result_.damages.push_back({file.path.string(), Refusal::other_key});
  }
  void count(std::optional<Part> part, const std::string& files, std::string_view generator,
             std::string_view machine, int64_t bytes, int64_t used, bool marks = false) {
    const int kind = part ? static_cast<int>(*part) : marks ? -1 : -2;
    Group& group = groups_[{kind, marks ? "" : files, std::string(generator), std::string(machine)}];
    group.part = part;
    group.files = files;
    group.marks = marks;
    group.generator = generator;
    group.machine = machine;
    ++group.entries;
    group.bytes += bytes;
    group.last_used = std::max(group.last_used, used);
  }

  FolderSurvey& result_;
  bool check_;
  std::map<std::tuple<int, std::string, std::string, std::string>, Group> groups_;
};

FolderSurvey survey_of(const fs::path& folder, bool layer, const Settings& settings, bool check) {
  FolderSurvey result;
  result.folder = folder;
  result.layer = layer;
  std::error_code error;
  if (!fs::exists(folder, error)) {
    result.troubles.push_back(fmt::format("{} is not there yet", folder.string()));
    return result;
  }
  std::string trouble;
  const std::unique_ptr<Place> place = open_place(folder, layer, settings.busy_milliseconds, trouble);
  if (!trouble.empty()) result.troubles.push_back(trouble);
  if (place == nullptr) return result;
  result.usable = true;
  result.writable = place->writable();
  Surveyor(result, check).look_at(*place);
  return result;
}

/// Those that are there and can be used, the writable one first.
std::vector<std::unique_ptr<Place>> places_of(const Settings& settings) {
  std::vector<fs::path> folders = settings.layers;
  if (!settings.directory.empty()) folders.insert(folders.begin(), settings.directory);
  std::vector<std::unique_ptr<Place>> places;
  for (const fs::path& folder : folders) {
    std::error_code error;
    if (!fs::exists(folder, error)) continue;
    std::string trouble;
    auto place = open_place(folder, folder != settings.directory, settings.busy_milliseconds, trouble);
    if (place != nullptr) places.push_back(std::move(place));
  }
  return places;
}

/// Rows of a database, or files, that are to go.
bool is_to_go(const PruneOptions& options, int64_t used, bool damaged) {
  if (damaged || options.everything) return true;
  constexpr int64_t day = 86400;
  return options.unused_days && std::time(nullptr) - used > *options.unused_days * day;
}

}  // namespace

int64_t FolderSurvey::entries() const {
  int64_t sum = 0;
  for (const Group& group : groups) sum += group.entries;
  return sum;
}

int64_t FolderSurvey::bytes() const {
  int64_t sum = 0;
  for (const Group& group : groups) sum += group.bytes;
  return sum;
}

std::vector<FolderSurvey> survey(const Settings& settings, bool check) {
  std::vector<FolderSurvey> folders;
  if (!settings.directory.empty()) folders.push_back(survey_of(settings.directory, false, settings, check));
  for (const fs::path& layer : settings.layers) folders.push_back(survey_of(layer, true, settings, check));
  return folders;
}

void for_entries(const Settings& settings, Part part, const std::function<void(const StoredEntry&)>& call) {
  struct Kept {
    int64_t row = 0;
    std::string subject, origin, generator, machine, checksum, body;
  };
  for (const std::unique_ptr<Place>& place : places_of(settings)) {
    Database& database = place->database_of(part);
    std::vector<Kept> kept;
    database.each([&](const Database::Row& row) {
      if (row.found.part != part) return;
      const auto text = [](std::string_view view) { return std::string(view); };
      kept.push_back({row.row, text(row.found.subject), text(row.found.origin), text(row.found.generator),
                      text(row.found.machine), text(row.found.checksum), text(row.found.body)});
    });
    database.close();
    for (const Kept& one : kept) {
      auto opened =
          open_any({part, one.subject, one.origin, one.generator, one.machine, one.checksum, one.body});
      if (std::holds_alternative<Refusal>(opened)) continue;
      auto& [key, payload] = std::get<Opened>(opened);
      call({fmt::format("{} row {}", database.file().string(), one.row), part, one.generator, one.machine,
            std::move(key), std::move(payload)});
    }
  }
}

void for_files(const Settings& settings, std::string_view prefix,
               const std::function<void(const StoredEntry&)>& call) {
  for (const std::unique_ptr<Place>& place : places_of(settings)) {
    for (const FileInFolder& file : files_in(place->weights())) {
      const auto looked_at = map_any(file.path, false);
      const FileFound* found = std::get_if<FileFound>(&looked_at);
      if (found == nullptr || !found->key.starts_with(prefix)) continue;
      const auto mapped = map_any(file.path, true);
      if (std::holds_alternative<Refusal>(mapped)) continue;
      const FileFound& whole = std::get<FileFound>(mapped);
      call({file.path.string(), Part::code, whole.generator, whole.machine, whole.key,
            std::string(whole.file->text())});
    }
  }
}

Pruned prune(const Settings& settings, const PruneOptions& options) {
  Pruned pruned;
  std::error_code error;
  if (settings.directory.empty() || !fs::exists(settings.directory, error)) {
    pruned.trouble = settings.directory.empty() ? settings.why_none : "";
    return pruned;
  }
  const std::unique_ptr<Place> place =
      open_place(settings.directory, false, settings.busy_milliseconds, pruned.trouble);
  if (place == nullptr || !place->writable()) return pruned;
  const int64_t before = place->bytes();
  for (Database* database : {&place->results(), &place->machine()}) {
    std::vector<int64_t> rows;
    const Access access = database->each([&](const Database::Row& row) {
      const bool damaged = std::holds_alternative<Refusal>(open_any(row.found));
      if (is_to_go(options, row.used, damaged)) rows.push_back(row.row);
    });
    if (access == Access::damaged) database->set_aside();
    if (access == Access::done && !rows.empty() && database->erase(rows) == Access::done)
      pruned.entries += static_cast<int64_t>(rows.size());
    fs::remove(database->file().string() + ".damaged", error);
  }
  remove_unfinished(place->weights());
  for (const FileInFolder& file : files_in(place->weights())) {
    const bool damaged = std::holds_alternative<Refusal>(map_any(file.path, true));
    if (is_to_go(options, file.used, damaged) && fs::remove(file.path, error)) ++pruned.entries;
  }
  if (options.most_bytes && place->bytes() > *options.most_bytes)
    pruned.entries += place->evict(*options.most_bytes);
  for (Database* database : {&place->results(), &place->machine()}) database->shrink();
  pruned.bytes = before - place->bytes();
  return pruned;
}

}  // namespace axrun::cache
