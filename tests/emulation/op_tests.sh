# shellcheck shell=bash disable=SC2154
# tests/emulation/op_tests.sh: what `mutants`, `coverage` and `sanitized` share: the op tests, by the programs of a build
# folder, on an emulated device that was built elsewhere. Sourced; `top` is the source tree, `build` that folder.

stop() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 2; }

require_op_tests() {
  local program
  for program in tensor_tests devices_tests; do
    [ -x "$build/$program" ] || stop "no program $build/$program: launch/build makes it, or --build names another folder"
  done
}

# Of those that match a pattern, the tests of a program that ask something of a device, but for training from end to end.
op_test_filter() {  # FOLDER PATTERN
  awk -v folder="$1" -v out="$2-*/ResumeAcrossDevices.*" '$1 == folder { out = out ":" $3 } END { print out }' \
    "$top/tests/device_filters.txt"
}

# Runs them on the modules of a folder, after `preload` if that names a library.
run_op_tests() {  # MODULES FOLDER PATTERN [OPTION...]
  local modules=$1 folder=$2 filter nccl=$1/libweft_nccl.so
  filter=$(op_test_filter "$folder" "$3")
  shift 3
  [ -e "$nccl" ] || nccl=$build/emulated/libweft_nccl.so
  WEFT_TEST_DEVICE=cuda WEFT_CUDA_MODULE=$modules/libweft_cuda.so WEFT_NCCL_MODULE=$nccl OMP_NUM_THREADS=1 \
    timeout 900 env ${preload:+"LD_PRELOAD=$preload"} "$build/${folder}_tests" --gtest_filter="$filter" "$@"
}
