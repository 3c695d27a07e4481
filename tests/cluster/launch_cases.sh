# tests/cluster/launch_cases.sh: weft launch on two hosts.
# shellcheck shell=bash disable=SC2034,SC2154  # names of tests/cluster/run
cases+=(launch_power_off launch_power_off_early launch_all_stopped)

launch() {  # launch HOSTS LAUNCH_OPTION... train TRAIN_OPTION...
  on node1 "$weft" launch --mpirun mpirun --hosts "$@" --config "$config" "${options[@]}"
}
last_step() { tail -n 1 "$1/log.jsonl" | sed -nE 's/^\{"step":([0-9]+),.*/\1/p'; }
resumed_from() { grep -m 1 'resuming from' err | grep -o 'step-[0-9]*' | sed 's/step-0*//'; }
goes_on() { grep -q 'resuming from' err && [ "$(last_step run)" -gt "$(resumed_from)" ]; }

# The host of the second rank loses power. The run goes on with the other rank as if it had been resumed on it.
loses_power() {  # loses_power MOST_SECONDS MESSAGE TRAIN_OPTION...
  local start seconds step status=0
  launch node1:1,node2:1 --restarts 5 train --train.output=run --train.save_every=20 --train.steps=400 "${@:3}" \
    >out 2>err &
  wait_until 60 "the run begins" has_logged run 50
  start=$(now)
  power_off node2
  wait_until 200 "the run goes on" goes_on
  seconds=$(since "$start")
  seen "a host off: first new step on the other one after $seconds s"
  wait $! || status=$?
  check "the run ends" [ $status = 0 ]
  check "the lost host is named" has err "no answer from node2"
  check "it says $2" has err "$2"
  awk -v seconds="$seconds" -v most="$1" 'BEGIN { exit seconds > most }' || fail "longer than $1 s"
  step=$(resumed_from)
  expect 0 train node1:1,node1:1 undisturbed --train.save_every=20 --train.steps="$step"
  expect 0 train node1:1 undisturbed --train.save_every=20 --train.steps=400
  check "losses" same <(step_records run) <(step_records undisturbed)
  seen "losses bit-equal to those of a run that was stopped at this step"
}
launch_power_off() { loses_power 30 "the run failed with status"; }
# The ranks give up before mpirun notices, and then mpirun waits for the lost host.
launch_power_off_early() { loses_power 40 "but mpirun still waits for another host" --parallel.timeout=5; }
# All ranks are stopped, and so are their watchdogs.
launch_all_stopped() {
  local start status=0
  launch node1:2 --restarts 1 train --train.output=run --train.save_every=20 --train.steps=400 --parallel.timeout=5 \
    >out 2>err &
  wait_until 60 "the run begins" has_logged run 50
  start=$(now)
  # shellcheck disable=SC2046  # two numbers
  kill -STOP $(ranks_of_launch)
  wait_until 60 "the run goes on" goes_on
  seen "all ranks stopped, limit 5 s: first new step after $(since "$start") s"
  wait $! || status=$?
  check "the run ends" [ $status = 0 ]
  check "it says why" has err "all ranks of this host have been stopped (SIGSTOP) for more than 5 s"
}
ranks_of_launch() {
  local process
  for process in $(ip netns pids "$(space node1)"); do
    if grep -qz '^OMPI_COMM_WORLD_RANK=' "/proc/$process/environ" 2>/dev/null; then echo "$process"; fi
  done
}
