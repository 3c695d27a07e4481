# shellcheck shell=bash disable=SC2154
# tests/emulation/op_tests.sh: runs the programs of a build folder on an emulated device, for `mutants`,
# `coverage`, `sanitized` and tests/run. Sourced; `top` is the source tree, `build` the build folder.

stop() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 2; }

require_op_tests() {
  local program
  for program in tensor_tests devices_tests; do
    [ -x "$build/$program" ] || stop "no program $build/$program: launch/build makes it, or --build names another folder"
  done
}

# The tests of a program that match a pattern and run on the emulated device.
device_test_filter() {  # FOLDER PATTERN
  awk -v folder="$1" -v out="$2-" '$1 == folder && $2 != "extended" { out = out ":" $3 } END { print out }' \
    "$top/tests/device_filters.txt"
}

# Runs them with the modules of a folder; `preload` may name a library to preload.
run_device_tests() {  # MODULES FOLDER FILTER [OPTION...]
  local nccl=$1/libweft_nccl.so
  [ -e "$nccl" ] || nccl=$build/emulated/libweft_nccl.so
  WEFT_TEST_DEVICE=cuda WEFT_CUDA_MODULE=$1/libweft_cuda.so WEFT_NCCL_MODULE=$nccl OMP_NUM_THREADS=1 \
    timeout 900 env ${preload:+"LD_PRELOAD=$preload"} "$build/$2_tests" --gtest_filter="$3" "${@:4}"
}

# The same for the op tests: all except training from end to end.
op_test_filter() { echo "$(device_test_filter "$1" "$2"):*/ResumeAcrossDevices.*"; }  # FOLDER PATTERN
run_op_tests() {  # MODULES FOLDER PATTERN [OPTION...]
  run_device_tests "$1" "$2" "$(op_test_filter "$2" "$3")" "${@:4}"
}
