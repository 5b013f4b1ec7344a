// axrun-serve: models behind the Open Inference Protocol.
#include <fmt/format.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <pthread.h>

#include <csignal>
#include <cstdio>
#include <thread>

#include "ir/error.h"
#include "runtime/c_api_operators.h"
#include "runtime/log_to_stderr.h"
#include "runtime/serve/command_line.h"
#include "runtime/serve/server.h"

namespace axrun::serve {
namespace {

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

/// The signals that end the service: a closed terminal's is one, unless nohup or the like has it ignored.
sigset_t signals_that_end() {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  struct sigaction hangup = {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaddset(&ends, SIGHUP);
  return ends;
}

/// As it is written in a URL.
std::string url_of(const std::string& host, int port) {
  return host.find(':') == std::string::npos ? fmt::format("http://{}:{}", host, port)
                                             : fmt::format("http://[{}]:{}", host, port);
}

std::vector<ServedModel> load_models(const CommandLine& line) {
  const auto operators = c_api::operators_of(line.operator_libraries);
  std::vector<ServedModel> models;
  for (const std::string& text : line.models) {
    const auto [name, file] = name_and_file(text);
    runtime::SessionOptions session = line.session;
    session.operators = operators;
    models.push_back({name, runtime::Session::load(file, session)});
  }
  return models;
}

/// To stdout and at once: scripts read the ports there, whatever is logged.
void tell_ports(const std::string& host, const Server::Ports& ports) {
  if (runtime::logs(runtime::LogLevel::info)) {
    runtime::LogRecord record{
        runtime::LogLevel::info, "listening", {{"host", host}, {"port", std::to_string(ports.port)}}};
    if (ports.health_port) record.fields.emplace_back("health_port", std::to_string(*ports.health_port));
    runtime::log(std::move(record));
  }
  fmt::print("listening on {}\n", url_of(host, ports.port));
  if (ports.health_port) fmt::print("health on {}\n", url_of(host, *ports.health_port));
  std::fflush(stdout);
}

int serve_models(int argc, char** argv) {
  const std::optional<CommandLine> line = parse_command_line(argc, argv);
  if (!line) return 0;
  runtime::log_to_stderr(line->log_level);
  // Taken by a thread that waits for them; all threads inherit the mask.
  const sigset_t ends = signals_that_end();
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  std::signal(SIGPIPE, SIG_IGN);

  Server server(load_models(*line), line->server);
  tell_ports(line->server.host, server.bind());
  std::thread waiting([&] {
    int signal = 0;
    sigwait(&ends, &signal);
    if (runtime::logs(runtime::LogLevel::info))
      runtime::log({runtime::LogLevel::info, "stopping", {{"signal", std::to_string(signal)}}});
    server.stop();
  });
  server.serve();
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
