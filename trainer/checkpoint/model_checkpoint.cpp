// trainer/checkpoint/model_checkpoint.cpp: writes one tensor after the other.
#include "trainer/checkpoint/model_checkpoint.h"

#include "trainer/checkpoint/checkpoint_draft.h"
#include "trainer/checkpoint/stored_model.h"
#include "trainer/version.h"

namespace weft {
namespace {

constexpr int64_t kVersionOfInt8 = 5;

void write_tensors(const ModelCheckpoint& model, const CheckpointDraft& draft, CheckpointManifest& manifest) {
  SafetensorsWriter writer(draft.folder() + "/" + kModelFile, model.shapes, /*metadata=*/{}, model.int8_rows);
  int64_t done = 0;
  for (const auto& [name, shape] : model.shapes) {
    model.read(name, [&](const float* values, int64_t count) { writer.write(values, count); });
    if (model.on_progress) model.on_progress(++done, std::ssize(model.shapes));
  }
  for (const auto& [name, entry] : writer.entries()) manifest.tensors[name] = {kModelFile, entry.dtype, entry.shape};
  manifest.files[kModelFile] = writer.finish();
  if (!model.int8_rows.empty()) manifest.format_version = kVersionOfInt8;
}

}  // namespace

std::string write_model_checkpoint(const std::string& root, const ModelCheckpoint& model) {
  MadeFolders made;
  made.make(root);
  CheckpointDraft draft(root, {.step = model.step, .weft_version = kVersion});
  CheckpointManifest& manifest = draft.manifest;
  write_tensors(model, draft, manifest);
  std::map<std::string, std::string> texts = model.tokenizers;
  texts[kConfigFile] = model.config;
  texts[kStateFile] = model.state.dump(2) + "\n";
  for (const auto& [name, text] : texts) manifest.files[name] = write_digested(draft.folder() + "/" + name, text);
  draft.commit();
  made.keep();
  return root + "/" + step_folder_name(manifest.step);
}

}  // namespace weft
