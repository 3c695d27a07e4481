# tests/end_to_end/helpers.sh: functions for the scripts of this folder, which set weft and mpirun.
# shellcheck shell=bash disable=SC2016,SC2154  # single quotes hold programs for awk; weft and mpirun are the scripts'

export COLUMNS=1000  # a row of a plan stays on its line

fail() {
  [ ! -s err ] || tail -n 20 err >&2  # of the last command
  printf 'FAILED  %s\n' "$*" >&2
  exit 1
}
check() {  # check SENTENCE COMMAND...: the command must succeed
  "${@:2}" || fail "$1"
  printf 'ok  %s\n' "$1"
}
expect() {  # expect STATUS COMMAND...: writes the command's output to ./out and ./err
  local status=0
  "${@:2}" >out 2>err || status=$?
  [ "$status" -eq "$1" ] && return
  fail "exit status $status, not $1: ${*:2}"
}
same() { cmp -s "$1" "$2"; }
differ() { ! same "$1" "$2"; }
has() { grep -qF -- "$2" "$1"; }  # has FILE TEXT
mpi() { "$mpirun" -n "$1" --oversubscribe "${@:2}"; }

step_records() { grep '"loss":' "$1/log.jsonl" | sed -E 's/,"(seconds|mfu|roofline|slowest_rank|waiting|time)":[^,}]*//g'; }  # without times, which differ between runs
numbers() { sed -E 's/.*"weights"://' "$1" | tr -c '0-9.e+\n-' '\n' | grep .; }  # the weights, one per line
last_scores() { tail -n 1 "$1/log.jsonl" | grep -o '^.*"chrf":[^,}]*'; }  # of a validation
losses() { sed -nE 's/.*"loss":([^,]*),.*/\1/p' "$1/log.jsonl"; }

# Two columns of numbers on standard input agree to TOLERANCE, relative to the greater one or to 1.
columns_agree() {  # columns_agree TOLERANCE LINES
  awk -v tolerance="$1" -v lines="$2" '
    function size(x) { return x < 0 ? -x : x }
    { most = size($1) > size($2) ? size($1) : size($2); if (most < 1) most = 1
      if (NF != 2 || $1 !~ /[0-9]/ || $2 !~ /[0-9]/ || size($1 - $2) > tolerance * most) bad = 1 }
    END { exit bad || NR != lines }'
}

# Number words and their translation in the other order: NAME.en and NAME.de.
make_text() {  # make_text NAME PAIRS SEED
  awk -v name="$1" -v pairs="$2" -v state="$3" '
    function random(n) { state = state * 16807 % 2147483647; return int(state / 65536) % n }
    BEGIN {
      split("one two three four five six seven eight nine ten", source)
      split("eins zwei drei vier fünf sechs sieben acht neun zehn", target)
      while (pairs-- > 0) {
        left = right = ""
        for (words = 2 + random(5); words > 0; --words) {
          i = 1 + random(10)
          left = left " " source[i]
          right = " " target[i] right
        }
        print substr(left, 2) >(name ".en")
        print substr(right, 2) >(name ".de")
      }
    }'
}
