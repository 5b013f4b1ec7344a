# bench_kernels, and the libraries that it compares axrun with where this machine has them: oneDNN (the wheel that
# perf/comparison/environment.py installs, or Debian's libdnnl-dev) and OpenBLAS (libopenblas-dev). Without them it measures
# axrun against the machine's limits only.
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

  # oneDNN of perf/comparison/environment.py where that was installed; Debian's is of 2022.
  set(AXRUN_ONEDNN "" CACHE STRING "oneDNN of bench_kernels: wheel (build/venv), system (libdnnl-dev), or empty: the first of them")
  set(onednn_venv ${CMAKE_SOURCE_DIR}/build/venv)
  set(onednn wheel)
  if(AXRUN_ONEDNN STREQUAL "system" OR NOT (AXRUN_ONEDNN OR EXISTS ${onednn_venv}/lib/libdnnl.so))
    set(onednn system)
  endif()
  # Read anew each time: the wheel may have come since.
  if(onednn STREQUAL "wheel")
    find_path(onednn_include oneapi/dnnl/dnnl.hpp PATHS ${onednn_venv}/include NO_DEFAULT_PATH NO_CACHE)
    find_library(onednn_library dnnl PATHS ${onednn_venv}/lib NO_DEFAULT_PATH NO_CACHE)
  else()
    find_path(onednn_include oneapi/dnnl/dnnl.hpp NO_CACHE)
    find_library(onednn_library dnnl NO_CACHE)
  endif()
  find_package(OpenMP QUIET COMPONENTS CXX)
  if(onednn_include AND onednn_library AND (onednn STREQUAL "wheel" OR OpenMP_CXX_FOUND))
    target_sources(bench_kernels PRIVATE ${CMAKE_CURRENT_LIST_DIR}/onednn.cpp)
    target_include_directories(bench_kernels SYSTEM PRIVATE ${onednn_include})
    target_link_libraries(bench_kernels PRIVATE ${onednn_library})
    target_compile_definitions(bench_kernels PRIVATE AXRUN_PERF_ONEDNN)
    if(onednn STREQUAL "wheel")
      # It runs in a SYCL queue, on the OpenCL implementation beside it, and both need the oneTBB beside them: found
      # before the system's, by libraries of libraries too.
      target_link_libraries(bench_kernels PRIVATE TBB::tbb)
      target_link_options(bench_kernels PRIVATE LINKER:--disable-new-dtags LINKER:-rpath-link,${onednn_venv}/lib)
      set_target_properties(bench_kernels PROPERTIES BUILD_RPATH ${onednn_venv}/lib)
      target_compile_definitions(bench_kernels PRIVATE AXRUN_PERF_OPENCL="${onednn_venv}/lib/libintelocl.so")
    else()
      target_link_libraries(bench_kernels PRIVATE OpenMP::OpenMP_CXX)
    endif()
    message(STATUS "bench_kernels: oneDNN is ${onednn_library}")
  else()
    message(STATUS "bench_kernels: without oneDNN (${onednn})")
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
