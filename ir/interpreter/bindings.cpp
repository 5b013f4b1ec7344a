#include "ir/interpreter/bindings.h"

#include <optional>

#include "ir/error.h"

namespace axrun::ir::interpreter {
namespace {

/// The size of the one name in `dim` that gives it the value; for expressions linear in the name.
std::optional<int64_t> solve(const Dim& dim, const std::string& name, int64_t value) {
  auto at = [&](int64_t size) { return dim.substitute({{name, Dim(size)}}).constant(); };
  auto at_zero = at(0);
  auto at_one = at(1);
  int64_t slope = 0;
  int64_t rise = 0;
  if (!at_zero || !at_one || __builtin_sub_overflow(*at_one, *at_zero, &slope) || slope == 0 ||
      slope == INT64_MIN || __builtin_sub_overflow(value, *at_zero, &rise) || rise == INT64_MIN) {
    return std::nullopt;
  }
  int64_t size = rise / slope;
  if (size < 0 || at(size) != std::optional<int64_t>(value)) return std::nullopt;
  return size;
}

void require_equal(const Dim& dim, int64_t known, int64_t value, const std::string& what) {
  if (known == value) return;
  std::string text = what + " has size " + std::to_string(value) + " where ";
  if (!dim.is_constant()) text += dim.to_string() + " = ";
  throw Error(Fault::user, text + std::to_string(known) + " is expected");
}

}  // namespace

void Bindings::bind(const Dim& dim, int64_t value, const std::string& what) {
  if (auto constant = dim.constant()) return require_equal(dim, *constant, value, what);
  facts_.emplace_back(dim, value);
  use_facts(what);
}

void Bindings::use_facts(const std::string& what) {
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t k = 0; k < facts_.size(); ++k) {
      auto [dim, value] = facts_[k];
      Dim rest = dim.substitute(sizes_);
      if (auto constant = rest.constant()) {
        require_equal(dim, *constant, value, what);
        facts_.erase(facts_.begin() + static_cast<std::ptrdiff_t>(k--));
        continue;
      }
      std::vector<std::string> names;
      rest.collect_symbols(names);
      if (names.size() != 1) continue;
      auto size = solve(rest, names[0], value);
      if (!size) continue;
      sizes_[names[0]] = Dim(*size);
      progress = true;
    }
  }
}

std::optional<int64_t> Bindings::find(const Dim& dim) const {
  if (auto constant = dim.constant()) return constant;
  if (auto constant = dim.substitute(sizes_).constant()) return constant;
  for (const auto& [fact, known] : facts_) {
    if (fact == dim) return known;
  }
  return std::nullopt;
}

int64_t Bindings::value(const Dim& dim, const std::string& what) const {
  if (auto known = find(dim)) return *known;
  throw Error(Fault::user,
              what + ": the size " + dim.to_string() + " does not follow from the inputs' shapes");
}

int64_t Bindings::extent(const Dim& dim, const std::string& what) const {
  int64_t size = value(dim, what);
  if (size < 0) {
    throw Error(Fault::user, what + ": the size " + dim.to_string() + " is " + std::to_string(size));
  }
  return size;
}

}  // namespace axrun::ir::interpreter
