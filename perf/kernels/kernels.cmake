# bench_kernels, and the libraries that it compares axrun with where this machine has them (Debian: libdnnl-dev,
# libopenblas-dev). Without them it measures axrun against the machine's limits only.
add_library(axrun_perf_rounds STATIC ${CMAKE_CURRENT_LIST_DIR}/interleave.cpp ${CMAKE_CURRENT_LIST_DIR}/agreement.cpp)

if(benchmark_FOUND)
  file(GLOB kernel_bench_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cpp)
  list(FILTER kernel_bench_sources EXCLUDE REGEX "/(interleave|agreement|onednn|openblas)\\.cpp$")
  add_executable(bench_kernels ${kernel_bench_sources} ${CMAKE_CURRENT_SOURCE_DIR}/limits/fma_peak.cpp
                 ${CMAKE_CURRENT_SOURCE_DIR}/limits/read_sweep.cpp)
  target_link_libraries(bench_kernels PRIVATE axrun_perf_rounds ${axrun_session} fmt::fmt benchmark::benchmark)

  # The loops that peers are composed with: as fast as the compiler makes them for this very machine.
  include(CheckCXXCompilerFlag)
  check_cxx_compiler_flag("-march=native -mprefer-vector-width=512" AXRUN_PERF_HAS_NATIVE)
  set(row_loop_flags -O3 -ffast-math)
  if(AXRUN_PERF_HAS_NATIVE)
    list(APPEND row_loop_flags -march=native -mprefer-vector-width=512)
  endif()
  set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/row_loops.cpp PROPERTIES COMPILE_OPTIONS "${row_loop_flags}")

  find_path(ONEDNN_INCLUDE dnnl.hpp)
  find_library(ONEDNN_LIBRARY dnnl)
  find_package(OpenMP QUIET COMPONENTS CXX)
  set(onednn_major "")
  if(ONEDNN_INCLUDE AND EXISTS ${ONEDNN_INCLUDE}/oneapi/dnnl/dnnl_version.h)
    file(STRINGS ${ONEDNN_INCLUDE}/oneapi/dnnl/dnnl_version.h onednn_major REGEX "DNNL_VERSION_MAJOR +[0-9]")
    string(REGEX MATCH "[0-9]+$" onednn_major "${onednn_major}")
  endif()
  if(ONEDNN_LIBRARY AND OpenMP_CXX_FOUND AND onednn_major STREQUAL "2")
    target_sources(bench_kernels PRIVATE ${CMAKE_CURRENT_LIST_DIR}/onednn.cpp)
    target_include_directories(bench_kernels SYSTEM PRIVATE ${ONEDNN_INCLUDE})
    target_link_libraries(bench_kernels PRIVATE ${ONEDNN_LIBRARY} OpenMP::OpenMP_CXX)
    target_compile_definitions(bench_kernels PRIVATE AXRUN_PERF_ONEDNN)
  else()
    message(STATUS "bench_kernels: without oneDNN (needs version 2, found '${onednn_major}', and OpenMP)")
  endif()

  find_path(OPENBLAS_INCLUDE openblas_config.h PATH_SUFFIXES openblas-pthread openblas openblas-openmp)
  find_library(OPENBLAS_LIBRARY openblas)
  if(OPENBLAS_INCLUDE AND OPENBLAS_LIBRARY)
    target_sources(bench_kernels PRIVATE ${CMAKE_CURRENT_LIST_DIR}/openblas.cpp)
    target_include_directories(bench_kernels SYSTEM PRIVATE ${OPENBLAS_INCLUDE})
    target_link_libraries(bench_kernels PRIVATE ${OPENBLAS_LIBRARY})
    target_compile_definitions(bench_kernels PRIVATE AXRUN_PERF_OPENBLAS)
  else()
    message(STATUS "bench_kernels: without OpenBLAS")
  endif()

  # That all agree on small cases. The peers' own threads are not instrumented: sanitizers would see races in them.
  if(AXRUN_TESTS AND NOT AXRUN_SANITIZE)
    add_test(NAME perf.bench_kernels COMMAND bench_kernels --threads=1,2 --rounds=1
             "--benchmark_filter=small/(digits|tiny|depthwise|attention)|gpt2_decode/scores|attention/2x8x1x")
    set_tests_properties(perf.bench_kernels PROPERTIES LABELS perf)
  endif()
else()
  message(STATUS "bench_kernels: not built, Google Benchmark was not found")
endif()
