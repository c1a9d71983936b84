# FindLibTorch: LibTorch::c10 and LibTorch::torch (libtorch_cpu) from a PyPI wheel, an unpacked LibTorch, or an
# installed Python torch. The wheel's own TorchConfig insists on CUDA; nothing here does.
#
# LRA_LIBTORCH (CMake or environment variable: the folder that holds include/ and lib/, or a folder that holds torch/)
# is taken, or LibTorch is not found. Without it the project's third_party/libtorch (scripts/setup), then Python's torch
# (found, not imported). Result: LibTorch_FOUND, LibTorch_VERSION, LibTorch_ROOT, or LibTorch_NOT_FOUND_MESSAGE.
set(_lra_torch_given "${LRA_LIBTORCH}")
if(NOT _lra_torch_given)
  set(_lra_torch_given "$ENV{LRA_LIBTORCH}")
endif()
set(_lra_torch "${PROJECT_SOURCE_DIR}/third_party/libtorch")
if(_lra_torch_given)
  cmake_path(ABSOLUTE_PATH _lra_torch_given BASE_DIRECTORY ${CMAKE_SOURCE_DIR} NORMALIZE OUTPUT_VARIABLE _lra_torch)
  # What an earlier run found may be another.
  if(NOT LibTorch_ROOT STREQUAL _lra_torch AND NOT LibTorch_ROOT STREQUAL "${_lra_torch}/torch")
    foreach(_variable ROOT CPU_LIBRARY C10_LIBRARY)
      unset(LibTorch_${_variable} CACHE)
    endforeach()
  endif()
endif()

find_path(LibTorch_ROOT include/ATen/ATen.h PATHS ${_lra_torch} ${_lra_torch}/torch NO_DEFAULT_PATH)
set(_lra_reason "run scripts/setup, or set LRA_LIBTORCH to a folder with include/ and lib/ of LibTorch 2.11 or newer")
if(NOT LibTorch_ROOT AND _lra_torch_given)
  string(CONCAT _lra_reason "LRA_LIBTORCH is ${_lra_torch_given}, but neither ${_lra_torch}/include/ATen/ATen.h nor "
    "${_lra_torch}/torch/include/ATen/ATen.h is there: name a folder with include/ and lib/ of LibTorch, or unset it")
elseif(NOT LibTorch_ROOT)
  find_program(_lra_python NAMES python3)
  if(_lra_python)
    execute_process(COMMAND ${_lra_python} -c
      "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')"
      OUTPUT_VARIABLE _lra_torch_python OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    find_path(LibTorch_ROOT include/ATen/ATen.h PATHS "${_lra_torch_python}" NO_DEFAULT_PATH)
  endif()
endif()
find_library(LibTorch_CPU_LIBRARY torch_cpu PATHS ${LibTorch_ROOT}/lib NO_DEFAULT_PATH)
find_library(LibTorch_C10_LIBRARY c10 PATHS ${LibTorch_ROOT}/lib NO_DEFAULT_PATH)
if(EXISTS ${LibTorch_ROOT}/include/torch/headeronly/version.h)
  set(_lra_version_file ${LibTorch_ROOT}/include/torch/headeronly/version.h)
else()
  set(_lra_version_file ${LibTorch_ROOT}/include/torch/csrc/api/include/torch/version.h)
endif()
if(EXISTS ${_lra_version_file})
  # Another version may take this one's place.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${_lra_version_file})
  file(STRINGS ${_lra_version_file} _lra_lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
  string(REGEX REPLACE "[^0-9;]" "" LibTorch_VERSION "${_lra_lines}")
  string(REPLACE ";" "." LibTorch_VERSION "${LibTorch_VERSION}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch
  REQUIRED_VARS LibTorch_ROOT LibTorch_CPU_LIBRARY LibTorch_C10_LIBRARY VERSION_VAR LibTorch_VERSION
  REASON_FAILURE_MESSAGE "${_lra_reason}")
if(NOT LibTorch_FOUND)
  set(LibTorch_NOT_FOUND_MESSAGE "${_lra_reason}")
endif()

if(LibTorch_FOUND AND NOT TARGET LibTorch::torch)
  # Only LibTorch's own headers are linked here: others in the wheel (an old google/protobuf, fmt, dnnl) would hide the
  # system's.
  set(_lra_farm ${CMAKE_BINARY_DIR}/libtorch_include)
  file(MAKE_DIRECTORY ${_lra_farm})
  foreach(_dir ATen c10 caffe2 torch)
    file(CREATE_LINK ${LibTorch_ROOT}/include/${_dir} ${_lra_farm}/${_dir} SYMBOLIC)
  endforeach()
  file(GLOB _lra_torch_nvidia LIST_DIRECTORIES true ${LibTorch_ROOT}/../nvidia/*/lib ${LibTorch_ROOT}/../nvidia/lib)
  add_library(LibTorch::c10 SHARED IMPORTED)
  set_target_properties(LibTorch::c10 PROPERTIES IMPORTED_LOCATION ${LibTorch_C10_LIBRARY}
    INTERFACE_COMPILE_FEATURES cxx_std_20)
  target_include_directories(LibTorch::c10 SYSTEM INTERFACE ${_lra_farm}
    ${_lra_farm}/torch/csrc/api/include)
  add_library(LibTorch::torch SHARED IMPORTED)
  set_target_properties(LibTorch::torch PROPERTIES IMPORTED_LOCATION ${LibTorch_CPU_LIBRARY})
  target_link_libraries(LibTorch::torch INTERFACE LibTorch::c10)
  # The wheel is a CUDA build: libtorch_cpu needs libcudart and libcupti, which its own run path finds beside it.
  foreach(_dir ${_lra_torch_nvidia} ${LibTorch_ROOT}/lib)
    target_link_options(LibTorch::torch INTERFACE "LINKER:-rpath-link,${_dir}")
  endforeach()
endif()
mark_as_advanced(LibTorch_CPU_LIBRARY LibTorch_C10_LIBRARY)
