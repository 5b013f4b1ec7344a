#include "verify/evidence.h"

namespace axrun::verify {

std::string_view name_of(Verdict verdict) {
  constexpr std::string_view names[] = {"proved", "tested", "refuted", "unknown"};
  return names[static_cast<size_t>(verdict)];
}

}  // namespace axrun::verify
