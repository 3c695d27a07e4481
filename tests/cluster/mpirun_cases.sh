# tests/cluster/mpirun_cases.sh: mpirun on two hosts over TCP.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154  # a rank's own shell; names of tests/cluster/run
cases+=(mpirun_equal mpirun_bytes mpirun_bytes_zero mpirun_bytes_bf16 mpirun_latencies mpirun_slow_network
  mpirun_network_lost mpirun_network_back mpirun_stopped_rank mpirun_killed_rank mpirun_documented)

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_hwloc_base_binding_policy=none
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
export OMPI_MCA_plm_rsh_agent=$folder/agent OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,vader,self
export OMPI_MCA_btl_tcp_if_include=10.77.0.0/24 OMPI_MCA_oob_tcp_if_include=10.77.0.0/24

# train HOSTS RUN OPTION...: the process number of rank N is in ./rank-N. HOSTS: node1:2,node2:2.
train() {
  on node1 mpirun --host "$1" sh -c 'echo $$ >"rank-$OMPI_COMM_WORLD_RANK"; exec "$@"' sh \
    "$weft" train --config "$config" "${options[@]}" --train.output="$2" "${@:3}" >out 2>err
}
train_four() { train node1:2,node2:2 run --parallel.tp=2 "$@"; }

mpirun_equal() {
  local grid ranks tp zero
  for grid in 2x1 1x2 2x2; do
    tp=${grid#*x} ranks=$((${grid%x*} * tp))
    for zero in 0 1; do
      expect 0 train node1:$ranks "one-$grid-$zero" --parallel.tp="$tp" --parallel.zero=$zero
      expect 0 train "node1:$((ranks / 2)),node2:$((ranks / 2))" "two-$grid-$zero" --parallel.tp="$tp" \
        --parallel.zero=$zero
      check "$grid" same "$(model "one-$grid-$zero")" "$(model "two-$grid-$zero")"
    done
  done
  seen "2x1, 1x2, 2x2, with parallel.zero 0 and 1: weights bit-equal to those of one host"
}

sent() { on node1 awk '$1 == "eth0:" { print $10 }' /proc/net/dev; }
# host_sends WANTED OPTION...: what 20 and 60 steps differ by, over the f32 gradients of 40 steps, with 1, 2 and 4 ranks
# of each host.
host_sends() {
  local wanted=$1
  shift
  local ranks steps before=0 bytes=0 start ratios=''
  for ranks in 1 2 4; do
    for steps in 20 60; do
      start=$(sent)
      expect 0 train "node1:$ranks,node2:$ranks" "bytes-$ranks-$steps" --train.steps=$steps "$@"
      before=$bytes bytes=$(($(sent) - start))
    done
    ratios+=" $(awk -v bytes=$((bytes - before)) -v gradients="$(stat -c %s "$(model "bytes-$ranks-60")")" \
      'BEGIN { printf "%.2f", bytes / 40 / gradients }')"
  done
  seen "1, 2 and 4 ranks of each host send$ratios times the gradients in a step${1:+ ($*)}"
  check "a host sends $wanted times its gradients, whatever its ranks" awk -v wanted="$wanted" \
    '{ for (i = 1; i <= 3; ++i) if ($i > 1.15 * wanted || $i < 0.9 * wanted) exit 1 }' <<<"$ratios"
}
mpirun_bytes() { host_sends 1; }
# Gradients are reduce-scattered, and the weights come back.
mpirun_bytes_zero() {
  local options=("${options[@]/width=16/width=64}")
  host_sends 1 --parallel.zero=1
}
# Gradients are half as large as in f32, and so a quarter of the bytes is saved.
mpirun_bytes_bf16() {
  local options=("${options[@]/width=16/width=128}")
  host_sends 0.75 --parallel.zero=1 --parallel.gradient_type=bf16
}

# How many latencies of the network a step waits for, with gradients of 1.2 MB: what two delays differ by, because the
# cable itself takes time to carry the bytes. BBR would spread each message over a round trip, which counts as well.
mpirun_latencies() {
  local host delay options=("${options[@]/width=16/width=128}")
  for host in node1 node2; do on $host sh -c 'echo reno >/proc/sys/net/ipv4/tcp_congestion_control'; done
  for delay in 50 150; do
    slow_cable $delay 0
    expect 0 train node1:1,node2:1 "delay-$delay" --train.steps=12
    grep -o '"seconds":[0-9.]*' "delay-$delay/log.jsonl" | cut -d: -f2 | tail -n 9 | sort -g | sed -n 5p
  done | awk '{ seconds[NR] = $1 } END { printf "%.1f\n", (seconds[2] - seconds[1]) / 0.1 }' >latencies
  seen "a step takes $(cat latencies) times the latency of the network"
  check "at most 4.5" awk '$1 > 4.5 { exit 1 }' latencies
}

# Four ranks train without end; after some steps COMMAND... strikes. Each of the ranks that then wait must say
# where, and end within the limit of 5 s + 2 s.
struck() {  # struck "RANK..." COMMAND...
  local start rank waiting=()
  train_four --train.steps=1000000 --parallel.timeout=5 &
  wait_until 30 "the run begins" has_logged run 20
  for rank in $1; do waiting+=("$(cat "rank-$rank")"); done
  start=$(now)
  "${@:2}"
  wait_until 30 "the waiting ranks end" gone "${waiting[@]}"
  seen "the ranks that wait gone after $(since "$start") s"
  [ $(($(now) - start)) -le 7000000000 ] || fail "they took longer than the limit + 2 s"
  for rank in $1; do check "rank $rank says where" has "run/waiting/rank-$rank.txt" "rank $rank on node"; done
  # shellcheck disable=SC2046  # several numbers
  wait_until 60 "mpirun and all ranks end" gone $! $(cat rank-?)
  seen "mpirun and all ranks after $(since "$start") s"
  if wait $!; then fail "mpirun reports success"; fi
}
mpirun_network_lost() {
  # By default TCP, and so mpirun, gives the other host up after a quarter of an hour.
  on node1 sh -c 'echo 5 >/proc/sys/net/ipv4/tcp_retries2'
  struck "0 1 2 3" cable down
  check "that all ranks wait is said" has err "every rank waits: the network"
}
mpirun_stopped_rank() {
  struck "0 1 2" sh -c 'kill -STOP "$(cat rank-3)"'
  check "the stopped rank is named" has err "no report from rank 3:"
}

equals_undisturbed() {  # equals_undisturbed STEPS
  expect 0 train node1:4 undisturbed --parallel.tp=2 --train.steps="$1"
  check "weights" same "$(model run)" "$(model undisturbed)"
  check "losses" same <(step_records run) <(step_records undisturbed)
  seen "weights and losses bit-equal to those of an undisturbed run on one host"
}
mpirun_slow_network() {
  local start
  slow_cable 20 2
  start=$(now)
  expect 0 train_four --train.steps=30
  seen "20 ms one way, 2 % of the packets lost: 30 steps in $(since "$start") s"
  equals_undisturbed 30
}
mpirun_network_back() {
  local start
  train_four --train.steps=200 --parallel.timeout=60 &
  wait_until 30 "the run begins" has_logged run 50
  start=$(now)
  cable down
  sleep 20
  [ "$(logged run)" -lt 200 ] || fail "the run ended before"
  local before
  before=$(logged run)
  cable up
  wait_until 60 "the run goes on" has_logged run $((before + 1))
  seen "network lost for 20 s: goes on $(since "$start") s after the loss"
  wait $! || fail "status $?"
  equals_undisturbed 200
}
mpirun_killed_rank() {
  local start
  train_four --train.steps=200 &
  wait_until 30 "the run begins" has_logged run 50
  start=$(now)
  kill -KILL "$(cat rank-3)"
  # shellcheck disable=SC2046  # several numbers
  wait_until 30 "mpirun and all ranks end" gone $! $(cat rank-?)
  seen "all gone after $(since "$start") s"
  if wait $!; then fail "mpirun reports success"; fi
  expect 0 train_four --train.steps=200
  equals_undisturbed 200
}

# The commands of docs/hardware/cluster.md.
mpirun_documented() {
  make_documented_place "$PWD"
  run_documented two-hosts : on node1
  check "the plan names hosts" has err "placement    2 hosts x 1 rank: "
  check "and the network" has err "network      MPI over 10.77.0.0/24 (OMPI_MCA_btl_tcp_if_include)"
  seen "commands of docs/hardware/cluster.md for two hosts: each trained"
}
