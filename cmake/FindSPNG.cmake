# FindSPNG gives SPNG::SPNG, that is libspng (Debian's libspng-dev); distributions do not package libspng's CMake files.
find_path(SPNG_INCLUDE_DIR spng.h)
find_library(SPNG_LIBRARY NAMES spng)
if(SPNG_INCLUDE_DIR)
  file(STRINGS ${SPNG_INCLUDE_DIR}/spng.h _lra_lines REGEX "define SPNG_VERSION_(MAJOR|MINOR|PATCH) ")
  string(REGEX REPLACE "[^0-9;]" "" SPNG_VERSION "${_lra_lines}")
  string(REPLACE ";" "." SPNG_VERSION "${SPNG_VERSION}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SPNG REQUIRED_VARS SPNG_LIBRARY SPNG_INCLUDE_DIR VERSION_VAR SPNG_VERSION
  REASON_FAILURE_MESSAGE "install libspng (Debian: libspng-dev), or run scripts/setup")

if(SPNG_FOUND AND NOT TARGET SPNG::SPNG)
  add_library(SPNG::SPNG UNKNOWN IMPORTED)
  set_target_properties(SPNG::SPNG PROPERTIES IMPORTED_LOCATION ${SPNG_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${SPNG_INCLUDE_DIR})
endif()
mark_as_advanced(SPNG_INCLUDE_DIR SPNG_LIBRARY)
