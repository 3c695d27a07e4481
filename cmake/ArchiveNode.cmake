# Collects what a bare node lacks when the programs are installed: Open MPI's mpirun and plugins, and shared libraries.
# Makes RPATHs relative to each file, so that the folder can be moved.
#
# Open MPI's layout stays the same below its prefix, and OPAL_PREFIX names the new location (launch/mpirun.sh,
# launch/mpi_environment.cpp). weft_mpirun is the mpirun that this build found.
file(REAL_PATH "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}" root)

# The node provides glibc, the driver, and CUDA's libraries and NCCL, which must match the driver and are large.
set(of_the_node "^ld-linux" "^lib(c|m|dl|rt|pthread|resolv|util|anl|mvec|nsl)[.]so" "^lib(cuda|cudart|cublas|cublasLt|nccl)[.]so"
                "^libnvidia-")
# The archive lacks plugins for networks, whose libraries must match the node's drivers (Debian's settings also disable
# most of them), for OpenSHMEM, and for monitoring.
set(plugins_left_out "_(ucx|ofi|openib|psm|psm2)[.]so$" "/mca_(atomic|memheap|scoll|spml|sshmem)_" "_monitoring[.]so$")

function(require_program name debian)
  find_program(${name}_program ${name} HINTS ${ARGN})
  if(NOT ${name}_program)
    message(FATAL_ERROR "The archive needs ${name}. Debian, Ubuntu: apt-get install ${debian}. launch/install-dependencies "
                        "installs all that Weft needs on Debian and Ubuntu.")
  endif()
endfunction()

# Finds a folder of Open MPI's configuration: prefix, bindir, pkglibdir, ...
function(open_mpi_folder name into)
  if(NOT "${open_mpi_paths}" MATCHES "(^|\n)path:${name}:([^\n]+)")
    message(FATAL_ERROR "${ompi_info_program} does not report ${name}: the archive needs Open MPI 4")
  endif()
  set(${into} "${CMAKE_MATCH_2}" PARENT_SCOPE)
endfunction()

# Finds the location of a folder's copy below Open MPI's prefix.
function(open_mpi_copy folder into)
  cmake_path(IS_PREFIX prefix "${folder}" NORMALIZE is_below)
  if(NOT is_below)
    message(FATAL_ERROR "Open MPI's ${folder} is not below its prefix ${prefix}: OPAL_PREFIX cannot move it")
  endif()
  cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${prefix}")
  set(${into} "${root}/${folder}" PARENT_SCOPE)
endfunction()

function(copy_open_mpi)
  execute_process(COMMAND ${ompi_info_program} --parsable --path all OUTPUT_VARIABLE open_mpi_paths COMMAND_ERROR_IS_FATAL ANY)
  open_mpi_folder(prefix prefix)
  open_mpi_folder(bindir programs)
  open_mpi_folder(pkglibdir plugins)
  open_mpi_folder(pkgdatadir messages)
  file(MAKE_DIRECTORY "${root}/libexec")
  file(REAL_PATH "${programs}/orterun" orterun)
  file(REAL_PATH "${programs}/orted" orted)
  file(COPY_FILE "${orterun}" "${root}/bin/orterun")
  file(COPY_FILE "${orted}" "${root}/libexec/orted")

  file(GLOB files "${plugins}/mca_*.so")
  foreach(pattern IN LISTS plugins_left_out)
    list(FILTER files EXCLUDE REGEX "${pattern}")
  endforeach()
  open_mpi_copy("${plugins}" copy)
  file(COPY ${files} DESTINATION "${copy}")
  file(GLOB files "${messages}/help-*.txt")
  open_mpi_copy("${messages}" copy)
  file(COPY ${files} DESTINATION "${copy}")
endfunction()

# Lists the ELF files of the given folders, without links.
function(find_binaries into)
  list(TRANSFORM ARGN REPLACE "(.+)" "${root}/\\1/*" OUTPUT_VARIABLE patterns)
  file(GLOB_RECURSE files LIST_DIRECTORIES false ${patterns})
  set(binaries "")
  foreach(file IN LISTS files)
    file(READ "${file}" magic LIMIT 4 HEX)
    if(magic STREQUAL "7f454c46" AND NOT IS_SYMLINK "${file}")
      list(APPEND binaries "${file}")
    endif()
  endforeach()
  set(${into} "${binaries}" PARENT_SCOPE)
endfunction()

function(copy_libraries)
  find_binaries(programs bin libexec)
  find_binaries(modules lib)
  file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${programs} MODULES ${modules} PRE_EXCLUDE_REGEXES ${of_the_node}
       RESOLVED_DEPENDENCIES_VAR found UNRESOLVED_DEPENDENCIES_VAR missing CONFLICTING_DEPENDENCIES_PREFIX several)
  if(missing)
    list(JOIN missing ", " missing)
    message(FATAL_ERROR "The programs need libraries that are not on this machine: ${missing}")
  endif()
  foreach(name IN LISTS several_FILENAMES)  # one library may have several names in its folder
    list(GET several_${name} 0 first)
    list(APPEND found "${first}")
  endforeach()
  foreach(library IN LISTS found)
    cmake_path(IS_PREFIX root "${library}" NORMALIZE is_ours)
    if(NOT is_ours)
      cmake_path(GET library FILENAME name)
      file(REAL_PATH "${library}" file)
      file(COPY_FILE "${file}" "${root}/lib/${name}")
      if(name MATCHES "^libpmix[.]so")
        cmake_path(GET file PARENT_PATH pmix_folder)
      endif()
    endif()
  endforeach()
  set(pmix_folder "${pmix_folder}" PARENT_SCOPE)
endfunction()

# Copies plugins and messages of the PMIx library, if Open MPI does not have its own.
function(copy_pmix)
  file(GLOB plugins "${pmix_folder}/pmix/*.so")
  file(GLOB messages "${pmix_folder}/../share/pmix/help-*.txt")
  file(COPY ${plugins} DESTINATION "${root}/lib/pmix")
  file(COPY ${messages} DESTINATION "${root}/share/pmix")
endfunction()

# Each file searches lib/ relative to itself. Modules for GPUs also search the installed CUDA toolkit because its packages
# do not configure the loader.
function(set_rpaths)
  find_binaries(binaries bin libexec lib)
  foreach(file IN LISTS binaries)
    cmake_path(GET file PARENT_PATH folder)
    set(library "${root}/lib")
    cmake_path(RELATIVE_PATH library BASE_DIRECTORY "${folder}")
    set(rpath "$ORIGIN/${library}")
    if(file MATCHES "/libweft_(cuda|nccl)[.]so$")
      string(APPEND rpath ":/usr/local/cuda/lib64")
    endif()
    execute_process(COMMAND ${patchelf_program} --set-rpath "${rpath}" "${file}" COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
endfunction()

cmake_path(GET weft_mpirun PARENT_PATH beside_mpirun)
require_program(ompi_info openmpi-bin "${beside_mpirun}")
require_program(patchelf patchelf)
copy_open_mpi()
copy_libraries()
copy_pmix()
copy_libraries()  # for the plugins
set_rpaths()
