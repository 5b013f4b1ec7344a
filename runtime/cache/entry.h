#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "runtime/cache/hash.h"
#include "runtime/cache/parts.h"

namespace axrun::cache {

/// Goes up whenever what is stored is written in another way.
inline constexpr uint32_t format_version = 1;

/// What an entry is found under.
struct Address {
  Part part = Part::schedules;
  std::string_view key;
  std::string_view generator;
  std::string_view machine;  ///< empty for portable parts

  /// Of part and key: one for all versions and machines.
  Hash subject() const;
  /// Of version and machine.
  Hash origin() const;
};

/// An entry as it is stored: key and payload in one compressed body.
struct Sealed {
  std::string body;
  Hash checksum = {};
};

/// Nothing where it is too large.
std::optional<Sealed> seal(const Address& address, std::string_view payload);

/// What is stored under a subject and an origin, with the version and machine that it says it is of. Views of
/// what was read.
struct Found {
  Part part = Part::schedules;
  std::string_view subject, origin, generator, machine, checksum, body;
};

/// Key and payload of an entry, whoever it is of.
struct Opened {
  std::string key, payload;
};
/// Checks the checksum over everything that was found, then takes the body apart.
std::variant<Opened, Refusal> open_any(const Found& found);
/// The payload of the entry that is looked for, or why this is not it.
std::variant<std::string, Refusal> open_entry(const Address& wanted, const Found& found);

}  // namespace axrun::cache
