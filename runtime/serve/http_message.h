#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/serve/held_bytes.h"

/// HTTP messages as the service sees them: without connections, and without the HTTP library.
namespace axrun::serve {

/// What precedes a request's body. Header fields that are not there are empty.
struct RequestHead {
  std::string method;
  std::string target;          ///< as the request line has it
  std::string from;            ///< the client's address
  std::string json_length;     ///< Inference-Header-Content-Length
  std::string content_coding;  ///< Content-Encoding
  std::string accept_coding;   ///< Accept-Encoding
};

/// A request's body.
struct Message {
  std::string bytes;
  HeldBytes held;  ///< counts the bytes
};

struct HttpAnswer {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  HeldBytes held;  ///< counts the body of an inference's answer
};

}  // namespace axrun::serve
