# Installs and exports: find_package(lra) gives lra::train, lra::models, ... (tests/consumer is a project that does
# this).
include(CMakePackageConfigHelpers)
get_property(lra_libraries GLOBAL PROPERTY LRA_LIBRARIES)
install(TARGETS ${lra_libraries} EXPORT lraTargets)
install(EXPORT lraTargets NAMESPACE lra:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lra)

# Headers keep their folders under include/lra/, so "lra/files.h" is include/lra/lra/files.h.
foreach(folder lra datasets tasks models eval ranks run_folder train suite inspect bench report)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lra FILES_MATCHING PATTERN "*.h"
    PATTERN "*_test_util.h" EXCLUDE)
endforeach()
install(DIRECTORY ${PROJECT_BINARY_DIR}/proto/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lra FILES_MATCHING PATTERN "*.h")
# What `lra bench step --against` runs.
install(FILES ${PROJECT_SOURCE_DIR}/benchmarks/step/eager_step.py DESTINATION ${CMAKE_INSTALL_DATADIR}/lra/benchmarks/step)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs DESTINATION ${CMAKE_INSTALL_DATADIR}/lra)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/lraConfig.cmake.in ${PROJECT_BINARY_DIR}/lraConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lra)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lraConfigVersion.cmake COMPATIBILITY SameMinorVersion)
# The export names targets that only this project's Find modules define (LibTorch::torch, SPNG::SPNG), so the modules
# are installed too.
install(FILES ${PROJECT_BINARY_DIR}/lraConfig.cmake ${PROJECT_BINARY_DIR}/lraConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/FindLibTorch.cmake ${PROJECT_SOURCE_DIR}/cmake/FindSPNG.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lra)
