# tests/cluster/slurm.sh: Slurm on the two hosts of hosts.sh, its controller on node1. Its files are in
# $folder/slurm. Its processes end with the hosts.
# shellcheck shell=bash disable=SC2154  # $folder is the script's

start_slurm() {
  local state=$folder/slurm node
  mkdir -p "$state/spool" && chmod 755 "$folder" "$state"
  dd if=/dev/urandom of="$state/munge.key" bs=128 count=1 status=none
  chmod 400 "$state/munge.key"
  on node1 munged --force --foreground --key-file="$state/munge.key" --socket="$state/munge.socket" \
    --pid-file="$state/munge.pid" --log-file="$state/munge.log" --seed-file="$state/munge.seed" 2>/dev/null &
  # cred_expire: a requeued job waits that long. config_overrides: a node may claim more cores than it has.
  cat >"$state/slurm.conf" <<END
ClusterName=weft
SlurmctldHost=node1(10.77.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$state/munge.socket,cred_expire=5
CryptoType=crypto/munge
StateSaveLocation=$state
SlurmdSpoolDir=$state/spool/%n
SlurmctldPidFile=$state/slurmctld.pid
SlurmdPidFile=$state/spool/%n.pid
SlurmctldLogFile=$state/slurmctld.log
SlurmdLogFile=$state/%n.log
TmpFS=/tmp
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=2,batch_sched_delay=1
SlurmdTimeout=10
KillWait=10
ReturnToService=2
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName=node1 NodeAddr=10.77.0.1 CPUs=64 State=UNKNOWN
NodeName=node2 NodeAddr=10.77.0.2 CPUs=64 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES PriorityTier=1 GraceTime=20
PartitionName=urgent Nodes=ALL PriorityTier=2
END
  export SLURM_CONF=$state/slurm.conf
  wait_until 10 "munged runs" [ -S "$state/munge.socket" ]
  on node1 slurmctld -D >/dev/null 2>&1 &
  for node in node1 node2; do start_slurmd $node; done
  wait_until 30 "both nodes are idle" nodes_are idle
}
start_slurmd() { on "$1" slurmd -D -N "$1" >/dev/null 2>&1 & }
nodes_are() { [ "$(on node1 sinfo --noheader --partition=all --format=%T 2>/dev/null)" = "$1" ]; }
