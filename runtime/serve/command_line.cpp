#include "runtime/serve/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "ir/error.h"
#include "runtime/version.h"

namespace axrun::serve {
namespace {

constexpr size_t mebibyte = size_t{1} << 20;
constexpr double longest_time_s = 86400;

/// A number of MiB, kept in bytes.
void add_mebibytes(CLI::App& app, const std::string& name, size_t& bytes, const std::string& text) {
  app.add_option_function<size_t>(
         name, [&bytes](const size_t& value) { bytes = value * mebibyte; }, text)
      ->check(CLI::Range(size_t{1}, size_t{1} << 20))
      ->default_str(std::to_string(bytes / mebibyte));
}

void add_seconds(CLI::App& app, const std::string& name, double& seconds, const std::string& text) {
  app.add_option(name, seconds, text)->check(CLI::Range(0.1, longest_time_s))->capture_default_str();
}

void add_limits(CLI::App& app, ServerOptions& options) {
  app.add_option("--concurrency", options.concurrency, "inferences of one model at the same time")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--queue", options.queue, "inferences of one model that may wait; others get 503")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  app.add_option("--timeout", options.timeout_seconds,
                 "seconds of one inference, its waiting included, where the request has no timeout; 0: none")
      ->check(CLI::Range(0.0, longest_time_s))
      ->capture_default_str();
  app.add_option(
         "--connections", options.connections,
         "open at the same time; where more come, the one that has been idle longest is closed, or the "
         "new one gets 503")
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
  add_mebibytes(app, "--message-limit", options.most_message_bytes,
                "MiB of one request, decompressed; larger ones get 413");
  add_mebibytes(app, "--buffer-limit", options.most_buffered_bytes,
                "MiB of all messages that are held at the same time; beyond them requests get 503");
  add_seconds(app, "--header-timeout", options.header_timeout_seconds,
              "seconds for a request's header to arrive; slower ones get 408");
  add_seconds(app, "--message-timeout", options.message_timeout_seconds,
              "seconds for a request's body to arrive, and for its answer to be taken");
  add_seconds(app, "--idle-timeout", options.idle_timeout_seconds,
              "seconds that a connection is kept without a request");
}

}  // namespace

std::optional<CommandLine> parse_command_line(int argc, char** argv) {
  CommandLine line;
  CLI::App app("Serves ONNX models over HTTP (Open Inference Protocol, version 2).", "axrun-serve");
  app.footer(
      "Prints 'listening on http://HOST:PORT' on stdout when it does, and 'health on ...' with "
      "--health-port.\n"
      "SIGINT, SIGTERM and SIGHUP end it in order. Exit codes: 0 ok, 1 command line or address, 2 a model "
      "that\n"
      "cannot be served, 70 internal error. Requests, answers and limits: runtime/serve/README.md.");
  app.set_version_flag("--version",
                       fmt::format("axrun-serve {} ({})", runtime::version(), runtime::build_text()));
  app.add_option("MODEL", line.models, "FILE or NAME=FILE; one or more")->required();
  app.add_option("--host", line.server.host, "address to listen on")->capture_default_str();
  app.add_option("--port", line.server.port, "0: any that is free")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  app.add_option(
         "--health-port", line.server.health_port,
         "another port, with a thread of its own, where /v2/health/* and /metrics are answered, too; 0: "
         "any that is free")
      ->check(CLI::Range(0, 65535));
  app.add_option("--threads", line.session.threads,
                 "of one inference; 0: every processor this process may use")
      ->check(CLI::Range(0, 4096));
  bool no_optimizer = false, no_cache = false;
  app.add_flag("--no-optimizer", no_optimizer, "keep the kernels that the models start with");
  app.add_option("--cache-dir", line.session.cache_dir,
                 "folder for what is kept between processes (AXRUN_CACHE_DIR, else ~/.cache/axrun)");
  app.add_flag("--no-cache", no_cache, "nothing is kept between processes, nor found");
  app.add_option("--operators", line.operator_libraries,
                 "a shared library with operators of your own; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--log", line.log_level,
                 "what is told on stderr: off, error, warn, info or debug (AXRUN_LOG)")
      ->check(CLI::IsMember({"off", "error", "warn", "info", "debug"}));
  add_limits(app, line.server);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& text) {  // help and version
    app.exit(text);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    throw Error(Fault::user, error.what());
  }
  line.session.optimize = !no_optimizer;
  line.session.use_cache = !no_cache;
  return line;
}

std::pair<std::string, std::string> name_and_file(const std::string& model) {
  const size_t equals = model.find('=');
  if (equals != std::string::npos && equals > 0) return {model.substr(0, equals), model.substr(equals + 1)};
  const std::filesystem::path path = std::filesystem::absolute(model);
  const std::string stem = path.stem().string();
  return {stem == "model" && path.has_parent_path() ? path.parent_path().filename().string() : stem, model};
}

}  // namespace axrun::serve
