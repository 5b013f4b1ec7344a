// Signatures as bytes and back.
#include <limits>
#include <utility>

#include "ir/error.h"
#include "jit/signature.h"

namespace axrun::jit {
namespace {

constexpr size_t longest_name = size_t{64} << 10, longest_text = size_t{16} << 20;

void put_count(ByteWriter& out, size_t count) { out.put(static_cast<uint32_t>(count)); }

void put(ByteWriter& out, const std::vector<int>& list) {
  put_count(out, list.size());
  for (const int one : list) out.put(one);
}
std::vector<int> get_list(ByteReader& in) {
  std::vector<int> list(in.count(sizeof(int)));
  for (int& one : list) one = in.get<int>();
  return list;
}

void put(ByteWriter& out, const ir::Dim& dim) {
  out.put(dim.is_constant());
  dim.is_constant() ? out.put(dim.value()) : out.put(std::string_view(dim.to_string()));
}
ir::Dim get_dim(ByteReader& in) {
  if (in.get<bool>()) return in.get<int64_t>();
  const std::string text(in.text(longest_name));
  if (in.failed()) return {};
  try {
    return ir::parse_dim(text);
  } catch (const Error&) {
    in.fail();
    return {};
  }
}

}  // namespace

void write(ByteWriter& out, const Signature& signature) {
  out.put(std::string_view(signature.name)).put(signature.arguments).put(signature.flag_argument);
  put_count(out, signature.sizes.size());
  for (const ir::loop::Size& size : signature.sizes)
    out.put(std::string_view(size.name)).put(size.low).put(size.high).put(size.divisor);
  put_count(out, signature.buffers.size());
  for (const Signature::Buffer& buffer : signature.buffers) {
    out.put(buffer.role).put(buffer.type).put(buffer.argument).put(buffer.per_worker);
    put_count(out, buffer.dims.size());
    for (const ir::Dim& dim : buffer.dims) put(out, dim);
  }
  put_count(out, signature.phases.size());
  for (const Signature::Phase& phase : signature.phases) {
    out.put(phase.parallel).put(phase.step);
    put(out, phase.extent);
    put(out, phase.reads);
    put(out, phase.writes);
    put(out, phase.sizes);
    put_count(out, phase.lanes.size());
    for (const LaneTerm& term : phase.lanes) {
      out.put(term.lanes);
      put_count(out, term.loops.size());
      for (const LaneTerm::Loop& loop : term.loops) {
        put(out, loop.extent);
        out.put(loop.step);
      }
    }
    out.put(phase.text.has_value());
    if (!phase.text) continue;
    out.put(std::string_view(phase.text->text));
    put(out, phase.text->buffers);
  }
}

Signature read_signature(ByteReader& in) {
  Signature signature;
  signature.name = in.text(longest_name);
  signature.arguments = in.get<int>();
  signature.flag_argument = in.get<int>();
  signature.sizes.resize(in.count(28));
  for (ir::loop::Size& size : signature.sizes) {
    size.name = in.text(longest_name);
    size.low = in.get<int64_t>();
    size.high = in.get<int64_t>();
    size.divisor = in.get<int64_t>();
  }
  signature.buffers.resize(in.count(11));
  for (Signature::Buffer& buffer : signature.buffers) {
    buffer.role = in.get<ir::loop::Role>();
    buffer.type = in.get<ir::ElementType>();
    buffer.argument = in.get<int>();
    buffer.per_worker = in.get<bool>();
    buffer.dims.resize(in.count(5));
    for (ir::Dim& dim : buffer.dims) dim = get_dim(in);
  }
  signature.phases.resize(in.count(31));
  for (Signature::Phase& phase : signature.phases) {
    phase.parallel = in.get<bool>();
    phase.step = in.get<int64_t>();
    phase.extent = get_dim(in);
    phase.reads = get_list(in);
    phase.writes = get_list(in);
    phase.sizes = get_list(in);
    phase.lanes.resize(in.count(12));
    for (LaneTerm& term : phase.lanes) {
      term.lanes = in.get<double>();
      term.loops.resize(in.count(13));
      for (LaneTerm::Loop& loop : term.loops) {
        loop.extent = get_dim(in);
        loop.step = in.get<int64_t>();
      }
    }
    if (!in.get<bool>()) continue;
    phase.text.emplace();
    phase.text->text = in.text(longest_text);
    phase.text->buffers = get_list(in);
  }
  return signature;
}

}  // namespace axrun::jit
