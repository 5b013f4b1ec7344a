# cmake --install: the command, the library, its headers, and what finds them (CMake package, pkg-config).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(axrun_include_dir ${CMAKE_INSTALL_INCLUDEDIR}/axrun)
set(axrun_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/axrun)

# What runtime/session.h and runtime/axrun_c.h include. Programs write <axrun/runtime/session.h>; "runtime/session.h", as
# before there was a folder of axrun's own to name, is found as well. Installed, headers name each other in the first way.
set(axrun_public_headers
    ir/api.h ir/dim.h ir/error.h ir/error_place.h ir/graph.h ir/tensor.h ir/types.h
    runtime/axrun_c.h runtime/axrun_operators.h runtime/error_code.h runtime/form_counts.h runtime/log.h runtime/metrics.h runtime/optimizer_status.h runtime/run_control.h
    runtime/run_state.h runtime/session.h runtime/value.h)
foreach(header ${axrun_public_headers})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${header})
  file(READ ${CMAKE_SOURCE_DIR}/${header} text)
  string(REGEX REPLACE "#include \"(ir|runtime)/" "#include \"axrun/\\1/" text "${text}")
  set(installed ${CMAKE_BINARY_DIR}/include/axrun/${header})
  set(present "")
  if(EXISTS ${installed})
    file(READ ${installed} present)
  endif()
  if(NOT "${present}" STREQUAL "${text}")
    file(WRITE ${installed} "${text}")
  endif()
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${installed} DESTINATION ${axrun_include_dir}/${folder})
endforeach()

target_include_directories(libaxrun INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
                                              $<INSTALL_INTERFACE:${axrun_include_dir}>)
target_compile_features(libaxrun INTERFACE cxx_std_20)
install(TARGETS axrun_cli axrun_serve RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${CMAKE_BINARY_DIR}/runtime/cli/axrun.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${CMAKE_BINARY_DIR}/runtime/cli/axrun.bash-completion
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME axrun)
# The plugin of ONNX Runtime: a library of its own, not to be linked.
install(TARGETS axrun_onnxruntime LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
# The program in which both libraries try what they generate lies beside them.
install(TARGETS axrun_worker RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS libaxrun EXPORT axrunTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT axrunTargets NAMESPACE axrun:: DESTINATION ${axrun_package_dir})

configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/axrunConfig.cmake.in ${CMAKE_BINARY_DIR}/axrunConfig.cmake
                              INSTALL_DESTINATION ${axrun_package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/axrunConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/axrunConfig.cmake ${CMAKE_BINARY_DIR}/axrunConfigVersion.cmake
        DESTINATION ${axrun_package_dir})

configure_file(${CMAKE_SOURCE_DIR}/cmake/axrun.pc.in ${CMAKE_BINARY_DIR}/axrun.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/axrun.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# What users get: all that is installed, and the wheel.
add_custom_target(product DEPENDS axrun_cli axrun_manual axrun_serve axrun_onnxruntime axrun_worker libaxrun axrun_wheel)

install(FILES ${CMAKE_SOURCE_DIR}/LICENSE ${CMAKE_SOURCE_DIR}/NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})
