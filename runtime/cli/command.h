#pragma once

namespace axrun::cli {

/// The whole `axrun` command; returns its exit code. Reports go to stdout (with --json: the JSON object
/// there, text for people to stderr), errors to stderr.
int command(int argc, const char* const* argv);

}  // namespace axrun::cli
