# Install and export: find_package(lra) gives lra::train, lra::models, ... (tests/consumer is such a project).
include(CMakePackageConfigHelpers)
get_property(lra_libraries GLOBAL PROPERTY LRA_LIBRARIES)
install(TARGETS ${lra_libraries} EXPORT lraTargets)
install(EXPORT lraTargets NAMESPACE lra:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lra)

# Headers keep their folders under include/lra/, so "lra/files.h" is include/lra/lra/files.h.
foreach(folder lra datasets tasks models eval train)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lra FILES_MATCHING PATTERN "*.h")
endforeach()
install(DIRECTORY ${PROJECT_BINARY_DIR}/proto/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lra FILES_MATCHING PATTERN "*.h")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs DESTINATION ${CMAKE_INSTALL_DATADIR}/lra)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/lraConfig.cmake.in ${PROJECT_BINARY_DIR}/lraConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lra)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lraConfigVersion.cmake COMPATIBILITY SameMinorVersion)
# The export names targets that only modules of ours make (LibTorch::torch, SPNG::SPNG); they travel along.
install(FILES ${PROJECT_BINARY_DIR}/lraConfig.cmake ${PROJECT_BINARY_DIR}/lraConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/FindLibTorch.cmake ${PROJECT_SOURCE_DIR}/cmake/FindSPNG.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lra)
