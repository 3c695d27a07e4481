# cmake -DWEFT=PROGRAM -DFOLDER=FOLDER -P ManPages.cmake: writes the man pages that the program prints.
function(run_weft output)
  execute_process(COMMAND ${WEFT} ${ARGN} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  set(${output} "${text}" PARENT_SCOPE)
endfunction()

run_weft(commands --help=words)
string(REGEX REPLACE "\t[^\n]*\n" ";" commands "${commands}")
string(REGEX REPLACE ";$" "" commands "${commands}")
foreach(command IN LISTS commands)  # some consist of two words, such as inspect model
  separate_arguments(words UNIX_COMMAND ${command})
  run_weft(page ${words} --help=man)
  list(JOIN words - name)
  file(WRITE ${FOLDER}/weft-${name}.1 "${page}")
endforeach()
run_weft(page --help=man)
file(WRITE ${FOLDER}/weft.1 "${page}")  # written last because the build checks for it
