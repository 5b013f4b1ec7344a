#include "search/size_facts.h"

#include <algorithm>
#include <map>
#include <string>

namespace axrun::search {

using ir::Dim;

std::map<std::string, Dim> SizeFacts::known() const {
  std::map<std::string, Dim> values;
  for (const ir::loop::Size& size : sizes_) {
    if (size.low == size.high) values[size.name] = Dim(size.low);
  }
  return values;
}

bool SizeFacts::is_multiple(const Dim& dim, int64_t factor) const {
  std::map<std::string, Dim> multiples;
  for (const ir::loop::Size& size : sizes_) {
    multiples[size.name] = Dim(size.divisor) * Dim::symbol(size.name);
  }
  return floor_mod(dim.substitute(multiples), Dim(factor)) == Dim(0);
}

int64_t SizeFacts::typical(const Dim& dim) const {
  constexpr int64_t middling = 128;
  std::map<std::string, Dim> values;
  for (const ir::loop::Size& size : sizes_)
    values[size.name] = Dim(std::clamp(middling, size.low, size.high));
  return dim.substitute(values).constant().value_or(middling);
}

}  // namespace axrun::search
