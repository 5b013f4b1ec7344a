#include "perf/service_load/load.h"

#include <httplib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <sys/prctl.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

namespace axrun::perf {
namespace {

using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

/// What the connections share.
struct Shared {
  const Load& load;
  const Clock::time_point start;
  LoadResult& result;
  std::atomic<int> next{0};
  std::mutex mutex{};
};

void use_connection(Shared& shared) {
  const Load& load = shared.load;
  // The system may wake a thread this much later than it asks for, in nanoseconds; 50,000 without this.
  prctl(PR_SET_TIMERSLACK, 1UL);
  httplib::Client client(load.host, load.port);
  client.set_keep_alive(true);
  client.set_tcp_nodelay(true);
  httplib::Headers headers;
  if (load.json_bytes > 0)
    headers.emplace("Inference-Header-Content-Length", std::to_string(load.json_bytes));
  std::vector<double> times;
  int failed = 0;
  std::string failure;
  for (int k = shared.next++; k < load.requests; k = shared.next++) {
    Clock::time_point turn = Clock::now();
    if (load.rate > 0) {
      turn = shared.start +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(k / load.rate));
      std::this_thread::sleep_until(turn);
    }
    const httplib::Result answer = client.Post(
        load.path, headers, load.body, load.json_bytes > 0 ? "application/octet-stream" : "application/json");
    times.push_back(microseconds_since(turn));
    if (answer && answer->status == 200) continue;
    if (failed++ == 0) failure = answer ? answer->body.substr(0, 300) : httplib::to_string(answer.error());
  }
  const std::lock_guard lock(shared.mutex);
  LoadResult& result = shared.result;
  result.microseconds.insert(result.microseconds.end(), times.begin(), times.end());
  result.failed += failed;
  if (result.failure.empty()) result.failure = failure;
}

}  // namespace

LoadResult put_under_load(const Load& load) {
#ifdef __GLIBC__
  // Messages come and go: without this their pages do, too, some twenty faults for each request.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 128 << 20);
#endif
  LoadResult result;
  Shared shared{load, Clock::now(), result};
  std::vector<std::thread> connections;
  for (int k = 0; k < load.connections; ++k) connections.emplace_back([&] { use_connection(shared); });
  for (std::thread& connection : connections) connection.join();
  result.seconds = microseconds_since(shared.start) * 1e-6;
  return result;
}

}  // namespace axrun::perf
