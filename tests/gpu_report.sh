# tests/gpu_report.sh: the report of tests/gpu: machine, result of each part, tables of speeds; as Markdown
# and JSON.
#
# Reads the files of the parts in $work: `results` (lines of part|result|seconds|note), pages and JSON files; and logs.
# shellcheck shell=bash disable=SC2154,SC2016  # variables of tests/gpu and tests/gpu_parts.sh; marks of code in markdown

first_line() { "$@" 2>/dev/null | head -n 1 || true; }
gpu_field() { first_line nvidia-smi --query-gpu="$1" --format=csv,noheader; }
library_of() { ldd "$1" 2>/dev/null | awk -v name="$2" 'index($1, name) == 1 { print $1, ($3 == "" ? "" : $3) }' || true; }

machine() {  # lines of NAME|VALUE
  local commit
  commit=$(git -C "$top" describe --always --dirty 2>/dev/null || echo "of an archive")
  echo "date|$(date -u '+%Y-%m-%d %H:%M UTC')"
  if is_emulated; then
    echo "GPU|the emulated device: nothing here was computed by a GPU, and no speed means anything"
  else
    echo "GPU|$(gpu_field name), $(gpu_field memory.total), compute capability $(gpu_field compute_cap); $(num_gpus) of them"
    echo "driver|$(gpu_field driver_version)"
    echo "CUDA|$(library_of "$cuda_module" libcudart); $(library_of "$cuda_module" libcublasLt)"
    echo "NCCL|$(library_of "$nccl_module" libnccl)"
  fi
  echo "processor|$(sed -nE 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(env -u OMP_NUM_THREADS nproc) cores"
  echo "system|$(sed -nE 's/^PRETTY_NAME="?([^"]*)"?$/\1/p' /etc/os-release), kernel $(uname -r), $(first_line ldd --version)"
  echo "Weft|$(first_line "$weft" --version), commit $commit"
  echo "modules|$cuda_module${WEFT_CUDA_MODULE:+ (WEFT_CUDA_MODULE)}; $nccl_module${WEFT_NCCL_MODULE:+ (WEFT_NCCL_MODULE)}"
}

write_report() {
  local name value result seconds note file
  printf '# Weft on a GPU\n\n| | |\n|---|---|\n'
  machine | sed -E 's/^([^|]*)\|(.*)$/| \1 | \2 |/'
  printf '\n| part | result | seconds | what was found |\n|---|---|---|---|\n'
  while IFS='|' read -r name result seconds note; do
    printf '| %s | %s | %s | %s |\n' "$name" "$result" "$seconds" "$note"
  done <"$work/results"
  printf '\nWhat the parts are:\n\n'
  for name in "${chosen[@]}"; do printf -- '- **%s**: %s\n' "$name" "${part_about[$name]}"; done
  for file in "$work"/*.md.part; do
    [ ! -e "$file" ] || { echo; cat "$file"; }
  done
  while IFS='|' read -r name result _; do
    if [ "$result" = failed ]; then printf '\n## The end of %s\n\n```\n%s\n```\n' "$name" "$(tail -n 40 "$output/$name.log")"; fi
  done <"$work/results"
}

json_text() {
  local text=$1
  text=${text//\\/\\\\} text=${text//\"/\\\"}
  printf '"%s"' "${text//[[:cntrl:]]/ }"
}
json_object() {  # of lines NAME|VALUE
  local name value separator=''
  printf '{'
  while IFS='|' read -r name value; do
    printf '%s%s: %s' "$separator" "$(json_text "$name")" "$(json_text "$value")"
    separator=', '
  done
  printf '}'
}
write_json() {
  local name result seconds note separator='' file
  printf '{"machine": %s,\n "parts": [' "$(machine | json_object)"
  while IFS='|' read -r name result seconds note; do
    printf '%s\n  {"name": %s, "result": %s, "seconds": %s, "note": %s}' "$separator" "$(json_text "$name")" "$(json_text "$result")" \
      "$seconds" "$(json_text "$note")"
    separator=,
  done <"$work/results"
  printf '],\n "measured": {'
  separator=''
  for file in base big pytorch; do
    [ -s "$work/$file.json" ] || continue
    printf '%s\n"%s": %s' "$separator" "$file" "$(cat "$work/$file.json")"
    separator=,
  done
  printf '}}\n'
}
