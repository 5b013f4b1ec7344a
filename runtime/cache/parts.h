#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace axrun::cache {

/// What a cache holds, by what it says. Numbers are stored: they never change their meaning, and new ones
/// come last.
enum class Part : uint8_t {
  schedules,     ///< what the search for schedules found: portable
  plans,         ///< which steps are joined, which layouts values have, which kernels serve: portable
  verdicts,      ///< what was refused, and why: portable
  certificates,  ///< what was proved, rules of algebra among it: portable
  code,          ///< machine code
  measurements,  ///< what took how long here
};
inline constexpr size_t part_count = 6;
inline constexpr std::array<std::string_view, part_count> part_names = {
    "schedules", "plans", "verdicts", "certificates", "code", "measurements"};

constexpr std::string_view name_of(Part part) { return part_names[static_cast<size_t>(part)]; }
/// Holds on every machine: everything else is bound to the processor that it was made on.
constexpr bool is_portable(Part part) { return part < Part::code; }

/// Why something that is stored was not used.
enum class Refusal : uint8_t {
  damaged,        ///< its checksum is not that of its bytes, or what was read made no sense
  outdated,       ///< made by another version of the generator or format
  other_machine,  ///< made for another processor
  other_key,      ///< another key of the same hash
  too_large,      ///< than anything that is stored may be
  rejected,       ///< whoever asked for it could not use it (Store::reject)
  untrusted,      ///< others can write to it
  busy,           ///< another process held the database for too long
  unreadable,     ///< the system did not give it
};
inline constexpr size_t refusal_count = 9;
inline constexpr std::array<std::string_view, refusal_count> refusal_names = {
    "damaged",  "outdated",  "other_machine", "other_key", "too_large",
    "rejected", "untrusted", "busy",          "unreadable"};
constexpr std::string_view name_of(Refusal refusal) { return refusal_names[static_cast<size_t>(refusal)]; }

/// What became of something that was to be stored.
enum class Stored : uint8_t { stored, off, read_only, too_large, busy, disk_full, failed };
inline constexpr size_t stored_count = 7;
inline constexpr std::array<std::string_view, stored_count> stored_names = {
    "stored", "off", "read_only", "too_large", "busy", "disk_full", "failed"};
constexpr std::string_view name_of(Stored stored) { return stored_names[static_cast<size_t>(stored)]; }

/// Nothing longer is stored, or read.
inline constexpr size_t longest_key = size_t{1} << 20, longest_payload = size_t{64} << 20;

}  // namespace axrun::cache
