#include "runtime/optimizer/graph_outline.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "ir/error.h"
#include "runtime/warm/lists.h"
#include "runtime/warm/node_image.h"

namespace axrun::runtime {
namespace {

using cache::Reader;
using cache::Writer;
using ir::Tensor;
using ir::ValueId;

/// Sizes, axes, indices, numbers.
constexpr size_t most_bytes_sent = 1024;
constexpr size_t place_bytes = 64;

/// 64 bits of all bytes, eight at a time.
uint64_t hash_of_bytes(const void* data, size_t bytes) {
  constexpr uint64_t factor = 0x9e3779b97f4a7c15u;
  const auto* from = static_cast<const unsigned char*>(data);
  uint64_t hash = 0xcbf29ce484222325u ^ bytes;
  const auto add = [&](uint64_t word) {
    hash = std::rotl((hash ^ word) * factor, 29);
    hash ^= hash >> 32;
  };
  uint64_t word = 0;
  for (; bytes >= sizeof(word); bytes -= sizeof(word), from += sizeof(word)) {
    std::memcpy(&word, from, sizeof(word));
    add(word);
  }
  word = 0;
  if (bytes > 0) std::memcpy(&word, from, bytes);
  add(word);
  return hash * factor;
}

bool is_sent(const Tensor& tensor) {
  return tensor.type() != ir::ElementType::string && tensor.bytes() <= most_bytes_sent;
}

enum class Held : uint8_t { nothing, elements, left_out, that_of_the_graph };

class Outliner {
 public:
  Outliner(const ir::Inference& facts, ConstantContents contents) : facts_(facts), contents_(contents) {}

  std::string run() {
    const ir::Graph& graph = facts_.graph();
    out_.put(graph.name);
    put_count(out_, graph.values.size());
    for (size_t id = 0; id < graph.values.size(); ++id) put(graph.values[id], facts_.facts()[id]);
    put_count(out_, graph.nodes.size());
    for (const ir::Node& node : graph.nodes) write_node(out_, has_image(node) ? node : without_image(node));
    put_all(out_, graph.inputs);
    put_all(out_, graph.outputs);
    put_count(out_, graph.captures.size());
    for (const auto& [outer, inner] : graph.captures) out_.put(outer).put(inner);
    return std::move(out_).text();
  }

 private:
  static ir::Node without_image(const ir::Node& node) {
    ir::Node opaque;
    opaque.name = node.name;
    opaque.domain = "axrun";
    opaque.op = "Opaque";
    opaque.inputs = ir::reads_of(node);
    opaque.outputs = node.outputs;
    opaque.rewritten = node.rewritten;
    return opaque;
  }

  void put(const ir::Value& value, const ir::ValueFact& fact) {
    out_.put(value.name).put(value.kind).put(fact.type);
    write_dims(out_, fact.dims);
    write_dims(out_, fact.elements);
    put(value.constant);
    const bool is_same = value.constant.defined() && fact.constant.data() == value.constant.data() &&
                         fact.constant.type() == value.constant.type() &&
                         fact.constant.shape() == value.constant.shape();
    if (is_same) {
      out_.put(Held::that_of_the_graph);
    } else {
      put(fact.constant);
    }
  }

  void put(const Tensor& constant) {
    if (!constant.defined()) {
      out_.put(Held::nothing);
      return;
    }
    out_.put(is_sent(constant) ? Held::elements : Held::left_out).put(constant.type());
    put_all(out_, constant.shape());
    if (is_sent(constant)) {
      out_.put(std::string_view(static_cast<const char*>(constant.data()), constant.bytes()));
    } else {
      const bool is_looked_at =
          contents_ == ConstantContents::known && constant.type() != ir::ElementType::string;
      out_.put(is_looked_at ? hash_of_bytes(constant.data(), constant.bytes()) : uint64_t{0});
    }
  }

  const ir::Inference& facts_;
  const ConstantContents contents_;
  Writer out_;
};

/// Memory of so many places that cannot be touched.
std::shared_ptr<void> untouchable(size_t places) {
  const size_t bytes = std::max<size_t>(places, 1) * place_bytes;
  void* const memory = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return {memory, [bytes](void* mapped) { munmap(mapped, bytes); }};
}

}  // namespace

std::string write_outline(const ir::Inference& facts, ConstantContents contents) {
  return Outliner(facts, contents).run();
}

GraphOutline::GraphOutline(std::string_view bytes) {
  Reader in(bytes);
  graph_.name = in.text(longest_name);
  const size_t values = in.count(11);
  // Each value has two constants at most.
  nowhere_ = untouchable(2 * values);
  char* place = static_cast<char*>(nowhere_.get());
  const auto constant = [&](Held held) -> Tensor {
    if (held == Held::nothing) return {};
    const auto type = in.get<ir::ElementType>();
    const ir::Shape shape = get_all<int64_t>(in);
    if (held == Held::left_out) {
      char* const own = std::exchange(place, place + place_bytes);
      left_out_[own] = in.get<uint64_t>();
      return in.failed() ? Tensor() : Tensor::borrow(type, shape, own, nowhere_);
    }
    const std::string_view elements = in.text(most_bytes_sent);
    if (in.failed()) return {};
    Tensor tensor = Tensor::allocate_uninitialized(type, shape);
    if (tensor.bytes() != elements.size()) throw Error(Fault::user, "a constant has another size");
    if (!elements.empty()) std::memcpy(tensor.data(), elements.data(), elements.size());
    return tensor;
  };
  std::vector<ir::ValueFact> known;
  for (size_t id = 0; id < values && !in.failed(); ++id) {
    ir::Value value;
    ir::ValueFact fact;
    value.name = in.text(longest_name);
    value.kind = in.get<ir::ValueKind>();
    value.type = fact.type = in.get<ir::ElementType>();
    value.dims = fact.dims = read_dims(in);
    value.elements = fact.elements = read_dims(in);
    value.constant = constant(in.get<Held>());
    const auto held = in.get<Held>();
    fact.constant = held == Held::that_of_the_graph ? value.constant : constant(held);
    graph_.values.push_back(std::move(value));
    known.push_back(std::move(fact));
  }
  graph_.nodes.resize(in.count(21));
  for (ir::Node& node : graph_.nodes) node = read_node(in);
  graph_.inputs = get_all<ValueId>(in);
  graph_.outputs = get_all<ValueId>(in);
  graph_.captures.resize(in.count(8));
  for (auto& [outer, inner] : graph_.captures) {
    outer = in.get<ValueId>();
    inner = in.get<ValueId>();
  }
  require_finished(in, "an outline of a graph");
  facts_ = std::make_unique<ir::Inference>(graph_, ir::Inference::Options{}, std::move(known));
}

uint64_t GraphOutline::content(const Tensor& constant) const {
  const auto found = left_out_.find(constant.data());
  return found != left_out_.end() ? found->second : hash_of_bytes(constant.data(), constant.bytes());
}

}  // namespace axrun::runtime
