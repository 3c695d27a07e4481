# Finds every third-party library as a CMake target. If one is missing, the message names its package. This file is also
# part of the installed CMake package.
function(weft_require condition what debian rhel)
  if(NOT ${condition})
    message(FATAL_ERROR "Weft needs ${what}. Debian, Ubuntu: apt-get install ${debian}. RHEL, Fedora: dnf install ${rhel}. "
                        "launch/install-dependencies installs all of them on Debian and Ubuntu.")
  endif()
endfunction()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(PkgConfig QUIET)
weft_require(PkgConfig_FOUND "pkg-config" pkg-config pkgconf-pkg-config)

find_package(OpenMP QUIET COMPONENTS CXX)
weft_require(OpenMP_CXX_FOUND "OpenMP" g++ gcc-c++)
set(MPI_CXX_SKIP_MPICXX ON)  # we use only the C interface; the C++ one left the standard in 2012
find_package(MPI QUIET COMPONENTS CXX)
weft_require(MPI_CXX_FOUND "MPI (Open MPI)" "libopenmpi-dev openmpi-bin" openmpi-devel)
find_package(dnnl QUIET CONFIG)
weft_require(dnnl_FOUND "oneDNN" "libdnnl-dev ocl-icd-opencl-dev" onednn-devel)
find_package(fmt QUIET CONFIG)
weft_require(fmt_FOUND "fmt" libfmt-dev fmt-devel)
find_package(nlohmann_json QUIET CONFIG)
weft_require(nlohmann_json_FOUND "nlohmann-json" nlohmann-json3-dev json-devel)
find_package(Boost QUIET COMPONENTS program_options)
weft_require(Boost_FOUND "Boost.Program_options" libboost-program-options-dev boost-devel)
find_package(ZLIB QUIET)
weft_require(ZLIB_FOUND "zlib" zlib1g-dev zlib-devel)
pkg_check_modules(ZSTD QUIET IMPORTED_TARGET libzstd)
weft_require(ZSTD_FOUND "zstd" libzstd-dev libzstd-devel)
add_library(weft_zstd ALIAS PkgConfig::ZSTD)
pkg_check_modules(LZMA QUIET IMPORTED_TARGET liblzma)
weft_require(LZMA_FOUND "liblzma (xz)" liblzma-dev xz-devel)
add_library(weft_lzma ALIAS PkgConfig::LZMA)
find_package(OpenSSL QUIET COMPONENTS Crypto)
weft_require(OPENSSL_FOUND "OpenSSL (SHA-256)" libssl-dev openssl-devel)

pkg_check_modules(HDF5 QUIET IMPORTED_TARGET hdf5-serial)  # Debian's name; other systems call it `hdf5`
if(NOT HDF5_FOUND)
  pkg_check_modules(HDF5 QUIET IMPORTED_TARGET hdf5)
endif()
weft_require(HDF5_FOUND "HDF5" libhdf5-dev hdf5-devel)
add_library(weft_hdf5 ALIAS PkgConfig::HDF5)

pkg_check_modules(SENTENCEPIECE QUIET IMPORTED_TARGET sentencepiece)
weft_require(SENTENCEPIECE_FOUND "SentencePiece" libsentencepiece-dev sentencepiece-devel)
find_library(SENTENCEPIECE_TRAIN sentencepiece_train)
weft_require(SENTENCEPIECE_TRAIN "SentencePiece's trainer library" libsentencepiece-dev sentencepiece-devel)
add_library(weft_sentencepiece INTERFACE IMPORTED)
target_link_libraries(weft_sentencepiece INTERFACE ${SENTENCEPIECE_TRAIN} PkgConfig::SENTENCEPIECE)

if(WEFT_TESTS)
  find_package(GTest QUIET)
  weft_require(GTest_FOUND "GoogleTest" libgtest-dev gtest-devel)
  find_package(Boost QUIET COMPONENTS program_options context)
  weft_require(Boost_FOUND "Boost.Context, for the emulated device" libboost-context-dev boost-devel)
  find_package(benchmark QUIET CONFIG)  # optional: Debian's libbenchmark-dev; without it ops_bench is not built
endif()
