# Options of the project and the flags that every own target gets (as an interface target, so that
# nothing leaks to consumers).
option(LRA_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(LRA_WARNINGS_AS_ERRORS "Treat warnings as errors" OFF)
option(LRA_FUZZ "Build the fuzz targets with libFuzzer (clang)" OFF)
set(LRA_SANITIZE "" CACHE STRING "Sanitizers, e.g. address,undefined")
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# Installed programs find LibTorch where it was found at build time.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

find_program(LRA_CCACHE ccache)
if(LRA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # What ccache asks for where headers are precompiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${LRA_CCACHE})
endif()

add_library(lra_flags INTERFACE)
# No contraction into fused multiply-adds: a result must not depend on what the compiler fuses.
# Left out: parameters and fields that are deliberately unset, and two warnings that g++ 12 gives falsely.
target_compile_options(lra_flags INTERFACE -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers
  "$<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-maybe-uninitialized>" -ffp-contract=off
  $<$<BOOL:${LRA_WARNINGS_AS_ERRORS}>:-Werror>)
if(LRA_SANITIZE)
  target_compile_options(lra_flags INTERFACE -fsanitize=${LRA_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(lra_flags INTERFACE -fsanitize=${LRA_SANITIZE})
endif()
if(LRA_FUZZ)
  target_compile_options(lra_flags INTERFACE -fsanitize=fuzzer-no-link -D_GLIBCXX_ASSERTIONS)
endif()
