# Builds the CUDA backend as modules next to the program, which opens them when a CUDA device is requested
# (tensor/backend.h). Thus one program runs with and without CUDA's libraries, and only the modules need nvcc.
set(WEFT_CUDA AUTO CACHE STRING "the CUDA backend: AUTO (where nvcc is found), ON or OFF")
set_property(CACHE WEFT_CUDA PROPERTY STRINGS AUTO ON OFF)
if(NOT WEFT_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "WEFT_CUDA is ${WEFT_CUDA}, expected AUTO, ON or OFF")
endif()

# Selects the architecture of this machine's GPU. Without a GPU, selects those of A100, H100, B200 and RTX 50 that nvcc
# knows, and code that drivers compile for later architectures.
function(weft_choose_cuda_architectures)
  if(DEFINED CMAKE_CUDA_ARCHITECTURES OR DEFINED ENV{CUDAARCHS})
    return()
  endif()
  set(architectures "80-real;90")
  if(CUDAToolkit_VERSION VERSION_GREATER_EQUAL 12.8)
    set(architectures "80-real;90-real;100-real;120")
  endif()
  find_program(NVIDIA_SMI nvidia-smi)
  if(NVIDIA_SMI AND CMAKE_VERSION VERSION_GREATER_EQUAL 3.24)
    execute_process(COMMAND ${NVIDIA_SMI} -L RESULT_VARIABLE status OUTPUT_VARIABLE gpus ERROR_QUIET)
    if(status EQUAL 0 AND gpus MATCHES "GPU 0")
      set(architectures native)
    endif()
  endif()
  set(CMAKE_CUDA_ARCHITECTURES ${architectures} CACHE STRING "GPUs that the kernels are compiled for")
endfunction()

set(weft_has_cuda OFF)
set(no_cuda "")  # the reason why CUDA is not used
if(WEFT_CUDA STREQUAL "OFF")
  set(no_cuda "WEFT_CUDA=OFF")
else()
  include(CheckLanguage)
  check_language(CUDA)
  find_package(CUDAToolkit 12 QUIET)
  if(NOT CMAKE_CUDA_COMPILER)
    set(no_cuda "no working nvcc was found; install the CUDA toolkit 12 or newer and put nvcc on PATH, or name it with -DCMAKE_CUDA_COMPILER")
  elseif(NOT CUDAToolkit_FOUND)
    set(no_cuda "the CUDA toolkit of ${CMAKE_CUDA_COMPILER} is older than 12")
  elseif(NOT TARGET CUDA::cudart OR NOT TARGET CUDA::cublasLt)
    set(no_cuda "the CUDA toolkit of ${CMAKE_CUDA_COMPILER} lacks libcudart or libcublasLt (Debian, Ubuntu: libcublas-dev)")
  else()
    weft_choose_cuda_architectures()
    if(CCACHE)
      set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
    endif()
    enable_language(CUDA)
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc 12 supports C++20
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    endif()
    set(weft_has_cuda ON)
  endif()
  if(WEFT_CUDA STREQUAL "ON" AND NOT weft_has_cuda)
    message(FATAL_ERROR "WEFT_CUDA=ON, but ${no_cuda}; -DWEFT_CUDA=OFF builds for CPUs only")
  endif()
endif()

if(weft_has_cuda)
  message(STATUS "Backends: CPU (${WEFT_MARCH}) and CUDA ${CUDAToolkit_VERSION} (architectures ${CMAKE_CUDA_ARCHITECTURES})")
else()
  message(STATUS "Backends: CPU (${WEFT_MARCH}) only: ${no_cuda}")
endif()

file(GLOB_RECURSE cuda_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tensor/cuda/*.cu ${PROJECT_SOURCE_DIR}/tensor/cuda/*.cpp)

# A module contains its own copy of fmt and exports only its entry point, but it shares the program's exception types and
# error frames.
function(weft_module name)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE $<IF:$<TARGET_EXISTS:fmt::fmt-header-only>,fmt::fmt-header-only,fmt::fmt>)
  target_link_options(${name} PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/cuda_exports.map)
  set_target_properties(${name} PROPERTIES VISIBILITY_INLINES_HIDDEN ON LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/cuda_exports.map
                                           LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
endfunction()

if(weft_has_cuda)
  set(cuda_kernels ${cuda_sources})
  list(FILTER cuda_kernels INCLUDE REGEX "[.]cu$")
  set_source_files_properties(${cuda_kernels} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)  # for the reason in Kernels.cmake
  add_library(weft_cuda MODULE ${cuda_sources})
  weft_module(weft_cuda)
  target_link_libraries(weft_cuda PRIVATE CUDA::cudart CUDA::cublasLt)
  set_target_properties(weft_cuda PROPERTIES CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON CUDA_EXTENSIONS OFF
                                             CUDA_RUNTIME_LIBRARY None)  # because CUDA::cudart is linked
  target_compile_options(weft_cuda PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>)
  install(TARGETS weft_cuda LIBRARY DESTINATION lib)
endif()
