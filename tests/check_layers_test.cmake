# tests/check_layers_test.cmake: check_layers.cmake finds each kind of violation in a small synthetic tree,
# and none in a good one: cmake -DWORK=<folder> -P check_layers_test.cmake
cmake_minimum_required(VERSION 3.22)

# Writes a good tree, then `content` to `file`, and checks it; `expected` is a part of the message, or OK.
function(expect expected file content)
  file(REMOVE_RECURSE ${WORK})
  file(WRITE ${WORK}/tensor/dtype.h "#if defined(__CUDACC__)\n#endif\n")
  file(WRITE ${WORK}/data/batch.h "#include \"tensor/dtype.h\"\n#include <vector>\n")
  file(WRITE ${WORK}/tests/CMakeLists.txt "foreach(folder data\n               tensor)\n")
  file(WRITE ${WORK}/tests/tensor/CMakeLists.txt "weft_tests(1 weft_tensor)\n")
  file(WRITE ${WORK}/tests/tensor/dtype_test.cpp "#include \"launch/commands.h\"\n")
  file(WRITE ${WORK}/${file} "${content}")
  execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${WORK} -P ${CMAKE_CURRENT_LIST_DIR}/check_layers.cmake
                  RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
  string(REGEX REPLACE "[ \n]+" " " said "${said}")
  if(expected STREQUAL "OK")
    if(NOT status EQUAL 0)
      message(SEND_ERROR "${file} is good, but: ${said}")
    endif()
  elseif(status EQUAL 0)
    message(SEND_ERROR "not found: ${expected}")
  else()
    string(FIND "${said}" "${expected}" place)
    if(place EQUAL -1)
      message(SEND_ERROR "expected: ${expected}\nsaid: ${said}")
    endif()
  endif()
endfunction()

expect(OK launch/main.cpp "#include <boost/program_options.hpp>\n#include \"trainer/trainer.h\"\n#include \"tensor/dtype.h\"\n")
expect(OK model/block.h "#include \"data/batch.h\"\n#include \"parallel/mesh.h\"\n")
expect(OK tests/tensor/cpu/deep/gemm_test.cpp "")
expect(OK parallel/mpi/session.cpp "#include <mpi.h>\n")
expect(OK tests/emulation/machine/fiber.cpp "#include <boost/context/fiber.hpp>\n#include <cuda_runtime.h>\n")

expect("tensor/ops.h includes model/config.h: tensor/ must not include model/" tensor/ops.h "#include \"model/config.h\"\n")
expect("tensor/cpu/gemm/gemm.cpp includes data/batch.h: tensor/ must not include data/" tensor/cpu/gemm/gemm.cpp "  #  include \"data/batch.h\"\n")
expect("data/loader.h includes parallel/mesh.h: data/ must not include parallel/" data/loader.h "#include \"parallel/mesh.h\"\n")
expect("parallel/mesh.h includes data/batch.h: parallel/ must not include data/" parallel/mesh.h "#include \"data/batch.h\"\n")
expect("model/block.h includes data/loader.h: model/ must not include data/" model/block.h "#include \"data/loader.h\"\n")
expect("trainer/metrics/bleu.h includes launch/report.h: trainer/ must not include launch/" trainer/metrics/bleu.h "#include \"launch/report.h\"\n")

expect(OK trainer/inference/evaluate.h "#include \"trainer/metrics/bleu.h\"\n")
expect("trainer/metrics/bleu.h includes trainer/display/units.h: trainer/metrics/ must not include it" trainer/metrics/bleu.h "#include \"trainer/display/units.h\"\n")
expect("launch/options/options.h includes launch/commands.h: launch/options/ must not include it" launch/options/options.h "#include \"launch/commands.h\"\n")

expect("tensor/ops.cpp includes dnnl.hpp: only" tensor/ops.cpp "#include <dnnl.hpp>\n")
expect("tensor/ops.cpp includes cuda_runtime.h: only" tensor/ops.cpp "#include <cuda_runtime.h>\n")
expect("parallel/mesh.cpp includes mpi.h: only" parallel/mesh.cpp "#include <mpi.h>\n")
expect("trainer/checkpoint/checkpoint.cpp includes hdf5.h: only" trainer/checkpoint/checkpoint.cpp "#include <hdf5.h>\n")
expect("launch/commands/pack.cpp includes sentencepiece_trainer.h: only" launch/commands/pack.cpp "#include <sentencepiece_trainer.h>\n")
expect("trainer/config/run_config.h includes boost/program_options.hpp: only" trainer/config/run_config.h "#include <boost/program_options.hpp>\n")

string(REPEAT "int x[] = {1}; // [ ] ;\n" 401 long)
expect("tensor/ops.cpp has 401 lines, more than 400" tensor/ops.cpp "${long}")
expect("model/block.cpp has a preprocessor condition on CUDA" model/block.cpp "#ifdef WEFT_CUDA\n#endif\n")
expect("tests/parity/grid_test.cpp belongs to no test program: tests/parity/CMakeLists.txt makes none" tests/parity/grid_test.cpp "")
expect("tests/tensor/dtype_test.cpp belongs to no test program: tests/CMakeLists.txt does not name the folder tensor"
       tests/CMakeLists.txt "foreach(folder data)\n")
expect("tests/tensor/dtype_test.cpp belongs to no test program: tests/tensor/CMakeLists.txt makes none"
       tests/tensor/CMakeLists.txt "weft_emulated_tests(1)\n")
expect("tests/tensor/ops_test.cpp skips or disables a test" tests/tensor/ops_test.cpp "TEST(Ops, DISABLED_Gemm) {}\n")
expect("tests/tensor/ops_test.cpp skips or disables a test" tests/tensor/ops_test.cpp "  GTEST_SKIP() << 1;\n")
expect(OK tests/archive/CMakeLists.txt "  weft_test(archive PROPERTIES SKIP_RETURN_CODE 77 COMMAND run)\n")
expect("tests/end_to_end/CMakeLists.txt lets a test end as skipped: weft_test(end_to_end " tests/end_to_end/CMakeLists.txt
       "weft_test(end_to_end PROPERTIES SKIP_RETURN_CODE 77 COMMAND run)\n")
file(REMOVE_RECURSE ${WORK})
