// The slice of ONNX Runtime's C ABI that ort_host uses, declared by slot number.
//
// The ABI is append-only: `OrtApi` is a table of function pointers whose slots never moved in any release, so
// a program needs the numbers and the signatures, and no header of ONNX Runtime. Every status that a call
// returns is owned by the caller; `Api::call` releases it and throws its message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace axrun::perf::ort {

struct Status;
struct Env;
struct SessionOptions;
struct Session;
struct RunOptions;
struct IoBinding;
struct Allocator;
struct MemoryInfo;
struct TypeInfo;
struct TensorInfo;
struct Value;

/// `OrtApiBase`, what the library's one export `OrtGetApiBase` returns.
struct ApiBase {
  const void* const* (*get_api)(std::uint32_t version);
  const char* (*get_version_string)();
};

/// Old enough for any library in use, new enough for every slot below.
inline constexpr std::uint32_t api_version = 14;

// Values of the enumerations that are passed below.
enum LogLevel : int { log_error = 3 };
enum OptimizationLevel : int { optimize_all = 99 };
enum ExecutionMode : int { sequential = 0 };
enum AllocatorType : int { arena_allocator = 1 };
enum MemoryType : int { default_memory = 0 };
enum OnnxType : int { onnx_tensor = 1, onnx_sequence = 2, onnx_map = 3, onnx_optional = 6 };

/// One function of `OrtApi`.
template <class Signature>
struct Function {
  std::size_t slot;
  const char* name;
};

// clang-format off
inline constexpr Function<const char*(const Status*)> get_error_message{2, "GetErrorMessage"};
inline constexpr Function<Status*(int level, const char* id, Env**)> create_env{3, "CreateEnv"};
inline constexpr Function<Status*(const Env*, const char* path, const SessionOptions*, Session**)> create_session{7, "CreateSession"};
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
// clang-format on

/// The loaded library; it stays loaded until the process ends.
class Api {
 public:
  /// Throws HostError when the library can't be loaded or is too old.
  explicit Api(const std::string& library_path);

  const std::string& version() const { return version_; }

  /// Calls a function that reports a status; throws HostError (the model's fault) with its message unless it
  /// is ok.
  template <class... Parameters, class... Arguments>
  void call(const Function<Status*(Parameters...)>& function, Arguments... arguments) const {
    if (Status* status = pointer(function)(arguments...)) raise(function.name, status);
  }

  /// Calls one of the release functions; null is allowed, as the ABI says.
  template <class Object>
  void release(const Function<void(Object*)>& function, Object* object) const {
    pointer(function)(object);
  }

 private:
  template <class Signature>
  Signature* pointer(const Function<Signature>& function) const {
    return reinterpret_cast<Signature*>(const_cast<void*>(slots_[function.slot]));
  }
  [[noreturn]] void raise(const char* name, Status* status) const;

  const void* const* slots_ = nullptr;
  std::string version_;
};

/// An object of the library and the function that releases it.
template <class Object>
class Owned {
 public:
  Owned(const Api& api, const Function<void(Object*)>& release) : api_(&api), release_(&release) {}
  Owned(Owned&& other) noexcept : api_(other.api_), release_(other.release_), object_(other.object_) {
    other.object_ = nullptr;
  }
  Owned& operator=(Owned&&) = delete;
  ~Owned() { reset(); }

  Object* get() const { return object_; }
  Object** out() {  ///< Where a function stores a new object; an old one is released first.
    reset();
    return &object_;
  }
  void reset() {
    if (object_) api_->release(*release_, object_);
    object_ = nullptr;
  }

 private:
  const Api* api_;
  const Function<void(Object*)>* release_;
  Object* object_ = nullptr;
};

}  // namespace axrun::perf::ort
