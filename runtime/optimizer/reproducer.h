#pragma once

#include <string>

#include "runtime/optimizer/worker_protocol.h"

namespace axrun::runtime {

/// What a candidate was asked, in a folder of its own, where something went wrong with it: `axrun reproduce
/// FOLDER` asks a fresh helper process the same.
///
/// The folder lies in `directory` (made, for its owner only, where it is missing) and is called after `what`
/// and the request, so that one failure has one folder, whoever meets it. It holds the request, the
/// expression and the loop program by themselves, and what happened. There are never more than a few dozen.
/// Returns the folder; empty where nothing was written, for whatever reason.
std::string write_reproducer(const std::string& directory, const WorkerRequest& request,
                             const std::string& what, const std::string& why) noexcept;

/// The request in such a folder. Throws Error(user) where there is none.
WorkerRequest read_reproducer(const std::string& folder);

}  // namespace axrun::runtime
