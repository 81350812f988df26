include(CMakePackageConfigHelpers)
set(dir ${CMAKE_INSTALL_LIBDIR}/cmake/reenact)
install(TARGETS reenact_recorder EXPORT reenactTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  FILE_SET abi DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT reenactTargets NAMESPACE reenact:: DESTINATION ${dir})
configure_package_config_file(cmake/reenactConfig.cmake.in reenactConfig.cmake INSTALL_DESTINATION ${dir})
write_basic_package_version_file(reenactConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/reenactConfig.cmake ${PROJECT_BINARY_DIR}/reenactConfigVersion.cmake DESTINATION ${dir})
# Relative to where the .pc lies, so that the installed tree can be moved.
file(RELATIVE_PATH REENACT_PC_TO_PREFIX /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
configure_file(cmake/reenact.pc.in reenact.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/reenact.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(TARGET reenact_cli)
  install(TARGETS reenact_cli DESTINATION ${CMAKE_INSTALL_BINDIR})
  # Header-only: a test runs the installed command.
  install(DIRECTORY replayer/testing/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()
