# launch/completion/weft.bash: completes weft's commands, options and values in bash. The program lists them with
# --help=words. If nothing matches, bash completes file names.

# Prints the last command before the cursor: `train` in `weft launch -n 4 train`, both words in `weft inspect model`.
_weft_command() {
  local word found=
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [[ $'\n'$1$'\n' == *$'\n'"$found $word"$'\n'* ]]; then
      found+=" $word"
    elif [[ $'\n'$1$'\n' == *$'\n'"$word"$'\n'* ]]; then
      found=$word
    fi
  done
  printf '%s' "$found"
}

_weft() {
  local program=${COMP_WORDS[0]/#\~/$HOME} word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  local commands command options='' values='' second=''
  # bash splits --key=value into three words.
  if [ "$word" = = ]; then
    word=
  elif [ "$before" = = ]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  commands=$("$program" --help=words 2>/dev/null | cut -f 1)
  command=$(_weft_command "$commands")
  # shellcheck disable=SC2086  # a command may have two words
  [ -z "$command" ] || options=$("$program" $command --help=words 2>/dev/null)
  [ "$before" != "$command" ] || second=$(sed -n "s/^$command //p" <<<"$commands")
  [[ $before != --* ]] || values=$(awk -F '\t' -v key="$before" '$1 == key { print $2 }' <<<"$options")
  if [ -n "$values" ]; then
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
  elif [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(cut -f 1 <<<"$options")" -- "$word")
  elif [ -z "$command" ] || [[ $command == launch && $before != -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(grep -v ' ' <<<"$commands")" -- "$word")
  elif [ -n "$second" ]; then
    compopt -o filenames 2>/dev/null || true
    mapfile -t COMPREPLY < <(compgen -W "$second" -- "$word"; compgen -f -- "$word")
  fi
}
complete -o default -F _weft weft
