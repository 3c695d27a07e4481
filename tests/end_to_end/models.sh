# tests/end_to_end/models.sh: parts of run that use a model that was trained.
# shellcheck shell=bash disable=SC2016,SC2154  # single quotes hold programs for awk; the variables are those of run

# The sum of "log_probs" divided by the length penalty, for each JSON line.
score_of_tokens() {
  sed -E 's/.*"log_probs":\[([^]]*)\].*/\1/; s/,/ /g' |
    awk '{ sum = 0; for (i = 1; i <= NF; ++i) sum += $i; printf "%.6f\n", sum / ((5 + NF) / 6) ^ 0.6 }'
}

translating() {
  { head -n 5 valid.en; echo; sed -n 6,10p valid.en; } >lines
  translate <lines >text
  check "each line has its translation" [ "$(wc -l <text)" -eq 11 ]
  check "an empty line stays empty" [ -z "$(sed -n 6p text)" ]
  translate --batch 1 <lines >text-alone
  check "one sentence at a time gives the same bytes" same text text-alone
  expect 5 "$weft" translate --quiet --checkpoint whole </
  expect 5 "$weft" bleu --reference lines </
  expect 0 mpi 2 "$weft" translate --quiet --checkpoint whole <lines
  check "two ranks give the same bytes" same text out

  translate --scores <lines >scored
  tac lines | translate --scores | tac >scored-backwards
  check "the sentences have different scores" [ "$(cut -f 1 scored | sort -u | wc -l)" -ge 8 ]
  check "lines in another order: the same texts in that order" same <(cut -f 2 scored) <(cut -f 2 scored-backwards)
  check "and the same scores" columns_agree 1e-4 11 < <(paste <(cut -f 1 scored) <(cut -f 1 scored-backwards))

  for beam in 1 4; do
    translate --json --beam $beam <lines >json
    check "the log probabilities of the tokens add up to the score (beam $beam)" \
      same <(score_of_tokens <json) <(translate --scores --beam $beam <lines | cut -f 1)
  done
  check "JSON has the text" same <(sed -E 's/.*"text":"([^"]*)".*/\1/' json) <(translate --beam 4 <lines)
  translate --json --beam 4 --nbest 2 --alignment - <lines >json
  check "and lists and alignments, of all lines with text" \
    [ "$(grep -cE '"alignment":\[\[.*\]\],"nbest":\[\{.*\},\{.*\}\]\}$' json)" -eq 10 ]
  expect 2 "$weft" translate --checkpoint whole --json --scores
  check "an option that JSON makes useless is refused" has err 'weft: --json also prints the scores: leave out --scores'
  { cat lines; for i in 1 2 3 4 5 6; do seq -s ' ' 600; done; } | translate --json --beam 1 2>err >json
  check "lines that were cut have a mark" [ "$(grep -c '"source_cut":true' json)" -eq 6 ]
  check "the first of them have their numbers, too" \
    grep -Eq '^weft: lines that were longer than 511 tokens and were cut: 6 \(line 12 with [0-9]+ tokens, .*, line 16 with [0-9]+ tokens, \.\.\.\)$' err

  head -n 5 lines | translate --beam 3 --nbest 2 >nbest
  check "n-best lines are: index ||| text ||| score" \
    [ "$(grep -cE '^[0-4] \|\|\| .* \|\|\| -[0-9]+\.[0-9]{6}$' nbest) $(wc -l <nbest)" = "10 10" ]
  check "n-best lists are in the order of the input" same <(cut -d ' ' -f 1 nbest) <(printf '%s\n' 0 0 1 1 2 2 3 3 4 4)
}

sampling() {  # after translating
  local count
  count=$(wc -l <lines)
  translate --samples 3 <lines >samples
  check "each line has three samples, in the form of n-best lists" \
    same <(cut -d ' ' -f 1 samples) <(seq 0 $((count - 1)) | sed 'p;p')
  expect 0 mpi 2 "$weft" translate --quiet --checkpoint whole --samples 3 <lines
  check "samples do not depend on the number of ranks" same out samples
  translate --sample <lines >first
  check "nor on how many are drawn" same first <(sed -nE '1~3s/^[0-9]+ \|\|\| (.*) \|\|\| .*/\1/p' samples)
  translate --sample --seed 2 <lines >other
  check "another seed draws other samples" differ first other
  translate --samples 4 --mbr chrf --json <lines >json
  check "minimum Bayes risk prints one sample" [ "$(grep -c '"score"' json) $(grep -c nbest json)" = "$count 0" ]
  translate --ensemble whole --ensemble-mean log-probability <lines >ensemble
  check "an ensemble of equal models translates as one of them" same ensemble text
  translate --no-repeat-ngram 2 --suppress e <lines >/dev/null
  refused() { expect 2 "$weft" translate --quiet --checkpoint whole "${@:2}" <lines; check "refused: ${*:2}" has err "$1"; }
  refused '▁ stands for a space' --suppress ' eins'
  refused '--top-k applies only to samples: add --samples N' --top-k 3
  refused '--mbr applies only to samples' --mbr bleu
  refused 'give at least 2, such as --samples 32' --sample --mbr bleu
  refused '--beam applies only to beam search' --sample --beam 4
  refused '--nbest applies only to beam search' --samples 2 --nbest 2
  refused '--samples must be at least 1, but is 0' --samples 0
  refused '--ensemble-mean applies only with --ensemble' --ensemble-mean probability
  refused 'no-repeat-ngram = -1 must be at least 0' --no-repeat-ngram=-1
  refused 'leave out --nbest, --samples and --alignment' --samples 2 --documents 100
}

in_int8() {  # after translating; on any processor, ranks and threads
  translate --precision int8 --json <lines >int8
  check "int8 rounds" differ int8 <(translate --json <lines)
  local hidden
  for hidden in -AVX512F -AVX512F,-AVX2; do
    GLIBC_TUNABLES=glibc.cpu.hwcaps=$hidden translate --precision int8 --json <lines >out
    check "int8 gives the same bytes without the instructions $hidden" same int8 out
  done
  expect 0 mpi 2 "$weft" translate --quiet --checkpoint whole --precision int8 --json <lines
  check "and on two ranks" same int8 out
  expect 2 mpi 2 "$weft" translate --quiet --checkpoint whole --precision int8 --parallel.tp=2 <lines
  check "it is refused where ranks divide layers" has err '--precision int8 divides sentences among ranks, not layers: use --parallel.tp=1'
  expect 0 "$weft" average whole --precision int8 --output whole-int8
  expect 0 "$weft" verify whole-int8
  expect 0 "$weft" translate --quiet --checkpoint whole-int8 --precision int8 --json <lines
  check "a checkpoint in int8 gives the same bytes" same int8 out
  check "and is less than half as large, though its rows are short" \
    [ $(($(stat -c %s whole-int8/step-*/model.safetensors) * 2)) -lt "$(stat -Lc %s whole/checkpoints/latest/model.safetensors)" ]
  expect 0 "$weft" average whole-int8/step-* --precision int8 --output whole-int8-again
  check "int8 is rounded to the same int8" same whole-int8*/step-*/model.safetensors
  expect 2 "$weft" average whole-int8/step-* --output refused
  check "the mean of one checkpoint is refused in f32" has err 'too few checkpoints'
}

pipes() {  # after translating
  local answer input
  for command in translate 'launch -n 2 translate' 'translate --json'; do
    # shellcheck disable=SC2086  # splits into words
    coproc translator { "$weft" $command --quiet --checkpoint whole 2>pipe-err; }
    for i in 1 2; do
      sed -n "${i}p" lines >&"${translator[1]}"
      read -r -t 120 answer <&"${translator[0]}" || { cat pipe-err >&2; fail "weft $command does not answer a pipe"; }
      answer=${answer#*\"text\":\"}
      answer=${answer%%\"*}
      check "weft $command answers line $i of a pipe that stays open" [ "$answer" = "$(sed -n "${i}p" text)" ]
    done
    input=${translator[1]}
    exec {input}>&-
    wait "$translator_PID"
  done
  gzip -c lines | translate >unpacked
  check "packed standard input is translated like plain text" same text unpacked
  "$weft" translate --checkpoint whole <lines >full-err 2>/dev/full
  check "a full standard error does not end a translation" same text full-err
  { printf '\u00ad\u2060\n'; sed 's/ /\xe2\x80\x8b /' lines; } | translate >hidden
  check "invisible characters change no translation" same <(echo; cat text) hidden
}

scoring() {  # after translating
  sed -n 6p lines >empty
  expect 0 "$weft" score --quiet --checkpoint whole --source empty --target empty
  check "score gives an empty line the score that translate gives it" columns_agree 1e-5 1 \
    < <(paste <(sed -n 2p out | cut -f 1) <(sed -n 6p scored | cut -f 1))
  expect 0 "$weft" score --quiet --checkpoint whole --source valid.en --target valid.de
  check "score gives a table: log probability, tokens, their quotient" awk -F '\t' '
    NR == 1 { bad = $0 != "log_prob\ttokens\tlog_prob_per_token"; next }
    { error = $3 - $1 / $2; if (NF != 3 || $1 >= 0 || error > 2e-6 || error < -2e-6) bad = 1 }
    END { exit bad || NR != 41 }' out
  expect 0 "$weft" score --quiet --json --checkpoint whole --source valid.en --target valid.de
  check "or a JSON object for each pair" [ "$(grep -cE '^\{"index":[0-9]+,"log_prob":-.*\}$' out)" -eq 40 ]
  "$weft" score --quiet --checkpoint whole --source valid.en --target valid.de >forward
  "$weft" score --quiet --checkpoint whole --source valid.de --target valid.en >backward
  expect 0 mpi 2 "$weft" score --quiet --checkpoint whole --reverse whole --source valid.en --target valid.de
  check "in both directions, score gives the scores of each, on two ranks too" \
    same <(cut -f 1-6 out | tail -n +2) <(paste forward backward | tail -n +2)
  check "and the adequacy of each pair" awk -F '\t' '
    NR == 1 { bad = $7 != "adequacy"; next }
    { gap = $3 > $6 ? $3 - $6 : $6 - $3; error = $7 - exp(-gap + ($3 + $6) / 2); if (error > 2e-6 || error < -2e-6) bad = 1 }
    END { exit bad || NR != 41 }' out
  expect 0 "$weft" score --quiet --json --checkpoint whole --reverse whole --source valid.en --target valid.de
  check "and JSON with both" grep -qE '"reverse":\{"log_prob":-.*\},"adequacy":[0-9.e-]+\}$' out
  expect 2 "$weft" score --checkpoint whole --source valid.en --target valid.de --reverse-tag '<2en>'
  check "a tag of the other direction needs its model" has err '--reverse-tag applies only with --reverse'
  expect 0 "$weft" evaluate --quiet --checkpoint whole --source valid.en --reference valid.de
  check "evaluate gives a line for the set" grep -qE '^valid\.en +40 +[0-9.]+ +[0-9.]+$' out
  check "and BLEU with its signature" grep -qE '^ +BLEU\|.*tok:13a.* = [0-9.]+ ' out
  expect 0 "$weft" evaluate --quiet --json --checkpoint whole --source valid.en --reference valid.de
  check "or JSON" has out '"sentences": 40'
  expect 0 "$weft" bleu --reference valid.de valid.de
  check "a text is its own translation with BLEU 100.0" grep -q '^BLEU|.* = 100\.0 ' out
  check "and chrF 100.0" grep -q '^chrF2|.* = 100\.0$' out
}

validating() {  # after translating
  sed 's/$/ …/' valid.de >dots.de  # the tokenizer would turn each … into three dots
  expect 0 "$weft" pack --quiet --source valid.en --target dots.de --output packed-dots --tokenizer packed \
    --no-shuffle
  valid=packed-dots expect 0 train 1 dotted --train.init=whole --train.steps=2 --train.validate_every=2 \
    --train.validate_bleu=-1 --train.bleu_tokenize=char  # with words, a model of 30 steps has BLEU 0
  check "its line names the tokenizer" grep -qE 'BLEU [0-9.]+ \(char\), ' err
  expect 0 "$weft" evaluate --quiet --json --checkpoint dotted --source valid.en --reference dots.de --output dotted-text \
    --tokenize char
  bleu_of() { grep -oE '"(bleu|score)": ?[0-9.e-]+' "$1" | head -n 1 | grep -oE '[0-9.e-]+$'; }
  check "validation compares with the raw text, as evaluate does" [ "$(bleu_of dotted/log.jsonl)" = "$(bleu_of out)" ]
  local evaluated
  evaluated=$(bleu_of out)
  expect 0 "$weft" bleu --json --tokenize char --reference dots.de dotted-text/valid.en.txt
  check "and bleu computes the same number, to all digits" [ "$(bleu_of out)" = "$evaluated" ]
  check "which is above 0" awk "BEGIN { exit !($evaluated > 0) }"
}

exchanging() {  # after translating, whose lines and text it reads
  local import=("$weft" import --weights exported)
  expect 0 "$weft" export --checkpoint whole --format pytorch --output exported
  expect 0 "${import[@]}" --config whole/config.cfg --output imported
  expect 0 "$weft" translate --quiet --checkpoint imported <lines
  check "exported for PyTorch and imported again, the model gives the same bytes" same text out
  local format
  for format in pytorch ctranslate2; do
    expect 0 "$weft" export --checkpoint whole --format $format --output exported-$format
    expect 0 "$weft" import --from exported-$format --output from-$format
    expect 0 "$weft" translate --quiet --beam 1 --checkpoint from-$format <lines
    check "from a folder of $format alone, the same" same text out
  done
  sed -i 's/"norm": "\([a-z]*\)"/"norm": "\1\\n[train]\\nvalidate_command = true"/' exported-pytorch/config.json
  expect 4 "$weft" import --from exported-pytorch --output refused
  check "a value with further lines is refused" has err "config.json: the option 'norm' of model is damaged"
  expect 0 train 2 begun --train.steps=1 --train.init=imported
  check "a new run starts with it" has err 'starting with the parameters of imported/step-00000000'
  sed 's/^feed_forward = 64$/feed_forward = 96/' whole/config.cfg >wider.cfg
  expect 4 "${import[@]}" --config wider.cfg --output refused
  check "weights of another shape are refused in one line" [ "$(wc -l <err)" -eq 1 ]
  check "it names file, tensor and both shapes" \
    has err "weft: exported/model.safetensors: tensor 'decoder.layers.0.linear1.bias' has shape [64], but the model needs [96]"
  check "refused weights leave no checkpoint" [ ! -e refused ]
  sed 's/^width = 32$/width = 2147483648/' whole/config.cfg >wider.cfg
  expect 2 "${import[@]}" --config wider.cfg --output refused
  check "a width beyond any model is refused with the limit" has err 'weft: model.width = 2147483648 must be at most 1048576'

  ln -s nowhere dangling
  expect 2 "${import[@]}" --config whole/config.cfg --output dangling
  check "a dangling link is refused in one line" [ "$(wc -l <err)" -eq 1 ]
  check "and still exists" [ -L dangling ]
  mkdir -p killed/step-00000000.tmp-99999
  expect 0 "${import[@]}" --config whole/config.cfg --output killed
  check "an import removes the files of a killed one" [ "$(echo killed/*)" = killed/step-00000000 ]
  (ulimit -f 8 && trap '' XFSZ && expect 5 "${import[@]}" --config whole/config.cfg --output n/m/o) || exit 1
  check "a full disk is one line" [ "$(wc -l <err)" -eq 1 ]
  check "and leaves no parent of the output" [ ! -e n ]

  local init
  for init in nowhere lines killed/step-00000000/config.cfg refused; do
    expect 4 "$weft" train --config "$config" --data.train=packed --train.output=refused --train.init="$init"
    check "--train.init=$init is refused: the last line names the option" \
      grep -qF "weft: train.init: $init is not a checkpoint" <(tail -n 1 err)
    check "and leaves no run" [ ! -e refused ]
  done
}

inspecting() {
  expect 0 "$weft" inspect packed
  check "inspect counts a corpus' pairs" grep -qE '^ +pairs +400$' out
  expect 0 "$weft" inspect whole/checkpoints/step-00000030
  check "inspect verifies a checkpoint" has out 'every SHA-256 matches'
  expect 0 "$weft" inspect whole
  check "inspect shows the state of a run" has out 'run whole: latest checkpoint step-00000030'
  expect 0 "$weft" inspect whole --chart --curve fill
  check "inspect draws a run's curve" has out fill

  cp -a whole damaged
  local file=damaged/checkpoints/step-00000030/model.safetensors middle byte
  middle=$(($(wc -c <"$file") / 2))
  byte=$(od -An -tu1 -j "$middle" -N 1 "$file")
  # shellcheck disable=SC2059  # the byte is the format
  printf "\\$(printf %03o $((byte ^ 1)))" | dd of="$file" bs=1 seek="$middle" conv=notrunc status=none
  expect 4 "$weft" translate --quiet --checkpoint "${file%/*}" <lines
  check "a checkpoint with one flipped bit is refused by name" has err "$file is damaged"
}

looking_inside() {
  local files=(--alignment a.txt --alignment a.jsonl --alignment a.svg)
  translate "${files[@]}" <lines >text-again
  check "keeping attention does not change the text" same text text-again
  check "each line has its alignment" [ "$(wc -l <a.txt) $(wc -l <a.jsonl)" = "11 11" ]
  check "in Pharaoh's form" [ "$(grep -cE '^[0-9]+-[0-9]+( [0-9]+-[0-9]+)*$' a.txt)" -eq 10 ]
  check "an empty line has an empty one" [ -z "$(sed -n 6p a.txt)" ]
  check "each line has its drawing" [ "$(find . -maxdepth 1 -name 'a-00*.svg' | wc -l)" -eq 11 ]
  expect 0 mpi 2 "$weft" translate --quiet --checkpoint whole --alignment b.txt --alignment b.jsonl <lines
  check "two data-parallel ranks keep the same bytes" same a.jsonl b.jsonl
  expect 0 mpi 2 "$weft" translate --quiet --checkpoint whole --parallel.tp 2 --alignment c.jsonl <lines
  check "two tensor-parallel ranks keep the same numbers" \
    columns_agree 2e-4 "$(numbers a.jsonl | wc -l)" < <(paste <(numbers a.jsonl) <(numbers c.jsonl))
  expect 2 "$weft" translate --checkpoint whole --alignment d.txt --alignment-layer 7 <lines
  check "a missing layer is refused with the range" has err "alignment-layer = '7' is not valid: give 0 to 0"
  check "and leaves no file" [ ! -e d.txt ]

  expect 0 "$weft" inspect model whole --tp 2
  check "inspect model shows what each rank holds" grep -qE '\[300, 32\] +\[150, 32\] +9,600$' out
  check "and operations of a token" grep -qE '^ +per pair of tokens ' out
}

# Files that cannot be written, and invalid options, are refused before any work.
refused_outputs() {  # after translating and exchanging
  mkfifo pipe
  local name
  for name in pipe . no/z.txt '' z.json .svg; do
    expect_refusal "$weft" translate --quiet --checkpoint whole --alignment "$name"
    check "--alignment '$name' is refused in one line before anything is translated" [ "$(wc -l <err) $(wc -c <out)" = "1 0" ]
  done
  check "the pipe still exists" [ -p pipe ]
  expect 2 "$weft" translate --quiet --checkpoint whole --alignment d.txt --alignment ./d.txt <lines
  check "a file that is given twice is refused" has err 'given twice'
  expect 2 "$weft" translate --quiet --checkpoint whole --alignment out <lines
  check "so is the file of standard output" has err "it is also the file of standard output"
  expect 2 "$weft" export --checkpoint whole --output pipe --force
  check "export --force does not replace a pipe" [ -p pipe ]
  ln -s whole.safetensors link.safetensors
  expect 2 "$weft" export --checkpoint whole --output link.safetensors --force
  check "nor a link" [ -L link.safetensors ]
}
expect_refusal() {
  local status=0
  "$@" <lines >out 2>err || status=$?
  [ "$status" -eq 2 ] || [ "$status" -eq 5 ] || fail "exit status $status, not 2 or 5: $*"
}

saved_settings() {  # of a run whose configuration asks for n-best lists
  expect 0 train 2 nbest-run --train.steps=1 --decode.beam=2 --decode.nbest=2
  expect 0 "$weft" translate --quiet --checkpoint nbest-run --beam 1 <lines
  check "a saved n-best setting does not change translate's output" [ "$(grep -c '|||' out)" -eq 0 ]
  expect 2 "$weft" translate --quiet --checkpoint whole --beam 1 --nbest 2 <lines
  check "an n-best list longer than the beam is refused by the option's name" has err 'weft: nbest = 2 must be between 1 and the beam size (1)'
}

names_too_long() {
  local long option
  long=$(printf '%0300d' 0)
  for option in "export --checkpoint whole --output" "inspect whole --html" "inspect whole --tensorboard"; do
    # shellcheck disable=SC2086  # splits into words
    expect 2 "$weft" $option "$long"
    check "$option names its option" has err "weft: --${option##*--}: the name is too long: 0"
  done
}

too_long() {
  awk 'BEGIN { for (i = 0; i < 3000; ++i) printf "one two "; print "" }' >long.en
  cat valid.en long.en >with-long.en
  cat valid.de long.en >with-long.de
  expect 0 "$weft" evaluate --quiet --checkpoint whole --source with-long.en --reference with-long.de
  check "evaluate reports how many lines it cuts" grep -qE '^weft: with-long\.en: lines that were longer than [0-9]+ tokens and were cut: 1$' err
  expect 0 "$weft" evaluate --quiet --json --checkpoint whole --source with-long.en --reference with-long.de
  check "also in JSON" has out '"sources_cut": 1'
  expect 0 "$weft" score --quiet --checkpoint whole --source with-long.en --target with-long.de
  check "score leaves long sentences without a score" [ "$(tail -n 1 out)" = $'nan\t0\tnan' ]
  check "and scores the others" [ "$(grep -c '^-' out)" -eq 40 ]
  check "it names file and line" grep -qE '^weft: pairs without a score, .*: 1; the first: with-long\.en, line 41 ' err
}

no_text() {  # every command that reads text refuses a NUL byte in the same way
  { head -n 2 valid.en; printf 'f\0r\n'; tail -n +4 valid.en; } >nul
  local command
  while read -r command; do
    # shellcheck disable=SC2086  # splits into words
    expect 3 "$weft" $command <nul
    check "${command%% *} refuses NUL in one line that names text, line and byte" \
      grep -qE '^weft: (nul|standard input), line 3: byte 2 is NUL, .* tr -d ' err
    check "and prints nothing else" [ "$(wc -l <err) $(wc -c <out)" = "1 0" ]
  done <<'COMMANDS'
pack --quiet --source valid.en --target nul --output refused --vocab-size 300
translate --quiet --checkpoint whole
score --quiet --checkpoint whole --source nul --target valid.de
evaluate --quiet --checkpoint whole --source nul --reference valid.de
evaluate --quiet --checkpoint whole --source valid.en --reference nul
bleu --reference valid.de nul
bleu --reference valid.de
COMMANDS
}

scores_of_any_stream() {
  "$weft" bleu --reference valid.de train.de >/dev/null 2>&1 && fail "texts of different lengths are scored"
  head -n 40 train.de >other.de
  expect 0 "$weft" bleu --reference valid.de other.de
  mv out plain
  expect 0 "$weft" bleu --reference valid.de - <other.de
  check "- is standard input" same plain out
  gzip -c other.de >other.gz
  expect 0 "$weft" bleu --reference valid.de <other.gz
  check "gzip on standard input is read like gzip in a file" same plain out
  expect 0 "$weft" bleu --reference valid.de <(cat other.gz)
  check "and gzip through a pipe" same plain out
}
