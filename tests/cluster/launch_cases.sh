# tests/cluster/launch_cases.sh: weft launch on two hosts.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154  # programs in quotes; names of tests/cluster/run
cases+=(launch_power_off launch_power_off_early launch_all_stopped launch_other_build launch_absent_program
  launch_wrong_name)

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

# node2 has another build: one byte of the program's build ID differs.
launch_other_build() {
  local id
  id=$("$weft" --version | sed -nE 's/^build: weft [^ ]*-([0-9a-f]+),.*/\1/p')
  python3 - "$weft" other "$id" <<'END'
import sys
program, other, build_id = sys.argv[1:]
found = b"GNU\0" + bytes.fromhex(build_id)
content = open(program, "rb").read()
assert content.count(found) == 1
open(other, "wb").write(content.replace(found, b"GNU\0" + bytes([found[4] ^ 1]) + found[5:]))
END
  chmod +x other
  on node2 mount --bind "$PWD/other" "$weft"
  expect 2 launch node1:1,node2:1 --restarts 5 train --train.output=run
  check "the host is named before the start" has err "weft: node2 cannot run this command: it has weft "
  expect 2 train node1:1,node2:1 run
  check "ranks refuse each other" has err "weft[2 ranks]: rank 1 on node2 runs weft "
  check "in one line" [ "$(grep -c '^weft' err)" = 1 ]
  check "nothing is written" [ ! -e run ]
  seen "another build on one host: refused before the start, and by the ranks under mpirun"
}
launch_absent_program() {
  on node2 mount -t tmpfs tmpfs "$(dirname "$weft")"
  expect 2 launch node1:1,node2:1 --restarts 5 train --train.output=run
  check "named" has err "weft: node2 cannot run this command: sh: 1: exec: $weft: not found"
  on node2 umount "$(dirname "$weft")"
  expect 2 on node1 sh -c 'mkdir /tmp/of-node1 && cd /tmp/of-node1 && exec "$@"' sh \
    "$weft" launch --mpirun mpirun --hosts node1:1,node2:1 bench
  check "an absent folder, too" has err "weft: node2 cannot run this command: sh: 1: cd: can't cd to /tmp/of-node1"
  seen "an absent program or folder on one host: named before the start"
}
launch_wrong_name() {
  expect 6 launch node1:1,node3:1 train --train.output=run
  check "the line of ssh" has err "weft: no answer from node3 (ssh: Could not resolve hostname node3: Name or"
  expect 0 launch node1:1,node3:1 --restarts 5 train --train.output=run --train.steps=4
  check "with restarts, too" has err "no answer from node3 (ssh: Could not resolve hostname node3: Name or service"
  seen "a wrong host name: refused with the line of ssh; with restarts, the others train"
}
