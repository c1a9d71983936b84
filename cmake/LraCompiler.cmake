# Says which GCC is needed: std::bit_cast came with 11, and what is built, tested and measured is 12's.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
  set(severity WARNING)
  if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 11)
    set(severity FATAL_ERROR)
  endif()
  message(${severity} "${CMAKE_CXX_COMPILER} is GCC ${CMAKE_CXX_COMPILER_VERSION}: 12 or newer is what lra is built and "
    "tested with, and 11 the least that it may work with; -DCMAKE_CXX_COMPILER=g++-12 takes another")
endif()
