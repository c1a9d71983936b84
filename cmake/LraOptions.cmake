# Options of the project, and the flags of all its own targets. The flags are an interface target, so that they do not
# reach projects that use the libraries.
option(LRA_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(LRA_WITH_LIBTORCH "Build models, training and the program; OFF: data, tasks, records and tables only" ON)
option(LRA_CUDA "Build our own CUDA kernels, liblra_cuda.so, with nvcc" OFF)
option(LRA_PYTHON "Build the Python package lra (python/); needs Python's headers and pip" OFF)
set(LRA_NANOBIND_VERSION 3.1.0 CACHE STRING "nanobind, fetched from PyPI unless Python has one")
option(LRA_WARNINGS_AS_ERRORS "Treat warnings as errors" OFF)
option(LRA_FUZZ "Build the fuzz targets with libFuzzer (clang)" OFF)
set(LRA_SANITIZE "" CACHE STRING "Sanitizers, e.g. address,undefined")
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# Installed programs find LibTorch where it was at build time.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

find_program(LRA_CCACHE ccache)
if(LRA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # ccache needs these settings where headers are precompiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${LRA_CCACHE})
endif()

# Some 150 programs are linked, each in a quarter of the time or less by lld or gold.
set(LRA_LINKER AUTO CACHE STRING "lld, gold, bfd, or empty: the compiler's own; AUTO: lld, else gold, else the compiler's own")
set(linker ${LRA_LINKER})
if(LRA_LINKER STREQUAL "AUTO")
  set(linker "")
  if(NOT CMAKE_CROSSCOMPILING)
    include(CheckLinkerFlag)
    check_linker_flag(CXX -fuse-ld=lld LRA_LINKS_WITH_LLD)
    if(LRA_LINKS_WITH_LLD)
      set(linker lld)
    else()
      check_linker_flag(CXX -fuse-ld=gold LRA_LINKS_WITH_GOLD)
      if(LRA_LINKS_WITH_GOLD)
        set(linker gold)
      endif()
    endif()
  endif()
endif()
if(linker)
  add_link_options($<$<LINK_LANGUAGE:CXX>:-fuse-ld=${linker}>)
endif()

add_library(lra_flags INTERFACE)
# Multiplications and additions are not fused: a result must not depend on what the compiler fuses.
# Two kinds of warnings are off: about parameters and fields that are unset on purpose, and those that g++ 12 gives
# wrongly: about copies of short strings and GoogleTest's messages.
target_compile_options(lra_flags INTERFACE -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers
  "$<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-maybe-uninitialized;-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>" -ffp-contract=off
  $<$<BOOL:${LRA_WARNINGS_AS_ERRORS}>:-Werror>)
if(LRA_SANITIZE)
  target_compile_options(lra_flags INTERFACE -fsanitize=${LRA_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(lra_flags INTERFACE -fsanitize=${LRA_SANITIZE})
endif()
if(LRA_FUZZ)
  target_compile_options(lra_flags INTERFACE -fsanitize=fuzzer-no-link -D_GLIBCXX_ASSERTIONS)
endif()
