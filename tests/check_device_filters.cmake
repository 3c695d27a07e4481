# tests/check_device_filters.cmake: every pattern of device_filters.txt still matches a test of its program:
# cmake -DPROGRAM=<build>/tensor_tests -DFOLDER=tensor -P check_device_filters.cmake
cmake_minimum_required(VERSION 3.22)

set(stale "")
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/device_filters.txt lines REGEX "^${FOLDER} ")
foreach(line IN LISTS lines)
  if(NOT line MATCHES "^${FOLDER} +(host|slow) +([^ ]+)")
    list(APPEND stale "'${line}' is not: program, host or slow, pattern")
    continue()
  endif()
  set(pattern "${CMAKE_MATCH_2}")
  execute_process(COMMAND ${PROGRAM} --gtest_list_tests --gtest_filter=${pattern} OUTPUT_VARIABLE tests
                  COMMAND_ERROR_IS_FATAL ANY)
  if(NOT tests MATCHES "\n  ")
    list(APPEND stale "${pattern} matches no test of ${FOLDER}")
  endif()
endforeach()
if(stale)
  list(JOIN stale "\n  " text)
  message(FATAL_ERROR "tests/device_filters.txt:\n  ${text}\n")
endif()
