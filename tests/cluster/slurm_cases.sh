# tests/cluster/slurm_cases.sh: launch/slurm/train.sbatch on Slurm.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154  # a task's own shell; names of tests/cluster/run
cases+=(slurm_time_limits slurm_requeue slurm_cancel slurm_killed_rank slurm_network_lost slurm_node_trains_on
  slurm_preemption slurm_array slurm_one_folder slurm_misuse slurm_failing_start slurm_documented)

# submit SBATCH_OPTION... -- TRAIN_OPTION...: sets $job. By default it has a rank on each host.
submit() {
  local slurm=(--nodes=2 --ntasks-per-node=1 --cpus-per-task=1 --time=10 --signal=TERM@0)
  while [ "$1" != -- ]; do slurm+=("$1") && shift; done
  job=$(WEFT=$weft on node1 sbatch --parsable "${slurm[@]}" "$root/launch/slurm/train.sbatch" "$config" \
    "${options[@]}" --train.save_every=100 "${@:2}")
}
of_job() {  # of_job JOB FIELD
  on node1 scontrol show --oneliner job "$1" | grep -oE "(^| )$2=[^ ]*" | head -n 1 | sed 's/.*=//'
}
is() { [ "$(of_job "$1" JobState)" = "$2" ]; }
is_over() { [[ "$(of_job "$1" JobState)" =~ ^(COMPLETED|FAILED|TIMEOUT|CANCELLED|NODE_FAIL)$ ]]; }
was_requeued() { [ "$(of_job "$1" Restarts)" -gt 0 ]; }

# The run of mpirun that the jobs must equal, and its number of $steps.
undisturbed() {  # undisturbed TRAIN_OPTION...
  expect 0 train node1:1,node2:1 undisturbed --train.save_every=1000000 "$@"
  steps=$(logged undisturbed)
}
ends_trained() {  # ends_trained JOB RUN
  wait_until 400 "job $1 ends" is_over "$1"
  is "$1" COMPLETED || fail "job $1: $(of_job "$1" JobState) $(of_job "$1" ExitCode)"
  check "losses" same <(step_records "$2") <(step_records undisturbed)
}
# After 200 steps of a job COMMAND... strikes. The job must start again by itself, and end trained.
survives() {  # survives COMMAND...
  local start
  undisturbed --train.steps=600
  submit -- --train.output=run --train.steps="$steps"
  wait_until 60 "the run begins" has_logged run 200
  start=$(now)
  "$@"
  wait_until 200 "Slurm starts the job again" was_requeued "$job"
  seen "queued again after $(since "$start") s"
  ends_trained "$job" run
  seen "trained after $(since "$start") s, $(of_job "$job" Restarts) restarts, losses of the undisturbed run"
}
# Slurm looks at limits twice a minute: the least limit ends a job after 60 to 90 s. Two jobs run at once. The
# undisturbed run has the cores to itself, so it has steps for a start and a half of each job.
slurm_time_limits() {
  local early late start cores
  cores=$(($(nproc) < 4 ? $(nproc) : 4))
  undisturbed --train.steps=1000000 --train.minutes="$(awk -v cores=$cores 'BEGIN { print 40 * cores / 60 }')"
  start=$(now)
  submit --time=1 --signal=TERM@30 -- --train.output=early --train.steps="$steps" && early=$job
  submit --time=1 -- --train.output=late --train.steps="$steps" && late=$job
  ends_trained "$early" early
  ends_trained "$late" late
  if ! was_requeued "$early" || ! was_requeued "$late"; then fail "a job ended within its limit"; fi
  seen "limit 1 min, early signal: trained after $(of_job "$early" Restarts) restarts"
  seen "no early signal: $(of_job "$late" Restarts) restarts; $(since "$start") s, losses of the undisturbed run"
}
slurm_requeue() { survives on node1 scontrol requeue 1; }
slurm_killed_rank() { survives kill_second_rank; }
kill_second_rank() { kill -KILL "$(ranks node2)"; }
slurm_network_lost() { survives lose_network; }
lose_network() {
  cable down
  wait_until 60 "Slurm misses node2" node2_is_down
  cable up
}
node2_is_down() { on node1 sinfo --noheader --nodes=node2 --partition=all --format=%T | grep -q down; }

slurm_cancel() {
  undisturbed --train.steps=600
  submit -- --train.output=run --train.steps=600
  wait_until 60 "the run begins" has_logged run 200
  on node1 scancel "$job"
  wait_until 60 "the job ends" is "$job" CANCELLED
  wait_until 20 "its processes end" no_weft
  check "saved" [ "$(readlink run/checkpoints/latest)" = "$(printf 'step-%08d' "$(logged run)")" ]
  seen "saved at its last step, $(logged run)"
  submit -- --train.output=run --train.steps=600
  ends_trained "$job" run
  seen "the next job ends it, losses of the undisturbed run"
}
no_weft() { [ -z "$(ranks node1 node2)" ]; }
ranks() {  # ranks HOST...: their process numbers
  local host process
  for host in "$@"; do
    for process in $(ip netns pids "$(space "$host")"); do
      [ "$(readlink "/proc/$process/exe")" != "$weft" ] || echo "$process"
    done
  done
}

# A job on node2 alone, which the network loses: Slurm starts it on node1 while the first ranks train on.
slurm_node_trains_on() {
  local start before
  undisturbed --train.steps=25000
  on node1 scontrol update nodename=node1 state=drain reason=test
  submit --nodes=1 --ntasks=2 --ntasks-per-node=2 -- --train.output=run --train.steps=25000
  wait_until 60 "the run begins" has_logged run 100
  on node1 scontrol update nodename=node1 state=resume
  start=$(now)
  cable down
  wait_until 60 "Slurm misses node2" node2_is_down
  before=$(logged run)
  wait_until 60 "the job starts on node1" runs_on "$job" node1
  seen "on the other node after $(since "$start") s"
  sleep 3
  [ "$(logged run)" -gt "$before" ] || fail "nothing trains on"
  cable up
  ends_trained "$job" run
  seen "trained after $(since "$start") s, losses of the undisturbed run"
}

runs_on() { is "$1" RUNNING && [ "$(of_job "$1" BatchHost)" = "$2" ]; }

slurm_preemption() {
  survives on node1 sbatch --partition=urgent --nodes=2 --exclusive --output=urgent.log --wrap 'sleep 5'
}

# The task with the number of the whole array loses a rank: it alone must start again.
slurm_array() {
  local id lost process
  submit --array=0-1 --output=%x-%A_%a.log -- --train.output=run-%a --train.seed=%a --train.steps=600
  for id in 0 1; do
    wait_until 60 "run $id begins" has_logged run-$id 100
    if [ "$(of_job "${job}_$id" JobId)" = "$job" ]; then lost=$id; fi
  done
  for process in $(ranks node2); do
    if grep -q "run-$lost" "/proc/$process/cmdline"; then kill -KILL "$process"; fi
  done
  for id in 0 1; do
    wait_until 60 "task $id ends" is_over "${job}_$id"
    is "${job}_$id" COMPLETED || fail "task $id: $(of_job "${job}_$id" JobState)"
    check "task $id has its log" has "weft-${job}_$id.log" "train.sbatch: run-$id is finished"
    check "restarts of task $id" [ "$(of_job "${job}_$id" Restarts)" = $((id == lost)) ]
  done
  if same run-0/log.jsonl run-1/log.jsonl; then fail "both have one seed"; fi
  seen "each task has its seed, folder and log; one that loses a rank starts again alone"
}

slurm_one_folder() {
  local first waits refused steps=6000  # more than a fast host makes until the third job is refused
  submit -- --train.output=run --train.steps=$steps && first=$job
  wait_until 60 "the run begins" has_logged run 10
  submit -- --train.output=run --train.steps=$steps && waits=$job
  WEFT_LOCK_SECONDS=1 submit -- --train.output=run --train.steps=$steps && refused=$job
  wait_until 60 "the job ends" is_over "$refused"
  [ "$(of_job "$refused" ExitCode)" = 2:0 ] || fail "the refused job's status: $(of_job "$refused" ExitCode)"
  check "refused by name" has "weft-$refused.log" "another run still uses run"
  is "$first" RUNNING || fail "the first job is over"
  wait_until 300 "the job ends" is_over "$waits"
  check "the first job is trained" is "$first" COMPLETED
  check "the other finds the run finished" is "$waits" COMPLETED
  check "every step is there once" [ "$(logged run)" = $steps ]
  seen "the second waits and finds the run finished; with a short wait refused by name (status 2)"
}

slurm_misuse() {
  expect 2 on node1 srun --mpi=pmix -n 2 "$weft" pack --source ../train.en --target ../train.de --output packed
  check "pack is refused in one line a task" [ "$(grep -c '^weft: `weft pack` runs in one process' err)" = 2 ]
  check "and writes nothing" [ ! -e packed ]
  expect 4 on node1 srun --mpi=pmix -n 2 "$weft" translate --checkpoint nowhere
  check "an error of all ranks is one line" [ "$(grep -vcE '^(srun|slurmstepd[^ ]*): ' err)" = 1 ]
  local mpi
  for mpi in none pmi2; do
    expect 2 on node1 srun --mpi=$mpi -n 2 "$weft" train --config "$config" "${options[@]}" --train.output=run
    check "tasks without PMIx are refused" has err ": 2 processes were started without PMIx"
    check "it names the way out" has err "use srun --mpi=pmix"
    check "in one line a task" [ "$(grep -vc '^srun: ' err)" -le 2 ]
    check "and write nothing" [ ! -e run ]
  done
  expect 0 on node1 srun --mpi=none -n 1 "$weft" train --config "$config" "${options[@]}" --train.output=run \
    --train.steps=4
  seen "pack refused, tasks without PMIx refused, in one line each"
}

# The task on node2 ends before it can join the other one, which waits in MPI_Init.
slurm_failing_start() {
  local ending
  for ending in "exit 127" 'kill -KILL $$'; do
    printf '%s\n' '#!/bin/sh' "[ \$(hostname) != node2 ] || $ending" "exec $weft \"\$@\"" >program
    chmod +x program
    weft=$PWD/program submit -- --train.output=run
    wait_until 200 "the job ends" is_over "$job"
    is "$job" FAILED || fail "job $job: $(of_job "$job" JobState)"
    check "task and node are named" grep -q "status .* (node2: task 1: " "weft-$job.log"
    seen "a task that ends at once ($ending): $(of_job "$job" Restarts) restarts, ExitCode $(of_job "$job" ExitCode)"
  done
  check "a start that fails twice is given up" has "weft-$job.log" "it failed twice at this point"
}

slurm_documented() {
  make_documented_place "$PWD"
  run_documented slurm 'while [ -n "$(squeue --noheader)" ]; do sleep 0.2; done' on node1
  seen "commands of docs/hardware/cluster.md for Slurm: each trained"
}
