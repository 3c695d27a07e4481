# Installs man pages, completion for shells, documents with configurations, and the CMake package.
set(man_pages ${PROJECT_BINARY_DIR}/man)
add_custom_command(OUTPUT ${man_pages}/weft.1
                   COMMAND ${CMAKE_COMMAND} -DWEFT=$<TARGET_FILE:weft> -DFOLDER=${man_pages} -P ${PROJECT_SOURCE_DIR}/cmake/ManPages.cmake
                   DEPENDS weft ${PROJECT_SOURCE_DIR}/cmake/ManPages.cmake
                   COMMENT "Writing man pages" VERBATIM)
add_custom_target(man ALL DEPENDS ${man_pages}/weft.1)
install(DIRECTORY ${man_pages}/ DESTINATION share/man/man1)
install(FILES launch/completion/weft.bash DESTINATION share/bash-completion/completions RENAME weft)
# Below /usr, Debian's zsh searches only the second folder, and other systems only the first.
foreach(folder site-functions vendor-completions)
  install(FILES launch/completion/_weft DESTINATION share/zsh/${folder})
endforeach()
install(DIRECTORY docs configs DESTINATION share/doc/weft COMPONENT documents)
install(FILES README.md CHANGELOG.md DESTINATION share/doc/weft COMPONENT documents)

# The CMake package provides the libraries below launch/ with their headers (docs/library).
set(libraries parallel data model trainer)
foreach(folder tensor ${libraries})
  set_target_properties(weft_${folder} PROPERTIES EXPORT_NAME ${folder})
  install(DIRECTORY ${folder} DESTINATION include/weft COMPONENT dev FILES_MATCHING PATTERN "*.h")
endforeach()
list(TRANSFORM libraries PREPEND weft_)
install(TARGETS ${libraries} EXPORT weft COMPONENT dev DESTINATION lib)
install(EXPORT weft NAMESPACE weft:: FILE weft-targets.cmake DESTINATION lib/cmake/weft COMPONENT dev)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(weft-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/weft-config.cmake cmake/Dependencies.cmake ${PROJECT_BINARY_DIR}/weft-config-version.cmake
        DESTINATION lib/cmake/weft COMPONENT dev)
