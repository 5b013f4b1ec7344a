#pragma once

namespace axrun::cli {

/// What `axrun --help` prints. Written by hand, so that it reads well; a test compares its options with those
/// that the parser knows.
extern const char* const help_text;

}  // namespace axrun::cli
