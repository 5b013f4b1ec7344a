#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <string>

namespace axrun::cache {

/// Whether only we (and root) can change what lies in a folder: it is ours, nobody else may write to it, and
/// nobody else can exchange it or a folder above it. Symbolic links on the way are followed where they are
/// ours or root's.
struct Trust {
  bool trusted = false;
  bool writable = false;         ///< by us, as far as permissions say
  std::string reason;            ///< why it is not trusted
  std::filesystem::path folder;  ///< without symbolic links
};

/// of_root: a folder of root's will do, too.
Trust trust_in(const std::filesystem::path& folder, bool of_root);

/// Makes a folder that nobody else can read, and those above it. Empty, or what went wrong.
std::string make_folder(const std::filesystem::path& folder);

/// Whether a file is a plain one of ours (or root's) that nobody else can write to. Nothing there: trusted.
bool is_trusted_file(const std::filesystem::path& file);
bool is_trusted(const struct stat& status);
/// The same of a folder, but for the way to it.
bool is_trusted_folder(const std::filesystem::path& folder, bool of_root);

}  // namespace axrun::cache
