#pragma once

// clang-format off
#include <utility>  // first: the headers of Boost 1.74 that follow use std::exchange without it

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
// clang-format on

namespace axrun::serve {

/// The completion token of operations that a coroutine awaits and whose failures it handles.
inline auto into(boost::system::error_code& error) {
  return boost::asio::redirect_error(boost::asio::use_awaitable, error);
}

}  // namespace axrun::serve
