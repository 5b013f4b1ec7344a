#pragma once

#include <string>

namespace axrun::cli {

/// `axrun reproduce FOLDER`: asks a fresh helper process what a candidate was asked with which something went
/// wrong, and says what it answers. Returns exit_ok where nothing is wrong any more, else what it is:
/// exit_mismatch, exit_refuted, exit_unknown, exit_internal. Throws Error.
int reproduce(const std::string& folder, bool json);

}  // namespace axrun::cli
