// trainer/import/huggingface/huggingface_vocabulary.cpp: collects the tokens by id, from the files of each tokenizer
// class.
#include "trainer/import/huggingface/huggingface_vocabulary.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "data/atomic_file.h"
#include "data/strict_json.h"
#include "data/subword/piece_list.h"
#include "tensor/error.h"
#include "trainer/import/json_fields.h"
#include "trainer/import/token_names.h"

namespace weft {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& file, const std::string& why) {
  fail(ErrorKind::checkpoint, fmt::format("{}: {}", file, why));
}

// Ids of fairseq: four special tokens, then the model's pieces from its fourth on.
void read_shifted_pieces(std::string_view model, const std::string& file, TokenNames& names) {
  const std::vector<Piece> pieces = read_pieces(model, file).pieces;
  int64_t id = 0;
  for (const char* special : {"<s>", "<pad>", "</s>", "<unk>"}) names.set(id++, special, file);
  for (size_t i = 3; i < pieces.size(); ++i) names.set(id++, pieces[i].text, file);
}

std::string content_of(const json& token, const std::string& file) {
  const json content = token.is_object() ? token.value("content", json()) : token;
  if (!content.is_string()) refuse(file, fmt::format("an added token is {}, not a text", printable(token.dump())));
  return content.get<std::string>();
}

// added_tokens_decoder of tokenizer_config.json: {"256001": {"content": "ace_Arab"}}.
void read_added_by_id(const std::string& file, TokenNames& names) {
  const JsonFields config(file);
  if (!config.has("added_tokens_decoder")) return;
  if (!config["added_tokens_decoder"].is_object()) refuse(file, "added_tokens_decoder is not an object");
  for (const auto& [id, token] : config["added_tokens_decoder"].items()) {
    if (id.empty() || id.size() > 9 || id.find_first_not_of("0123456789") != std::string::npos)
      refuse(file, fmt::format("'{}' is not the id of an added token", printable(id)));
    names.add(std::stoll(id), content_of(token, file), file);
  }
}

// added_tokens of tokenizer.json: [{"id": 256001, "content": "ace_Arab"}].
void read_added_list(const std::string& file, TokenNames& names) {
  const JsonFields tokenizer(file);
  if (!tokenizer.has("added_tokens")) return;
  if (!tokenizer["added_tokens"].is_array()) refuse(file, "added_tokens is not a list");
  for (const json& token : tokenizer["added_tokens"]) {
    const std::string content = content_of(token, file);
    if (!token.is_object() || !token.contains("id")) refuse(file, "an added token has no id");
    require_whole_number(token["id"], fmt::format("the id of '{}'", printable(content)), file, ErrorKind::checkpoint);
    names.add(token["id"].get<int64_t>(), content, file);
  }
}

// additional_special_tokens: languages in the order of their ids, which follow the other tokens.
void read_additional(const std::string& file, TokenNames& names) {
  const JsonFields config(file);
  if (!config.has("additional_special_tokens")) return;
  if (!config["additional_special_tokens"].is_array()) refuse(file, "additional_special_tokens is not a list");
  for (const json& token : config["additional_special_tokens"]) names.add(names.end(), content_of(token, file), file);
}

// The tokenizer of M2M-100 gives the languages the ids after those of vocab.json, whatever tokens are added later.
void read_languages(const std::string& folder, bool is_m2m, TokenNames& names) {
  using Read = void (*)(const std::string& file, TokenNames& names);
  std::vector<std::pair<const char*, Read>> sources = {{"tokenizer_config.json", read_added_by_id},
                                                       {"tokenizer.json", read_added_list},
                                                       {"special_tokens_map.json", read_additional},
                                                       {"tokenizer_config.json", read_additional}};
  if (is_m2m) std::rotate(sources.begin(), sources.begin() + 2, sources.end());
  for (const auto& [file, read] : sources)
    if (!names.has_tags()) read(folder + "/" + file, names);
  if (is_m2m) read_added_by_id(folder + "/tokenizer_config.json", names);
  if (!names.has_tags())
    refuse(folder, "no file names the languages: add tokenizer.json or special_tokens_map.json of the original model");
}

// Refuses tokens that the tokenizer of MarianMT got later: text is divided into them, not into pieces of the model.
void check_added_tokens(const std::string& folder, const TokenNames& names) {
  const auto check = [&](const std::string& token, const std::string& file) {
    if (names.id_of(token) < 0) refuse(file, fmt::format("the added token '{}' is not supported", printable(token)));
  };
  const JsonFields config(folder + "/tokenizer_config.json"), added(folder + "/added_tokens.json");
  if (config.has("added_tokens_decoder") && config["added_tokens_decoder"].is_object())
    for (const auto& [id, token] : config["added_tokens_decoder"].items())
      check(content_of(token, config.path()), config.path());
  for (const auto& [token, id] : added.items()) check(token, added.path());
}

std::string existing(const std::string& folder, const char* name) {
  const std::string file = folder + "/" + name;
  if (!fs::exists(file))
    refuse(folder, fmt::format("the folder lacks {}: copy it from the folder of the original model", name));
  return file;
}

// `ids` is the file with the ids, or "" if they are those of the model, shifted.
ImportedVocabulary read_side(const std::string& folder, const HuggingFaceConfig& config, const std::string& model_file,
                             const std::string& ids, int64_t rows) {
  const std::string model = read_file(model_file);
  TokenNames names(rows);
  ids.empty() ? read_shifted_pieces(model, model_file, names)
              : names.set_all(parse_strict_json(read_file(ids), ids, ErrorKind::checkpoint), ids);
  if (config.has_languages) {
    read_languages(folder, /*is_m2m=*/!ids.empty(), names);
  } else {
    names.set_tags(TokenNames::is_marian_tag);
    check_added_tokens(folder, names);
  }
  return import_vocabulary({.tokens = names.tokens(),
                            .tags = names.tags(),
                            .unknown = names.id_of("<unk>"),
                            .eos = config.eos,
                            .start = config.start,
                            .bos = config.bos,
                            .padding = config.padding,
                            .has_padding_row = config.has_padding_row},
                           model, model_file);
}

}  // namespace

ImportedVocabularies read_huggingface_vocabularies(const std::string& folder, const HuggingFaceConfig& config) {
  const ModelConfig& m = config.model;
  if (config.has_languages) {
    const std::string model = existing(folder, "sentencepiece.bpe.model"), ids = folder + "/vocab.json";
    const bool is_m2m = config.type == "m2m_100" && fs::exists(ids);  // otherwise NLLB or mBART
    const ImportedVocabulary both = read_side(folder, config, model, is_m2m ? ids : "", m.source_vocabulary);
    return {.source = both, .target = both};
  }
  const std::string ids = existing(folder, "vocab.json"), others = folder + "/target_vocab.json";
  return {.source = read_side(folder, config, existing(folder, "source.spm"), ids, m.source_vocabulary),
          .target = read_side(folder, config, existing(folder, "target.spm"), fs::exists(others) ? others : ids,
                              m.target_vocabulary)};
}

}  // namespace weft
