# tests/check_layers.cmake: checks the rules of the source tree: cmake -DROOT=<tree> -P check_layers.cmake
#
# The layers are launch -> trainer -> model -> { parallel, data } -> tensor: a folder includes only folders to
# its right. A subfolder includes only the subfolders listed for it. Only the listed files include a
# third-party header. No source or script has more than 400 lines. Only two headers have a preprocessor condition on
# nvcc. Every test file belongs to a test program, and no test is disabled.
cmake_minimum_required(VERSION 3.22)

set(folders launch trainer model parallel data tensor)
set(may_launch trainer model parallel data tensor)
set(may_trainer model parallel data tensor)
set(may_model parallel tensor)
set(may_parallel tensor)
set(may_data tensor)
set(may_tensor "")
set(also_model data/batch.h data/text/split.h)

# Subfolder, and the files of its folder that it may include besides its own (regular expression). Files
# directly in a folder may include all its subfolders.
set(rooms
  tensor/op          "^tensor/[a-z0-9_]+[.]h$"
  tensor/cpu         "^tensor/(op/)?[a-z0-9_]+[.]h$"
  tensor/cuda        "^tensor/(op/)?[a-z0-9_]+[.]h$"
  parallel/mpi       "^parallel/[a-z0-9_]+[.]h$"
  parallel/placement "^parallel/(communicator|nccl)[.]h$"
  parallel/nccl      "^parallel/[a-z0-9_]+[.]h$"
  data/text          "^$"
  data/noise         "^data/text/.*[.]h$"
  data/output        "^data/([a-z0-9_]+|text/.*)[.]h$"
  data/shards        "^data/[a-z0-9_]+[.]h$"
  data/subword       "^data/([a-z0-9_]+|text/.*)[.]h$"
  data/order         "^data/([a-z0-9_]+|(shards|text)/.*)[.]h$"
  data/packing       "^data/([a-z0-9_]+|(noise|shards|subword|text)/.*)[.]h$"
  model/parameters   "^$"
  model/layers       "^model/((lora_)?config|pass|parameters/.*)[.]h$"
  model/decoding     "^model/(transformer|pass)[.]h$"
  trainer/optimizer  "^$"
  trainer/config     "^trainer/(optimizer/.*|metrics/bleu)[.]h$"
  trainer/metrics    "^trainer/version[.]h$"
  trainer/display    "^$"
  trainer/report     "^trainer/display/.*[.]h$"
  trainer/checkpoint "^trainer/version[.]h$"
  trainer/export     "^trainer/checkpoint/.*[.]h$"
  trainer/import     "^trainer/(config|checkpoint|export)/.*[.]h$"
  trainer/vocabulary "^trainer/((config|checkpoint)/.*|train_state)[.]h$"
  trainer/health     "^trainer/checkpoint/(finite|file_layout)[.]h$"
  trainer/inference  "^trainer/(config/.*|replica|checkpoint/.*|metrics/.*)[.]h$"
  trainer/step       "^trainer/((config|optimizer)/.*|precision|signals)[.]h$"
  trainer/stages     "^trainer/((config|step)/.*)[.]h$"
  trainer/validation "^trainer/(config/.*|trainer|replica|checkpoint/.*|inference/.*)[.]h$"
  trainer/plan       "^trainer/(config/.*|flat_states|precision|train_state|(checkpoint|display|inference|stages|step|validation)/.*)[.]h$"
  trainer/run        "^trainer/.*[.]h$"
  trainer/bench      "^trainer/([a-z0-9_]+|(config|plan|step)/.*)[.]h$"
  trainer/cluster    "^trainer/([a-z0-9_]+|(bench|config|plan|step)/.*)[.]h$"
  launch/options     "^$"
  launch/reports     "^launch/options/.*[.]h$"
  launch/start       "^$"
  launch/server      "^launch/reports/.*[.]h$"
  launch/commands    "^launch/([a-z0-9_]+|(options|reports|server|start)/.*)[.]h$")

# Header, and the files that may include it (regular expressions); a test may include what its folder may.
set(doors
  "^dnnl"          "^(tests/)?tensor/cpu/"
  "^oneapi/"       "^(tests/)?tensor/cpu/"
  "^(cuda|cublas)" "^((tests/)?tensor/cuda|tests/emulation)/"
  "^mpi[.]h"       "^(parallel/mpi/|tests/parallel/mpi_)"
  "^nvtx3/"        "^(tensor/cuda|tests/emulation)/"
  "^nccl"          "^(parallel/nccl|tests/emulation)/"
  "^hdf5"          "^((tests/)?data|tests/parity)/"
  "^sentencepiece" "^((tests/)?data|tests/bench)/"
  "^(zstd|lzma)"   "^(tests/)?data/"
  "^(minizip|yaml-cpp)/" "^(tests/)?trainer/import/"
  "^httplib[.]h"   "^(tests/)?launch/server/"
  "^boost/"        "^((tests/)?launch|tests/emulation)/|^trainer/report/crc32c")

set(longest 400)
# Files whose tests may be skipped. Both GEMMs have products that only some processors have: AMX tiles, AVX2, AVX512_BF16.
# MeCab's dictionaries are Python packages, which are not part of Weft.
set(skips_allowed tests/tensor/gemm/half_gemm_test.cpp tests/tensor/gemm/weight_gemm_test.cpp
    tests/trainer/metrics/mecab_test.cpp)
# ctest's tests that may be skipped: archive, if the user is not root and cannot have a user namespace; run_page and
# serve_page, without Chromium, which `tests/run --part NAME` installs.
set(ctest_skips_allowed archive run_page serve_page)

function(violation text)
  set_property(GLOBAL APPEND PROPERTY violations "${text}")
endfunction()

function(check_ladder file header)
  string(REGEX MATCH "^[^/]*" folder "${file}")
  string(REGEX MATCH "^[^/]*" target "${header}")
  if(folder IN_LIST folders AND target IN_LIST folders AND NOT target STREQUAL folder
     AND NOT target IN_LIST may_${folder} AND NOT header IN_LIST also_${folder})
    violation("${file} includes ${header}: ${folder}/ must not include ${target}/")
  endif()
endfunction()

function(check_rooms file header)
  string(REGEX MATCH "^[^/]+/[^/]+" room "${file}")
  string(REGEX MATCH "^[^/]+/" folder "${file}")
  list(FIND rooms "${room}" at)
  if(at EQUAL -1 OR NOT header MATCHES "^${folder}" OR header MATCHES "^${room}/")
    return()
  endif()
  math(EXPR at "${at} + 1")
  list(GET rooms ${at} allowed)
  if(NOT header MATCHES "${allowed}")
    violation("${file} includes ${header}: ${room}/ must not include it")
  endif()
endfunction()

function(check_doors file header)
  set(rest ${doors})
  while(rest)
    list(POP_FRONT rest pattern allowed)
    if(header MATCHES "${pattern}" AND NOT file MATCHES "${allowed}")
      violation("${file} includes ${header}: only files that match ${allowed} may")
    endif()
  endwhile()
endfunction()

function(check_includes file)
  file(STRINGS ${ROOT}/${file} lines REGEX "^[ \t]*#[ \t]*include[ \t]*[<\"]")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^[^<\"]*[<\"]([^>\"]*).*$" "\\1" header "${line}")
    check_ladder(${file} ${header})
    check_rooms(${file} ${header})
    check_doors(${file} ${header})
  endforeach()
endfunction()

function(check_length file)
  file(READ ${ROOT}/${file} text)
  string(REGEX REPLACE "[^\n]" "" ends "${text}")
  string(LENGTH "${ends}" length)
  if(length GREATER longest)
    violation("${file} has ${length} lines, more than ${longest}: divide it by its ideas")
  endif()
endfunction()

function(check_cuda_conditions file)
  file(STRINGS ${ROOT}/${file} lines REGEX "^[ \t]*#[ \t]*(if|elif).*CUDA")
  if(lines AND NOT file MATCHES "^tensor/(dtype[.]h|cuda/attention/multiprocessor[.]cuh)$")
    violation("${file} has a preprocessor condition on CUDA: only dtype.h and multiprocessor.cuh may, else `if constexpr`")
  endif()
endfunction()

# A test belongs to the program of its folder in tests/, named in tests/CMakeLists.txt and in its own
# CMakeLists.txt.
function(check_test_is_run file)
  string(REGEX REPLACE "^tests/([^/]*)/.*$" "\\1" folder "${file}")
  set(registration "")
  if(EXISTS ${ROOT}/tests/${folder}/CMakeLists.txt)
    file(READ ${ROOT}/tests/${folder}/CMakeLists.txt registration)
  endif()
  if(NOT registration MATCHES "weft_test(s|_program)[(]")
    violation("${file} belongs to no test program: tests/${folder}/CMakeLists.txt makes none")
  elseif(NOT folders_of_tests MATCHES "[( ]${folder}[ )]")
    violation("${file} belongs to no test program: tests/CMakeLists.txt does not name the folder ${folder}")
  endif()
endfunction()

function(check_nothing_skipped file)
  file(STRINGS ${ROOT}/${file} lines REGEX "GTEST_SKIP|DISABLED_")
  if(lines AND NOT file IN_LIST skips_allowed)
    violation("${file} skips or disables a test: run it, or list the file with its reason in tests/check_layers.cmake")
  endif()
endfunction()

function(check_no_test_ends_skipped file)
  file(STRINGS ${ROOT}/${file} lines REGEX "SKIP_RETURN_CODE|SKIP_REGULAR_EXPRESSION|DISABLED")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^ *[a-z_]*[(]([^ ]*).*$" "\\1" test "${line}")
    if(NOT test IN_LIST ctest_skips_allowed)
      violation("${file} lets a test end as skipped: ${line}")
    endif()
  endforeach()
endfunction()

if(NOT IS_DIRECTORY "${ROOT}/tensor")
  message(FATAL_ERROR "no source tree at ROOT='${ROOT}'")
endif()
set(patterns "")
foreach(folder IN LISTS folders ITEMS tests)
  list(APPEND patterns ${ROOT}/${folder}/*.h ${ROOT}/${folder}/*.cpp ${ROOT}/${folder}/*.cu ${ROOT}/${folder}/*.cuh)
endforeach()
file(GLOB_RECURSE files RELATIVE ${ROOT} ${patterns})
file(READ ${ROOT}/tests/CMakeLists.txt folders_of_tests)
string(REPLACE "\n" " " folders_of_tests "${folders_of_tests}")
file(GLOB lists RELATIVE ${ROOT} ${ROOT}/tests/CMakeLists.txt ${ROOT}/tests/*/CMakeLists.txt ${ROOT}/cmake/*.cmake)
foreach(file IN LISTS lists)
  check_no_test_ends_skipped(${file})
endforeach()

foreach(file IN LISTS files)
  check_includes(${file})
  check_length(${file})
  check_cuda_conditions(${file})
  if(file MATCHES "^tests/")
    check_nothing_skipped(${file})
  endif()
  if(file MATCHES "^tests/.*_test[.](cpp|cu)$")
    check_test_is_run(${file})
  endif()
endforeach()

file(GLOB scripts LIST_DIRECTORIES false RELATIVE ${ROOT} ${ROOT}/tests/* ${ROOT}/tests/*/* ${ROOT}/launch/*)
list(FILTER scripts INCLUDE REGEX "(/[a-z_]+|[.]py|[.]sh)$")
foreach(file IN LISTS scripts)
  check_length(${file})
endforeach()

get_property(violations GLOBAL PROPERTY violations)
if(violations)
  list(JOIN violations "\n  " text)
  message(FATAL_ERROR "The source tree breaks its rules:\n  ${text}\n")
endif()
list(LENGTH files count)
message(STATUS "${count} files keep the rules")
