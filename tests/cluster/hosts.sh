# tests/cluster/hosts.sh: two hosts, node1 and node2, on one machine. Each is a network namespace with the
# address 10.77.0.1 or .2 and a name, /tmp and /dev/shm of its own; a cable joins them. The script that reads
# this sets $folder.
# shellcheck shell=bash disable=SC2016,SC2154  # programs in quotes; $folder is the script's

make_hosts() {
  local i
  rm -rf "$folder"/tmp "$folder"/off
  mkdir -p "$folder"/tmp/node1 "$folder"/tmp/node2 "$folder"/off
  printf '127.0.0.1 localhost\n10.77.0.1 node1\n10.77.0.2 node2\n' >"$folder/hosts"
  ip netns add "$(space node1)"
  ip netns add "$(space node2)"
  ip -n "$(space node1)" link add eth0 type veth peer name eth0 netns "$(space node2)"
  for i in 1 2; do
    ip -n "$(space node$i)" link set lo up
    plug_in $i
    # The first process keeps the host's name and its own mounts. ip netns exec would replace /sys.
    nsenter --net="/run/netns/$(space node$i)" unshare --uts --mount sh -c 'hostname "$1" &&
      mount --bind "$2/hosts" /etc/hosts && mount --bind "$2/tmp/$1" /tmp && mount -t tmpfs tmpfs /dev/shm &&
      echo $$ >"$2/$1.pid" && exec sleep infinity' sh node$i "$folder" &
    disown
    until [ -s "$folder/node$i.pid" ]; do sleep 0.01; done
  done
  # Open MPI starts its daemon on the other host with this in place of ssh: agent HOST COMMAND... Like ssh, it
  # does not return if the host is off.
  { echo '#!/bin/bash'; declare -p folder; declare -f on off ssh_to; echo 'ssh_to "$@"'; } >"$folder/agent"
  chmod +x "$folder/agent"
}
plug_in() {
  ip -n "$(space "node$1")" address add "10.77.0.$1/24" dev eth0
  ip -n "$(space "node$1")" link set eth0 up
}
space() { echo "weft-$$-$1"; }
on() {  # on HOST COMMAND...
  nsenter --target "$(cat "$folder/$1.pid")" --net --uts --mount --wd="$PWD" \
    "${@:2}"
}
off() { [ -e "$folder/off/$1" ]; }
ssh_to() {  # ssh_to HOST COMMAND...
  local status=0
  [ -e "$folder/$1.pid" ] || { echo "ssh: Could not resolve hostname $1: Name or service not known" >&2; return 255; }
  off "$1" || on "$1" sh -c "cd /; ${*:2}" || status=$?
  while off "$1"; do sleep 1; done
  return $status
}
power_off() {  # no packet tells the other host, whose end of the cable stays up, as at a switch
  touch "$folder/off/$1"
  ip -n "$(space "$1")" address flush dev eth0
  ip netns pids "$(space "$1")" | grep -vxF "$(cat "$folder/$1.pid")" | xargs -r kill -KILL 2>/dev/null || true
}
cable() { ip -n "$(space node2)" link set eth0 "$1"; }  # cable up|down

# Replaces the cable by one that delays packets by so many ms and loses so many per cent.
slow_cable() {  # slow_cable DELAY LOSS
  if [ -e "$folder/cable.pid" ]; then  # its end takes the cards of a slow cable away
    kill "$(cat "$folder/cable.pid")"
    wait_until 10 "the old cable is gone" eval '! ip -n "$(space node2)" link show eth0 2>/dev/null'
    rm "$folder/cable"
  else
    ip -n "$(space node1)" link delete eth0
  fi
  "$here/slow_cable" "$@" "$(space node1)" "$(space node2)" >"$folder/cable" &
  echo $! >"$folder/cable.pid"
  disown
  wait_until 10 "the slow cable is ready" [ -s "$folder/cable" ]
  plug_in 1
  plug_in 2
}

# Ends every process of both hosts, and a slow cable.
remove_hosts() {
  local host
  [ ! -e "$folder/cable.pid" ] || kill "$(cat "$folder/cable.pid")" || true
  rm -f "$folder/cable" "$folder/cable.pid"
  for host in node1 node2; do
    [ -e "/run/netns/$(space $host)" ] || continue
    ip netns pids "$(space $host)" | xargs -r kill -KILL 2>/dev/null || true
    ip netns delete "$(space $host)"
    rm -f "$folder/$host.pid"
  done
}
