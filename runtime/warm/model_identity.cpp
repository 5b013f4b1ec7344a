#include "runtime/warm/model_identity.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "ir/custom_operator.h"
#include "ir/error.h"
#include "runtime/cache/bytes.h"

namespace axrun::runtime {
namespace {

using cache::Writer;
using Key = std::pair<const void*, size_t>;

bool has_bytes(const ir::Tensor& tensor) {
  return tensor.defined() && tensor.type() != ir::ElementType::string && tensor.bytes() > 0;
}

void for_tensors(const ir::Graph& graph, const std::function<void(const ir::Tensor&)>& call) {
  for (const ir::Value& value : graph.values) call(value.constant);
  for (const ir::Node& node : graph.nodes) {
    for (const auto& [name, attribute] : node.attributes) {
      call(attribute.tensor);
      for (const ir::Tensor& tensor : attribute.tensors) call(tensor);
      if (attribute.graph) for_tensors(*attribute.graph, call);
      for (const auto& body : attribute.graphs) for_tensors(*body, call);
    }
  }
}

class Description {
 public:
  void add(const ir::Graph& graph) {
    count(graph.values.size());
    for (const ir::Value& value : graph.values) {
      out_.put(value.kind).put(value.type);
      add(value.dims);
      add(value.elements);
      add(value.constant);
    }
    count(graph.nodes.size());
    for (const ir::Node& node : graph.nodes) add(node);
    ids(graph.inputs);
    ids(graph.outputs);
    count(graph.captures.size());
    for (const auto& [outer, inner] : graph.captures) out_.put(outer).put(inner);
  }
  const std::string& text() const { return out_.text(); }

 private:
  void count(size_t number) { out_.put(static_cast<uint64_t>(number)); }
  void ids(const std::vector<ir::ValueId>& list) {
    count(list.size());
    for (const ir::ValueId id : list) out_.put(id);
  }
  void add(const std::optional<ir::Dims>& dims) {
    out_.put(dims.has_value());
    if (!dims) return;
    count(dims->size());
    for (const ir::Dim& dim : *dims) {
      out_.put(dim.is_constant());
      dim.is_constant() ? out_.put(dim.value()) : out_.put(dim.to_string());
    }
  }
  void add(const ir::Tensor& tensor) {
    out_.put(tensor.type());
    if (!tensor.defined()) return;
    count(tensor.shape().size());
    for (const int64_t extent : tensor.shape()) out_.put(extent);
    if (tensor.type() == ir::ElementType::string) {
      for (int64_t k = 0; k < tensor.size(); ++k) out_.put(std::string_view(tensor.strings()[k]));
    }
  }
  void add(const ir::Node& node) {
    out_.put(node.domain).put(node.op).put(node.version);
    out_.put(node.custom != nullptr);
    if (node.custom != nullptr) out_.put(node.custom->revision());
    ids(node.inputs);
    ids(node.outputs);
    count(node.attributes.size());
    for (const auto& [name, attribute] : node.attributes) {
      out_.put(name).put(attribute.kind).put(attribute.integer).put(attribute.real).put(attribute.string);
      count(attribute.integers.size());
      for (const int64_t one : attribute.integers) out_.put(one);
      count(attribute.reals.size());
      for (const double one : attribute.reals) out_.put(one);
      count(attribute.strings.size());
      for (const std::string& one : attribute.strings) out_.put(one);
      add(attribute.tensor);
      count(attribute.tensors.size());
      for (const ir::Tensor& one : attribute.tensors) add(one);
      out_.put(attribute.graph != nullptr);
      if (attribute.graph) add(*attribute.graph);
      count(attribute.graphs.size());
      for (const auto& body : attribute.graphs) add(*body);
    }
  }

  Writer out_;
};

}  // namespace

std::optional<cache::Hash> Contents::known(const void* address, size_t bytes) const {
  const auto found = hashes_.find({address, bytes});
  return found == hashes_.end() ? std::nullopt : std::optional(found->second);
}

void Contents::meet(const ir::Graph& graph, ThreadPool& pool) {
  std::vector<ir::Tensor> constants;
  for_tensors(graph, [&](const ir::Tensor& tensor) {
    if (has_bytes(tensor)) constants.push_back(tensor);
  });
  meet(constants, pool);
}

void Contents::meet(const std::vector<ir::Tensor>& constants, ThreadPool& pool) {
  std::map<Key, cache::Hash> fresh;
  for (const ir::Tensor& tensor : constants) {
    if (!has_bytes(tensor)) continue;
    const Key key{tensor.data(), tensor.bytes()};
    if (hashes_.count(key) == 0) fresh.try_emplace(key);
  }
  // The largest first, so that threads end together.
  std::vector<std::pair<const Key, cache::Hash>*> order;
  for (auto& one : fresh) order.push_back(&one);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return a->first.second > b->first.second; });
  constexpr size_t large = size_t{1} << 18;
  const auto larger =
      static_cast<int64_t>(std::partition_point(order.begin(), order.end(),
                                                [](const auto* one) { return one->first.second >= large; }) -
                           order.begin());
  const auto hash = [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      auto& [key, value] = *order[static_cast<size_t>(k)];
      value = cache::hash_of_bytes(key.first, key.second);
    }
  };
  pool.parallel_for(larger, 1, hash);
  hash(larger, static_cast<int64_t>(order.size()));
  hashes_.merge(fresh);
}

cache::Hash structure_of(const ir::Graph& graph) {
  Description description;
  description.add(graph);
  return cache::hash_of_bytes(description.text().data(), description.text().size());
}

cache::Hash identity_of(const ir::Graph& graph, const cache::Hash& structure, const Contents& contents) {
  Writer out;
  const auto put = [&](const cache::Hash& hash) {
    for (const uint8_t byte : hash) out.put(byte);
  };
  put(structure);
  for_tensors(graph, [&](const ir::Tensor& tensor) {
    if (!has_bytes(tensor)) return;
    const auto hash = contents.known(tensor.data(), tensor.bytes());
    AXRUN_ASSERT(hash.has_value());
    put(*hash);
  });
  return cache::hash_of_bytes(out.text().data(), out.text().size());
}

}  // namespace axrun::runtime
