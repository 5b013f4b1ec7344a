#include "onnx_import/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "ir/error.h"
#include "onnx_import/context.h"
#include "onnx_import/functions.h"
#include "onnx_import/graph_builder.h"
#include "onnx_import/model_source.h"
#include "onnx_import/names.h"
#include "onnx_import/opsets.h"

namespace axrun::onnx_import {
namespace {

void check_header(const ModelMessage& message) {
  if (!message.ir_version) throw Error(Fault::model, "the model has no IR version");
  if (*message.ir_version < 1) {
    throw Error(Fault::model, fmt::format("the model has IR version {}", *message.ir_version));
  }
  if (!message.graph) throw Error(Fault::model, "the model has no graph");
}

/// Before IR version 3 models did not say which opset they use: it was the first.
void add_default_opset(Opsets& opsets) {
  int& version = opsets[""];
  version = std::max(version, 1);
}

std::string producer_of(const ModelMessage& message) {
  std::string producer = printable(message.producer_name);
  if (!message.producer_version.empty()) producer += " " + printable(message.producer_version);
  return producer;
}

ImportedModel import_checked(ImportContext& context) {
  const auto message = read_message<ModelMessage>(context.source.bytes, context.unknown_fields);
  check_header(message);
  Opsets opsets = read_opsets(message.opsets, context);
  if (*message.ir_version < 3) add_default_opset(opsets);
  const FunctionLibrary functions(message.functions, opsets, context);
  ImportedModel model;
  model.ir_version = *message.ir_version;
  model.producer = producer_of(message);
  model.graph = build_graph(*message.graph, opsets, functions, context);
  model.declared_outputs = std::move(context.declared_outputs);
  model.opsets.insert(opsets.begin(), opsets.end());
  model.opsets.insert(context.assumed_opsets.begin(), context.assumed_opsets.end());
  context.refuse_unsupported("the model");
  return model;
}

/// What files are that are often taken for a model; empty: nothing of the kind. None of these beginnings is
/// one of a model: a protobuf message begins with the number of a field and how it is stored.
std::string foreign_format(std::string_view bytes) {
  using namespace std::string_view_literals;
  constexpr std::pair<std::string_view, std::string_view> formats[] = {
      {"\x1f\x8b"sv, "compressed by gzip: gunzip makes the model of it"},
      {"\x28\xb5\x2f\xfd"sv, "compressed by zstd: zstd -d makes the model of it"},
      {"\xfd"
       "7zXZ\0"sv,
       "compressed by xz: xz -d makes the model of it"},
      {"BZh"sv, "compressed by bzip2: bunzip2 makes the model of it"},
      {"PK\x03\x04"sv, "a zip archive (as PyTorch writes, too)"},
      {"version https://git-lfs"sv, "a pointer of Git LFS: git lfs pull fetches the model"},
      {"\x89HDF\r\n"sv, "an HDF5 file (as Keras writes)"},
      {"<!DOCTYPE html"sv, "a page of HTML"}};
  for (const auto& [begin, text] : formats) {
    if (bytes.starts_with(begin)) return std::string(text);
  }
  return bytes.size() > 8 && bytes.substr(1, 7) == "\0\0\0TFL3"sv ? "a model of TensorFlow Lite" : "";
}

ImportedModel import_source(ByteSource source, ExternalData external, const ImportOptions& options) {
  if (source.bytes.empty()) throw Error(Fault::model, "the model file is empty");
  if (const std::string other = foreign_format(source.bytes); !other.empty())
    throw Error(Fault::model, "not an ONNX model, but " + other);
  const char* begin = source.bytes.data();
  ImportContext context{.source = std::move(source), .external = std::move(external), .options = options};
  try {
    return import_checked(context);
  } catch (const WireError& error) {
    throw Error(Fault::model,
                fmt::format("not an ONNX model, or damaged at byte {}: {}", error.at - begin, error.what));
  } catch (const std::bad_alloc&) {
    throw Error(Fault::user, "not enough memory to import the model");
  }
}

}  // namespace

void ImportContext::note(const std::string& text) const {
  if (options.notes == nullptr) return;
  std::vector<std::string>& notes = *options.notes;
  if (std::find(notes.begin(), notes.end(), text) == notes.end()) notes.push_back(text);
}

void ImportContext::refuse_unsupported(std::string_view what) const {
  std::vector<std::string> lines = unsupported;
  for (const auto& [message, number] : unknown_fields) {
    lines.push_back(fmt::format("field {} of {}: newer than ONNX 1.22, or not ONNX", number, message));
  }
  if (lines.empty()) return;
  constexpr size_t shown = 10000;
  const size_t count = lines.size();
  std::string text =
      fmt::format("{} uses {} thing{} that axrun does not support:", what, count, count == 1 ? "" : "s");
  for (size_t k = 0; k < std::min(count, shown); ++k) text += "\n  " + lines[k];
  if (count > shown) text += fmt::format("\n  and {} more", count - shown);
  throw_as(Error(Fault::unsupported, text), text, count == 1 ? unsupported_node : ErrorPlace());
}

ImportedModel import_file(const std::string& path, const ImportOptions& options) {
  return import_source(model_source(path), ExternalData::beside(path), options);
}

ImportedModel import_memory(const void* data, size_t size, const std::string& directory,
                            const ImportOptions& options, std::shared_ptr<const void> owner) {
  ByteSource source{std::string_view(static_cast<const char*>(data), size), std::move(owner)};
  return import_source(std::move(source), ExternalData(directory), options);
}

}  // namespace axrun::onnx_import
