// trainer/import/marian/marian.cpp: finds the files of a Marian model, and reads them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "data/atomic_file.h"
#include "data/subword/piece_list.h"
#include "tensor/error.h"
#include "trainer/import/foreign_model.h"
#include "trainer/import/formats/marian_file.h"
#include "trainer/import/imported_model.h"
#include "trainer/import/marian/marian_config.h"
#include "trainer/import/marian/yaml.h"
#include "trainer/import/token_names.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

bool is_model(const std::string& name) {
  const bool is_shortlist = name.starts_with("lex.");
  return (name.ends_with(".npz") || name.ends_with(".bin")) && !name.ends_with(".optimizer.npz") && !is_shortlist;
}
bool is_yml(const std::string& file) {
  return file.ends_with(".yml") || file.ends_with(".yaml") || file.ends_with(".json");
}

// The files of decoder.yml are looked for in its own folder, because trained models have paths of another machine.
class MarianFiles {
 public:
  explicit MarianFiles(const std::string& from)
      : folder_(fs::is_directory(from) ? fs::path(from) : fs::absolute(from).parent_path()) {
    const std::string decoder = decoder_yml(from);
    if (!decoder.empty()) decoder_ = JsonFields(decoder, parse_yaml(read_file(decoder), decoder));
    weights_ = fs::is_directory(from) ? listed_model() : from;
    const std::vector<std::string> listed = decoder_.texts("vocabs");
    if (listed.size() == 2) {
      vocabularies_ = {existing(listed[0]), existing(listed[1])};
    } else if (!listed.empty()) {
      decoder_.refuse(fmt::format("vocabs has {} entries, but only 2 are supported", listed.size()));
    } else if (fs::exists(folder_ / "vocab.spm")) {
      vocabularies_ = {folder_ / "vocab.spm", folder_ / "vocab.spm"};
    } else {
      vocabularies_ = {existing("source.spm"), existing("target.spm")};
    }
  }

  const std::string& weights() const { return weights_; }
  const JsonFields& decoder() const { return decoder_; }
  const std::string& vocabulary(bool target) const { return vocabularies_[target ? 1 : 0]; }
  // The SentencePiece model of a side: a .yml contains only ids.
  std::string pieces(bool target) const {
    if (!is_yml(vocabulary(target))) return vocabulary(target);
    return existing(target ? "target.spm" : "source.spm");
  }

 private:
  std::string decoder_yml(const std::string& from) const {
    if (!fs::is_directory(from) && fs::exists(from + ".decoder.yml")) return from + ".decoder.yml";
    if (fs::exists(folder_ / "decoder.yml")) return folder_ / "decoder.yml";
    const std::vector<fs::path> found = files([](const std::string& name) { return name.ends_with(".decoder.yml"); });
    if (found.size() == 1) return found[0];
    if (!files([](const std::string& name) { return is_yml(name) && name.find("vocab") != std::string::npos; }).empty())
      fail(ErrorKind::checkpoint,
           fmt::format("{} lacks decoder.yml, whose entry vocabs names the vocabularies", folder_.string()));
    return "";
  }
  std::vector<fs::path> files(bool (*is_wanted)(const std::string& name)) const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder_))
      if (is_wanted(entry.path().filename())) found.push_back(entry.path());
    return found;
  }
  std::string existing(const fs::path& name) const {
    const fs::path file = folder_ / name.filename();
    std::error_code error;  // a name from a file can be too long
    if (!fs::is_regular_file(file, error))
      fail(ErrorKind::checkpoint,
           fmt::format("{} lacks the file '{}'", folder_.string(), printable(name.filename().string())));
    return file;
  }
  std::string listed_model() const {
    std::vector<std::string> listed = decoder_.texts("models");
    if (listed.size() == 1) return existing(listed[0]);
    if (listed.empty())
      for (const fs::path& file : files(is_model)) listed.push_back(file.filename());
    if (listed.size() == 1) return folder_ / listed[0];
    if (listed.empty())
      fail(ErrorKind::checkpoint,
           fmt::format("{} contains neither config.json nor a model of Marian (.npz, .bin)", folder_.string()));
    fail(ErrorKind::checkpoint,
         fmt::format("{} contains {} models: give the file of one as --from", folder_.string(), listed.size()));
  }

  fs::path folder_;
  JsonFields decoder_{"decoder.yml", nlohmann::json::object()};
  std::string weights_;
  std::array<std::string, 2> vocabularies_;
};

ImportedVocabulary read_vocabulary(const MarianFiles& files, bool target, int64_t rows) {
  const std::string &file = files.vocabulary(target), pieces = files.pieces(target), model = read_file(pieces);
  TokenNames names(rows);
  if (is_yml(file)) {
    nlohmann::json ids = parse_yaml(read_file(file), file);
    std::erase_if(ids.get_ref<nlohmann::json::object_t&>(), [rows](const auto& entry) {
      return entry.second.is_number_integer() && entry.second >= rows;  // Marian ignores them: --dim-vocabs
    });
    names.set_all(ids, file);
    names.set_tags(TokenNames::is_marian_tag);
  } else {
    int64_t id = 0;
    for (const Piece& piece : read_pieces(model, pieces).pieces) names.set(id++, piece.text, file);
  }
  return import_vocabulary({.tokens = names.tokens(),
                            .tags = names.tags(),
                            .unknown = names.id_of("<unk>"),
                            .eos = names.id_of("</s>"),
                            .bos = names.id_of("<s>")},
                           model, pieces);
}

class MarianReader {
 public:
  explicit MarianReader(const std::string& from)
      : files_(from),
        model_{.from = files_.weights(),
               .config = "its configuration",
               .files = files_.weights().ends_with(".bin") ? open_marian_bin(files_.weights())
                                                           : open_npz(files_.weights())} {}

  ImportedModel read() {
    MarianConfig config = read_marian_config(configuration());
    if (model_.files.has("decoder_ff_logit_out_W"))
      config.tables.output = "decoder_ff_logit_out_W", config.tables.output_transposed = true;
    model_.tensors = marian_names(config.model, config.tables);
    model_.width = config.model.width;
    bool& has_bias = config.model.bias_output;
    if (!has_bias) model_.drop_output_bias();
    model_.check([](const std::string& name) { return name == kMarianConfiguration; });
    const ImportedVocabularies vocabularies{.source = read_vocabulary(files_, false, config.model.source_vocabulary),
                                            .target = read_vocabulary(files_, true, config.model.target_vocabulary)};
    model_.source_rows = vocabularies.source.rows, model_.target_rows = vocabularies.target.rows;
    if (config.model.tying == Tying::all && model_.source_rows != model_.target_rows)
      fail(ErrorKind::checkpoint,
           fmt::format("{}: the sides share a table, but their vocabularies differ", files_.weights()));
    // A new row needs a bias. Otherwise a bias of zeros, as in Weft's own exports, is no part of the model.
    const bool has_new_rows = std::ranges::count(model_.target_rows, ForeignModel::kNewRow) > 0;
    if (has_bias && !has_new_rows && !model_.has_values("decoder_ff_logit_out_b"))
      model_.drop_output_bias(), has_bias = false;
    has_bias |= has_new_rows;
    return {.config =
                imported_config({.model = config.model, .decode = read_marian_decoder(files_.decoder())}, vocabularies),
            .tokenizers = tokenizers_of(vocabularies),
            .read = [model = std::make_shared<const ForeignModel>(std::move(model_))](
                        const std::string& name, float* values) { model->read(name, values); },
            .unused_options = unused_options()};
  }

 private:
  std::vector<std::string> unused_options() const {
    const JsonFields& decoder = files_.decoder();
    std::vector<std::string> unused;
    for (const char* key :
         {"word-penalty", "skip-cost", "output-sampling", "shortlist", "force-decode", "allow-special"})
      if (decoder.is_set(key)) unused.emplace_back(key);
    return unused;
  }
  JsonFields configuration() const {
    const std::string place = fmt::format("{}, {}", files_.weights(), kMarianConfiguration);
    if (!model_.files.has(kMarianConfiguration))
      fail(ErrorKind::checkpoint, fmt::format("{} lacks {}", files_.weights(), kMarianConfiguration));
    return {place, parse_yaml(model_.files.bytes(kMarianConfiguration).c_str(), place)};
  }
  MarianFiles files_;
  ForeignModel model_;
};

}  // namespace

ImportedModel import_marian(const std::string& from) { return MarianReader(from).read(); }

}  // namespace weft
