# The contents of the archive, which CPack reads when it runs: build folder, project, component and place of each.
set(CPACK_INSTALL_CMAKE_PROJECTS "")
set(components weft node)
if(CPACK_GENERATOR STREQUAL "DEB")
  set(components weft documents)  # packages provide the rest
elseif(WEFT_ARCHIVE_TESTS)
  set(components weft tests node)
  string(APPEND CPACK_PACKAGE_FILE_NAME "-tests")
endif()
foreach(component IN LISTS components)
  list(APPEND CPACK_INSTALL_CMAKE_PROJECTS "${CPACK_WEFT_BUILD}" weft ${component} /)
endforeach()
