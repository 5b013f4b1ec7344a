#include "runtime/cache/archive.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <system_error>

#include "runtime/cache/bytes.h"
#include "runtime/cache/database.h"
#include "runtime/cache/entry.h"
#include "runtime/cache/place.h"

namespace axrun::cache {
namespace {

namespace fs = std::filesystem;

/// Then records, each after its length of four bytes, the last one empty.
constexpr std::string_view magic = "axrun cache 1\n";
constexpr size_t longest_text = longest_key, longest_body = longest_key + longest_payload + (size_t{1} << 20);
constexpr size_t longest_record = longest_body + 4 * longest_text;

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

std::string record_of(const Found& found) {
  Writer record;
  record.put(found.part).put(found.subject).put(found.origin).put(found.generator).put(found.machine);
  return record.put(found.checksum).put(found.body).text();
}

std::optional<Found> read_record(std::string_view record) {
  Reader reader(record);
  const auto part = reader.get<uint8_t>();
  if (part >= part_count) reader.fail();
  Found found;
  found.part = static_cast<Part>(part);
  for (std::string_view* text :
       {&found.subject, &found.origin, &found.generator, &found.machine, &found.checksum})
    *text = reader.text(longest_text);
  found.body = reader.text(longest_body);
  return reader.finished() ? std::optional(found) : std::nullopt;
}

bool write(std::FILE* file, std::string_view record) {
  const auto length = static_cast<uint32_t>(record.size());
  return std::fwrite(&length, sizeof length, 1, file) == 1 &&
         (record.empty() || std::fwrite(record.data(), 1, record.size(), file) == record.size());
}

/// The records of an archive, one after the other.
class Records {
 public:
  explicit Records(std::FILE* file) : file_(file) {
    std::string start(magic.size(), '\0');
    valid_ = std::fread(start.data(), 1, start.size(), file_) == start.size() && start == magic;
  }
  /// False at the end, and where there is no more to be read: see complete().
  bool next(std::string& record) {
    uint32_t length = 0;
    if (!valid_ || complete_ || std::fread(&length, sizeof length, 1, file_) != 1) return false;
    complete_ = length == 0;
    if (complete_ || length > longest_record) return false;
    // Memory grows with what is there, whatever the length says.
    constexpr size_t at_once = size_t{1} << 20;
    record.clear();
    while (record.size() < length) {
      const size_t had = record.size(), more = std::min<size_t>(at_once, length - had);
      record.resize(had + more);
      if (std::fread(record.data() + had, 1, more, file_) != more) return false;
    }
    return true;
  }
  bool valid() const { return valid_; }
  bool complete() const { return complete_; }

 private:
  std::FILE* file_;
  bool valid_ = false, complete_ = false;
};

/// One for each version; null beyond what anybody has.
class StoresByGenerator {
 public:
  explicit StoresByGenerator(const Settings& settings) : settings_(settings) { settings_.layers.clear(); }
  Store* of(std::string_view generator) {
    const auto known = stores_.find(generator);
    if (known != stores_.end()) return known->second.get();
    constexpr size_t most = 64;
    if (stores_.size() == most) return nullptr;
    settings_.generator = generator;
    return (stores_[std::string(generator)] = Store::open(settings_)).get();
  }

 private:
  Settings settings_;
  std::map<std::string, std::shared_ptr<Store>, std::less<>> stores_;
};

void count(Archived& result, Refusal refusal) { ++result.refused[static_cast<size_t>(refusal)]; }

}  // namespace

Archived export_archive(const Settings& settings, const fs::path& file) {
  Archived result;
  const std::string aside = fmt::format("{}.{}.writing", file.string(), getpid());
  const int descriptor =
      open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH);
  File out(descriptor < 0 ? nullptr : fdopen(descriptor, "wb"));
  if (out == nullptr) {
    result.trouble = fmt::format("{} cannot be written: {}", file.string(), std::strerror(errno));
    return result;
  }
  bool written = std::fwrite(magic.data(), 1, magic.size(), out.get()) == magic.size();
  std::set<std::string, std::less<>> known;
  const auto add = [&](const fs::path& folder, bool layer) {
    std::error_code error;
    std::string trouble;
    if (!fs::exists(folder, error)) return;
    const std::unique_ptr<Place> place = open_place(folder, layer, settings.busy_milliseconds, trouble);
    if (place == nullptr) return;
    place->results().each([&](const Database::Row& row) {
      const auto opened = open_any(row.found);
      if (const Refusal* refusal = std::get_if<Refusal>(&opened)) return count(result, *refusal);
      if (!is_portable(row.found.part)) return count(result, Refusal::damaged);
      if (!known.emplace(std::string(row.found.subject).append(row.found.origin)).second) return;
      written = written && write(out.get(), record_of(row.found));
      ++result.entries;
      result.bytes += static_cast<int64_t>(row.found.body.size());
    });
  };
  if (!settings.directory.empty()) add(settings.directory, false);
  for (const fs::path& layer : settings.layers) add(layer, true);
  written = written && write(out.get(), {}) && std::fflush(out.get()) == 0 && fsync(fileno(out.get())) == 0;
  if (std::fclose(out.release()) != 0) written = false;
  if (!written || rename(aside.c_str(), file.c_str()) != 0) {
    result.trouble = fmt::format("{} cannot be written: {}", file.string(), std::strerror(errno));
    unlink(aside.c_str());
  }
  return result;
}

Archived import_archive(const Settings& settings, const fs::path& file) {
  Archived result;
  const File in(std::fopen(file.c_str(), "rbe"));
  if (in == nullptr) {
    result.trouble = fmt::format("{}: {}", file.string(), std::strerror(errno));
    return result;
  }
  Records records(in.get());
  if (!records.valid()) {
    result.trouble = fmt::format("{} is no exported cache", file.string());
    return result;
  }
  StoresByGenerator stores(settings);
  for (std::string record; records.next(record);) {
    const std::optional<Found> found = read_record(record);
    if (!found) {
      count(result, Refusal::damaged);
      continue;
    }
    if (!is_portable(found->part)) {
      ++result.not_portable;
      continue;
    }
    const auto opened = open_any(*found);
    if (const Refusal* refusal = std::get_if<Refusal>(&opened)) {
      count(result, *refusal);
      continue;
    }
    Store* store = stores.of(found->generator);
    if (store == nullptr) {
      count(result, Refusal::too_large);
      continue;
    }
    if (!store->writable()) {
      result.trouble = store->troubles().empty() ? "there is no cache to import to" : store->troubles()[0];
      return result;
    }
    const auto& [key, payload] = std::get<Opened>(opened);
    if (store->get(found->part, key)) {
      ++result.known;
      continue;
    }
    const Stored outcome = store->put(found->part, key, payload);
    if (outcome != Stored::stored) {
      result.trouble = fmt::format("entries cannot be stored: {}", name_of(outcome));
      break;
    }
    ++result.entries;
    result.bytes += static_cast<int64_t>(found->body.size());
  }
  if (result.trouble.empty() && !records.complete())
    result.trouble = fmt::format("{} ends too early: what came before was taken over", file.string());
  return result;
}

}  // namespace axrun::cache
