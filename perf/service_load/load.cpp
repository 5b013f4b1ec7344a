#include "perf/service_load/load.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <sys/prctl.h>

#include <atomic>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <mutex>
#include <thread>

namespace axrun::perf {

namespace net = boost::asio;
namespace http = boost::beast::http;

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

/// A connection that is opened when it is needed, and again when the service has closed it.
class Client {
 public:
  explicit Client(const Load& load) : load_(load), request_(http::verb::post, load.path, 11) {
    request_.set(http::field::host, load.host);
    request_.set(http::field::content_type,
                 load.json_bytes > 0 ? "application/octet-stream" : "application/json");
    if (load.json_bytes > 0) request_.set("Inference-Header-Content-Length", std::to_string(load.json_bytes));
    request_.body() = load.body;
    request_.prepare_payload();
  }

  /// What went wrong; empty: nothing.
  std::string post() {
    http::response<http::string_body> answer;
    try {
      if (!socket_.is_open()) connect();
      http::write(socket_, request_);
      http::read(socket_, buffer_, answer);
    } catch (const boost::system::system_error& error) {
      close();
      return error.what();
    }
    if (!answer.keep_alive()) close();
    return answer.result() == http::status::ok ? std::string() : answer.body().substr(0, 300);
  }

 private:
  void connect() {
    net::ip::tcp::resolver resolver(context_);
    net::connect(socket_, resolver.resolve(load_.host, std::to_string(load_.port)));
    socket_.set_option(net::ip::tcp::no_delay(true));
  }
  void close() {
    boost::system::error_code ignored;
    socket_.close(ignored);
    buffer_.clear();
  }

  const Load& load_;
  net::io_context context_{1};
  net::ip::tcp::socket socket_{context_};
  boost::beast::flat_buffer buffer_;
  http::request<http::string_body> request_;
};

void use_connection(Shared& shared) {
  const Load& load = shared.load;
  // The system may wake a thread this much later than it asks for, in nanoseconds; 50,000 without this.
  prctl(PR_SET_TIMERSLACK, 1UL);
  Client client(load);
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
    const std::string wrong = client.post();
    times.push_back(microseconds_since(turn));
    if (!wrong.empty() && failed++ == 0) failure = wrong;
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
