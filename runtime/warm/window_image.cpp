#include "runtime/warm/window_image.h"

#include "runtime/warm/lists.h"

namespace axrun::runtime {
namespace {

using cache::Reader;
using cache::Writer;
using search::algebra::WindowRecipe;

/// Steps in words are for people.
constexpr size_t longest_steps = size_t{16} << 10;

}  // namespace

void write_windows(Writer& out, const std::vector<WindowRecipe>& windows) {
  put_count(out, windows.size());
  for (const WindowRecipe& window : windows) {
    out.put(window.text);
    put_all(out, window.values);
    put_count(out, window.roots.size());
    for (const auto& root : window.roots) put_all(out, root);
  }
}

std::vector<WindowRecipe> read_windows(Reader& in) {
  std::vector<WindowRecipe> windows(in.count(12));
  for (WindowRecipe& window : windows) {
    window.text = in.text(longest_rule);
    window.values = get_all<ir::ValueId>(in);
    window.roots.resize(in.count(4));
    for (auto& root : window.roots) root = get_all<ir::ValueId>(in);
  }
  return windows;
}

void write_report(Writer& out, const AlgebraReport::Window& window) {
  put_count(out, window.values.size());
  for (const std::string& value : window.values) out.put(value);
  put_count(out, window.rules.size());
  for (const AlgebraReport::Rule& rule : window.rules)
    out.put(rule.name)
        .put(rule.equation)
        .put(rule.forward)
        .put(rule.equality)
        .put(rule.safety)
        .put(rule.origin);
  out.put(std::string_view(window.steps).substr(0, longest_steps)).put(window.before).put(window.after);
}

AlgebraReport::Window read_report_of_window(Reader& in) {
  const auto text = [&] { return std::string(in.text(longest_rule)); };
  AlgebraReport::Window window;
  window.values.resize(in.count(4));
  for (std::string& value : window.values) value = text();
  window.rules.resize(in.count(21));
  for (AlgebraReport::Rule& rule : window.rules) {
    rule.name = text();
    rule.equation = text();
    rule.forward = in.get<bool>();
    rule.equality = text();
    rule.safety = text();
    rule.origin = text();
  }
  window.steps = text();
  window.before = in.get<double>();
  window.after = in.get<double>();
  return window;
}

}  // namespace axrun::runtime
