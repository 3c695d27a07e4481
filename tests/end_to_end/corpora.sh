# tests/end_to_end/corpora.sh: parts of run that pack text, and train on what it made.
# shellcheck shell=bash disable=SC2016,SC2154  # single quotes hold programs for awk; the variables are those of run

packing() {
  make_text train 400 1
  make_text valid 40 2
  gzip -k train.en train.de
  expect 0 "$weft" pack --source train.en --target train.de --output packed --vocab-size 300
  expect 0 "$weft" pack --source train.en.gz --target train.de.gz --output packed-gzip --vocab-size 300
  check "pack makes the same shards of plain and of gzip text" same packed/shard-00000.h5 packed-gzip/shard-00000.h5
  check "pack makes the same tokenizer of both" same packed/target.model packed-gzip/target.model
  expect 0 "$weft" pack --source valid.en --target valid.de --output packed-valid --tokenizer packed \
    --no-shuffle

  (ulimit -f 8 && expect 5 "$weft" pack --quiet --source train.en --target train.de --output small --vocab-size 300)
  check "a limit on the size of files leaves no corpus" [ ! -e small/manifest.json ]
  head -n 390 train.de >short.de
  expect 3 "$weft" pack --quiet --source train.en --target short.de --output refused
  check "unequal line counts are refused in one line" [ "$(wc -l <err)" -eq 1 ]
  check "it names both files and counts" grep -q '^weft: train\.en has 400 lines, but short\.de has 390' err
  { head -n 2 train.en; printf 'f\374nf\n'; tail -n +4 train.en; } >latin1.en
  expect 3 "$weft" pack --quiet --source latin1.en --target train.de --output refused
  check "invalid UTF-8 is refused in one line" [ "$(wc -l <err)" -eq 1 ]
  check "it names file and line" grep -q '^weft: latin1\.en, line 3: byte 2 (0xFC) is not valid UTF-8' err
  check "a refused text leaves no corpus" [ ! -e refused ]
}

# One pair for each filter after 300 good ones: what it dropped is counted, and shown.
filtered_text() {
  local reason good
  paste train.en train.de | sort -u | head -n 300 >filtered.tsv
  good=$(wc -l <filtered.tsv)
  head -n 1 filtered.tsv >again.tsv
  printf '%s\t%s\n' 'the same' 'the same' 'in other letters' 'кошка видит собаку' 'short' "$(yes länger | head -n 12 | xargs)" \
    "$(yes long | head -n 200 | xargs)" "$(yes lang | head -n 200 | xargs)" | cat - again.tsv >>filtered.tsv
  expect 0 "$weft" pack --tsv filtered.tsv --columns source,target --output filtered --tokenizer packed \
    --max-length 150 --max-ratio 9 --drop-identical --drop-duplicates --target-script Latin --show-dropped 1
  for reason in 'both sides are equal' 'target not in Latin' 'the same as an earlier one' 'longer than 150 tokens' \
    'ratio of lengths above 9'; do
    check "the summary counts a pair: $reason" grep -Eq "dropped, $reason +1 " out
    check "and shows it" grep -Fxq "dropped, $reason:" out
  done
  check "all others are kept" grep -Eq "pairs kept +$good " out
}

# A line of a test set in the training text: found, listed, left out, and remembered when a run is evaluated.
audited_text() {
  printf '%s\n' 'the committee publishes its annual report on water' 'nobody expects the old bridge to stay closed' >news.en
  printf '%s\n' 'der Ausschuss veröffentlicht den Bericht zum Wasser' 'niemand erwartet, dass die alte Brücke zu bleibt' >news.de
  { cat train.en && head -n 1 news.en; } >leaky.en
  { cat train.de && echo 'eins zwei drei'; } >leaky.de
  local text=(--source leaky.en --target leaky.de) evaluate=("$weft" evaluate --quiet --source news.en --reference news.de)
  expect 0 "$weft" audit "${text[@]}" --against news=news.en,news.de --drop drop.txt
  check "audit shows a line of a test set that the text repeats" has out 'line 401: repeats line 1 of news (source, exact)'
  check "and lists it" grep -Fqx "$(printf '401\trepeats line 1 of news (source, exact)')" drop.txt
  expect 0 "$weft" pack --quiet "${text[@]}" --output leaky --tokenizer packed
  expect 0 "$weft" audit leaky --against news=news.en,news.de --json
  check "it also audits a corpus" has out '"repeated": 1,'
  expect 0 "$weft" verify leaky
  expect 0 "$weft" train --config "$config" --data.train=leaky --train.output=leaky-run --model.width=32 --train.steps=1
  expect 0 "${evaluate[@]}" --checkpoint leaky-run --confidence
  check "evaluate warns" has err 'repeats 1 of 2 lines (50.0 %), so the scores may be too good'
  check "and prints intervals" grep -qE '^news\.en +2 +[0-9.]+ ± [0-9.]+ ' out
  expect 0 "$weft" bleu --quiet --reference news.de news.de --corpus leaky
  check "so does bleu" has err 'news.de: the training text leaky repeats 1 of 2 lines'
  expect 0 "$weft" pack "${text[@]}" --output leaky --overwrite --tokenizer packed --without drop.txt
  check "pack leaves the line out" grep -Eq 'dropped, listed in the file of --without +1 ' out
  expect 0 "${evaluate[@]}" --checkpoint leaky-run
  check "and the audit of the old corpus no longer counts" [ ! -s err ]
  expect 3 "$weft" pack --quiet --source train.en --target train.de --output refused --tokenizer packed --without drop.txt
  check "a list for another text is refused" has err 'drop.txt lists lines of a text of 401 pairs, but this text has 400'
  expect 2 "$weft" audit leaky --drop list
  check "a corpus has no lines to list" has err '--drop lists lines of a text, but a packed corpus has none'
}

# Scores of pairs and a corpus that gets more shards.
growing_corpus() {
  paste <(seq 400) train.en train.de | xz >pairs.tsv.xz
  expect 0 "$weft" pack --tsv pairs.tsv.xz --columns score,source,target --output with-scores --no-shuffle \
    --tokenizer packed
  expect 0 "$weft" inspect with-scores --pairs 2
  check "a column of the text becomes the pairs' scores" has out 'tokens, score 2'
  expect 3 "$weft" pack --source train.en --target train.en --output dropped --overwrite --drop-identical \
    --tokenizer packed
  check "a corpus without pairs is refused" has err 'none of the 400 pairs is left: 400 dropped (both sides are equal)'
  cp -r packed growing
  local run=("$weft" train --config "$config" --data.train=growing --train.output=grown --model.width=32)
  expect 0 "${run[@]}" --train.steps=1
  expect 0 "$weft" pack --append --source valid.en --target valid.de --output growing
  check "a corpus grows by a shard" has out 'now contains 440 pairs in 2 shards'
  expect 0 "$weft" verify growing
  expect 2 "${run[@]}" --train.steps=2
  check "a run does not resume on a corpus that has grown" has err 'has changed since the run started'
}

# Variants of pairs: one order on every grid and after every stop.
varied_text() {
  local pack=("$weft" pack --source train.en --target train.de --output varied)
  expect 2 "${pack[@]}" --tokenizer packed --variants 3 --unigram-alpha 0.1
  check "sampling for another kind of tokenizer is refused" has err 'is a BPE model; give --bpe-dropout instead'
  expect 0 "${pack[@]}" --tokenizer packed --variants 3 --bpe-dropout 0.1 \
    --noise upper=0.1,typos=0.3 --noise-target upper --insert emoji=0.1,markup=0.1
  check "the summary says how the variants were made" has out 'noise          upper=0.1,typos=0.3'
  expect 0 "$weft" inspect varied --pairs 2
  check "inspect shows the variants of each pair" [ "$(grep -c '^  variant [012]:' out)" -eq 6 ]
  expect 0 "$weft" verify varied
  expect 2 "${pack[@]}" --append --variants 2
  check "an append varies as the corpus does" has err '--append makes the same variants as the corpus'
  expect 2 train_varied 1 refused --train.steps=1 --data.valid=varied
  check "a held-out set with variants is refused" has err 'pack it again without --variants'
  expect 0 train_varied 1 varied-whole --train.steps=30
  expect 0 train_varied 2 varied-stopped --train.steps=17
  expect 0 train_varied 2 varied-stopped --train.steps=30 --parallel.tp=2
  check "stopped and resumed on another grid the losses agree" losses_agree varied-whole varied-stopped
  check "its epochs have begun another variant" has varied-whole/log.jsonl '"epoch":2'
}
train_varied() {
  mpi "$1" "$weft" train --config "$config" --data.train=varied --train.output="$2" --model.width=32 \
    --model.feed_forward=64 --model.encoder_layers=1 --model.decoder_layers=1 --batch.rows=256 "${@:3}"
}

# A weight and a score for each pair.
weights_and_scores() {
  paste <(seq 400) <(seq 400 | awk '{ print $1 % 3 }') train.en train.de >weighted.tsv
  expect 0 "$weft" pack --tsv weighted.tsv --columns score,weight,source,target --output weighted \
    --tokenizer packed
  local run=(mpi 2 "$weft" train --config "$config" --data.train=weighted --train.output=weighted-run --model.width=32
    --batch.rows=128)
  expect 3 "${run[@]}" --data.min_score=401
  check "a score that no pair has is refused" has err 'data.min_score: no pair of weighted has a score of at least 401'
  expect 0 "${run[@]}" --data.min_score=101 --train.steps=2
  check "the plan counts the pairs with the least score" has err '300 pairs (75.0 %) have a score of at least 101'
  check "a step's record has the weight of its tokens" has weighted-run/log.jsonl '"target_weight":'
  expect 2 "${run[@]}" --data.min_score=102 --train.steps=4
  check "a run does not resume with another least score" has err 'the option is now weighted with min_score = weighted:102'
}
