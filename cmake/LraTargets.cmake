# The project's two verbs.
#
#   lra_add_library(NAME SOURCES a.cc ... [DEPS lra::x absl::y ...] [PUBLIC_HEADERS]
#     makes lra_NAME with the alias lra::NAME, C++20, includes from the project's root, exported.
#
#   lra_add_test(NAME SOURCES a_test.cc ... [DEPS ...] [LABELS slow ...] [TIMEOUT seconds])
#     makes a GoogleTest program NAME and registers it with CTest as one test. One OpenMP thread unless the test sets
#     more: tests run side by side, and waiting threads of one would take the cores from the other.

# LibTorch's headers take ten seconds a file to read and three once they are precompiled. A folder whose targets use
# LibTorch says set(LRA_USES_LIBTORCH ON); they then share one precompiled header, and so share the flags that it was
# made with: position-independent code, OpenMP (at::parallel_for is a serial loop in a header without it), and neither
# errno nor traps (loops with comparisons and square roots vectorise only so; results stay as written).
option(LRA_PRECOMPILE_LIBTORCH "Precompile LibTorch's headers" ON)
find_package(OpenMP REQUIRED COMPONENTS CXX)
function(lra_use_libtorch target)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target} PRIVATE -fPIC -fno-math-errno -fno-trapping-math ${OpenMP_CXX_FLAGS})
  # By name (LibTorch brings the same libgomp), so that the export needs no further package.
  target_link_libraries(${target} PRIVATE ${OpenMP_CXX_LIB_NAMES})
  if(LRA_PRECOMPILE_LIBTORCH)
    # ccache must see the header's name in preprocessed sources.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
    if(NOT target STREQUAL lra_libtorch_headers)
      target_precompile_headers(${target} REUSE_FROM lra_libtorch_headers)
    endif()
  endif()
endfunction()

function(lra_add_libtorch_headers)
  file(WRITE ${PROJECT_BINARY_DIR}/libtorch_headers.cc "")
  add_library(lra_libtorch_headers STATIC ${PROJECT_BINARY_DIR}/libtorch_headers.cc)
  target_compile_features(lra_libtorch_headers PRIVATE cxx_std_20)
  target_link_libraries(lra_libtorch_headers PRIVATE LibTorch::torch lra_flags)
  lra_use_libtorch(lra_libtorch_headers)
  target_precompile_headers(lra_libtorch_headers PRIVATE <ATen/ATen.h> <torch/csrc/autograd/custom_function.h>)
endfunction()

function(lra_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(lra_${name} STATIC ${ARG_SOURCES})
  add_library(lra::${name} ALIAS lra_${name})
  set_target_properties(lra_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  target_compile_features(lra_${name} PUBLIC cxx_std_20)
  target_include_directories(lra_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/proto>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/lra>)
  target_link_libraries(lra_${name} PUBLIC ${ARG_DEPS} PRIVATE $<BUILD_INTERFACE:lra_flags> ${ARG_PRIVATE_DEPS})
  if(LRA_USES_LIBTORCH)
    lra_use_libtorch(lra_${name})
  endif()
  set_property(GLOBAL APPEND PROPERTY LRA_LIBRARIES lra_${name})
endfunction()

function(lra_add_test name)
  if(NOT LRA_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} lra_flags GTest::gmock GTest::gtest_main)
  if(LRA_USES_LIBTORCH)
    lra_use_libtorch(${name})
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:lra_seeded_tests>)
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
