#include "runtime/onnxruntime_ep/attributes.h"

#include <cstring>

namespace axrun::ort {

const OpAttr* find_attribute(const Host& host, const Node* node, const char* name) {
  for (const OpAttr* attribute : host.list(node_attribute_count, node_attributes, node)) {
    const char* text = nullptr;
    host.call(attribute_name, attribute, &text);
    if (std::strcmp(text, name) == 0) return attribute;
  }
  return nullptr;
}

std::string attribute_text(const Host& host, const OpAttr* attribute, int type) {
  std::size_t size = 0;
  // The first call says how much there is; it fails where that is something.
  if (Status* status = host.get(read_attribute, attribute, type, nullptr, std::size_t{0}, &size)) {
    host.get(release_status, status);
  }
  std::string bytes(size, '\0');
  if (size > 0) host.call(read_attribute, attribute, type, static_cast<void*>(bytes.data()), size, &size);
  return bytes;
}

std::int64_t attribute_integer(const Host& host, const OpAttr* attribute) {
  const std::string bytes = attribute_text(host, attribute, attribute_int);
  std::int64_t value = 0;
  if (bytes.size() != sizeof value) throw HostError(Fault::model, "an attribute is no integer");
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

}  // namespace axrun::ort
