#include "runtime/serve/content_coding.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "runtime/serve/refusal.h"

namespace axrun::serve {
namespace {

/// zlib's code for a window of 32 KiB; 16 more make it gzip, 32 more recognise what comes.
constexpr int window_bits = 15, as_gzip = 16, as_it_comes = 32;
/// An answer is compressed once and sent once: most of what can be saved is saved by the fastest level.
constexpr int level = Z_BEST_SPEED;
/// Fits into one packet either way.
constexpr size_t smallest_worth_it = 1024;

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool is_compressed(std::string_view coding) {
  return same_word(coding, "gzip") || same_word(coding, "x-gzip") || same_word(coding, "deflate");
}

/// zlib's input lengths are of 32 bits.
uInt piece_of(size_t bytes) {
  return static_cast<uInt>(std::min<size_t>(bytes, std::numeric_limits<uInt>::max()));
}

struct Inflater {
  z_stream stream = {};
  Inflater() {
    if (inflateInit2(&stream, window_bits + as_it_comes) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
};

/// q=0 in "gzip;q=0" refuses; without q everything named is welcome.
bool is_welcome(std::string_view parameters) {
  const size_t q = parameters.find("q=");
  if (q == std::string_view::npos) return true;
  const std::string_view text = trimmed(parameters.substr(q + 2));
  return text.find_first_not_of("0.") != std::string_view::npos;
}

/// gzip before deflate; neither: empty.
std::string_view preferred_coding(std::string_view accept) {
  std::string_view best;
  while (!accept.empty()) {
    const size_t comma = accept.find(',');
    const std::string_view one = accept.substr(0, comma);
    accept.remove_prefix(std::min(comma == std::string_view::npos ? comma : comma + 1, accept.size()));
    const size_t semicolon = std::min(one.find(';'), one.size());
    const std::string_view name = trimmed(one.substr(0, semicolon));
    if (!is_welcome(one.substr(semicolon))) continue;
    if (same_word(name, "gzip")) return "gzip";
    if (same_word(name, "deflate")) best = "deflate";
  }
  return best;
}

/// Empty where it does not become smaller.
std::string compressed(const std::string& plain, std::string_view coding) {
  z_stream stream = {};
  const int bits = coding == "gzip" ? window_bits + as_gzip : window_bits;
  if (plain.size() > std::numeric_limits<uInt>::max() ||
      deflateInit2(&stream, level, Z_DEFLATED, bits, MAX_MEM_LEVEL - 1, Z_DEFAULT_STRATEGY) != Z_OK)
    return {};
  std::string packed(plain.size(), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const bool whole = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  packed.resize(whole ? stream.total_out : 0);
  deflateEnd(&stream);
  return packed;
}

}  // namespace

bool is_known_coding(std::string_view coding) {
  return coding.empty() || same_word(coding, "identity") || is_compressed(coding);
}

Message decoded(Message message, std::string_view coding, size_t most_bytes) {
  if (!is_compressed(coding)) return message;
  Inflater inflater;
  z_stream& stream = inflater.stream;
  Message plain;
  if (message.held.limit() != nullptr) plain.held = HeldBytes(*message.held.limit());
  std::string_view rest = message.bytes;
  bool whole = false;
  std::array<char, 64 << 10> piece;
  while (!whole || !rest.empty()) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest.data()));
    stream.avail_in = piece_of(rest.size());
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    const uInt before = stream.avail_in;
    const int result = inflate(&stream, Z_NO_FLUSH);
    rest.remove_prefix(before - stream.avail_in);
    const size_t bytes = piece.size() - stream.avail_out;
    if (plain.bytes.size() + bytes > most_bytes)
      throw Refusal{413, "too_large", fmt::format("the message has more than {} bytes", most_bytes)};
    if (!plain.held.grow(bytes)) throw Refusal{503, "busy", "too many messages are held already"};
    plain.bytes.append(piece.data(), bytes);
    whole = result == Z_STREAM_END;
    if (whole) {
      inflateReset(&stream);  // gzip data may be followed by more of it
    } else if (result != Z_OK) {
      throw Refusal{400, "user", fmt::format("the message is no {} data, or ends early", coding)};
    }
  }
  return plain;
}

void encode(HttpAnswer& answer, std::string_view accept_coding) {
  const bool is_text = answer.type.starts_with("application/json") || answer.type.starts_with("text/");
  if (!is_text || answer.body.size() < smallest_worth_it) return;
  const std::string_view coding = preferred_coding(accept_coding);
  if (coding.empty()) return;
  std::string packed = compressed(answer.body, coding);
  if (packed.empty()) return;
  answer.body = std::move(packed);
  answer.headers.emplace_back("Content-Encoding", coding);
  answer.headers.emplace_back("Vary", "Accept-Encoding");
}

}  // namespace axrun::serve
