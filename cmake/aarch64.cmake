# Toolchain: builds for 64-bit ARM on another machine, with the libraries that scripts/aarch64_sysroot fetched, and runs tests in
# the emulator. The preset aarch64 names this file.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++-12)
set(CMAKE_SYSROOT ${CMAKE_CURRENT_LIST_DIR}/../third_party/aarch64)
cmake_path(NORMAL_PATH CMAKE_SYSROOT)
# Programs, such as protoc, are this machine's; all else is the other's.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(LRA_LIBTORCH ${CMAKE_SYSROOT}/opt/libtorch)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static;-L;${CMAKE_SYSROOT})
