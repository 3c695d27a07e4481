# tests/end_to_end/documented.sh: the commands of docs/hardware/cluster.md, for the scripts that run them: those of a block that
# begins with the line ```sh KIND. Needs helpers.sh, and weft.
# shellcheck shell=bash disable=SC2016,SC2154,SC2164  # programs for awk; weft is the script's, which ends at errors

documented_kinds='one-host|two-hosts|slurm|container'
documented_page=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/../../docs/hardware/cluster.md")

# Each block with commands has a kind. What has none, a program's output, begins with spaces.
check_documented() {
  check "every block of commands has a kind" awk -v kinds="^\`\`\`sh ($documented_kinds)\$" '
    /^```/ { inside = !inside; plain = $0 == "```"; if (inside && !plain && $0 !~ kinds) exit failed = 1; next }
    inside && plain && /^[^ ]/ { exit failed = 1 }
    END { exit failed }' "$documented_page"
}

# A folder as the page's: the program, a corpus, my.cfg. Small: 4 steps, of as many blocks as there are ranks.
make_documented_place() {  # make_documented_place FOLDER
  local tree
  tree=$(readlink -f "$(dirname "$documented_page")/../..")
  mkdir -p "$1/build"
  ln -s "$weft" "$1/build/weft"
  ln -s "$tree/launch" "$1/launch"
  (
    cd "$1"
    make_text train 400 1
    expect 0 "$weft" pack --source train.en --target train.de --output packed --vocab-size 300
  )
  cat >"$1/my.cfg" <<END_OF_FILE
[model]
width = 16
heads = 2
feed_forward = 16
encoder_layers = 1
decoder_layers = 1
[batch]
rows = 64
blocks = 4
[data]
train = packed
[train]
precision = f32
output = runs/mine
steps = 4
save_every = 2
END_OF_FILE
}

# Runs each block of a kind as one script in the current folder, with the command RUN... if there is one. Each command
# starts without a run. Those that train must finish one; BETWEEN... waits for those that work on by themselves.
run_documented() {  # run_documented KIND BETWEEN [RUN...]
  local block finished
  rm -f block-*
  awk -v start="\`\`\`sh $1" '/^```/ { file = $0 == start ? "block-" ++n : ""; next } file { print >file }' "$documented_page"
  for block in block-*; do
    [ -e "$block" ] || fail "docs/hardware/cluster.md has no commands of the kind $1"
    rm -rf runs finished && touch finished
    { echo 'set -T'; printf "trap '%s' DEBUG\n" "$2; cat runs/mine/finished >>finished 2>/dev/null || true; rm -rf runs"
      cat "$block"; echo :; } >script
    expect 0 "${@:3}" bash -euo pipefail script
    finished=$(wc -l <finished)
    check "$1: $(head -n 1 "$block")" [ "$finished" -eq "$(grep -v -e --dry-run "$block" | grep -c 'my\.cfg')" ]
  done
}
