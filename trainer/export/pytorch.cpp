// trainer/export/pytorch.cpp: writes the configuration, whose model section uses the names of Weft's options.
#include "trainer/export/pytorch.h"

#include <nlohmann/json.hpp>

#include "data/batch.h"
#include "trainer/export/formats/pytorch_file.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

ordered_json pytorch_config(const ExportedModel& model) {
  const ModelConfig& c = model.config;
  return {{"model",
           {{"source_vocabulary", c.source_vocabulary},
            {"target_vocabulary", c.target_vocabulary},
            {"width", c.width},
            {"heads", c.heads},
            {"feed_forward", c.feed_forward},
            {"encoder_layers", c.encoder_layers},
            {"decoder_layers", c.decoder_layers},
            {"norm", name_of_enum(c.norm)},
            {"norm_eps", c.epsilon()},
            {"final_norm", c.final_norm},
            {"activation", name_of_enum(c.activation)},
            {"bias_output", c.bias_output},
            {"tying", name_of_enum(c.tying)},
            {"scale_embeddings", c.scale_embeddings},
            {"positions", name_of_enum(c.positions)},
            {"position_offset", c.position_offset},
            {"max_positions", c.positions == Positions::learned ? c.max_positions : kExportedPositions - 1}}},
          {"special_ids",
           {{"unk", SpecialIds::unk}, {"bos", SpecialIds::bos}, {"eos", SpecialIds::eos}, {"start", c.start_id()}}},
          {"decode",
           {{"beam", model.beam},
            {"beam_kind", name_of_enum(model.beam_kind)},
            {"length_penalty", model.length_penalty},
            {"length_penalty_kind", name_of_enum(model.length_penalty_kind)},
            {"max_length_factor", model.max_length_factor},
            {"max_length_extra", model.max_length_extra},
            {"min_length", model.min_length},
            {"allow_unknown", model.allow_unknown}}}};
}

}  // namespace

void export_pytorch(const ExportedModel& model, const OutputFolder& output) {
  write_pytorch_file(output.file("model.safetensors"), model.config, model.params);
  output.write("config.json", pytorch_config(model).dump(2) + "\n");
  output.write("weft_transformer.py", kPytorchModule);
  copy_tokenizers(model, output);
}

}  // namespace weft
