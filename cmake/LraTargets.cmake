# The two functions that define the project's targets.
#
#   lra_add_library(NAME SOURCES a.cc ... [DEPS lra::x absl::y ...] [PRIVATE_DEPS ...] [FAST|GENERATED] [SEPARATE])
#     makes lra_NAME with the alias lra::NAME, C++20, includes from the project's root, exported. FAST: fully optimised.
#     GENERATED: protoc's sources. SEPARATE: sources that are never united (below): plug-ins, whose local names may be the same.
#     A folder whose targets use LibTorch says set(LRA_USES_LIBTORCH ON).
#
#   lra_add_test(NAME SOURCES a_test.cc ... [DEPS ...] [LABELS slow ...] [TIMEOUT seconds] [SEPARATE])
#     makes a GoogleTest program NAME and registers it with CTest as one test. One OpenMP thread unless the test sets
#     more: tests run side by side, and waiting threads of one would take the cores from the other.

# Building takes minutes, most of them in headers and in optimising what no user waits for. So every target is of a kind,
# and the targets of a kind share one precompiled header and, which a precompiled header demands, its flags:
#
#   plain_fast, torch_fast   -O3: what a user waits for (tasks, data, models)
#   plain, torch             -O1: what nobody waits for (records, tables, the command line, the loop around the kernels)
#   plain_test, torch_test   -O1, with GoogleTest; -O0 with sanitizers, whose checks take longest to optimise
#   generated                -O1, without warnings and sanitizers: protoc's sources take a third of a sanitised build with them
#
# The torch kinds also share position-independent code, OpenMP (at::parallel_for is a serial loop in a header without it),
# and neither errno nor traps (loops with comparisons and square roots vectorise only so; results stay as written: no
# level of optimisation changes a float, see -ffp-contract in LraOptions.cmake).
# What a file costs beside its own text are the headers that are not precompiled, so the sources of a target are compiled
# several at a time. Names in unnamed namespaces must then differ within a target; the preset dev compiles each source
# alone, where a missing #include shows.
option(LRA_PRECOMPILE_HEADERS "Precompile the headers that most files need" ON)
option(LRA_UNITE_SOURCES "Compile the sources of a target several at a time: a build from nothing is faster" ON)
set(LRA_UNITED_SOURCES 8)
find_package(OpenMP REQUIRED COMPONENTS CXX)
set(LRA_PLAIN_HEADERS <algorithm> <cstdint> <filesystem> <functional> <iostream> <map> <memory> <optional> <string> <vector>
  <absl/status/statusor.h> <absl/strings/str_cat.h> <absl/strings/str_join.h> <absl/types/span.h>
  <lra/config.pb.h> <lra/task_spec.pb.h>)
set(LRA_TORCH_HEADERS ${LRA_PLAIN_HEADERS} <ATen/core/Tensor.h> <ATen/TensorOperators.h> <ATen/ops/empty.h>)
set(LRA_TEST_HEADERS <gmock/gmock.h> <gtest/gtest.h>)
set(LRA_GENERATED_HEADERS <string> <google/protobuf/descriptor.h> <google/protobuf/extension_set.h>
  <google/protobuf/generated_message_reflection.h> <google/protobuf/io/coded_stream.h> <google/protobuf/reflection_ops.h>
  <google/protobuf/repeated_field.h> <google/protobuf/wire_format.h>)

# What a kind's targets are compiled with, but for its precompiled header.
function(lra_add_flags target kind)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE -fPIC)
  if(kind MATCHES "_test$" AND LRA_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
  elseif(NOT kind MATCHES "_fast$")
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-O1>)
  endif()
  if(kind MATCHES "^torch")
    # LibTorch's headers then bring single operators only.
    target_compile_definitions(${target} PRIVATE AT_PER_OPERATOR_HEADERS)
    target_compile_options(${target} PRIVATE -fno-math-errno -fno-trapping-math ${OpenMP_CXX_FLAGS})
    # By name (LibTorch brings the same libgomp), so that the export needs no further package.
    target_link_libraries(${target} PRIVATE ${OpenMP_CXX_LIB_NAMES})
    # Clang's libomp may lie in a folder that the linker does not search.
    if(OpenMP_omp_LIBRARY)
      cmake_path(GET OpenMP_omp_LIBRARY PARENT_PATH directory)
      target_link_directories(${target} PUBLIC $<BUILD_INTERFACE:${directory}>)
    endif()
  endif()
  if(LRA_PRECOMPILE_HEADERS)
    # ccache must see the header's name in preprocessed sources.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  endif()
endfunction()

# The target that owns a kind's precompiled header; made when the first target of that kind is.
function(lra_add_headers kind)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/headers/${kind}.cc CONTENT "")
  add_library(lra_headers_${kind} STATIC ${PROJECT_BINARY_DIR}/headers/${kind}.cc)
  set(headers ${LRA_PLAIN_HEADERS})
  target_include_directories(lra_headers_${kind} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/proto)
  target_link_libraries(lra_headers_${kind} PRIVATE protobuf::libprotobuf absl::statusor)
  if(kind STREQUAL generated)
    set(headers ${LRA_GENERATED_HEADERS})
  else()
    target_link_libraries(lra_headers_${kind} PRIVATE lra_flags)
    add_dependencies(lra_headers_${kind} lra_proto_files)
  endif()
  if(kind MATCHES "^torch")
    set(headers ${LRA_TORCH_HEADERS})
    target_link_libraries(lra_headers_${kind} PRIVATE LibTorch::torch)
  endif()
  if(kind MATCHES "_test$")
    list(APPEND headers ${LRA_TEST_HEADERS})
    target_link_libraries(lra_headers_${kind} PRIVATE GTest::gmock)
  endif()
  lra_add_flags(lra_headers_${kind} ${kind})
  target_precompile_headers(lra_headers_${kind} PRIVATE ${headers})
endfunction()

# Compiles the sources of `target` several at a time.
function(lra_unite_sources target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${LRA_UNITE_SOURCES} UNITY_BUILD_BATCH_SIZE ${LRA_UNITED_SOURCES})
endfunction()

# Compiles `target` as one of the kinds above.
function(lra_compile_as target kind)
  lra_add_flags(${target} ${kind})
  if(NOT LRA_PRECOMPILE_HEADERS)
    return()
  endif()
  if(NOT TARGET lra_headers_${kind})
    lra_add_headers(${kind})
  endif()
  target_precompile_headers(${target} REUSE_FROM lra_headers_${kind})
endfunction()

function(lra_add_library name)
  cmake_parse_arguments(ARG "FAST;GENERATED;SEPARATE" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(lra_${name} STATIC ${ARG_SOURCES})
  add_library(lra::${name} ALIAS lra_${name})
  set_target_properties(lra_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(lra_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/proto>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/lra>)
  target_link_libraries(lra_${name} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
  if(NOT ARG_GENERATED)
    target_link_libraries(lra_${name} PRIVATE $<BUILD_INTERFACE:lra_flags>)
  endif()
  set(kind plain)
  if(LRA_USES_LIBTORCH)
    set(kind torch)
  endif()
  if(ARG_FAST)
    string(APPEND kind _fast)
  elseif(ARG_GENERATED)
    set(kind generated)
  endif()
  lra_compile_as(lra_${name} ${kind})
  if(NOT ARG_SEPARATE)
    lra_unite_sources(lra_${name})
  endif()
  set_property(GLOBAL APPEND PROPERTY LRA_LIBRARIES lra_${name})
endfunction()

function(lra_add_test name)
  if(NOT LRA_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "SEPARATE" "TIMEOUT" "SOURCES;DEPS;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 1200)
  endif()
  if(LRA_SANITIZE)
    math(EXPR ARG_TIMEOUT "3 * ${ARG_TIMEOUT}")
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} lra_flags GTest::gmock GTest::gtest_main)
  if(LRA_USES_LIBTORCH)
    lra_compile_as(${name} torch_test)
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:lra_seeded_tests>)
  else()
    lra_compile_as(${name} plain_test)
  endif()
  if(NOT ARG_SEPARATE)
    lra_unite_sources(${name})
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}"
    ENVIRONMENT "LRA_CONFIGS=${PROJECT_SOURCE_DIR}/configs;OMP_NUM_THREADS=1;${ARG_ENVIRONMENT}")
endfunction()

# lra_whole_archive(NAME lib...): an interface target lra::NAME that keeps every object of the given
# libraries, for those that register themselves. Always link them through this wrapper.
function(lra_whole_archive name)
  add_library(lra_${name} INTERFACE)
  add_library(lra::${name} ALIAS lra_${name})
  set_target_properties(lra_${name} PROPERTIES EXPORT_NAME ${name})
  foreach(library ${ARGN})
    target_link_libraries(lra_${name} INTERFACE $<LINK_LIBRARY:WHOLE_ARCHIVE,${library}>)
  endforeach()
  set_property(GLOBAL APPEND PROPERTY LRA_LIBRARIES lra_${name})
endfunction()
