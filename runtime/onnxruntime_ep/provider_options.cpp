#include "runtime/onnxruntime_ep/provider_options.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <functional>
#include <optional>
#include <string_view>

#include "ir/error.h"

namespace axrun::ort {
namespace {

constexpr std::string_view prefix = "ep.axrunexecutionprovider.";
constexpr std::string_view host_threads = "session.intra_op_num_threads";

template <class Number>
std::optional<Number> number(std::string_view text, Number least, Number most) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool read = error == std::errc() && end == text.data() + text.size();
  return read && value >= least && value <= most ? std::optional(value) : std::nullopt;
}

std::optional<bool> on_or_off(std::string_view text) {
  if (text == "on" || text == "1" || text == "true") return true;
  if (text == "off" || text == "0" || text == "false") return false;
  return std::nullopt;
}

/// False: the value is none that the key takes.
using Setter = std::function<bool(ProviderOptions&, std::string_view)>;

Setter flag(bool runtime::SessionOptions::*member) {
  return [member](ProviderOptions& options, std::string_view text) {
    const auto value = on_or_off(text);
    if (value) options.session.*member = *value;
    return value.has_value();
  };
}

Setter count(int runtime::SessionOptions::*member) {
  return [member](ProviderOptions& options, std::string_view text) {
    const auto value = number<int>(text, 0, 1024);
    if (value) options.session.*member = *value;
    return value.has_value();
  };
}

bool set_numeric_class(ProviderOptions& options, std::string_view text) {
  if (text != "strict" && text != "reassoc" && text != "bilinear") return false;
  if (text == "strict") options.session.deterministic = true;
  if (text == "bilinear") options.session.bilinear = true;
  return true;
}

bool set_budget(ProviderOptions& options, std::string_view text) {
  const auto value = number<double>(text, 0, 1e9);
  if (value) options.budget_seconds = *value;
  return value.has_value();
}

bool set_verify(ProviderOptions& options, std::string_view text) {
  if (const auto on = on_or_off(text)) {
    options.verify = *on;
    return true;
  }
  const auto value = number<double>(text, 1e-12, 1);
  if (!value) return false;
  options.verify = true;
  options.tolerance = *value;
  return true;
}

bool set_log_level(ProviderOptions& options, std::string_view text) {
  constexpr std::string_view names[] = {"verbose", "info", "warning", "error", "off"};
  for (int level = 0; level < 5; ++level) {
    if (text != names[level]) continue;
    options.log_level = level;
    return true;
  }
  return false;
}

bool set_priority(ProviderOptions& options, std::string_view text) {
  using runtime::OptimizerPriority;
  constexpr std::pair<std::string_view, OptimizerPriority> names[] = {{"assured", OptimizerPriority::assured},
                                                                      {"idle", OptimizerPriority::idle},
                                                                      {"normal", OptimizerPriority::normal}};
  for (const auto& [name, priority] : names) {
    if (text != name) continue;
    options.session.optimizer_priority = priority;
    return true;
  }
  return false;
}

bool set_share(ProviderOptions& options, std::string_view text) {
  const auto value = number<double>(text, 0.01, 1);
  if (value) options.session.optimizer_share = *value;
  return value.has_value();
}

bool set_cache_dir(ProviderOptions& options, std::string_view text) {
  options.session.cache_dir = text;
  return !text.empty();
}

struct Entry {
  OptionKey key;
  Setter set;
};

const std::vector<Entry>& table() {
  static const auto* const entries = new std::vector<Entry>{
      {{"budget", "SECONDS", "from the first run on; then no kernel is replaced any more; 0: no end"},
       set_budget},
      {{"cache", "on|off", "keep what the optimiser finds for other sessions and processes, and use it"},
       flag(&runtime::SessionOptions::use_cache)},
      {{"cache_dir", "DIR", "where; otherwise AXRUN_CACHE_DIR or the user's cache folder"}, set_cache_dir},
      {{"deterministic", "on|off", "swap in only kernels whose results equal the fallback's to the bit"},
       flag(&runtime::SessionOptions::deterministic)},
      {{"fp", "strict|reassoc|bilinear",
        "numeric class: strict is deterministic=on; reassoc may sum in another order; bilinear may compute "
        "convolutions "
        "by Winograd's algorithms, within a bound next to the largest values around a result"},
       set_numeric_class},
      {{"log_level", "verbose|info|warning|error|off", "what goes to ONNX Runtime's log"}, set_log_level},
      {{"optimize", "on|off", "the background optimiser"}, flag(&runtime::SessionOptions::optimize)},
      {{"optimizer_priority", "assured|idle|normal",
        "of its threads, where others want the processors, too: next to nothing, but a tenth at the start; "
        "next "
        "to nothing; as much as anybody. Otherwise AXRUN_OPTIMIZER_PRIORITY, else assured"},
       set_priority},
      {{"optimizer_share", "0.01..1", "of one processor that the optimiser takes at most"}, set_share},
      {{"optimizer_threads", "N", "threads of the optimiser's own; 0: AXRUN_OPTIMIZER_THREADS, else 1"},
       count(&runtime::SessionOptions::optimizer_threads)},
      {{"threads", "N",
        "into how many parts work is cut, for the threads of ONNX Runtime; 0: as many as processors"},
       count(&runtime::SessionOptions::threads)},
      {{"verify", "on|off|TOLERANCE",
        "repeat every run with the reference interpreter, refuse what differs; slow"},
       set_verify},
  };
  return *entries;
}

std::string listing() {
  std::string text;
  for (const Entry& entry : table())
    text += fmt::format("\n  {} = {}: {}", entry.key.name, entry.key.values, entry.key.meaning);
  return text;
}

}  // namespace

ProviderOptions read_options(const std::vector<std::pair<std::string, std::string>>& entries) {
  ProviderOptions options;
  std::string wrong;
  for (const auto& [name, value] : entries) {
    if (name == "ep.context_enable") options.context.make = value == "1";
    if (name == "ep.context_embed_mode") options.context.embed = value == "1";
    if (name == "ep.context_file_path") options.context.file = value;
    if (name == host_threads) options.session.threads = number<int>(value, 1, 1024).value_or(0);
  }
  for (const auto& [name, value] : entries) {
    if (name.rfind(prefix, 0) != 0) continue;
    const std::string key = name.substr(prefix.size());
    const Entry* found = nullptr;
    for (const Entry& entry : table()) {
      if (entry.key.name == key) found = &entry;
    }
    if (found == nullptr) {
      wrong += fmt::format("\n  there is no option '{}'", key);
    } else if (!found->set(options, value)) {
      wrong += fmt::format("\n  '{}' cannot be '{}': it takes {}", key, value, found->key.values);
    }
  }
  if (!wrong.empty())
    throw Error(Fault::user,
                fmt::format("options of {}:{}\nOptions are:{}", provider_name, wrong, listing()));
  return options;
}

const std::vector<OptionKey>& option_keys() {
  static const auto* const keys = [] {
    auto* all = new std::vector<OptionKey>;
    for (const Entry& entry : table()) all->push_back(entry.key);
    return all;
  }();
  return *keys;
}

}  // namespace axrun::ort
