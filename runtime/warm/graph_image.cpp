#include "runtime/warm/graph_image.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "ir/error.h"
#include "runtime/warm/lists.h"
#include "runtime/warm/node_image.h"

namespace axrun::runtime {
namespace {

using cache::Reader;
using cache::Writer;
using ir::Attribute;
using ir::Graph;
using ir::Node;
using ir::Tensor;
using ir::ValueId;

constexpr uint32_t is_new = ~uint32_t{0};
/// Of constants in files.
constexpr size_t alignment = 64;

size_t aligned(size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

/// Attributes of nodes that stay do not change.
bool is_same(const Node& a, const Node& b) {
  return a.domain == b.domain && a.op == b.op && a.version == b.version && a.inputs == b.inputs &&
         a.outputs == b.outputs && a.rewritten == b.rewritten && a.attributes.size() == b.attributes.size();
}

class ImageWriter {
 public:
  ImageWriter(const Graph& made, const Graph& from) : made_(made), from_(from) {}

  std::optional<GraphImage> run() {
    if (made_.values.size() < from_.values.size() || made_.inputs != from_.inputs ||
        made_.outputs != from_.outputs || made_.captures != from_.captures)
      return std::nullopt;
    out_.put(static_cast<uint64_t>(from_.values.size()));
    values();
    put_count(out_, made_.nodes.size());
    std::map<std::string, uint32_t> places;
    for (uint32_t n = 0; n < from_.nodes.size(); ++n) places.emplace(from_.nodes[n].name, n);
    for (const Node& node : made_.nodes) {
      const auto place = places.find(node.name);
      if (place != places.end() && is_same(node, from_.nodes[place->second])) {
        out_.put(place->second);
        continue;
      }
      if (!has_image(node)) return std::nullopt;
      out_.put(is_new);
      write_node(out_, node);
    }
    image_.text = std::move(out_).text();
    return std::move(image_);
  }

 private:
  void values() {
    Writer changes;
    uint32_t changed = 0;
    for (size_t id = 0; id < from_.values.size(); ++id) {
      const Tensor &now = made_.values[id].constant, &before = from_.values[id].constant;
      if (now.data() == before.data() && now.type() == before.type()) continue;
      changes.put(static_cast<ValueId>(id));
      put(changes, now);
      ++changed;
    }
    Writer added;
    for (size_t id = from_.values.size(); id < made_.values.size(); ++id) {
      const ir::Value& value = made_.values[id];
      added.put(value.name).put(value.kind).put(value.type);
      write_dims(added, value.dims);
      put(added, value.constant);
    }
    out_.put(changed).append(changes);
    put_count(out_, made_.values.size() - from_.values.size());
    out_.append(added);
  }
  void put(Writer& out, const Tensor& tensor) {
    out.put(tensor.type());
    if (!tensor.defined()) return;
    put_all(out, tensor.shape());
    image_.constants.push_back(tensor);
  }
  const Graph &made_, &from_;
  Writer out_;
  GraphImage image_;
};

class ImageReader {
 public:
  ImageReader(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, const Graph& from)
      : bytes_(bytes), owner_(std::move(owner)), from_(from), in_({}) {}

  std::shared_ptr<Graph> run() {
    Reader head({reinterpret_cast<const char*>(bytes_.data()), bytes_.size()});
    const std::string_view text = head.text(bytes_.size());
    if (head.failed()) return nullptr;
    at_ = aligned(bytes_.size() - head.left());
    in_ = Reader(text);
    if (in_.get<uint64_t>() != from_.values.size()) return nullptr;
    auto made = std::make_shared<Graph>(from_);
    values(*made);
    nodes(*made);
    if (!in_.finished() || !ir::is_whole(*made)) return nullptr;
    return made;
  }

 private:
  void values(Graph& made) {
    const size_t changed = in_.count(5);
    for (size_t k = 0; k < changed; ++k) {
      const auto id = in_.get<ValueId>();
      if (id < 0 || static_cast<size_t>(id) >= made.values.size()) return in_.fail();
      made.value(id).constant = constant();
    }
    const size_t added = in_.count(8);
    for (size_t k = 0; k < added; ++k) {
      ir::Value value;
      value.name = in_.text(longest_name);
      value.kind = in_.get<ir::ValueKind>();
      value.type = in_.get<ir::ElementType>();
      value.dims = read_dims(in_);
      value.constant = constant();
      if (!is_right(value)) in_.fail();
      if (in_.failed()) return;
      made.add_value(std::move(value));
    }
  }

  /// What is said of a constant is what it is.
  static bool is_right(const ir::Value& value) {
    if (value.kind != ir::ValueKind::tensor) return false;
    const bool has_type = value.type != ir::ElementType::undefined;
    if (has_type && ir::size_of(value.type) == 0) return false;
    const Tensor& constant = value.constant;
    if (!constant.defined()) return true;
    return (!has_type || value.type == constant.type()) &&
           (!value.dims || *value.dims == ir::to_dims(constant.shape()));
  }

  Tensor constant() {
    const auto type = in_.get<ir::ElementType>();
    if (type == ir::ElementType::undefined) return {};
    const ir::Shape shape = get_all<int64_t>(in_);
    if (in_.failed() || ir::size_of(type) == 0) {
      in_.fail();
      return {};
    }
    const auto count = static_cast<size_t>(ir::element_count(shape));
    const size_t size = ir::size_of(type), there = bytes_.size();
    if (at_ > there || count > (there - at_) / size) {
      in_.fail();
      return {};
    }
    // Not writable: whoever tries ends there.
    auto* const data = const_cast<std::byte*>(bytes_.data()) + at_;
    at_ += aligned(count * size);
    return Tensor::borrow(type, shape, data, owner_);
  }

  void nodes(Graph& made) {
    made.nodes.clear();
    const size_t count = in_.count(4);
    std::vector<bool> taken(from_.nodes.size(), false);
    for (size_t k = 0; k < count && !in_.failed(); ++k) {
      const auto place = in_.get<uint32_t>();
      if (place == is_new) {
        made.nodes.push_back(read_node(in_));
      } else if (place < from_.nodes.size() && !taken[place]) {
        taken[place] = true;
        made.nodes.push_back(from_.nodes[place]);
      } else {
        in_.fail();
      }
      if (in_.failed()) return;
      for (const auto& ids : {made.nodes.back().inputs, made.nodes.back().outputs})
        for (const ValueId id : ids)
          if (id < ir::absent || (id >= 0 && static_cast<size_t>(id) >= made.values.size())) in_.fail();
    }
  }
  const std::span<const std::byte> bytes_;
  const std::shared_ptr<const void> owner_;
  const Graph& from_;
  Reader in_;
  size_t at_ = 0;  ///< of the next constant in the file
};

}  // namespace

size_t GraphImage::bytes() const {
  size_t bytes = aligned(sizeof(uint32_t) + text.size());
  for (const Tensor& tensor : constants) bytes += aligned(tensor.bytes());
  return bytes;
}

void GraphImage::write(std::span<std::byte> file) const {
  Writer head;
  head.put(text);
  std::memcpy(file.data(), head.text().data(), head.text().size());
  size_t at = aligned(head.text().size());
  for (const Tensor& tensor : constants) {
    if (tensor.bytes() > 0) std::memcpy(file.data() + at, tensor.data(), tensor.bytes());
    at += aligned(tensor.bytes());
  }
}

std::optional<GraphImage> image_of(const Graph& made, const Graph& from) {
  return ImageWriter(made, from).run();
}

std::string GraphImage::bytes_in_one() const {
  std::string all(bytes(), '\0');
  write(std::as_writable_bytes(std::span(all)));
  return all;
}

std::shared_ptr<Graph> read_graph(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                                  const Graph& from) {
  try {
    return ImageReader(bytes, std::move(owner), from).run();
  } catch (const Error&) {
    return nullptr;  // sizes that cannot be
  }
}

std::shared_ptr<Graph> read_graph(std::string_view bytes, const Graph& from) {
  const auto owner = std::make_shared<Tensor>(
      Tensor::allocate_uninitialized(ir::ElementType::u8, {static_cast<int64_t>(bytes.size())}));
  std::memcpy(owner->data(), bytes.data(), bytes.size());
  return read_graph({owner->as<std::byte>(), bytes.size()}, owner, from);
}

}  // namespace axrun::runtime
