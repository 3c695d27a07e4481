# Builds the module for collectives between GPUs, which the program opens when several ranks use GPUs (parallel/nccl.h).
# Nothing else links NCCL. CMake has no find module for NCCL; NCCL_ROOT names a folder outside CMake's search path.
set(WEFT_NCCL AUTO CACHE STRING "collectives between GPUs over NCCL: AUTO (where CUDA and NCCL are found), ON or OFF")
set_property(CACHE WEFT_NCCL PROPERTY STRINGS AUTO ON OFF)
if(NOT WEFT_NCCL MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "WEFT_NCCL is ${WEFT_NCCL}, expected AUTO, ON or OFF")
endif()

# The module also compiles files of parallel/ because it uses no symbols of the program.
file(GLOB nccl_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/parallel/nccl/*.cpp)
list(APPEND nccl_sources ${PROJECT_SOURCE_DIR}/parallel/communicator.cpp)

set(weft_has_nccl OFF)
if(weft_has_cuda AND NOT WEFT_NCCL STREQUAL "OFF")
  find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${NCCL_ROOT} ENV NCCL_ROOT ${CUDAToolkit_INCLUDE_DIRS} PATH_SUFFIXES include)
  find_library(NCCL_LIBRARY nccl HINTS ${NCCL_ROOT} ENV NCCL_ROOT ${CUDAToolkit_LIBRARY_DIR} PATH_SUFFIXES lib lib64)
  mark_as_advanced(NCCL_INCLUDE_DIR NCCL_LIBRARY)
  if(NCCL_INCLUDE_DIR AND NCCL_LIBRARY)
    file(STRINGS ${NCCL_INCLUDE_DIR}/nccl.h nccl_version REGEX "^#define NCCL_(MAJOR|MINOR) ")
    string(REGEX REPLACE "[^0-9]*([0-9]+)[^0-9]+([0-9]+).*" "\\1.\\2" nccl_version "${nccl_version}")
    if(nccl_version VERSION_GREATER_EQUAL 2.14)  # the first version with non-blocking communicators
      set(weft_has_nccl ON)
    endif()
  endif()
endif()
if(WEFT_NCCL STREQUAL "ON" AND NOT weft_has_nccl)
  message(FATAL_ERROR "WEFT_NCCL=ON needs the CUDA backend (WEFT_CUDA) and NCCL 2.14 or newer; found: ${NCCL_INCLUDE_DIR}, "
                      "${NCCL_LIBRARY}, version '${nccl_version}'. Install libnccl-dev, or name its folder with -DNCCL_ROOT")
endif()

if(weft_has_nccl)
  message(STATUS "Collectives between GPUs: NCCL ${nccl_version}, or MPI")
  add_library(weft_nccl MODULE ${nccl_sources})
  weft_module(weft_nccl)
  target_include_directories(weft_nccl SYSTEM PRIVATE ${NCCL_INCLUDE_DIR})
  target_link_libraries(weft_nccl PRIVATE ${NCCL_LIBRARY} CUDA::cudart Threads::Threads)
  install(TARGETS weft_nccl LIBRARY DESTINATION lib)
elseif(weft_has_cuda)
  message(STATUS "Collectives between GPUs: MPI through host memory (NCCL 2.14 or newer was not found; set NCCL_ROOT to its folder)")
endif()
