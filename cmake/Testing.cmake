# Functions that register test programs and tests of ctest, also over MPI and on the emulated device.
#
# A folder's program is <folder>_tests. In ctest it is one test, or a few that share its cases (SHARDS). Its output
# names the cases that fail. Only `tests/run --part extended` runs the tests marked EXTENDED.

# Tests use two cores on any machine.
set(test_threads OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive)
# Allows mpirun as root, in containers and with more ranks than cores.
set(mpi_environment OMP_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_mpi_yield_when_idle=1)
set(emulated_modules WEFT_CUDA_MODULE=${PROJECT_BINARY_DIR}/emulated/libweft_cuda.so
    WEFT_NCCL_MODULE=${PROJECT_BINARY_DIR}/emulated/libweft_nccl.so)
set(weft_ptx_gpus 80 90)  # compute capabilities of A100, H100, B200 and RTX 50
if(CUDAToolkit_VERSION VERSION_GREATER_EQUAL 12.8)
  list(APPEND weft_ptx_gpus 100 120)
endif()
set(device_filters ${PROJECT_SOURCE_DIR}/tests/device_filters.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${device_filters})

# Compiling tests takes longer than running them, so they are optimized less than the product, and not at all in folders
# whose tests compute little themselves.
set(test_optimisation -O1)
function(weft_test_executable name)
  add_executable(${name} ${ARGN})
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:${test_optimisation}>)
endfunction()

# weft_test(NAME [EXTENDED] [ENVIRONMENT VARIABLE=VALUE...] [PROPERTIES NAME VALUE...] COMMAND ...)
function(weft_test name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "EXTENDED" "" "ENVIRONMENT;PROPERTIES;COMMAND")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "weft_test(${name}): unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  add_test(NAME ${name} COMMAND ${ARG_COMMAND})
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 ENVIRONMENT "${ARG_ENVIRONMENT}" ${ARG_PROPERTIES})
  if(ARG_EXTENDED)
    set_tests_properties(${name} PROPERTIES LABELS extended)
  endif()
endfunction()

# weft_mpi_test(NAME RANKS [...] COMMAND ...) runs a command on several ranks. Other arguments are those of weft_test.
function(weft_mpi_test name ranks)
  weft_test(${name} COMMAND ${MPIEXEC_EXECUTABLE} -n ${ranks} --oversubscribe ENVIRONMENT ${mpi_environment} ${ARGN})
endfunction()

# Registers the cases of a program that match a filter as `shards` tests. Further arguments go to weft_test and end with
# ENVIRONMENT ...
function(weft_sharded_tests name program shards filter)
  foreach(shard RANGE 1 ${shards})
    math(EXPR index "${shard} - 1")
    set(suffix "")
    if(shards GREATER 1)
      set(suffix ".${shard}")
    endif()
    weft_test(${name}${suffix} ${ARGN} GTEST_TOTAL_SHARDS=${shards} GTEST_SHARD_INDEX=${index}
              COMMAND ${program} --gtest_brief=1 --gtest_filter=${filter})
  endforeach()
endfunction()

# weft_test_program(LIBRARY...) builds the folder's program from all *_test.cpp below it, which are globbed so that none
# is forgotten.
function(weft_test_program)
  get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *_test.cpp)
  if(NOT WEFT_MARCH STREQUAL "dispatch")
    list(FILTER sources EXCLUDE REGEX "/tensor/dispatch_test[.]cpp$")
  endif()
  weft_test_executable(${folder}_tests ${kernels_first} ${sources} ${kernels_last})  # tests/emulation has kernels
  target_compile_definitions(${folder}_tests PRIVATE WEFT_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                                     WEFT_BINARY_DIR="${PROJECT_BINARY_DIR}")
  target_link_libraries(${folder}_tests PRIVATE ${ARGN} GTest::gtest GTest::gtest_main)
endfunction()

# weft_tests(SHARDS LIBRARY...) builds the folder's program and registers its cases as tests.
function(weft_tests shards)
  weft_test_program(${ARGN})
  weft_sharded_tests(${folder} ${folder}_tests ${shards} * ENVIRONMENT ${test_threads})
endfunction()

# Returns the cases of device_filters.txt of these kinds and this program as a GoogleTest pattern.
function(weft_device_filter folder kinds into)
  file(STRINGS ${device_filters} lines REGEX "^${folder} +(${kinds}) ")
  list(TRANSFORM lines REPLACE "^[^ ]+ +[^ ]+ +([^ ]+).*" "\\1")
  list(JOIN lines ":" pattern)
  set(${into} "${pattern}" PARENT_SCOPE)
endfunction()

set(has_ptx_tests OFF)
if(weft_has_cuda AND NOT WEFT_SANITIZE)
  set(has_ptx_tests ON)
endif()

# Runs the folder's program on the emulated device, except for the cases that device_filters.txt excludes. ALSO_AS_PTX:
# as extended tests if weft_ptx_tests runs the same cases.
function(weft_emulated_tests shards)
  get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  set(kind "")
  if("ALSO_AS_PTX" IN_LIST ARGN AND has_ptx_tests)
    set(kind EXTENDED)
  endif()
  set(rest PROPERTIES COST 100 ENVIRONMENT WEFT_TEST_DEVICE=cuda ${emulated_modules} ${test_threads})  # the longest start first
  weft_device_filter(${folder} "host|slow|extended" left_out)
  weft_sharded_tests(emulated_${folder} ${folder}_tests ${shards} "-${left_out}" ${kind} ${rest})
  weft_device_filter(${folder} "extended" only)
  if(only)
    weft_device_filter(${folder} "host|slow" left_out)
    weft_sharded_tests(emulated_${folder}.extended ${folder}_tests ${shards} "${only}-${left_out}" EXTENDED ${rest})
  endif()
endfunction()

# weft_ptx_tests(GPU...) runs the same with the PTX that nvcc makes of the kernels for these GPUs, except for the H100 as
# extended tests.
function(weft_ptx_tests)
  if(NOT has_ptx_tests)
    return()
  endif()
  get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  weft_device_filter(${folder} "host|slow|extended" left_out)
  foreach(gpu IN LISTS ARGN)
    string(REGEX REPLACE "(.)$" ".\\1" compute ${gpu})
    set(is_extended PROPERTIES COST 100)
    if(NOT gpu EQUAL 90)
      set(is_extended EXTENDED PROPERTIES COST 100 FIXTURES_REQUIRED ptx_of_all_gpus)
    endif()
    weft_sharded_tests(ptx_${gpu}_${folder} ${folder}_tests 1 "-${left_out}" ${is_extended}
                       ENVIRONMENT WEFT_TEST_DEVICE=cuda ${emulated_modules} ${test_threads}
                       WEFT_EMULATION_PTX=${PROJECT_BINARY_DIR}/emulated/ptx/${gpu} WEFT_EMULATION_COMPUTE=${compute})
  endforeach()
endfunction()
