// launch/commands/vocabulary.cpp: `weft vocabulary` gives a trained model another vocabulary.
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <unordered_set>
#include <vector>

#include "data/atomic_file.h"
#include "data/subword/piece_splitter.h"
#include "data/tags.h"
#include "data/text/text_reader.h"
#include "launch/commands.h"
#include "launch/open_model.h"
#include "launch/options/new_folder.h"
#include "launch/options/options.h"
#include "launch/options/tokenizer_options.h"
#include "tensor/error.h"
#include "trainer/config/config_text.h"
#include "trainer/display/units.h"
#include "trainer/vocabulary/changed_vocabulary.h"

namespace weft {
namespace {

constexpr const char* kPadding = "<pad>";  // SentencePiece's name of padding

enum class Sides : uint8_t { both, source, target };
constexpr EnumNames<Sides, 3> enum_names(Sides) {
  return {{{"both", Sides::both}, {"source", Sides::source}, {"target", Sides::target}}};
}

struct VocabularyRequest {
  std::string checkpoint, output, tokenizer, source_tokenizer, target_tokenizer, grow;
  std::vector<std::string> prune;
  std::map<std::string, std::string> tags;  // new tags with the old entries whose rows they get
  Sides side = Sides::both;
  bool raw_weights = false;

  bool replaces() const { return !tokenizer.empty() || !source_tokenizer.empty(); }
  bool edits() const { return !grow.empty() || !prune.empty() || !tags.empty(); }
};

// Replaces the folder of --grow by the SentencePiece model in it that --side names.
void find_grown(VocabularyRequest& r) {
  std::string source, target;
  find_tokenizers(r.grow, source, target);
  if (!r.grow.empty() || source.empty()) return;
  r.grow = r.side == Sides::target ? target : source;
  const auto pieces = [](const std::string& file) { return read_pieces(read_file(file), file); };
  if (r.side == Sides::both && pieces(source) != pieces(target))
    fail(ErrorKind::usage,
         fmt::format("--grow: {} and {} have different pieces: give one of these files", source, target));
}

// Returns the old entry of each new tag.
std::map<std::string, std::string> parse_tags(const std::vector<std::string>& texts) {
  std::map<std::string, std::string> copies;
  for (const std::string& text : texts) {
    const size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
      fail(ErrorKind::usage, fmt::format("--tag '{}' is not valid: give the new tag and an old one, such as "
                                         "dan_Latn=nob_Latn",
                                         printable(text)));
    const std::vector<std::string> names = tag_names(text.substr(0, equals), "--tag");
    if (names.size() != 1 || names.front() == kPadding)
      fail(ErrorKind::usage,
           fmt::format("--tag '{}' is not valid: give one new tag that is not {}", printable(text), kPadding));
    if (!copies.emplace(names.front(), text.substr(equals + 1)).second)
      fail(ErrorKind::usage, fmt::format("--tag adds '{}' twice", printable(names.front())));
  }
  return copies;
}

bool parse(const std::vector<std::string>& args, VocabularyRequest& r) {
  std::vector<std::string> tags;
  Options options(
      "vocabulary --checkpoint PATH --output DIR [--tokenizer FILE] [--grow FILE] [--prune TEXT] [--tag NEW=OLD]\n\n"
      "Gives a model another vocabulary, as a start for a new language or domain (docs/foreign-models.md).\n"
      "Entries with the same text keep their rows of the tables. A new entry gets the mean of the rows of its old "
      "pieces.\n\n"
      "  weft vocabulary --checkpoint nllb --prune train.eng --prune train.deu --output small\n"
      "  weft vocabulary --checkpoint runs/mine --grow packed/danish/tokenizer.model --output grown");
  options.add("checkpoint", r.checkpoint, kCheckpointSentence);
  add_tokenizer_options(options, r.tokenizer, r.source_tokenizer, r.target_tokenizer);
  options.add("grow", r.grow,
              "SentencePiece model whose pieces are added, or the folder of a corpus, run or checkpoint");
  options.add("prune", r.prune,
              "text; pieces that occur in no such text are removed, except single characters; may be repeated");
  options.add("tag", tags, "tag to add, with the row of an old tag or piece: dan_Latn=nob_Latn; may be repeated");
  options.add(
      "side", r.side,
      "two vocabularies: the one that --grow, --prune and --tag change; two tokenizers of one vocabulary: the one "
      "that --grow changes");
  options.add("raw-weights", r.raw_weights, kRawWeightsSentence);
  options.add("output", r.output, "new or empty folder for the checkpoint");
  if (!options.parse(args)) return false;
  for (const char* name : {"checkpoint", "output"}) options.require(name);
  r.tags = parse_tags(tags);
  find_tokenizers(r.tokenizer, r.source_tokenizer, r.target_tokenizer);
  find_grown(r);
  check_tokenizer_files(r.tokenizer, r.source_tokenizer, r.target_tokenizer);
  require(r.replaces() || r.edits(), ErrorKind::usage, "nothing to do: give --tokenizer, --grow, --prune or --tag");
  require_new_folder(r.output);
  return true;
}

// SentencePiece models of a vocabulary: a joint tokenizer, the tokenizer of one side, or those of both sides if they
// share a vocabulary, but differ in their pieces or normalization.
struct TokenizerFiles {
  std::vector<std::string> names, files;  // {"tokenizer.model"}, {"runs/mine/.../tokenizer.model"}

  static TokenizerFiles of_folder(const std::string& folder, std::vector<std::string> names) {
    TokenizerFiles tokenizers{std::move(names), {}};
    for (const std::string& name : tokenizers.names) tokenizers.files.push_back(folder + "/" + name);
    return tokenizers;
  }
  bool is_of(size_t i, Sides side) const { return names[i] == name_of_enum(side) + std::string(".model"); }
};

struct Counts {
  int64_t grown = 0, pruned = 0;
};

// Returns the pieces in the segmentations of the texts by the model.
std::unordered_set<std::string> pieces_of_texts(const std::vector<std::string>& texts, const std::string& model) {
  const Tokenizer segmenter(model);
  std::vector<bool> used(static_cast<size_t>(segmenter.size()));
  for (const std::string& text : texts) {
    TextReader lines(text);
    std::string line;
    while (lines.next(line))
      for (const int32_t id : segmenter.encode(line)) used[static_cast<size_t>(id)] = true;
  }
  std::unordered_set<std::string> pieces;
  for (int32_t id = 0; id < segmenter.size(); ++id)
    if (used[static_cast<size_t>(id)]) pieces.insert(segmenter.piece(id));
  return pieces;
}

int64_t padding_of(const Tokenizer& tokenizer, const PieceList& list) {
  for (int32_t id = 0; id < tokenizer.size(); ++id) {
    if (!tokenizer.is_padding(id)) continue;
    for (int64_t i = 0; i < list.entries; ++i)
      if (list.pieces[static_cast<size_t>(i)].text == tokenizer.piece(id)) return i;
  }
  return -1;
}

std::vector<std::string_view> entries_of(const PieceList& list) {
  std::vector<std::string_view> texts;
  for (int64_t id = 0; id < list.entries; ++id) texts.push_back(list.pieces[static_cast<size_t>(id)].text);
  return texts;
}

PieceLists pieces_of(const TokenizerFiles& tokenizers) {
  PieceLists lists;
  for (const std::string& file : tokenizers.files) {
    const Tokenizer refuses_other_special_ids(file);
    lists.push_back(read_pieces(read_file(file), file));
    std::unordered_set<std::string_view> texts;
    for (const Piece& piece : lists.back().pieces)
      if (!texts.insert(piece.text).second)
        fail(ErrorKind::data, fmt::format("{} contains the piece '{}' twice", file, printable(piece.text)));
  }
  if (entries_of(lists.front()) != entries_of(lists.back()))
    fail(ErrorKind::usage, fmt::format("{} and {} have different pieces, but the model has one vocabulary: replace "
                                       "both by one SentencePiece model with --tokenizer",
                                       tokenizers.files.front(), tokenizers.files.back()));
  return lists;
}

// Returns the number of added pieces.
int64_t grow(const VocabularyRequest& r, const TokenizerFiles& tokenizers, PieceLists& lists) {
  const std::string grown = read_file(r.grow);
  require_sentencepiece(grown, r.grow);
  const PieceList other = read_pieces(grown, r.grow);
  int64_t added = 0;
  for (size_t i = 0; i < lists.size(); ++i)
    if (r.side == Sides::both || lists.size() == 1 || tokenizers.is_of(i, r.side))
      added = std::max(added, grow(lists[i], other, r.grow));
  for (PieceList& list : lists)
    for (const PieceList& longer : lists) append_other_sides(list, longer);
  return added;
}

Counts edit(const VocabularyRequest& r, const TokenizerFiles& tokenizers, const TokenizerFiles& old,
            PieceLists& lists) {
  Counts counts;
  if (!r.prune.empty()) {
    std::vector<std::unordered_set<std::string>> used;
    for (const std::string& file : tokenizers.files) used.push_back(pieces_of_texts(r.prune, file));
    counts.pruned = prune(lists, std::move(used));
  }
  if (!r.grow.empty()) counts.grown = grow(r, tokenizers, lists);
  const Tokenizer tokenizer(old.files.front());
  for (const auto& [tag, like] : r.tags) {
    if (tokenizer.id_of(like) == SpecialIds::unk)
      fail(ErrorKind::usage, fmt::format("--tag {}: the model's vocabulary has no entry '{}'", tag, printable(like)));
    for (PieceList& list : lists) add_tag(list, tag);
  }
  return counts;
}

void print(const std::string& what, const Counts& counts, const EntryOrigins& now, int64_t before) {
  fmt::print(
      "  {:<10} {} entries, before {}: {} keep their rows, {} get the mean of their old pieces, {} start from "
      "noise",
      what, with_commas(std::ssize(now.of_entry)), with_commas(before), with_commas(now.kept),
      with_commas(now.composed), with_commas(now.unknown));
  if (counts.pruned > 0) fmt::print("; {} pieces occur in no text", with_commas(counts.pruned));
  if (counts.grown > 0) fmt::print("; {} pieces are added", with_commas(counts.grown));
  fmt::print("\n");
}

// Replaces `old` by `tokenizers`, which may be the same, edits them, and adds them to `vocabulary`.
EntryOrigins change(const VocabularyRequest& r, bool edits, const TokenizerFiles& tokenizers, const TokenizerFiles& old,
                    ChangedVocabulary& vocabulary) {
  const int64_t before = read_pieces(read_file(old.files.front()), old.files.front()).entries;
  PieceLists lists = pieces_of(tokenizers);
  const Counts counts = edits ? edit(r, tokenizers, old, lists) : Counts();
  const auto copies = edits ? r.tags : std::map<std::string, std::string>();
  EntryOrigins origins = origins_of(lists.front(), old.files, copies);
  for (size_t i = 0; i < tokenizers.names.size(); ++i) {
    std::string model = read_file(tokenizers.files[i]);
    if (edits) model = with_pieces(model, lists[i], padding_of(Tokenizer(tokenizers.files[i]), lists[i]));
    require_sentencepiece(model, tokenizers.files[i]);
    vocabulary.tokenizers[tokenizers.names[i]] = std::move(model);
  }
  const std::string name = tokenizers.names.front();
  print(tokenizers.names.size() == 1 && name != "tokenizer.model" ? name.substr(0, name.find('.')) : "vocabulary",
        counts, origins, before);
  return origins;
}

ChangedVocabulary one_vocabulary(const VocabularyRequest& r, const TokenizerFiles& old) {
  TokenizerFiles tokenizers = old;
  if (!r.tokenizer.empty()) tokenizers = {{"tokenizer.model"}, {r.tokenizer}};
  if (!r.source_tokenizer.empty())
    tokenizers = {{"source.model", "target.model"}, {r.source_tokenizer, r.target_tokenizer}};
  require(r.side == Sides::both || (tokenizers.names.size() == 2 && !r.grow.empty()), ErrorKind::usage,
          "--side applies to models with two vocabularies, or to --grow if there are two tokenizers: leave it out");
  ChangedVocabulary vocabulary;
  vocabulary.source = vocabulary.target = change(r, r.edits(), tokenizers, old, vocabulary);
  return vocabulary;
}

ChangedVocabulary two_vocabularies(const VocabularyRequest& r, const std::string& folder) {
  require(r.tokenizer.empty(), ErrorKind::usage,
          "--tokenizer replaces the tokenizer of both sides, but this model has two vocabularies: give "
          "--source-tokenizer and --target-tokenizer");
  require(r.side != Sides::both || !r.edits(), ErrorKind::usage,
          "the model has two vocabularies: choose one with --side, and run the command twice to change both");
  ChangedVocabulary vocabulary;
  for (const Sides side : {Sides::source, Sides::target}) {
    const TokenizerFiles old = TokenizerFiles::of_folder(folder, {name_of_enum(side) + std::string(".model")});
    const std::string& given = side == Sides::source ? r.source_tokenizer : r.target_tokenizer;
    const TokenizerFiles tokenizers{old.names, {given.empty() ? old.files.front() : given}};
    (side == Sides::source ? vocabulary.source : vocabulary.target) =
        change(r, r.edits() && r.side == side, tokenizers, old, vocabulary);
  }
  return vocabulary;
}

ChangedVocabulary vocabulary_of(const VocabularyRequest& r, const std::string& folder, const ModelConfig& m) {
  if (std::filesystem::exists(folder + "/tokenizer.model"))
    return one_vocabulary(r, TokenizerFiles::of_folder(folder, {"tokenizer.model"}));
  if (m.tying == Tying::all)
    return one_vocabulary(r, TokenizerFiles::of_folder(folder, {"source.model", "target.model"}));
  return two_vocabularies(r, folder);
}

}  // namespace

int run_vocabulary(const CommandContext& context) {
  VocabularyRequest request;
  if (!parse(context.args, request)) return 0;
  const CheckpointLease lease = lease_checkpoint(request.checkpoint);
  const StoredModel model(lease.folder, weights_to_use(request.raw_weights, lease.folder));
  const RunConfig config = kept_config(lease.folder);
  fmt::print("{}\n", lease.folder);
  require_whole_model(model, config);
  const ChangedVocabulary vocabulary = vocabulary_of(request, lease.folder, config.model);
  const std::string folder = write_with_vocabulary(model, config, vocabulary, request.output);
  fmt::print("  {} is the model with {}\n", folder,
             vocabulary.tokenizers.size() == 1 ? "the new vocabulary" : "the new vocabularies");
  fmt::print("  pack:      weft pack --tokenizer {} ...\n", request.output);
  fmt::print("  train it:  weft train --config {}/config.cfg --train.init={} ...\n", folder, request.output);
  return 0;
}

}  // namespace weft
