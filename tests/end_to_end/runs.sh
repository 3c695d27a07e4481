# tests/end_to_end/runs.sh: parts of run that train, stop, resume and fail.
# shellcheck shell=bash disable=SC2016,SC2154  # single quotes hold programs for awk; the variables are those of run

refusals() {
  expect 2 train 2 refused --parallel.tp=2 --model.heads=1
  check "heads that the grid cannot divide: both options are named" has err 'model.heads = 1 is not divisible by parallel.tp = 2'
  WEFT_CUDA_MODULE=libno_such_backend.so expect 2 "$weft" train --config "$config" --data.train=packed \
    --train.output=refused --device=cuda
  check "a missing device is refused in one line" [ "$(wc -l <err)" -eq 1 ]
  check "it names the missing library and the option that helps" grep -q '^weft: .*libno_such_backend\.so.*--device=cpu' err
  check "an impossible run leaves no files" [ ! -e refused ]
  expect 2 "$weft" train --config "$config" --data.train=packed --dry-run --parallel.dp=2147483648
  check "a plan for more ranks than there can be is refused" has err 'parallel.dp = 2147483648 x parallel.tp = 1 must be at most'
  printf '[model]\nwidht = 32\n' >misspelt.cfg
  expect 2 "$weft" train --config misspelt.cfg
  check "an unknown key is refused with its place and the nearest name" \
    has err "misspelt.cfg:2: unknown key 'model.widht'; did you mean 'model.width'?"
}

a_run() {
  expect 0 train 2 whole --train.steps=30
  check "a step's record has these keys and no others" [ "$(names whole '"loss":')" = \
    "step epoch loss nll lr grad_norm pairs source_tokens target_tokens seconds fill mfu roofline slowest_rank waiting time" ]
  check "a validation's record begins with its scores" \
    [ "$(names whole '"valid_loss":' | grep -o '^step.* chrf' | sort -u)" = "step valid_loss valid_nll bleu chrf" ]
  check "it has four samples with their translations" [ "$(tail -n 1 whole/log.jsonl | grep -o '"hypothesis":' | wc -l)" -eq 4 ]
  check "one start, 30 steps and 3 validations are recorded, nothing else" \
    [ "$(grep -c '"schema":' whole/log.jsonl) $(losses whole | wc -l) $(wc -l <whole/log.jsonl)" = "1 30 34" ]
  check "the loss falls" awk 'NR == 1 { first = $1 } { last = $1 } END { exit !(last < first) }' <(losses whole)
  check "the last step is saved" [ -f whole/checkpoints/step-00000030/MANIFEST.json ]
  check "latest points to it" [ "$(readlink whole/checkpoints/latest)" = step-00000030 ]
  check "best points to a checkpoint" [ -f whole/checkpoints/best/MANIFEST.json ]
  expect 0 "$weft" train --config whole/config.cfg --dry-run
  check "the saved configuration loads again, and plans the same grid" grep -q 'grid .*dp 2 x tp 1' out
  expect 0 "$weft" train --config whole/config.cfg --dry-run --train.validate_every=0 --train.keep_best=loss
  check "the plan names what has no effect without validations" has out '  no effect    train.keep_best options: '
  mv whole/checkpoints away
  expect 4 "$weft" train --config whole/config.cfg --dry-run
  check "the plan is refused like the start if the checkpoints are gone" has err 'whole/checkpoints is gone: '
  mv away whole/checkpoints
}

alone_or_launched() {
  local -x OMPI_MCA_pml=none_such  # MPI cannot be started
  expect 0 "$weft" train --config "$config" --data.train=packed --train.output=alone --train.steps=1
  head -n 2 valid.en | translate >out
  check "a program that no launcher started does not start MPI" [ "$(wc -l <out)" -eq 2 ]
  mpi 1 "$weft" translate --quiet --checkpoint whole <valid.en >out 2>err && fail "mpirun -n 1 does not start MPI"
  check "under mpirun it does, also on one rank" [ ! -s out ]
}

ranks_that_fail_alike() {
  local said
  says_once() { said=$(grep '^weft\[' err) && [ "$(wc -l <<<"$said")" -eq 1 ] && [[ $said == *"$1"* ]]; }
  expect 2 "$weft" launch -n 8 translate --checkpoin whole
  check "a wrong option of eight ranks is one line" says_once "did you mean --checkpoint?"
  cp -rL whole/checkpoints/latest damaged
  truncate -s 100 damaged/model.safetensors
  expect 4 "$weft" launch -n 8 translate --checkpoint damaged </dev/null
  check "and a file that all of them find damaged" says_once "damaged/model.safetensors is damaged"
}

waiting_threads() {
  spins() { env -u GOMP_SPINCOUNT -u OMP_WAIT_POLICY OMP_DISPLAY_ENV=verbose "$@" "$weft" --version 2>&1 | grep GOMP_SPINCOUNT | tail -n 1; }
  check "threads that wait leave their core soon" [ "$(spins | tr -dc 0-9)" = 3000 ]
  check "unless the user has chosen" [ "$(spins env GOMP_SPINCOUNT=77 | tr -dc 0-9)" = 77 ]
}

resuming() {
  expect 0 train 2 stopped --train.steps=15
  cp -a stopped regrouped
  expect 0 train 2 stopped --train.steps=30
  check "the same command resumes from the last checkpoint" has err 'resuming from stopped/checkpoints/step-00000015: step 15'
  check "a resumed run has the records of an uninterrupted one" \
    same <(step_records whole) <(step_records stopped)
  local file
  for file in model optimizer; do
    check "$file.safetensors is equal bit for bit, too" \
      same {whole,stopped}/checkpoints/step-00000030/$file.safetensors
  done
  expect 0 train 2 regrouped --train.steps=30 --parallel.tp=2
  check "resumed on another grid the losses agree" losses_agree whole regrouped
  expect 0 train 2 split --train.steps=30 --parallel.tp=2
  check "1 x 2 gives the losses of 2 x 1" losses_agree whole split
  expect 0 train 2 rows --train.steps=15 --parallel.tp=2 --parallel.sequence=true
  check "split rows are named in the plan" has err 'of the rows between tensor-parallel layers (parallel.sequence)'
  expect 0 train 2 rows --train.steps=30 --parallel.tp=2
  check "with split rows in the first half it gives them, too" losses_agree whole rows
}

# The first five steps again, on the same grid and on another.
optimizers_resume() {
  local kind few=(--train.steps=10 --train.save_every=5 --train.keep_last=9 --train.validate_every=0 --train.keep_best=loss
    --schedule.warmup=3)
  for kind in muon schedule_free lion; do
    local options=("${few[@]}" --optimizer.kind="$kind")
    [ $kind = schedule_free ] && options+=(--schedule.kind=constant) || options+=(--schedule.kind=wsd --train.ema=0.9)
    expect 0 train 2 "$kind" "${options[@]}"
    cp -a "$kind" "$kind-again"
    rm -r "$kind-again/checkpoints/step-00000010"
    cp -a "$kind-again" "$kind-split"
    expect 0 train 2 "$kind-again" "${options[@]}"
    check "$kind: a resumed run has the records of an uninterrupted one" \
      same <(step_records "$kind") <(step_records "$kind-again")
    check "and its model" same {"$kind","$kind-again"}/checkpoints/step-00000010/model.safetensors
    expect 0 train 2 "$kind-split" "${options[@]}" --parallel.tp=2
    check "resumed on another grid the losses agree" losses_agree "$kind" "$kind-split" 10
  done
}

uneven_ranks() {
  local blocks few=(--train.steps=8 --train.save_every=4 --batch.page=4)
  for blocks in 1 3; do
    expect 0 train 1 "alone-$blocks" "${few[@]}" --batch.blocks=$blocks
    expect 0 train 2 "uneven-$blocks" "${few[@]}" --batch.blocks=$blocks
    check "blocks that the ranks do not divide are named in the plan" has err \
      "1 of 2 data-parallel ranks have $([ $blocks = 1 ] && echo "no block" || echo "1 block") while the rest have"
    check "and give the losses of one rank" losses_agree "alone-$blocks" "uneven-$blocks" 8
    rm -r "uneven-$blocks/checkpoints/step-00000008"
    expect 0 train 1 "uneven-$blocks" "${few[@]}" --batch.blocks=$blocks
    check "also on one rank, from the place of both in the data" losses_agree "alone-$blocks" "uneven-$blocks" 8
  done
}

sharded_ranks() {
  local few=(--train.steps=8 --train.save_every=4 --train.validate_every=4
    --train.validate_bleu=2 --decode.beam=1 --decode.max_length_factor=1)
  expect 0 train 2 unsharded "${few[@]}"
  expect 0 train 2 sharded "${few[@]}" --parallel.zero=1
  check "the plan tells what a sharded optimizer saves" has err 'less per rank because moments'
  check "its losses are the same" losses_agree unsharded sharded 8
  check "and so are the validations, of weights that are gathered first" \
    same <(grep -o '"valid_loss":[0-9.]\{6\}' unsharded/log.jsonl) <(grep -o '"valid_loss":[0-9.]\{6\}' sharded/log.jsonl)
  rm -r sharded/checkpoints/step-00000008
  expect 0 train 1 sharded "${few[@]}"
  check "one rank goes on from its checkpoint" losses_agree unsharded sharded 8
  expect 2 "$weft" score --quiet --source valid.en --target valid.de --checkpoint sharded --parallel.zero=1
  check "weights of a model that only scores are never divided" has err '--parallel.zero applies only to training'
  expect 2 train 2 refused --parallel.zero=2
  check "other stages of ZeRO are refused" has err 'parallel.zero = 2'
}

averaging() {
  local few=(--train.save_every=4 --train.keep_last=9 --train.validate_every=4 --train.validate_bleu=2
    --decode.beam=1 --decode.max_length_factor=1)
  expect 0 train 2 moving "${few[@]}" --train.steps=12 --parallel.zero=1 --train.ema=0.9
  expect 0 train 2 unaveraged "${few[@]}" --train.steps=12 --parallel.zero=1
  check "a moving average changes no loss of a step" losses_agree moving unaveraged 12
  check "but those of the validations" \
    differ <(grep -o '"valid_loss":[0-9.]\{6\}' moving/log.jsonl) <(grep -o '"valid_loss":[0-9.]\{6\}' unaveraged/log.jsonl)
  local scoring=(score --quiet --source valid.en --target valid.de)
  expect 0 "$weft" "${scoring[@]}" --checkpoint moving/checkpoints/latest --raw-weights
  mv out raw-scores
  expect 0 "$weft" "${scoring[@]}" --checkpoint unaveraged/checkpoints/latest
  check "the raw weights are those of a run without an average" same raw-scores out
  expect 0 "$weft" "${scoring[@]}" --checkpoint moving/checkpoints/latest
  check "the average is used unless they are asked for" differ raw-scores out
  grep -o '"step":12,.*"valid_loss":[0-9.]\{6\}' moving/log.jsonl >moving-validation
  rm -r moving/checkpoints/step-00000012
  expect 0 train 1 moving "${few[@]}" --train.steps=12 --train.ema=0.9
  check "one rank goes on from its checkpoint" losses_agree moving unaveraged 12
  check "and with its average" same moving-validation <(grep -o '"step":12,.*"valid_loss":[0-9.]\{6\}' moving/log.jsonl)
  expect 0 train 1 moving "${few[@]}" --train.steps=13
  check "without the option the average is dropped, and a line says so" has err 'the average of the weights in the checkpoint is dropped'
  check "the next checkpoint has none" [ ! -e moving/checkpoints/step-00000013/average.safetensors ]

  expect 0 "$weft" average unaveraged --last 3 --output averaged
  check "weft average tells which checkpoints it took" has out 'unaveraged/checkpoints/step-00000004'
  expect 0 "$weft" verify averaged
  for user in "translate --quiet" "export --format pytorch --output averaged-export"; do
    # shellcheck disable=SC2086  # several options
    expect 0 "$weft" $user --checkpoint averaged </dev/null
  done
  expect 0 train 1 begun-with-it --train.steps=1 --train.init=averaged
  mkdir resumed && cp -r averaged resumed/checkpoints
  expect 2 train 1 resumed --train.steps=20
  check "training does not resume from an average, and names the option that helps" has err "use --train.init=resumed"
  expect 2 "$weft" average unaveraged --last 4 --output refused
  check "more checkpoints than there are is refused with their number" has err '--last 4 is too large, because unaveraged contains only 3 checkpoints'
  expect 4 "$weft" average unaveraged averaged missing --output refused
  check "so is a checkpoint that is not there, and nothing is left" [ ! -e refused ]
}

named_validations() {
  local valid=dev=packed-valid,caps=packed-valid:upper
  local few=(--train.validate_every=4 --train.validate_bleu=2 --decode.beam=1 --decode.max_length_factor=1
    --train.save_every=4 --train.keep_last=1 --train.steps=8
    --train.validate_command='cat "$WEFT_SOURCE" | wc -l; echo $((20 - WEFT_STEP))')
  expect 0 train 2 by-command "${few[@]}" --train.keep_best=dev.score
  check "the plan says what the sets are" has err 'caps = packed-valid (upper): 40 pairs'
  check "a command scores each set of each validation" \
    [ "$(grep -o '"caps.score":[0-9.]*' by-command/log.jsonl | paste -sd' ')" = '"caps.score":16.0 "caps.score":12.0' ]
  check "and makes an earlier checkpoint the best" [ "$(readlink by-command/checkpoints/best)" = step-00000004 ]
  expect 0 train 1 by-command-alone "${few[@]}" --train.keep_best=dev.score
  check "one rank validates the same" same <(grep -o '"[a-z]*[.]loss":[0-9.]\{6\}' by-command/log.jsonl) \
    <(grep -o '"[a-z]*[.]loss":[0-9.]\{6\}' by-command-alone/log.jsonl)
  expect 2 train 2 refused "${few[@]}" --train.keep_best=news.bleu
  check "a rule for a set that is not there is refused" has err 'there is no validation set news'
  valid=dev=packed-valid:shout
  expect 2 train 2 refused "${few[@]}"
  check "and so is a noise of another name" has err 'give none, upper, title, lower, typos'
}

too_few_threads() {
  local -x OMP_NUM_THREADS=16
  (ulimit -s 10000000000 && expect 5 "$weft" train --config "$config" --data.train=packed --train.output=threads) || exit 1
  check "OpenMP's threads that cannot be started are named" has err 'weft: 16 threads cannot be started: '
}

full_disk() {
  local size alone=("$weft" train --config "$config" --data.train=packed --model.width=32 --train.precision=f32
    --train.save_every=5)
  expect 0 "${alone[@]}" --train.steps=30 --train.output=roomy
  expect 0 "${alone[@]}" --train.steps=10 --train.output=full
  size=$(stat -c %s full/checkpoints/latest/optimizer.safetensors)
  (ulimit -f $((size / 2048)) && expect 5 "${alone[@]}" --train.steps=30 --train.output=full) || exit 1
  check "training goes on if a checkpoint cannot be saved, and says so" has err 'NOT SAVED: '
  check "all steps are made" [ "$(losses full | wc -l)" -eq 30 ]
  check "the checkpoint before it is whole" "$weft" verify full/checkpoints/step-00000010
  check "nothing is left of the others" [ "$(find full/checkpoints -name 'step-0000001[1-9]*' -o -name 'step-000000[23]*')" = "" ]
  expect 0 "${alone[@]}" --train.steps=30 --train.output=full
  check "with room again, the run ends with the weights of an undisturbed one" \
    same {roomy,full}/checkpoints/latest/model.safetensors
  check "and with its log" same <(step_records roomy) <(step_records full)
}

in_half_precision() {
  local precision
  for precision in bf16 f16; do
    expect 0 train 2 $precision-whole --train.steps=10 --parallel.tp=2
    check "a run in $precision is planned so" grep -qE "^ +precision +$precision activations" err
    expect 0 train 2 $precision-parts --train.steps=5 --parallel.tp=2
    expect 0 train 2 $precision-parts --train.steps=10 --parallel.tp=2
    check "a stopped run in $precision resumes bit for bit" \
      same $precision-{whole,parts}/checkpoints/step-00000010/model.safetensors
  done
  precision=auto
  expect 0 train 2 bf16-parts --train.steps=11 --parallel.tp=2
  check "without the option it keeps its precision" grep -qE '^ +precision +bf16 activations' err
  precision=f32
  expect 0 train 2 bf16-parts --train.steps=12 --parallel.tp=2
  check "with another precision it reports the change" has err 'the run has been trained in bf16 so far and continues in f32'
}

wait_for_steps() {  # RUN STEPS: of the run in the background
  local tries=1200
  until [ -e "$1/log.jsonl" ] && [ "$(wc -l <"$1/log.jsonl")" -ge "$2" ]; do
    kill -0 "$background" 2>/dev/null || { tail -n 20 err >&2; fail "the run $1 ended before step $2"; }
    [ $((tries -= 1)) -gt 0 ] || fail "the run $1 did not reach step $2 in a minute"
    sleep 0.05
  done
}

diverging() {
  local common=(--train.save_every=5 --train.validate_every=0)
  local ruin=(--train.allow_changes=true --schedule.lr=1 --schedule.warmup=0 --schedule.kind=constant)
  expect 0 train 2 ruined "${common[@]}" --train.steps=40
  cp -a ruined forgiven
  expect 7 train 2 ruined "${common[@]}" "${ruin[@]}" --train.steps=100
  check "a run whose loss stays high ends with status 7" has err 'the run has diverged, because the nll is'
  check "it names the last good checkpoint" has err 'which goes back to ruined/checkpoints/step-00000020'
  check "which is kept" [ -f ruined/checkpoints/step-00000020/MANIFEST.json ]
  local rescue=(--schedule.lr=1e-3 --train.on_divergence=rollback --train.steps=80)
  expect 2 train 2 ruined "${common[@]}" "${rescue[@]}"
  check "a resumed run does not change its training by chance" has err 'schedule.lr = 1 (now 0.001)'
  expect 0 train 2 ruined "${common[@]}" "${rescue[@]}" --train.allow_changes=true
  check "it goes back to that checkpoint if told to" has ruined/log.jsonl '"rolled_back_to":20,'
  expect 7 train 2 forgiven "${common[@]}" "${ruin[@]}" --train.steps=200 --train.on_divergence=rollback --parallel.tp=2
  check "so does a run on another grid, at most three times" [ "$(grep -c rolled_back_to forgiven/log.jsonl)" -eq 3 ]
}

# Sends SIGTERM twice to the ranks, as Slurm does. mpirun then returns their status, 128 + 15.
stopped_by_signal() {
  local command=("$weft" train --config "$config" --data.train=packed --train.output=long --model.width=32
    --train.save_every=0 --train.validate_every=0 --train.minutes=2) status=0 step
  "$mpirun" -n 2 --oversubscribe sh -c 'echo $$ >"rank-$OMPI_COMM_WORLD_RANK"; exec "$@"' sh \
    "${command[@]}" --train.steps=1000000 >out 2>err &
  background=$!
  wait_for_steps long 3
  kill -TERM "$(cat rank-0)" "$(cat rank-1)"
  kill -TERM "$(cat rank-0)" "$(cat rank-1)" 2>/dev/null || true
  wait "$background" || status=$?
  background=
  check "SIGTERM ends a run with status 143" [ "$status" -eq 143 ]
  check "it is saved before it ends" [ -f long/checkpoints/latest/MANIFEST.json ]
  step=$(tail -n 1 long/log.jsonl | sed -E 's/^\{"step":([0-9]+),.*/\1/')
  check "saved at the last step of the log" [ "$(readlink long/checkpoints/latest)" = "$(printf 'step-%08d' "$step")" ]
  expect 0 mpi 2 "${command[@]}" --train.steps=$((step + 2))
  check "then it resumes: no step is missing or repeated" \
    same <(seq $((step + 2))) <(grep '"loss":' long/log.jsonl | sed -E 's/^\{"step":([0-9]+),.*/\1/')
  { "${command[@]}" --train.steps=$((step + 4)) 2>&1 || true; } | head -n 1 >out
  check "a closed screen does not end a run" [ -d "long/checkpoints/$(printf 'step-%08d' $((step + 4)))" ]
}

# Stops a rank for ever. The other one names it and ends the run.
stopped_rank() {
  local status=0
  "$mpirun" -n 2 --oversubscribe sh -c 'echo $$ >"rank-$OMPI_COMM_WORLD_RANK"; exec "$@"' sh \
    "$weft" train --config "$config" --data.train=packed --train.output=hanging --model.width=32 --train.save_every=0 \
    --train.validate_every=0 --train.steps=1000000 --parallel.timeout=1 >out 2>err &
  background=$!
  wait_for_steps hanging 3
  kill -STOP "$(cat rank-1)"
  wait "$background" || status=$?
  background=
  check "a rank that hangs ends a run with status 6" [ "$status" -eq 6 ]
  check "the other rank says where it waits" grep -q '^weft: rank 0 on .* waits in all_.* in step [0-9]*, rank 0 of a group of 2 for more than 1 s' err
  check "it names the rank that hangs" grep -q '^  no report from rank 1:' err
  check "its recent collectives are kept" grep -q '^  before: call' hanging/waiting/rank-0.txt
}

# Moves the folder of a run that trains, which is like removing it, and starts another run in a folder of the same name.
lost_folder() {
  local status run command=("$weft" train --config "$config" --data.train=packed --model.width=32 --train.save_every=1
    --train.validate_every=2 --train.keep_last=3)
  expect 0 "${command[@]}" --train.output=undisturbed --train.steps=5
  for run in removed replaced; do
    status=0
    "$mpirun" -n 2 --oversubscribe "${command[@]}" --train.output="$run" --train.steps=1000000 >out 2>err &
    background=$!
    wait_for_steps "$run" 3
    mv "$run" "$run-away"
    [ "$run" = removed ] || "${command[@]}" --train.output="$run" --train.steps=5 >out-2 2>err-2 || fail "the second run: $(cat err-2)"
    wait "$background" || status=$?
    background=
    check "a run whose folder is $run ends with status 5" [ "$status" -eq 5 ]
    check "and with one line" [ "$(grep -c '^weft' <(grep -v '^weft train$' err))" = 1 ]
    check "which says why" grep -q "train.output: the folder $run, or a file in it, was removed or replaced" err
  done
  check "it does not make its folder again" [ ! -e removed ]
  check "a second run in its place has its own log" same <(step_records replaced) <(step_records undisturbed)
  check "and its own checkpoints" same <(cd replaced && ls . checkpoints) <(cd undisturbed && ls . checkpoints)
  check "which are intact" "$weft" verify replaced
  rm -r removed-away replaced-away
}
