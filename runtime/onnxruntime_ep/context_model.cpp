#include "runtime/onnxruntime_ep/context_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "onnx_import/input_file.h"
#include "runtime/cache/hash.h"
#include "runtime/onnxruntime_ep/attributes.h"
#include "runtime/onnxruntime_ep/host_value.h"
#include "runtime/version.h"

namespace axrun::ort {
namespace {

constexpr std::string_view magic = "axrun context 1\n";
constexpr const char* compatibility = "axrun context 1";
constexpr const char* context_operator = "EPContext";
constexpr const char* context_domain = "com.microsoft";

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string stem_of(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

std::string model_path(const Host& host, const Graph* graph) {
  const char* path = nullptr;
  host.call(graph_model_path, graph, &path);
  return path == nullptr ? "" : path;
}

/// The context model's own path; empty for a model from memory without an option that says.
std::string context_model_path(const Host& host, const Graph* graph, const ContextOptions& options) {
  if (!options.file.empty()) return options.file;
  const std::string model = model_path(host, graph);
  return model.empty() ? "" : folder_of(model) + "/" + stem_of(model) + "_ctx.onnx";
}

/// The attributes of a node to be made.
class Attributes {
 public:
  explicit Attributes(const Host& host) : host_(host) {}
  ~Attributes() {
    for (OpAttr* attribute : all_) host_.get(release_attribute, attribute);
  }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;

  void add(const char* name, std::string_view text) { add(name, text.data(), text.size(), attribute_string); }
  void add(const char* name, std::int64_t value) { add(name, &value, 1, attribute_int); }

  OpAttr** data() { return all_.data(); }
  std::size_t size() const { return all_.size(); }

 private:
  void add(const char* name, const void* data, std::size_t count, int type) {
    if (count > INT32_MAX)
      throw Error(Fault::unsupported, "a context of 2 GiB or more must lie in a file of its own");
    OpAttr* made = nullptr;
    host_.call(create_attribute, name, data, static_cast<int>(count), type, &made);
    all_.push_back(made);
  }

  const Host& host_;
  std::vector<OpAttr*> all_;
};

std::vector<std::string> names_of(const Host& host, const std::vector<const ValueInfo*>& values) {
  std::vector<std::string> names;
  for (const ValueInfo* value : values) names.push_back(name_of(host, value));
  return names;
}

std::vector<const char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  return pointers;
}

}  // namespace

const char* context_compatibility() { return compatibility; }

int compatibility_of(const char* information) {
  if (information == nullptr || std::strncmp(information, "axrun ", 6) != 0) return 0;
  return std::strcmp(information, compatibility) == 0 ? 1 : 3;
}

std::string packed_context(std::string_view model) {
  std::string context(magic);
  context += cache::to_text(cache::hash_of_bytes(model.data(), model.size()));
  context += '\n';
  context += model;
  return context;
}

std::string_view unpacked_context(std::string_view context, std::string_view where) {
  if (context.substr(0, magic.size()) != magic) {
    throw Error(Fault::unsupported, fmt::format("{} is no context of this version of axrun", where));
  }
  context.remove_prefix(magic.size());
  const std::size_t end = context.find('\n');
  if (end == std::string_view::npos || end > 64)
    throw Error(Fault::model, fmt::format("{} is damaged", where));
  const std::string_view sum = context.substr(0, end);
  const std::string_view model = context.substr(end + 1);
  if (sum != cache::to_text(cache::hash_of_bytes(model.data(), model.size()))) {
    throw Error(Fault::model, fmt::format("{} is damaged: its checksum is another one", where));
  }
  return model;
}

bool is_context(const Host& host, const Node* node) {
  const char* text = nullptr;
  host.call(node_operator, node, &text);
  if (std::strcmp(text, context_operator) != 0) return false;
  host.call(node_domain, node, &text);
  if (std::strcmp(text, context_domain) != 0) return false;
  const OpAttr* source = find_attribute(host, node, "source");
  return source != nullptr && attribute_text(host, source, attribute_string) == provider_name;
}

std::string context_path(const std::string& folder, const std::string& name) {
  bool good = !name.empty() && name.front() != '/' && name.find('\0') == std::string::npos;
  for (std::size_t begin = 0; good && begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    good = name.compare(begin, end - begin, "..") != 0;
    begin = end + 1;
  }
  if (!good)
    throw Error(Fault::model, fmt::format("the context file '{}' is not in the model's folder", name));
  return folder + "/" + name;
}

WrittenModel read_context(const Host& host, const Graph* graph, const Node* node,
                          const ContextOptions& options) {
  const OpAttr* content = find_attribute(host, node, "ep_cache_context");
  if (content == nullptr) throw Error(Fault::model, "an EPContext node holds nothing");
  const OpAttr* embedded = find_attribute(host, node, "embed_mode");
  std::string text = attribute_text(host, content, attribute_string);
  WrittenModel model;
  if (embedded == nullptr || attribute_integer(host, embedded) != 0) {
    model.bytes = unpacked_context(text, "the content of an EPContext node");
    return model;
  }
  const std::string path = model_path(host, graph);
  const std::string base = path.empty() ? options.file : path;
  if (base.empty())
    throw Error(Fault::user, "where the context's file lies is not known: ep.context_file_path says");
  const auto file = onnx_import::FileBytes::read(context_path(folder_of(base), text));
  model.bytes = unpacked_context(file->bytes(), fmt::format("the context file '{}'", text));
  return model;
}

Node* make_context(const Host& host, const Graph* graph, const Node* fused, const WrittenModel& model,
                   const ContextOptions& options, std::size_t number) {
  const char* name = nullptr;
  host.call(node_name, fused, &name);
  std::string content = packed_context(model.bytes);
  if (!options.embed) {
    const std::string path = context_model_path(host, graph, options);
    if (path.empty()) throw Error(Fault::user, "a context in a file of its own needs ep.context_file_path");
    const std::string file = fmt::format("{}_axrun_{}.bin", stem_of(path), number);
    onnx_import::write_whole_file(context_path(folder_of(path), file), content);
    content = file;
  }
  Attributes attributes(host);
  attributes.add("ep_cache_context", content);
  attributes.add("embed_mode", std::int64_t{options.embed});
  attributes.add("main_context", std::int64_t{1});
  attributes.add("source", provider_name);
  attributes.add("ep_sdk_version", runtime::version());
  attributes.add("partition_name", name);
  const auto inputs = names_of(host, host.list(node_input_count, node_inputs, fused));
  const auto outputs = names_of(host, host.list(node_output_count, node_outputs, fused));
  const auto input_names = pointers_to(inputs);
  const auto output_names = pointers_to(outputs);
  Node* node = nullptr;
  host.call_editor(create_node, context_operator, context_domain, name, input_names.data(),
                   input_names.size(), output_names.data(), output_names.size(), attributes.data(),
                   attributes.size(), &node);
  return node;
}

}  // namespace axrun::ort
