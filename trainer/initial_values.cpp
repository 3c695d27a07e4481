// trainer/initial_values.cpp: parameters from another run's checkpoint, with what must be the same checked.
#include "trainer/initial_values.h"

#include <filesystem>

#include "data/corpus.h"
#include "data/sha256.h"
#include "tensor/error.h"
#include "trainer/checkpoint/checkpoint.h"

namespace weft {
namespace {

// A row of an embedding table means what the tokenizer says.
void require_same_tokenizers(const std::string& folder, const std::string& corpus) {
  const Manifest data = read_manifest(corpus);
  const bool joint = std::filesystem::exists(folder + "/tokenizer.model");
  const auto same = [&](const char* own_name, const std::string& packed_with) {
    const std::string file = folder + (joint ? "/tokenizer.model" : own_name);
    if (sha256_of_file(file) != packed_with)
      fail(ErrorKind::usage,
           fmt::format("train.init: data.train = {} was packed with another tokenizer than {}: pack it "
                       "again with that one",
                       corpus, file));
  };
  same("/source.model", data.source_tokenizer_sha256);
  same("/target.model", data.target_tokenizer_sha256);
}

}  // namespace

void take_initial_values(const std::string& folder, const std::string& corpus, const ModelForm& form,
                         const ParamStore& params) {
  const ErrorFrame frame("while taking initial values from train.init");
  require_same_tokenizers(folder, corpus);
  const nlohmann::json state = load_checkpoint(folder, params, {});  // no tensors yet
  require_same_form(TrainState::from_json(state).model, form, folder);
  load_checkpoint(folder, params, {{"model", "", params.values()}});
}

}  // namespace weft
