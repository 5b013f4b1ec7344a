#include "onnx_import/messages.h"

#include <fmt/format.h>

#include <array>
#include <variant>

namespace axrun::onnx_import {
namespace {

/// Where a field goes. Unknown is the default; an ignored field is one that changes nothing of what a model
/// computes.
struct Ignored {};
template <typename M>
using Slot =
    std::variant<std::monostate, Ignored, bool M::*, int32_t M::*, int64_t M::*, float M::*,
                 std::string_view M::*, std::optional<int64_t> M::*, std::optional<std::string_view> M::*,
                 std::vector<int64_t> M::*, std::vector<float> M::*, std::vector<std::string_view> M::*>;

template <typename M>
struct FieldTable {
  struct Row {
    uint32_t number;
    Slot<M> slot;
  };
  const char* message;
  std::array<Slot<M>, 32> slots;
  constexpr FieldTable(const char* name, std::initializer_list<Row> rows) : message(name) {
    for (const Row& row : rows) slots[row.number] = row.slot;
  }
};

constexpr Ignored ignored;

template <typename M>
constexpr int field_table = 0;

template <>
constexpr FieldTable<ModelMessage> field_table<ModelMessage> = {"ModelProto",
                                                                {
                                                                    {1, &ModelMessage::ir_version},
                                                                    {2, &ModelMessage::producer_name},
                                                                    {3, &ModelMessage::producer_version},
                                                                    {4, ignored},  // domain
                                                                    {5, ignored},  // model_version
                                                                    {6, ignored},  // doc_string
                                                                    {7, &ModelMessage::graph},
                                                                    {8, &ModelMessage::opsets},
                                                                    {14, ignored},  // metadata_props
                                                                    {20, ignored},  // training_info
                                                                    {25, &ModelMessage::functions},
                                                                    {26, ignored},  // configuration
                                                                }};

template <>
constexpr FieldTable<OpsetMessage> field_table<OpsetMessage> = {
    "OperatorSetIdProto", {{1, &OpsetMessage::domain}, {2, &OpsetMessage::version}}};

template <>
constexpr FieldTable<GraphMessage> field_table<GraphMessage> = {"GraphProto",
                                                                {
                                                                    {1, &GraphMessage::nodes},
                                                                    {2, &GraphMessage::name},
                                                                    {5, &GraphMessage::initializers},
                                                                    {10, ignored},  // doc_string
                                                                    {11, &GraphMessage::inputs},
                                                                    {12, &GraphMessage::outputs},
                                                                    {13, ignored},  // value_info
                                                                    {14, ignored},  // quantization_annotation
                                                                    {15, &GraphMessage::sparse_initializers},
                                                                    {16, ignored},  // metadata_props
                                                                }};

template <>
constexpr FieldTable<FunctionMessage> field_table<FunctionMessage> = {
    "FunctionProto",
    {
        {1, &FunctionMessage::name},
        {2, ignored},  // since_version, withdrawn
        {3, ignored},  // status, withdrawn
        {4, &FunctionMessage::inputs},
        {5, &FunctionMessage::outputs},
        {6, ignored},  // attribute: names only, the references say the same
        {7, &FunctionMessage::nodes},
        {8, ignored},  // doc_string
        {9, &FunctionMessage::opsets},
        {10, &FunctionMessage::domain},
        {11, &FunctionMessage::attribute_protos},
        {12, ignored},  // value_info
        {13, &FunctionMessage::overload},
        {14, ignored},  // metadata_props
    }};

template <>
constexpr FieldTable<NodeMessage> field_table<NodeMessage> = {"NodeProto",
                                                              {
                                                                  {1, &NodeMessage::inputs},
                                                                  {2, &NodeMessage::outputs},
                                                                  {3, &NodeMessage::name},
                                                                  {4, &NodeMessage::op_type},
                                                                  {5, &NodeMessage::attributes},
                                                                  {6, ignored},  // doc_string
                                                                  {7, &NodeMessage::domain},
                                                                  {8, &NodeMessage::overload},
                                                                  {9, ignored},   // metadata_props
                                                                  {10, ignored},  // device_configurations
                                                              }};

template <>
constexpr FieldTable<AttributeMessage> field_table<AttributeMessage> = {
    "AttributeProto",
    {
        {1, &AttributeMessage::name},
        {2, &AttributeMessage::f},
        {3, &AttributeMessage::i},
        {4, &AttributeMessage::s},
        {5, &AttributeMessage::t},
        {6, &AttributeMessage::g},
        {7, &AttributeMessage::floats},
        {8, &AttributeMessage::ints},
        {9, &AttributeMessage::strings},
        {10, &AttributeMessage::tensors},
        {11, &AttributeMessage::graphs},
        {13, ignored},  // doc_string
        {14, &AttributeMessage::tp},
        {15, &AttributeMessage::type_protos},
        {20, &AttributeMessage::type},
        {21, &AttributeMessage::ref_attr_name},
        {22, &AttributeMessage::sparse_tensor},
        {23, &AttributeMessage::sparse_tensors},
    }};

template <>
constexpr FieldTable<ValueInfoMessage> field_table<ValueInfoMessage> = {"ValueInfoProto",
                                                                        {
                                                                            {1, &ValueInfoMessage::name},
                                                                            {2, &ValueInfoMessage::type},
                                                                            {3, ignored},  // doc_string
                                                                            {4, ignored},  // metadata_props
                                                                        }};

template <>
constexpr FieldTable<TensorMessage> field_table<TensorMessage> = {
    "TensorProto",
    {
        {1, &TensorMessage::dims},
        {2, &TensorMessage::data_type},
        {3, &TensorMessage::segment},
        {4, &TensorMessage::has_typed_data},  // float_data
        {5, &TensorMessage::has_typed_data},  // int32_data
        {6, &TensorMessage::has_typed_data},  // string_data
        {7, &TensorMessage::has_typed_data},  // int64_data
        {8, &TensorMessage::name},
        {9, &TensorMessage::raw_data},
        {10, &TensorMessage::has_typed_data},  // double_data
        {11, &TensorMessage::has_typed_data},  // uint64_data
        {12, ignored},                         // doc_string
        {13, &TensorMessage::external_data},
        {14, &TensorMessage::data_location},
        {16, ignored},  // metadata_props
    }};

template <>
constexpr FieldTable<EntryMessage> field_table<EntryMessage> = {
    "StringStringEntryProto", {{1, &EntryMessage::key}, {2, &EntryMessage::value}}};

template <>
constexpr FieldTable<SparseTensorMessage> field_table<SparseTensorMessage> = {
    "SparseTensorProto",
    {{1, &SparseTensorMessage::values}, {2, &SparseTensorMessage::indices}, {3, &SparseTensorMessage::dims}}};

template <>
constexpr FieldTable<SequenceMessage> field_table<SequenceMessage> = {
    "SequenceProto",
    {
        {1, &SequenceMessage::name},
        {2, ignored},  // elem_type: the fields below say the same
        {3, &SequenceMessage::tensors},
        {4, &SequenceMessage::sparse_tensors},
        {5, &SequenceMessage::sequences},
        {6, &SequenceMessage::maps},
        {7, &SequenceMessage::optionals},
    }};

template <>
constexpr FieldTable<MapMessage> field_table<MapMessage> = {
    "MapProto",
    {
        {1, &MapMessage::name},
        {2, ignored},  // key_type: the fields below say the same
        {3, &MapMessage::keys},
        {4, &MapMessage::string_keys},
        {5, &MapMessage::values},
    }};

/// Stores one field where its table says; one overload per kind of slot.
struct Store {
  const WireField& field;
  void operator()(int32_t& slot) const { slot = field.as_int32(); }
  void operator()(int64_t& slot) const { slot = field.as_int64(); }
  void operator()(float& slot) const { slot = field.as_float(); }
  void operator()(bool& slot) const { slot = true; }
  void operator()(std::string_view& slot) const { slot = field.as_bytes(); }
  void operator()(std::optional<int64_t>& slot) const { slot = field.as_int64(); }
  /// A message that may occur once. (Protocol Buffers would merge two; no writer makes two.)
  void operator()(std::optional<std::string_view>& slot) const {
    if (slot) throw WireError{field.at, fmt::format("{} has field {} twice", field.message, field.number)};
    slot = field.as_bytes();
  }
  void operator()(std::vector<int64_t>& slot) const { append_int64(field, slot); }
  void operator()(std::vector<float>& slot) const { append_float(field, slot); }
  void operator()(std::vector<std::string_view>& slot) const {
    if (slot.capacity() == 0) slot.reserve(4);
    slot.push_back(field.as_bytes());
  }
};

}  // namespace

template <typename Message>
Message read_message(std::string_view bytes, UnknownFields& unknown) {
  constexpr const FieldTable<Message>& table = field_table<Message>;
  Message message;
  if constexpr (requires { message.bytes; }) message.bytes = bytes;
  WireReader reader(bytes, table.message);
  for (WireField field; reader.next(field);) {
    const Slot<Message>& slot =
        field.number < table.slots.size() ? table.slots[field.number] : Slot<Message>();
    std::visit(
        [&](auto member) {
          using Member = decltype(member);
          if constexpr (std::is_same_v<Member, std::monostate>) {
            unknown.emplace(table.message, field.number);
          } else if constexpr (!std::is_same_v<Member, Ignored>) {
            Store{field}(message.*member);
          }
        },
        slot);
    if constexpr (requires { message.present; }) {
      if (field.number < 32) message.present |= uint32_t{1} << field.number;
    }
  }
  return message;
}

template ModelMessage read_message(std::string_view, UnknownFields&);
template OpsetMessage read_message(std::string_view, UnknownFields&);
template GraphMessage read_message(std::string_view, UnknownFields&);
template FunctionMessage read_message(std::string_view, UnknownFields&);
template NodeMessage read_message(std::string_view, UnknownFields&);
template AttributeMessage read_message(std::string_view, UnknownFields&);
template ValueInfoMessage read_message(std::string_view, UnknownFields&);
template TensorMessage read_message(std::string_view, UnknownFields&);
template EntryMessage read_message(std::string_view, UnknownFields&);
template SparseTensorMessage read_message(std::string_view, UnknownFields&);
template SequenceMessage read_message(std::string_view, UnknownFields&);
template MapMessage read_message(std::string_view, UnknownFields&);

}  // namespace axrun::onnx_import
