# Copies the CUDA libraries and NCCL that the modules need beside these modules, for a machine with nothing but NVIDIA's
# driver (launch/archive --cuda).
file(REAL_PATH "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}" root)
file(GLOB modules "${root}/lib/libweft_cuda.so" "${root}/lib/libweft_nccl.so")
if(NOT modules)
  message(FATAL_ERROR "This build has no CUDA module: leave out --cuda, or see docs/hardware/cuda.md for what it needs")
endif()
file(GET_RUNTIME_DEPENDENCIES MODULES ${modules} DIRECTORIES ${cuda_folders} RESOLVED_DEPENDENCIES_VAR found
     UNRESOLVED_DEPENDENCIES_VAR missing PRE_INCLUDE_REGEXES "^lib(cudart|cublasLt|nccl)[.]so" PRE_EXCLUDE_REGEXES ".")
if(missing)
  list(JOIN missing ", " missing)
  message(FATAL_ERROR "The CUDA modules need libraries that are not on this machine: ${missing}")
endif()
foreach(library IN LISTS found)
  cmake_path(GET library FILENAME name)
  file(REAL_PATH "${library}" file)
  file(COPY_FILE "${file}" "${root}/lib/${name}")
endforeach()
