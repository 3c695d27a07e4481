# tests/gpu_parts.sh: the parts of tests/gpu, each a function part_NAME that reports failure by its status,
# and helpers.
#
# A part runs in the folder work/ beside the report. It prints its result in one line with `note`, or the
# reason why it cannot run with `cannot`; it may write PART.json and, for the report, PART.md.part.
# shellcheck shell=bash disable=SC2154,SC2034,SC2016  # variables of tests/gpu; used there; marks of code in markdown

top=$(readlink -f "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/..")
if [ -x "$top/bin/weft" ]; then bin=$top/bin lib=$top/lib mpirun=$top/bin/mpirun; else bin=$top/build lib=$top/build mpirun=mpirun; fi
weft=$bin/weft
for module in WEFT_CUDA_MODULE WEFT_NCCL_MODULE; do  # parts run in another folder
  [[ ${!module:-} != */* ]] || export $module="$(readlink -f "${!module}")"
done
cuda_module=${WEFT_CUDA_MODULE:-$lib/libweft_cuda.so} nccl_module=${WEFT_NCCL_MODULE:-$lib/libweft_nccl.so}
cannot_run=77 too_late=78 emulated="the emulated device: its speed means nothing"

declare -A part_limit part_about
part_names=()
describe() {  # describe NAME SECONDS TEXT
  part_names+=("$1")
  part_limit[$1]=$2
  part_about[$1]=$3
}
# In the order of what they tell: with little time, the first ones tell most. Collectives and CUDA graphs come before
# models, because the emulated device says least about them.
describe ops 120 "tensor_tests and devices_tests: each op on the GPU, against its formulas and against the CPU"
describe base 60 "weft bench of configs/base.cfg: products, kernels and tokens a second, measured beside predicted"
describe nccl 90 "nccl_check: every collective over NCCL between 2 and 4 ranks on one GPU, and on one each where there are several"
describe learning 180 "training on the GPU in f32, in bf16 and as CUDA graphs with the losses of the CPU in f32 (compare_losses)"
describe grids 150 "2 and 4 ranks on one GPU, by staged MPI and by NCCL: gradients on dp x tp grids, and 10 steps' losses, are those of one rank"
describe models 180 "model_tests, parity_tests and trainer_tests: layers, models and training on the GPU, against definitions in double and PyTorch"
describe big 60 "weft bench of configs/big.cfg, as of base"
describe pytorch 240 "steps of base and big on the same sentences: Weft, and PyTorch as nn.Transformer, written for speed, and compiled"
describe memcheck 120 "compute-sanitizer on the op tests: accesses out of bounds"
describe racecheck 120 "compute-sanitizer on the op tests: races in shared memory"
describe synccheck 120 "compute-sanitizer on the op tests: barriers that not all threads reach"
describe initcheck 120 "compute-sanitizer on the op tests: reads of what nobody wrote"

note() { printf '%s\n' "$*" >>"$part.note"; }
cannot() { note "$*"; exit "$cannot_run"; }
needs_program() { [ -x "$bin/$1" ] || cannot "$bin/$1 is not there: build the tests (launch/build), or launch/archive --tests"; }
mpi() {  # mpi RANKS COMMAND...: also as root, and on fewer cores than ranks
  OMP_NUM_THREADS=1 OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_ALLOW_RUN_AS_ROOT=1 \
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$mpirun" --quiet -n "$1" --oversubscribe --bind-to none "${@:2}"
}

# The first of the folders that has a library of that name.
folder_with() {
  local name=$1 folder
  for folder in "${@:2}"; do
    if [ -e "$folder/$name" ]; then echo "$folder"; return; fi
  done
}
# CUDA's libraries outside the loader's default path: the toolkit's folder, or pip's packages for PyTorch.
find_cuda_libraries() {
  local places=(/usr/local/cuda/lib64 /usr/local/cuda/targets/*/lib) name folder
  mapfile -t -O ${#places[@]} places < <("$python" -c '
import glob, site
for folder in site.getsitepackages():
    print(*glob.glob(folder + "/nvidia/*/lib"), sep="\n")' 2>/dev/null || true)
  for name in $(ldd "$cuda_module" "$nccl_module" 2>/dev/null | sed -nE 's/^\t([^ ]*) => not found$/\1/p' | sort -u); do
    folder=$(folder_with "$name" "${places[@]}")
    if [ -n "$folder" ]; then export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder; fi
  done
}
is_emulated() { [ -e "$cuda_module" ] && [[ $(ldd "$cuda_module" 2>/dev/null) != *libcudart* ]]; }
num_gpus() {  # visible to a program
  if is_emulated; then echo "${WEFT_EMULATION_DEVICES:-1}"; return; fi
  local gpus
  gpus=$({ nvidia-smi -L 2>/dev/null || true; } | awk '/^GPU / { ++n } END { print n + 0 }')
  if [ -n "${CUDA_VISIBLE_DEVICES:-}" ]; then
    awk -F , -v gpus="$gpus" '{ print (NF < gpus ? NF : gpus) }' <<<"$CUDA_VISIBLE_DEVICES"
  else
    echo "$gpus"
  fi
}
# Time limit of a part in seconds, for a GPU; the emulated device is slower.
limit_of() { if is_emulated; then echo $((4 * part_limit[$1])); else echo "${part_limit[$1]}"; fi; }
# Prints Weft's reason if it cannot use the GPU; fails if it can.
refusal_of_the_device() {
  local said
  [ -x "$weft" ] || { echo "no program at $weft: launch/build makes it"; return; }
  said=$("$weft" bench --device=cuda --seconds 0 --model.width=16 --model.heads=1 --model.feed_forward=16 --model.encoder_layers=1 \
    --model.decoder_layers=1 --batch.rows=128 --vocabulary 32 2>&1 >/dev/null) && return 1
  tail -n 1 <<<"$said"
}

# GoogleTest filter: all tests of a program except those that device_filters.txt leaves out for these reasons.
all_but() {  # all_but FOLDER REASON...
  awk -v folder="$1" -v reasons=" ${*:2} " '
    $1 == folder && index(reasons, " " $2 " ") { left_out = left_out separator $3; separator = ":" }
    END { print "-" left_out }' "$top/tests/device_filters.txt"
}
# in_shards FOLDER REASONS COMMAND...: runs the tests of FOLDER's program that are left out for none of these
# reasons. Most of their time goes to reference results on the host, so a few processes share the device.
in_shards() {
  local shard processes=() status=0 filter shards
  # shellcheck disable=SC2086  # several reasons
  filter=$(all_but "$1" $2)
  shards=$(nproc)
  [ "$shards" -lt 4 ] || shards=4
  for ((shard = 0; shard < shards; ++shard)); do
    GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive WEFT_TEST_DEVICE=cuda \
      WEFT_SOURCE_DIR=$top "${@:3}" --gtest_brief=1 --gtest_filter="$filter" | tee "$1.$shard.tests" &
    processes+=($!)
  done
  for process in "${processes[@]}"; do wait "$process" || status=1; done
  return $status
}
num_passed() { cat ./*.tests | sed -nE 's/^\[  PASSED  \] ([0-9]+) tests?\.$/\1/p' | awk '{ n += $1 } END { print n + 0 }'; }
run_programs() {  # run_programs FOLDER...: their tests that use a device
  local folder reasons=host status=0
  ! is_emulated || reasons='host slow'
  rm -f ./*.tests
  for folder; do
    needs_program "${folder}_tests"
    in_shards "$folder" "$reasons" "$bin/${folder}_tests" || status=1
  done
  note "$(num_passed) tests passed"
  return $status
}
part_ops() { run_programs tensor devices; }
part_models() { run_programs model parity trainer; }

sanitize() {  # sanitize TOOL OPTION...
  local sanitizer status=0
  ! is_emulated || cannot "the emulated device: compute-sanitizer watches GPUs"
  sanitizer=$(PATH=$PATH:/usr/local/cuda/bin command -v compute-sanitizer) || cannot "no compute-sanitizer on PATH or in /usr/local/cuda/bin"
  needs_program tensor_tests
  # Leaves out cuBLASLt's kernels.
  [ "$1" != racecheck ] || [[ $("$sanitizer" --help 2>&1) != *--kernel-regex* ]] || set -- "$@" --kernel-regex kns=weft
  rm -f ./*.tests
  in_shards tensor 'host slow' "$sanitizer" --tool "$1" --error-exitcode 9 "${@:2}" "$bin/tensor_tests" || status=1
  note "$(num_passed) tests passed; $(cat ./*.tests | sed -nE 's/^=+ ((ERROR|RACECHECK) SUMMARY: .*)/\1/p' | sort -u | paste -sd ';')"
  return $status
}
part_memcheck() { sanitize memcheck; }
part_racecheck() { sanitize racecheck; }
part_initcheck() { sanitize initcheck; }
part_synccheck() { sanitize synccheck; }

# The training text: Multi30k if given, otherwise the language of make_grammar. Sets $config.
make_corpus() {
  local ending=''
  config=$top/configs/grammar.cfg
  if [ -n "$text" ]; then
    config=$top/configs/multi30k.cfg
    [ -e "$text/train.en" ] || ending=.gz
    [ -e corpus/manifest.json ] ||
      "$weft" pack --quiet --source "$text/train.en$ending" --target "$text/train.de$ending" --output corpus --vocab-size 8000
  elif [ ! -e corpus/manifest.json ]; then
    needs_program make_grammar
    "$bin/make_grammar" grammar
    "$weft" pack --quiet --source grammar/train.en --target grammar/train.de --output corpus --vocab-size 800
  fi
}
corpus_name() { if [ -n "$text" ]; then echo "Multi30k"; else echo "the language of make_grammar"; fi; }
training() {  # training RUN OPTION...: sets $command
  local smaller=()
  ! is_emulated || smaller=(--model.width=32 --model.feed_forward=64 --model.encoder_layers=1 --model.decoder_layers=1 --batch.rows=160)
  rm -rf "$1"
  command=("$weft" train --config "$config" --data.train=corpus --data.valid= --train.validate_every=0 --train.save_every=0
    --train.keep_best=loss --train.output="$1" "${smaller[@]}" "${@:2}")
}
note_smaller() { ! is_emulated || note "smaller than on a GPU: width 32, 1 + 1 layers, blocks of 160 rows;"; }
compare_losses() { "$top/tests/learning/compare_losses" "$@"; }

# At most 10 steps on grids: ranks that share a GPU take turns of milliseconds.
grid_steps() { echo $((steps < 10 ? steps : 10)); }
on_grid() {  # on_grid WAY GRID OPTION...: compares the losses with those of one rank
  local dp=${2%x*} tp=${2#*x}
  training "$1-$2" --device=cuda --train.precision=f32 --train.steps="$(grid_steps)" --batch.blocks=4 --parallel.dp="$dp" --parallel.tp="$tp" \
    --parallel.communication="$1" --parallel.share_gpu=true --parallel.timeout=40 "${@:3}"
  mpi $((dp * tp)) "${command[@]}" && compare_losses "$1-$2" alone 0.001 5
}
part_grids() {
  local way grid ranks failed=() count=0
  make_corpus
  needs_program grid_check
  training alone --device=cuda --train.precision=f32 --train.steps="$(grid_steps)" --batch.blocks=4
  "${command[@]}"
  for way in mpi nccl; do
    if [ $way = nccl ] && [ ! -e "$nccl_module" ]; then
      note "NCCL left out: no $nccl_module;"
      continue
    fi
    for ranks in 2 4; do
      count=$((count + 1))
      WEFT_TEST_DEVICE=cuda WEFT_TEST_COMMUNICATION=$way mpi $ranks "$bin/grid_check" || failed+=("$way gradients on $ranks ranks")
    done
    for grid in 2x1 1x2 2x2 1x4; do
      count=$((count + 1))
      on_grid $way $grid || failed+=("$way $grid")
    done
    if [ $way = nccl ]; then  # whose all-reduces CUDA graphs record
      count=$((count + 1))
      on_grid nccl 2x2 --train.cuda_graph=false || failed+=("nccl 2x2 without CUDA graphs")
    fi
  done
  note_smaller
  note "$count comparisons with one rank; failed: ${failed[*]:-none}"
  [ ${#failed[@]} -eq 0 ]
}

part_learning() {
  local on_cpu
  export OMP_WAIT_POLICY=passive  # training on the CPU runs at the same time as on the GPU
  make_corpus
  training cpu --device=cpu --train.precision=f32 --train.steps="$steps"
  "${command[@]}" 2>cpu.log &
  on_cpu=$!
  for precision in f32 bf16; do
    training gpu-$precision --device=cuda --train.precision=$precision --train.steps="$steps" --train.cuda_graph=false
    "${command[@]}" || { kill $on_cpu; return 1; }
  done
  training gpu-graphs --device=cuda --train.precision=bf16 --train.steps="$steps" --train.cuda_graph=true
  "${command[@]}" || { kill $on_cpu; return 1; }
  wait $on_cpu || { tail -n 5 cpu.log; return 1; }
  local f32 bf16 graphs status=0
  f32=$(compare_losses gpu-f32 cpu 0.002 25) || status=1
  bf16=$(compare_losses gpu-bf16 cpu 0.01 25) || status=1
  graphs=$(compare_losses gpu-graphs gpu-bf16 0.000001 25) || status=1  # bit for bit
  printf '%s\n' "$f32" "$bf16" "$graphs"
  note_smaller
  note "$steps steps on $(corpus_name): in f32 $(tail -n 1 <<<"$f32"), in bf16 $(tail -n 1 <<<"$bf16"); replayed as CUDA graphs $(tail -n 1 <<<"$graphs")"
  return $status
}

part_nccl() {
  local ranks gpus failed=()
  [ -e "$nccl_module" ] || cannot "no $nccl_module: NCCL was not found when this was built"
  needs_program nccl_check
  gpus=$(num_gpus)
  for ranks in 2 4; do
    mpi $ranks "$bin/nccl_check" share || failed+=("$ranks on one GPU")
    [ "$gpus" -lt $ranks ] || mpi $ranks "$bin/nccl_check" || failed+=("$ranks with a GPU each")
  done
  note "$(grep -c '^ok ' "$output/nccl.log") cases; ranks that failed: ${failed[*]:-none}"
  [ ${#failed[@]} -eq 0 ]
}

compare_with_prediction() {  # compare_with_prediction NAME: of a GPU that is known
  local gpu
  gpu=$(grep -m 1 '"device"' "$1.json" | grep -oE 'A100|H100|H200') || return 1
  "$bin/predict" "${gpu,,}" --measured "$1.json" --config "$top/configs/$1.cfg" \
    --model.source_vocabulary=32768 --model.target_vocabulary=32768
}

# Runs it for tables, without graphs, with products timed, and for JSON.
bench() {  # bench NAME
  ! is_emulated || cannot "$emulated"
  needs_program predict
  local options=(bench --device=cuda --config "$top/configs/$1.cfg" --vocabulary 32768)
  "$weft" "${options[@]}" --seconds 15 >"$1.txt"
  "$weft" "${options[@]}" --seconds 8 --cuda_graph=false >"$1-launches.txt"
  "$weft" "${options[@]}" --seconds 8 --tune_gemm=true >"$1-tuned.txt"
  "$weft" "${options[@]}" --seconds 8 --json >"$1.json"
  compare_with_prediction "$1" >"$1-predicted.txt" || echo '  there is none for this GPU' >"$1-predicted.txt"
  printf '## weft bench of configs/%s.cfg\n\n```\n%s\n\n%s\n```\n' "$1" "$(cat "$1.txt")" "$(cat "$1-predicted.txt")" >"$1.md.part"
  note "$(grep -hE 'target tokens/s' "$1.txt" | head -n 1); without CUDA graphs: $(grep -hE 'target tokens/s' "$1-launches.txt" |
    head -n 1); with matrix products timed: $(grep -hE 'target tokens/s' "$1-tuned.txt" | head -n 1); beside the prediction, $(tail -n 1 "$1-predicted.txt")"
}
part_base() { bench base; }
part_big() { bench big; }

part_pytorch() {
  ! is_emulated || cannot "$emulated"
  "$python" -c 'import torch, numpy, h5py; assert torch.cuda.is_available()' || cannot "$python has no torch that sees a GPU, numpy and h5py"
  "$python" "$top/tests/bench/compare_gpu" --weft "$weft" --output pytorch --seconds $((limit * 5 / 6))
  mv pytorch/compare_gpu.md pytorch.md.part
  mv pytorch/compare_gpu.json pytorch.json
  note "$(grep -c '"round"' pytorch.json) runs; $(grep -E '^\| Weft ' pytorch.md.part | awk -F '|' '{ print $3 "tok/s," $9 }' | paste -sd ';')"
}
