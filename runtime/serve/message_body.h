#pragma once

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/optional.hpp>
#include <cstdint>
#include <new>

#include "runtime/serve/http_message.h"

namespace axrun::serve {

/// A body for Beast's parser: bytes that are counted while they arrive, chunked or not. Fails with
/// not_enough_memory where they may not be held.
struct MessageBody {
  using value_type = Message;

  class reader {
   public:
    template <bool is_request, class Fields>
    reader(boost::beast::http::header<is_request, Fields>&, Message& message) : message_(message) {}

    void init(const boost::optional<std::uint64_t>& length, boost::beast::error_code& error) {
      error = {};
      if (length) {
        const auto bytes = static_cast<size_t>(std::min<std::uint64_t>(*length, most_reserved));
        attempt([&] { message_.bytes.reserve(bytes); }, error);
      }
    }

    template <class Buffers>
    size_t put(const Buffers& buffers, boost::beast::error_code& error) {
      error = {};
      size_t taken = 0;
      for (const boost::asio::const_buffer piece : boost::beast::buffers_range_ref(buffers)) {
        if (!message_.held.grow(piece.size())) {
          error = no_memory();
          break;
        }
        attempt([&] { message_.bytes.append(static_cast<const char*>(piece.data()), piece.size()); }, error);
        if (error) break;
        taken += piece.size();
      }
      return taken;
    }

    void finish(boost::beast::error_code& error) { error = {}; }

   private:
    /// A length that is only said takes no more of the address space than this.
    static constexpr std::uint64_t most_reserved = 8 << 20;

    static boost::beast::error_code no_memory() {
      return make_error_code(boost::system::errc::not_enough_memory);
    }
    template <class Action>
    static void attempt(const Action& action, boost::beast::error_code& error) {
      try {
        action();
      } catch (const std::bad_alloc&) {
        error = no_memory();
      }
    }

    Message& message_;
  };
};

}  // namespace axrun::serve
