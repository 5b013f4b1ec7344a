#pragma once

#include <exception>
#include <string>
#include <utility>

#include "ir/error.h"

namespace axrun {

/// What of a model a failure is about. Members are empty where it is no single thing, or where nobody knows.
struct ErrorPlace {
  std::string input;  ///< an input of the model, by its name
  std::string node;   ///< a node, by its name: the innermost one, where bodies are run
  std::string op;     ///< its operator

  bool empty() const { return input.empty() && node.empty() && op.empty(); }
  static ErrorPlace of_input(std::string name) { return {std::move(name), {}, {}}; }
  static ErrorPlace of_node(std::string name, std::string op) { return {{}, std::move(name), std::move(op)}; }
};

/// An Error that knows it.
class AXRUN_API PlacedError : public Error {
 public:
  PlacedError(Fault fault, const std::string& text, ErrorPlace place)
      : Error(fault, text), place_(std::move(place)) {}
  const ErrorPlace& place() const { return place_; }

 private:
  ErrorPlace place_;
};

/// Empty for any other kind of failure.
AXRUN_API ErrorPlace error_place(const std::exception& error);

/// The same failure with another text, and with this place where it had none.
[[noreturn]] void throw_as(const Error& error, const std::string& text, const ErrorPlace& otherwise = {});

}  // namespace axrun
