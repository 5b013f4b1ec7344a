#include "runtime/warm/node_image.h"

#include <algorithm>

#include "runtime/warm/lists.h"

namespace axrun::runtime {
namespace {

using cache::Reader;
using cache::Writer;
using ir::Attribute;

std::string word(Reader& in) { return std::string(in.text(longest_name)); }

}  // namespace

bool has_image(const ir::Node& node) {
  const auto fits = [](const std::string& text) { return text.size() <= longest_name; };
  return node.custom == nullptr && fits(node.name) && fits(node.domain) && fits(node.op) &&
         std::all_of(node.attributes.begin(), node.attributes.end(), [&](const auto& named) {
           const Attribute& attribute = named.second;
           const Attribute::Kind kind = attribute.kind;
           return kind != Attribute::Kind::tensor && kind != Attribute::Kind::tensors &&
                  kind != Attribute::Kind::graph && kind != Attribute::Kind::graphs && fits(named.first) &&
                  fits(attribute.string) &&
                  std::all_of(attribute.strings.begin(), attribute.strings.end(), fits);
         });
}

void write_node(Writer& out, const ir::Node& node) {
  out.put(node.name).put(node.domain).put(node.op).put(node.version).put(node.rewritten);
  put_all(out, node.inputs);
  put_all(out, node.outputs);
  put_count(out, node.attributes.size());
  for (const auto& [name, attribute] : node.attributes) {
    out.put(name).put(attribute.kind).put(attribute.integer).put(attribute.real).put(attribute.string);
    put_all(out, attribute.integers);
    put_all(out, attribute.reals);
    put_count(out, attribute.strings.size());
    for (const std::string& one : attribute.strings) out.put(one);
  }
}

ir::Node read_node(Reader& in) {
  ir::Node node;
  node.name = word(in);
  node.domain = word(in);
  node.op = word(in);
  node.version = in.get<int>();
  node.rewritten = in.get<bool>();
  node.inputs = get_all<ir::ValueId>(in);
  node.outputs = get_all<ir::ValueId>(in);
  const size_t attributes = in.count(37);
  for (size_t k = 0; k < attributes; ++k) {
    Attribute& attribute = node.attributes[word(in)];
    attribute.kind = in.get<Attribute::Kind>();
    attribute.integer = in.get<int64_t>();
    attribute.real = in.get<double>();
    attribute.string = word(in);
    attribute.integers = get_all<int64_t>(in);
    attribute.reals = get_all<double>(in);
    attribute.strings.resize(in.count(4));
    for (std::string& one : attribute.strings) one = word(in);
  }
  if (node.attributes.size() != attributes || !has_image(node)) in.fail();
  return node;
}

void write_dims(Writer& out, const std::optional<ir::Dims>& dims) {
  out.put(dims.has_value());
  if (!dims) return;
  put_count(out, dims->size());
  for (const ir::Dim& dim : *dims) out.put(dim.to_string());
}

std::optional<ir::Dims> read_dims(Reader& in) {
  if (!in.get<bool>()) return std::nullopt;
  std::optional<ir::Dims> dims(in.count(4));
  for (ir::Dim& dim : *dims) dim = ir::parse_dim(word(in));
  return dims;
}

}  // namespace axrun::runtime
