#include "ir/error_place.h"

namespace axrun {

ErrorPlace error_place(const std::exception& error) {
  const auto* const placed = dynamic_cast<const PlacedError*>(&error);
  return placed != nullptr ? placed->place() : ErrorPlace();
}

void throw_as(const Error& error, const std::string& text, const ErrorPlace& otherwise) {
  const ErrorPlace known = error_place(error);
  const ErrorPlace& place = known.empty() ? otherwise : known;
  if (place.empty()) throw Error(error.fault(), text);
  throw PlacedError(error.fault(), text, place);
}

}  // namespace axrun
