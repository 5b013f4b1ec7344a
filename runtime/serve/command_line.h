#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/serve/server.h"
#include "runtime/session.h"

namespace axrun::serve {

/// What axrun-serve is asked for.
struct CommandLine {
  std::vector<std::string> models;  ///< FILE or NAME=FILE
  std::vector<std::string> operator_libraries;
  std::string log_level;  ///< empty: the environment's
  ServerOptions server;
  runtime::SessionOptions session;
};

/// Empty where only text was asked for (--help, --version), which has been printed. Throws Error(user).
std::optional<CommandLine> parse_command_line(int argc, char** argv);

/// NAME and FILE; without a name the file's, or its folder's where that is called model.onnx.
std::pair<std::string, std::string> name_and_file(const std::string& model);

}  // namespace axrun::serve
