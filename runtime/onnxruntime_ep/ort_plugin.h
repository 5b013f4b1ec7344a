// The structures that a plugin hands to ONNX Runtime, as its version `declared_version` has them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/onnxruntime_ep/ort_abi.h"

namespace axrun::ort {

/// The oldest minor version of ONNX Runtime 1 that shows plugins a graph.
inline constexpr std::uint32_t oldest_version = 23;
/// What the structures below, and the slots of ort_abi.h, were written for. The runtime reads no member that
/// a later version added.
inline constexpr std::uint32_t declared_version = 30;

/// `OrtNodeFusionOptions`.
struct NodeFusionOptions {
  std::uint32_t version = declared_version;
  bool drop_constant_initializers = false;
};

/// `OrtNodeComputeInfo`: how one partition runs.
struct NodeComputeInfo {
  std::uint32_t version = declared_version;
  Status* (*create_state)(NodeComputeInfo*, NodeComputeContext*, void** state) = nullptr;
  Status* (*compute)(NodeComputeInfo*, void* state, KernelContext*) = nullptr;
  void (*release_state)(NodeComputeInfo*, void* state) = nullptr;
};

/// `OrtEpProfilerImpl`: takes part in the runtime's trace.
struct EpProfiler {
  std::uint32_t version = declared_version;
  void (*release)(EpProfiler*) = nullptr;
  Status* (*start_profiling)(EpProfiler*, std::int64_t offset_ns) = nullptr;
  Status* (*start_event)(EpProfiler*, std::uint64_t event) = nullptr;
  Status* (*stop_event)(EpProfiler*, std::uint64_t event, const ProfilingEvent*) = nullptr;
  Status* (*end_profiling)(EpProfiler*, ProfilingEvents*) = nullptr;
};
static_assert(sizeof(EpProfiler) == 6 * 8 && offsetof(EpProfiler, end_profiling) == 40);

/// A member that is not used: null says that the plugin has no such function.
using Unused = const void*;

/// `OrtEp`: the provider of one session.
struct Ep {
  std::uint32_t version = declared_version;
  const char* (*get_name)(const Ep*) = nullptr;
  Status* (*get_capability)(Ep*, const Graph*, EpGraphSupportInfo*) = nullptr;
  Status* (*compile)(Ep*, const Graph**, const Node** fused, std::size_t count, NodeComputeInfo** infos,
                     Node** context_nodes) = nullptr;
  void (*release_node_compute_infos)(Ep*, NodeComputeInfo** infos, std::size_t count) = nullptr;
  Unused get_preferred_data_layout = nullptr;
  Unused should_convert_data_layout_for_op = nullptr;
  Unused set_dynamic_options = nullptr;
  Unused on_run_start = nullptr;
  Unused on_run_end = nullptr;
  Unused create_allocator = nullptr;
  Unused create_sync_stream_for_device = nullptr;
  const char* (*get_compiled_model_compatibility_info)(Ep*, const Graph*) = nullptr;
  Unused of_24_and_25[3] = {};
  Status* (*create_profiler)(Ep*, EpProfiler**) = nullptr;  ///< 1.25
  Unused later[9] = {};                                     ///< members of 1.26 to 1.29
};
static_assert(offsetof(Ep, create_profiler) == 128);
static_assert(offsetof(Ep, get_name) == 8 && offsetof(Ep, compile) == 24);
static_assert(offsetof(Ep, get_compiled_model_compatibility_info) == 96);
static_assert(sizeof(Ep) == 26 * 8);

/// `OrtEpFactory`: what the library registers.
struct EpFactory {
  std::uint32_t version = declared_version;
  const char* (*get_name)(const EpFactory*) = nullptr;
  const char* (*get_vendor)(const EpFactory*) = nullptr;
  Status* (*get_supported_devices)(EpFactory*, const HardwareDevice* const*, std::size_t count,
                                   EpDevice** devices, std::size_t room, std::size_t* found) = nullptr;
  Status* (*create_ep)(EpFactory*, const HardwareDevice* const*, const KeyValuePairs* const* metadata,
                       std::size_t count, const SessionOptions*, const Logger*, Ep**) = nullptr;
  void (*release_ep)(EpFactory*, Ep*) = nullptr;
  std::uint32_t (*get_vendor_id)(const EpFactory*) = nullptr;
  const char* (*get_version)(const EpFactory*) = nullptr;
  Status* (*validate_compiled_model_compatibility_info)(EpFactory*, const HardwareDevice* const*,
                                                        std::size_t count, const char* information,
                                                        int* answer) = nullptr;
  Unused create_allocator = nullptr;
  Unused release_allocator = nullptr;
  Status* (*create_data_transfer)(EpFactory*, void** transfer) = nullptr;
  bool (*is_stream_aware)(const EpFactory*) = nullptr;
  Unused later[8] = {};  ///< members from CreateSyncStreamForDevice on, up to 1.28
};
static_assert(offsetof(EpFactory, create_ep) == 32 && offsetof(EpFactory, get_version) == 56);
static_assert(offsetof(EpFactory, create_data_transfer) == 88 && offsetof(EpFactory, is_stream_aware) == 96);
static_assert(sizeof(EpFactory) == 21 * 8);

static_assert(sizeof(NodeComputeInfo) == 4 * 8 && offsetof(NodeComputeInfo, compute) == 16);
static_assert(sizeof(NodeFusionOptions) == 8 && offsetof(NodeFusionOptions, drop_constant_initializers) == 4);

}  // namespace axrun::ort
