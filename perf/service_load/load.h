#pragma once

#include <string>
#include <vector>

namespace axrun::perf {

/// Requests of one kind at a steady rate, whatever the service does meanwhile.
struct Load {
  std::string host = "127.0.0.1";
  int port = 0;
  std::string path;
  std::string body;
  size_t json_bytes = 0;  ///< the part of the body that is JSON, as the protocol's header says; 0: all of it
  int requests = 0;
  double rate = 0;  ///< a second; 0: each as soon as one before it is answered
  int connections = 1;
};

struct LoadResult {
  std::vector<double> microseconds;  ///< of every request, in no order
  double seconds = 0;
  int failed = 0;
  std::string failure;  ///< the first one
};

/// The time of a request begins when its turn is by the rate, not when a connection is free for it: a service
/// that stands still for a while makes all the requests late that came meanwhile.
LoadResult put_under_load(const Load& load);

}  // namespace axrun::perf
