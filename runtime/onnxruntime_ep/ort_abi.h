// The slice of ONNX Runtime's C ABI that axrun uses, as a plugin and (perf/) as a host: no header of ONNX
// Runtime is needed, or read.
//
// ONNX Runtime hands out tables of function pointers. Tables only grow: no slot ever moved in any release, so
// a caller needs the numbers and the signatures. What a plugin hands back are structures that start with the
// version that they were declared for; the runtime reads no member that is newer.
#pragma once

#include <cstddef>
#include <cstdint>

namespace axrun::ort {

// Objects of the runtime. `TensorInfo` is OrtTensorTypeAndShapeInfo; names without a remark lack their `Ort`
// only.
struct Allocator;
struct Env;
struct EpDevice;
struct EpGraphSupportInfo;
struct Graph;
struct HardwareDevice;
struct IoBinding;
struct KernelContext;
struct KeyValuePairs;
struct Logger;
struct MemoryInfo;
struct Node;
struct NodeComputeContext;
struct OpAttr;
struct ProfilingEvent;
struct ProfilingEvents;  // OrtProfilingEventsContainer
struct RunOptions;
struct Session;
struct SessionOptions;
struct Status;
struct TensorInfo;
struct TypeInfo;
struct Value;
struct ValueInfo;

using Table = const void* const*;

/// `OrtAllocator`, as far as version 14 has it.
struct CallerAllocator {
  std::uint32_t version = 14;
  void* (*allocate)(CallerAllocator*, std::size_t size) = nullptr;
  void (*release)(CallerAllocator*, void* memory) = nullptr;
  const MemoryInfo* (*info)(const CallerAllocator*) = nullptr;
};

/// `OrtApiBase`.
struct ApiBase {
  Table (*get_api)(std::uint32_t version);  ///< null where the library does not have this version
  const char* (*get_version_string)();
};

// Enumerations, as far as they are used. OrtErrorCode:
enum ErrorCode : int {
  error_fail = 1,
  error_invalid_argument = 2,
  error_runtime_exception = 6,
  error_not_implemented = 9,
};
enum LogLevel : int { log_verbose = 0, log_info = 1, log_warning = 2, log_error = 3, log_fatal = 4 };
enum OptimizationLevel : int { optimize_all = 99 };
enum ExecutionMode : int { sequential = 0 };
enum AllocatorType : int { arena_allocator = 1 };
enum MemoryType : int { default_memory = 0 };
enum OnnxType : int { onnx_tensor = 1, onnx_sequence = 2, onnx_map = 3, onnx_optional = 6 };
enum HardwareType : int { hardware_cpu = 0 };
enum AttributeType : int {
  attribute_undefined = 0,
  attribute_int = 1,
  attribute_ints = 2,
  attribute_float = 3,
  attribute_floats = 4,
  attribute_string = 5,
  attribute_strings = 6,
  attribute_graph = 7,
  attribute_tensor = 8,
};

/// ONNX's number of an element type (TensorProto.DataType) for the runtime's (ONNXTensorElementDataType):
/// from 24 on they differ. 0, which is undefined in both, for types that came after this was written.
constexpr int onnx_element_type(int type) {
  constexpr int last_shared = 23;
  if (type >= 0 && type <= last_shared) return type;
  if (type == 24) return 25;  // UINT2
  if (type == 25) return 26;  // INT2
  if (type == 26) return 24;  // FLOAT8E8M0
  return 0;
}

/// One function of a table. Functions that return a Status* answer null where all is well, and otherwise a
/// status that the caller must release.
template <class Signature>
struct Function {
  std::size_t slot;
  const char* name;
};

template <class Signature>
Signature* function_of(Table table, const Function<Signature>& function) {
  return reinterpret_cast<Signature*>(const_cast<void*>(table[function.slot]));
}

// clang-format off
// OrtApi
inline constexpr Function<Status*(int code, const char* message)> create_status{0, "CreateStatus"};
inline constexpr Function<const char*(const Status*)> get_error_message{2, "GetErrorMessage"};
inline constexpr Function<Status*(int level, const char* id, Env**)> create_env{3, "CreateEnv"};
inline constexpr Function<Status*(const Env*, const char* path, const SessionOptions*, Session**)> create_session{7, "CreateSession"};
inline constexpr Function<Status*(const Env*, const void* model, std::size_t size, const SessionOptions*, Session**)> create_session_from_array{8, "CreateSessionFromArray"};
inline constexpr Function<Status*(Session*, const RunOptions*, const char* const* input_names, const Value* const* inputs, std::size_t input_count, const char* const* output_names, std::size_t output_count, Value** outputs)> run{9, "Run"};
inline constexpr Function<Status*(SessionOptions**)> create_session_options{10, "CreateSessionOptions"};
inline constexpr Function<Status*(SessionOptions*, int mode)> set_execution_mode{13, "SetSessionExecutionMode"};
inline constexpr Function<Status*(SessionOptions*, int level)> set_optimization_level{23, "SetSessionGraphOptimizationLevel"};
inline constexpr Function<Status*(SessionOptions*, int threads)> set_intra_op_threads{24, "SetIntraOpNumThreads"};
inline constexpr Function<Status*(SessionOptions*, int threads)> set_inter_op_threads{25, "SetInterOpNumThreads"};
inline constexpr Function<Status*(const Session*, std::size_t* count)> session_input_count{30, "SessionGetInputCount"};
inline constexpr Function<Status*(const Session*, std::size_t* count)> session_output_count{31, "SessionGetOutputCount"};
inline constexpr Function<Status*(const Session*, std::size_t index, TypeInfo**)> session_input_type{33, "SessionGetInputTypeInfo"};
inline constexpr Function<Status*(const Session*, std::size_t index, Allocator*, char** name)> session_input_name{36, "SessionGetInputName"};
inline constexpr Function<Status*(const Session*, std::size_t index, Allocator*, char** name)> session_output_name{37, "SessionGetOutputName"};
inline constexpr Function<Status*(Allocator*, const std::int64_t* shape, std::size_t rank, int type, Value**)> create_tensor{48, "CreateTensorAsOrtValue"};
inline constexpr Function<Status*(const MemoryInfo*, void* data, std::size_t size, const std::int64_t* shape, std::size_t rank, int type, Value**)> wrap_tensor{49, "CreateTensorWithDataAsOrtValue"};
inline constexpr Function<Status*(Value*, void** data)> tensor_data{51, "GetTensorMutableData"};
inline constexpr Function<Status*(Value*, const char* const* strings, std::size_t count)> fill_strings{52, "FillStringTensor"};
inline constexpr Function<Status*(const TypeInfo*, const TensorInfo**)> as_tensor_info{55, "CastTypeInfoToTensorInfo"};
inline constexpr Function<Status*(const TypeInfo*, int* onnx_type)> onnx_type_of_info{56, "GetOnnxTypeFromTypeInfo"};
inline constexpr Function<Status*(const TensorInfo*, int* type)> element_type{60, "GetTensorElementType"};
inline constexpr Function<Status*(const TensorInfo*, std::size_t* rank)> dim_count{61, "GetDimensionsCount"};
inline constexpr Function<Status*(const TensorInfo*, std::int64_t* dims, std::size_t rank)> get_dims{62, "GetDimensions"};
inline constexpr Function<Status*(const TensorInfo*, const char** names, std::size_t rank)> symbolic_dims{63, "GetSymbolicDimensions"};
inline constexpr Function<Status*(const Value*, TensorInfo**)> tensor_info{65, "GetTensorTypeAndShape"};
inline constexpr Function<Status*(const Value*, int* onnx_type)> onnx_type_of_value{67, "GetValueType"};
inline constexpr Function<Status*(int allocator, int memory, MemoryInfo**)> create_cpu_memory_info{69, "CreateCpuMemoryInfo"};
inline constexpr Function<Status*(Allocator*, void* memory)> allocator_free{76, "AllocatorFree"};
inline constexpr Function<Status*(Allocator**)> default_allocator{78, "GetAllocatorWithDefaultOptions"};
inline constexpr Function<Status*(const Value* const* values, std::size_t count, int onnx_type, Value**)> create_value{82, "CreateValue"};
inline constexpr Function<Status*(const KernelContext*, std::size_t* count)> context_input_count{88, "KernelContext_GetInputCount"};
inline constexpr Function<Status*(const KernelContext*, std::size_t* count)> context_output_count{89, "KernelContext_GetOutputCount"};
inline constexpr Function<Status*(const KernelContext*, std::size_t index, const Value**)> context_input{90, "KernelContext_GetInput"};
inline constexpr Function<Status*(KernelContext*, std::size_t index, const std::int64_t* shape, std::size_t rank, Value**)> context_output{91, "KernelContext_GetOutput"};
inline constexpr Function<void(Env*)> release_env{92, "ReleaseEnv"};
inline constexpr Function<void(Status*)> release_status{93, "ReleaseStatus"};
inline constexpr Function<void(MemoryInfo*)> release_memory_info{94, "ReleaseMemoryInfo"};
inline constexpr Function<void(Session*)> release_session{95, "ReleaseSession"};
inline constexpr Function<void(Value*)> release_value{96, "ReleaseValue"};
inline constexpr Function<void(TypeInfo*)> release_type_info{98, "ReleaseTypeInfo"};
inline constexpr Function<void(TensorInfo*)> release_tensor_info{99, "ReleaseTensorTypeAndShapeInfo"};
inline constexpr Function<void(SessionOptions*)> release_session_options{100, "ReleaseSessionOptions"};
inline constexpr Function<Status*(const Value*, std::size_t index, std::size_t* length)> string_length{127, "GetStringTensorElementLength"};
inline constexpr Function<Status*(const Value*, std::size_t length, std::size_t index, void* text)> string_content{128, "GetStringTensorElement"};
inline constexpr Function<Status*(Session*, const RunOptions*, const IoBinding*)> run_with_binding{133, "RunWithBinding"};
inline constexpr Function<Status*(Session*, IoBinding**)> create_io_binding{134, "CreateIoBinding"};
inline constexpr Function<void(IoBinding*)> release_io_binding{135, "ReleaseIoBinding"};
inline constexpr Function<Status*(IoBinding*, const char* name, const Value*)> bind_input{136, "BindInput"};
inline constexpr Function<Status*(IoBinding*, const char* name, const Value*)> bind_output{137, "BindOutput"};
inline constexpr Function<Status*(const char* name, const void* data, int count, int type, OpAttr**)> create_attribute{211, "CreateOpAttr"};
inline constexpr Function<void(OpAttr*)> release_attribute{212, "ReleaseOpAttr"};
inline constexpr Function<Status*(const Logger*, int level, const char* message, const char* file, int line, const char* function)> log_message{247, "Logger_LogMessage"};
inline constexpr Function<Status*(const OpAttr*, int type, void* data, std::size_t size, std::size_t* needed)> read_attribute{272, "ReadOpAttr"};
inline constexpr Function<Status*(const KernelContext*, void (*body)(void*, std::size_t), std::size_t count, std::size_t batches, void* state)> context_parallel_for{274, "KernelContext_ParallelFor"};
inline constexpr Function<Status*(const ValueInfo*, const char** name)> value_name{289, "GetValueInfoName"};
inline constexpr Function<Status*(const ValueInfo*, const TypeInfo**)> value_type_info{290, "GetValueInfoTypeInfo"};
inline constexpr Function<Table()> get_editor_api{291, "GetModelEditorApi"};
inline constexpr Function<void(const KeyValuePairs*, const char* const** keys, const char* const** values, std::size_t* count)> key_value_pairs{298, "GetKeyValuePairs"};
inline constexpr Function<void(KeyValuePairs*)> release_key_value_pairs{300, "ReleaseKeyValuePairs"};
inline constexpr Function<Status*(Env*, const char* name, const char* path)> register_provider_library{301, "RegisterExecutionProviderLibrary"};
inline constexpr Function<Status*(Env*, const char* name)> unregister_provider_library{302, "UnregisterExecutionProviderLibrary"};
inline constexpr Function<Status*(const Env*, const EpDevice* const** devices, std::size_t* count)> get_ep_devices{303, "GetEpDevices"};
inline constexpr Function<Status*(SessionOptions*, Env*, const EpDevice* const* devices, std::size_t count, const char* const* keys, const char* const* values, std::size_t options)> append_provider{304, "SessionOptionsAppendExecutionProvider_V2"};
inline constexpr Function<int(const HardwareDevice*)> hardware_type{307, "HardwareDevice_Type"};
inline constexpr Function<const char*(const EpDevice*)> ep_device_name{312, "EpDevice_EpName"};
inline constexpr Function<Table()> get_ep_api{317, "GetEpApi"};
inline constexpr Function<Status*(const Value*, std::size_t* size)> tensor_bytes{318, "GetTensorSizeInBytes"};
inline constexpr Function<Status*(const ValueInfo*, const Value**)> initializer_value{326, "ValueInfo_GetInitializerValue"};
inline constexpr Function<Status*(const ValueInfo*, bool*)> is_constant_initializer{331, "ValueInfo_IsConstantInitializer"};
inline constexpr Function<Status*(const Graph*, const char** path)> graph_model_path{334, "Graph_GetModelPath"};
inline constexpr Function<Status*(const Graph*, std::int64_t* version)> graph_ir_version{335, "Graph_GetOnnxIRVersion"};
inline constexpr Function<Status*(const Graph*, std::size_t* count)> graph_opset_count{336, "Graph_GetNumOperatorSets"};
inline constexpr Function<Status*(const Graph*, const char** domains, std::int64_t* versions, std::size_t count)> graph_opsets{337, "Graph_GetOperatorSets"};
inline constexpr Function<Status*(const Graph*, std::size_t* count)> graph_input_count{338, "Graph_GetNumInputs"};
inline constexpr Function<Status*(const Graph*, const ValueInfo**, std::size_t count)> graph_inputs{339, "Graph_GetInputs"};
inline constexpr Function<Status*(const Graph*, std::size_t* count)> graph_output_count{340, "Graph_GetNumOutputs"};
inline constexpr Function<Status*(const Graph*, const ValueInfo**, std::size_t count)> graph_outputs{341, "Graph_GetOutputs"};
inline constexpr Function<Status*(const Graph*, std::size_t* count)> graph_initializer_count{342, "Graph_GetNumInitializers"};
inline constexpr Function<Status*(const Graph*, const ValueInfo**, std::size_t count)> graph_initializers{343, "Graph_GetInitializers"};
inline constexpr Function<Status*(const Graph*, std::size_t* count)> graph_node_count{344, "Graph_GetNumNodes"};
inline constexpr Function<Status*(const Graph*, const Node**, std::size_t count)> graph_nodes{345, "Graph_GetNodes"};
inline constexpr Function<Status*(const Graph*, const Node** parent)> graph_parent{346, "Graph_GetParentNode"};
inline constexpr Function<Status*(const Node*, const char** name)> node_name{349, "Node_GetName"};
inline constexpr Function<Status*(const Node*, const char** op)> node_operator{350, "Node_GetOperatorType"};
inline constexpr Function<Status*(const Node*, const char** domain)> node_domain{351, "Node_GetDomain"};
inline constexpr Function<Status*(const Node*, std::size_t* count)> node_input_count{353, "Node_GetNumInputs"};
inline constexpr Function<Status*(const Node*, const ValueInfo**, std::size_t count)> node_inputs{354, "Node_GetInputs"};
inline constexpr Function<Status*(const Node*, std::size_t* count)> node_output_count{355, "Node_GetNumOutputs"};
inline constexpr Function<Status*(const Node*, const ValueInfo**, std::size_t count)> node_outputs{356, "Node_GetOutputs"};
inline constexpr Function<Status*(const Node*, std::size_t* count)> node_implicit_input_count{357, "Node_GetNumImplicitInputs"};
inline constexpr Function<Status*(const Node*, const ValueInfo**, std::size_t count)> node_implicit_inputs{358, "Node_GetImplicitInputs"};
inline constexpr Function<Status*(const Node*, std::size_t* count)> node_attribute_count{359, "Node_GetNumAttributes"};
inline constexpr Function<Status*(const Node*, const OpAttr**, std::size_t count)> node_attributes{360, "Node_GetAttributes"};
inline constexpr Function<Status*(const OpAttr*, Value**)> attribute_tensor_value{362, "OpAttr_GetTensorAttributeAsOrtValue"};
inline constexpr Function<Status*(const OpAttr*, int* type)> attribute_type{363, "OpAttr_GetType"};
inline constexpr Function<Status*(const OpAttr*, const char** name)> attribute_name{364, "OpAttr_GetName"};
inline constexpr Function<Status*(const Node*, std::size_t* count)> node_body_count{365, "Node_GetNumSubgraphs"};
inline constexpr Function<Status*(const Node*, const Graph**, std::size_t count, const char** attribute_names)> node_bodies{366, "Node_GetSubgraphs"};
inline constexpr Function<Status*(const Value*, const void** data)> const_tensor_data{378, "GetTensorData"};
inline constexpr Function<Status*(const SessionOptions*, KeyValuePairs**)> session_config{379, "GetSessionOptionsConfigEntries"};
inline constexpr Function<bool(const TensorInfo*)> has_shape{390, "TensorTypeAndShape_HasShape"};  // 1.24
inline constexpr Function<Status*(const Value*, int* type, const std::int64_t** shape, std::size_t* rank)> type_and_shape{414, "GetTensorElementTypeAndShapeDataReference"};  // 1.24

// OrtEpApi
inline constexpr Function<Status*(struct EpFactory*, const HardwareDevice*, const KeyValuePairs* metadata, const KeyValuePairs* options, EpDevice**)> create_ep_device{0, "CreateEpDevice"};
inline constexpr Function<void(EpDevice*)> release_ep_device{1, "ReleaseEpDevice"};
inline constexpr Function<Status*(EpGraphSupportInfo*, const Node* const* nodes, std::size_t count, const struct NodeFusionOptions*)> add_nodes_to_fuse{2, "EpGraphSupportInfo_AddNodesToFuse"};
inline constexpr Function<Status*(int category, std::int32_t process, std::int32_t thread, const char* name, std::int64_t start_us, std::int64_t duration_us, const char* const* keys, const char* const* values, std::size_t count, ProfilingEvent**)> create_profiling_event{65, "CreateProfilingEvent"};  // 1.25
inline constexpr Function<void(ProfilingEvent*)> release_profiling_event{66, "ReleaseProfilingEvent"};  // 1.25
inline constexpr Function<Status*(ProfilingEvents*, const ProfilingEvent* const* events, std::size_t count)> add_profiling_events{72, "ProfilingEventsContainer_AddEvents"};  // 1.25

// OrtModelEditorApi
inline constexpr Function<Status*(const char* op, const char* domain, const char* name, const char* const* inputs, std::size_t input_count, const char* const* outputs, std::size_t output_count, OpAttr** attributes, std::size_t attribute_count, Node**)> create_node{6, "CreateNode"};
// clang-format on

}  // namespace axrun::ort
