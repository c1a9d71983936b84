# FindJemalloc gives Jemalloc::Jemalloc (Debian's libjemalloc-dev). Linked into a program, it replaces malloc.
find_library(JEMALLOC_LIBRARY NAMES jemalloc)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Jemalloc REQUIRED_VARS JEMALLOC_LIBRARY
  REASON_FAILURE_MESSAGE "install jemalloc (Debian: libjemalloc-dev), or run scripts/setup")
if(Jemalloc_FOUND AND NOT TARGET Jemalloc::Jemalloc)
  add_library(Jemalloc::Jemalloc UNKNOWN IMPORTED)
  set_target_properties(Jemalloc::Jemalloc PROPERTIES IMPORTED_LOCATION ${JEMALLOC_LIBRARY})
endif()
mark_as_advanced(JEMALLOC_LIBRARY)
