// axrun-serve: models behind the Open Inference Protocol.
#include <fmt/format.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <pthread.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "ir/error.h"
#include "runtime/c_api_operators.h"
#include "runtime/log_to_stderr.h"
#include "runtime/serve/server.h"

namespace axrun::serve {
namespace {

/// NAME=FILE; without a name the file's, or its folder's where that is called model.onnx.
std::pair<std::string, std::string> name_and_file(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals != std::string::npos && equals > 0) return {text.substr(0, equals), text.substr(equals + 1)};
  const std::filesystem::path path = std::filesystem::absolute(text);
  const std::string stem = path.stem().string();
  return {stem == "model" && path.has_parent_path() ? path.parent_path().filename().string() : stem, text};
}

/// Requests and answers of a service come and go, and are alike: with their pages given back to the system
/// after each of them, and faulted in again for the next, a request of half a millisecond took 1.4 times as
/// long.
void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int own_mapping_from = 32 << 20, most_kept = 128 << 20;
  mallopt(M_MMAP_THRESHOLD, own_mapping_from);
  mallopt(M_TRIM_THRESHOLD, most_kept);
#endif
}

int serve_models(int argc, char** argv) {
  CLI::App app("Serves ONNX models over HTTP (Open Inference Protocol, version 2).", "axrun-serve");
  std::vector<std::string> files;
  ServerOptions options;
  int threads = 0;
  bool no_optimizer = false;
  std::vector<std::string> libraries;
  app.add_option("MODEL", files, "FILE or NAME=FILE; one or more")->required();
  app.add_option("--host", options.host, "address to listen on")->capture_default_str();
  app.add_option("--port", options.port, "0: any that is free")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  app.add_option("--threads", threads, "of one inference; 0: every processor this process may use")
      ->check(CLI::Range(0, 4096));
  app.add_option("--concurrency", options.concurrency, "inferences of one model at the same time")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--queue", options.queue, "inferences of one model that may wait")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  app.add_option("--connections", options.connections, "served at the same time")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--timeout", options.timeout_seconds, "seconds of one inference; 0: none")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();
  app.add_flag("--no-optimizer", no_optimizer, "keep the kernels that the models start with");
  app.add_option("--operators", libraries, "a shared library with operators of your own; may be repeated")
      ->allow_extra_args(false);
  std::string log_level;
  app.add_option("--log", log_level, "what is told on stderr: off, error, warn, info or debug (AXRUN_LOG)")
      ->check(CLI::IsMember({"off", "error", "warn", "info", "debug"}));
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    throw Error(Fault::user, error.what());
  }

  runtime::log_to_stderr(log_level);
  // The signals that end a service are taken by a thread that waits for them; all threads inherit the mask.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  std::signal(SIGPIPE, SIG_IGN);

  const auto operators = c_api::operators_of(libraries);
  std::vector<ServedModel> models;
  for (const std::string& text : files) {
    const auto [name, file] = name_and_file(text);
    runtime::SessionOptions session;
    session.threads = threads;
    session.optimize = !no_optimizer;
    session.operators = operators;
    models.push_back({name, runtime::Session::load(file, session)});
  }
  Server server(std::move(models), options);
  const int port = server.bind();
  // To stdout and at once: scripts read the port there.
  if (runtime::logs(runtime::LogLevel::info))
    runtime::log(
        {runtime::LogLevel::info, "listening", {{"host", options.host}, {"port", std::to_string(port)}}});
  fmt::print("listening on http://{}:{}\n", options.host, port);
  std::fflush(stdout);
  std::thread waiting([&] {
    int signal = 0;
    sigwait(&ends, &signal);
    server.stop();
  });
  server.serve();
  if (runtime::logs(runtime::LogLevel::info)) runtime::log({runtime::LogLevel::info, "stopping", {}});
  pthread_kill(waiting.native_handle(), SIGTERM);  // where it has stopped by itself
  waiting.join();
  return 0;
}

}  // namespace
}  // namespace axrun::serve

int main(int argc, char** argv) {
  axrun::serve::keep_freed_memory();
  try {
    return axrun::serve::serve_models(argc, argv);
  } catch (const axrun::Error& error) {
    fmt::print(stderr, "axrun-serve: error: {}\n", error.what());
    switch (error.fault()) {
      case axrun::Fault::user:
        return 1;
      case axrun::Fault::model:
      case axrun::Fault::unsupported:
        return 2;
      case axrun::Fault::internal:
        break;
    }
    return 70;
  } catch (const std::exception& error) {
    fmt::print(stderr, "axrun-serve: error: {}\n", error.what());
    return 70;
  }
}
