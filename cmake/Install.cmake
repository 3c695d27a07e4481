# What `cmake --install` installs beside the program: man pages and completion for shells.
set(man_pages ${PROJECT_BINARY_DIR}/man)
add_custom_command(OUTPUT ${man_pages}/weft.1
                   COMMAND ${CMAKE_COMMAND} -DWEFT=$<TARGET_FILE:weft> -DFOLDER=${man_pages} -P ${PROJECT_SOURCE_DIR}/cmake/ManPages.cmake
                   DEPENDS weft ${PROJECT_SOURCE_DIR}/cmake/ManPages.cmake
                   COMMENT "Writing man pages" VERBATIM)
add_custom_target(man ALL DEPENDS ${man_pages}/weft.1)
install(DIRECTORY ${man_pages}/ DESTINATION share/man/man1)
install(FILES launch/completion/weft.bash DESTINATION share/bash-completion/completions RENAME weft)
install(FILES launch/completion/_weft DESTINATION share/zsh/site-functions)
