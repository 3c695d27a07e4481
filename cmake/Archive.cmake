# Makes the relocatable archive, which contains the programs and everything that a bare node lacks, with CPack from
# install rules (launch/archive).
#
# These components go into one folder, in this order: weft (the program, man pages and completion), tests if CPack is
# called with -D WEFT_ARCHIVE_TESTS=ON, node (documents, configurations, mpirun, and the files that ArchiveNode.cmake
# collects), and cuda (CUDA's libraries and NCCL) if CPack is called with -D WEFT_ARCHIVE_CUDA=ON.
set(node COMPONENT node EXCLUDE_FROM_ALL)
install(DIRECTORY configs docs DESTINATION . ${node})
install(DIRECTORY launch/container launch/slurm DESTINATION launch ${node})
install(FILES README.md CONTRIBUTING.md CHANGELOG.md DESTINATION . ${node})
foreach(name mpirun orted)
  install(PROGRAMS launch/mpirun.sh DESTINATION bin RENAME ${name} ${node})
endforeach()
install(CODE "set(weft_mpirun \"${MPIEXEC_EXECUTABLE}\")" ${node})
install(SCRIPT cmake/ArchiveNode.cmake ${node})
set(nccl_folder "")
if(NCCL_LIBRARY)
  cmake_path(GET NCCL_LIBRARY PARENT_PATH nccl_folder)
endif()
install(CODE "set(cuda_folders \"${CUDAToolkit_LIBRARY_DIR}\" \"${nccl_folder}\")" COMPONENT cuda EXCLUDE_FROM_ALL)
install(SCRIPT cmake/ArchiveCuda.cmake COMPONENT cuda EXCLUDE_FROM_ALL)

# CPack installs these targets, so they must be built before.
add_custom_target(archive_programs DEPENDS weft man)
foreach(module weft_cuda weft_nccl)
  if(TARGET ${module})
    add_dependencies(archive_programs ${module})
  endif()
endforeach()

set(CPACK_GENERATOR TXZ)
set(CPACK_THREADS 0)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_PACKAGE_NAME weft)
string(TOLOWER "${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}" system)
set(CPACK_PACKAGE_FILE_NAME weft-${PROJECT_VERSION}-${system})
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/ArchiveComponents.cmake)
set(CPACK_WEFT_BUILD ${PROJECT_BINARY_DIR})

# The .deb installs the component weft to /usr. dpkg-shlibdeps finds the packages of the libraries.
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_PACKAGE_CONTACT "Weft <root@localhost>" CACHE STRING "maintainer of the .deb: NAME <ADDRESS>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "trainer of translation Transformers on CPUs and GPUs")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})
set(CPACK_DEBIAN_PACKAGE_DEPENDS openmpi-bin)        # mpirun
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS openssh-client)  # for several hosts
include(CPack)
