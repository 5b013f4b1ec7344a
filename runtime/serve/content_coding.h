#pragma once

#include <string>
#include <string_view>

#include "runtime/serve/http_message.h"

/// Compressed bodies: gzip and deflate (RFC 1950 and 1952), by zlib.
namespace axrun::serve {

/// Whether bodies with this Content-Encoding can be read. Empty: not compressed.
bool is_known_coding(std::string_view coding);

/// The message itself where its coding is none. Throws Refusal: 400 for damaged data, 413 where more than
/// most_bytes come out, 503 where the message's BufferLimit has no room for them.
Message decoded(Message message, std::string_view coding, size_t most_bytes);

/// Compresses an answer of text as Accept-Encoding prefers, where that makes it smaller.
void encode(HttpAnswer& answer, std::string_view accept_coding);

}  // namespace axrun::serve
