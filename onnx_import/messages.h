#pragma once

// ONNX's messages, read one level at a time: what a graph or a node holds of other messages stays a
// string_view of the file until someone reads it. Field numbers: onnx.proto and onnx-data.proto of ONNX 1.22,
// which are newer than what distributions package.
//
// Every reader throws WireError. Fields that no released ONNX declares are noted, never dropped: a model that
// has some is refused, because what they change is unknown.

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "onnx_import/wire.h"

namespace axrun::onnx_import {

/// Fields met that are not declared: (message, field number).
using UnknownFields = std::set<std::pair<std::string_view, uint32_t>>;

struct ValueInfoMessage {
  std::string_view name;
  std::optional<std::string_view> type;  ///< TypeProto
};

/// The names follow AttributeProto.
struct AttributeMessage {
  std::string_view name;
  std::string_view ref_attr_name;
  int32_t type = 0;      ///< AttributeProto.AttributeType; 0 in files of IR version 1
  uint32_t present = 0;  ///< bit n: the field with number n occurs
  float f = 0;
  int64_t i = 0;
  std::string_view s;
  std::optional<std::string_view> t, g, sparse_tensor, tp;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string_view> strings, tensors, graphs, sparse_tensors, type_protos;
};

struct NodeMessage {
  std::string_view name, op_type, domain, overload;
  std::vector<std::string_view> inputs, outputs;
  std::vector<std::string_view> attributes;  ///< AttributeProto
};

struct GraphMessage {
  std::string_view name;
  std::vector<std::string_view> nodes;                ///< NodeProto
  std::vector<std::string_view> initializers;         ///< TensorProto
  std::vector<std::string_view> sparse_initializers;  ///< SparseTensorProto
  std::vector<std::string_view> inputs, outputs;      ///< ValueInfoProto
};

struct OpsetMessage {
  std::string_view domain;
  int64_t version = 0;
};

struct FunctionMessage {
  std::string_view name, domain, overload;
  std::vector<std::string_view> inputs, outputs;
  std::vector<std::string_view> attribute_protos;  ///< attributes with a default: AttributeProto
  std::vector<std::string_view> nodes;             ///< NodeProto
  std::vector<std::string_view> opsets;            ///< OperatorSetIdProto
};

struct ModelMessage {
  std::optional<int64_t> ir_version;
  std::string_view producer_name, producer_version;
  std::optional<std::string_view> graph;    ///< GraphProto
  std::vector<std::string_view> functions;  ///< FunctionProto
  std::vector<std::string_view> opsets;     ///< OperatorSetIdProto
};

/// A TensorProto without its elements where they are not raw: those are read from `bytes`.
struct TensorMessage {
  std::string_view bytes;  ///< the whole message
  std::string_view name;
  std::vector<int64_t> dims;
  int32_t data_type = 0;
  std::optional<std::string_view> raw_data;
  std::optional<std::string_view> segment;
  bool has_typed_data = false;  ///< any of float_data, int32_data, ...
  int32_t data_location = 0;
  std::vector<std::string_view> external_data;  ///< StringStringEntryProto
};

struct EntryMessage {
  std::string_view key, value;
};

struct SparseTensorMessage {
  std::optional<std::string_view> values, indices;  ///< TensorProto
  std::vector<int64_t> dims;
};

/// SequenceProto and OptionalProto, which share their field numbers.
struct SequenceMessage {
  std::string_view name;
  std::vector<std::string_view> tensors, sparse_tensors, sequences, maps, optionals;
};

struct MapMessage {
  std::string_view name;
  std::vector<int64_t> keys;
  std::vector<std::string_view> string_keys;
  std::optional<std::string_view> values;  ///< SequenceProto
};

/// Instances: the message structures above.
template <typename Message>
Message read_message(std::string_view bytes, UnknownFields& unknown);

struct DimensionMessage {
  std::optional<int64_t> value;
  std::string_view name;  ///< dim_param
};

struct TypeMessage {
  enum class Kind { none, tensor, sparse_tensor, sequence, map, optional, opaque };
  Kind kind = Kind::none;
  int32_t element = 0;                 ///< of a tensor; of a map: its key
  std::unique_ptr<TypeMessage> inner;  ///< of a sequence, optional, map (its value); may be missing
  bool has_shape = false;
  std::vector<DimensionMessage> dims;
};

/// TypeProto, all of it. Types nest; deeper than 64 levels is damage.
TypeMessage read_type(std::string_view bytes, UnknownFields& unknown);

}  // namespace axrun::onnx_import
