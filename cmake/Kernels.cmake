# Builds the library of tensor/ for one processor or, by default, once per relevant level of x86-64.
#
# The dynamic loader selects the level. Next to libweft_tensor.so (x86-64-v2) are
# glibc-hwcaps/x86-64-v3/libweft_tensor.so (AVX2) and glibc-hwcaps/x86-64-v4/libweft_tensor.so (AVX-512), and
# glibc 2.33 or newer loads the best one that the processor supports. A process loads only one of them, so no
# instruction of a higher level can reach an older processor. Older loaders use x86-64-v2. The folder can be
# moved because programs search for the library in their own folder.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(default_march dispatch)
  set(wide_vectors -mprefer-vector-width=512)  # has no effect without AVX-512
else()
  set(default_march native)
  set(wide_vectors "")
endif()
set(WEFT_MARCH ${default_march} CACHE STRING
    "CPU kernels: dispatch (of x86-64-v2, -v3 and -v4, the best that each processor runs) or one -march, such as native")

set(CMAKE_INSTALL_RPATH "$ORIGIN:$ORIGIN/../lib")  # in the build folder and after installation
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)

file(GLOB_RECURSE tensor_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tensor/*.cpp)
list(FILTER tensor_sources EXCLUDE REGEX "/tensor/cuda/")

# The code of a kernel, and therefore the last bit of its results, must not depend on other files in a unity build.
set(cpu_kernels ${tensor_sources})
list(FILTER cpu_kernels INCLUDE REGEX "/tensor/cpu/")
set_source_files_properties(${cpu_kernels} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

# In a forward pass, the bits of everything but GEMMs of floating-point numbers are the same on all processors
# (docs/hardware/precision.md). Therefore the compiler may not fuse multiplications with additions, which only some processors
# can. GEMMs fuse them with intrinsics.
function(weft_tensor_library name type march)
  add_library(${name} ${type} ${tensor_sources})
  target_compile_features(${name} PUBLIC cxx_std_20)  # also for those who use the installed library
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include/weft>)
  target_link_libraries(${name} PUBLIC fmt::fmt Threads::Threads PRIVATE DNNL::dnnl OpenMP::OpenMP_CXX ${CMAKE_DL_LIBS})
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O3> -march=${march} ${wide_vectors} -fno-math-errno -fno-trapping-math
                         -ffp-contract=off)
endfunction()

# Each library and program uses its own copies of inline and template functions, because the copies of another level may
# differ in more than speed (vector lanes).
function(weft_tensor_variant name march folder)
  weft_tensor_library(${name} SHARED ${march})
  target_compile_options(${name} PRIVATE -fvisibility-inlines-hidden)
  target_link_options(${name} PRIVATE -Wl,-Bsymbolic-functions -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/tensor_exports.map)
  set_target_properties(${name} PROPERTIES OUTPUT_NAME weft_tensor LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${folder}
                                           LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/tensor_exports.map)
  if(folder)  # modules are next to the library of the lowest level
    set_target_properties(${name} PROPERTIES INSTALL_RPATH "${CMAKE_INSTALL_RPATH}:$ORIGIN/../..")
  endif()
  if(folder)
    install(TARGETS ${name} LIBRARY DESTINATION lib/${folder})
  else()  # the library that programs link
    install(TARGETS ${name} EXPORT weft LIBRARY DESTINATION lib)
  endif()
endfunction()

if(WEFT_MARCH STREQUAL "dispatch")
  weft_tensor_variant(weft_tensor x86-64-v2 "")
  foreach(level v3 v4)
    weft_tensor_variant(weft_tensor_${level} x86-64-${level} glibc-hwcaps/x86-64-${level})
    add_dependencies(weft_tensor weft_tensor_${level})  # nothing links them, the loader finds them
  endforeach()
else()
  weft_tensor_library(weft_tensor STATIC ${WEFT_MARCH})
  install(TARGETS weft_tensor EXPORT weft ARCHIVE DESTINATION lib COMPONENT dev)
  set(CMAKE_ENABLE_EXPORTS ON)  # programs export what modules share with them (cmake/cuda_exports.map)
endif()
