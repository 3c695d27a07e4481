// trainer/checkpoint/rank_files.cpp: gathers, copies and writes a rank's tensors.
#include "trainer/checkpoint/rank_files.h"

#include "tensor/error.h"
#include "tensor/transfer.h"
#include "trainer/checkpoint/finite.h"
#include "trainer/checkpoint/safetensors.h"

namespace weft {
namespace {

bool is_split(const TensorSource& source, const Communicator& tp) {
  return source.param->spec.tp_dim >= 0 && tp.size() > 1;
}

void require_finite(const std::string& name, const std::vector<float>& values) {
  if (!describe_not_finite(values.data(), {static_cast<int64_t>(values.size())}).empty())
    fail(ErrorKind::diverged,
         fmt::format("tensor '{}' contains a value that is not finite, so no checkpoint is written: try a lower "
                     "schedule.lr, a longer schedule.warmup or optimizer.clip_norm",
                     name));
}

// Assembles the global values of a tensor from the slices held by the ranks of `tp`.
class SliceGatherer {
 public:
  SliceGatherer(Context& ctx, Communicator& tp) : ctx_(ctx), tp_(tp) {}

  // Fills `global` on each rank where it is not nullptr. Every rank of tp calls this function.
  void gather(const TensorSource& source, std::vector<float>* global) {
    const ParamSpec& spec = source.param->spec;
    const int64_t n = source.param->numel();
    const float* local = on_host(ctx_, source.local, copy_);
    slices_.resize(static_cast<size_t>(n * tp_.size()));
    tp_.all_gather(Tensor(const_cast<float*>(local), {n}), Tensor(slices_.data(), {tp_.size(), n}));
    if (global == nullptr) return;
    global->resize(static_cast<size_t>(spec.shape.numel()));
    for (int rank = 0; rank < tp_.size(); ++rank)
      slice_to_global(spec, rank, tp_.size(), slices_.data() + rank * n, global->data());
  }

 private:
  Context& ctx_;
  Communicator& tp_;
  std::vector<float> copy_, slices_;
};

}  // namespace

RankFiles::RankFiles(Context& ctx, Communicator& tp, int own_rank, const std::vector<CheckpointFile>& files,
                     const std::vector<FlatState>& states) {
  SliceGatherer gatherer(ctx, tp);
  std::map<std::string, File> own;
  for (const FlatState& state : states) {  // this order keeps the tensors of each file sorted by name
    if (state.gather) state.gather();
    for (const CheckpointFile& file : files) {
      const bool is_own = file.writer == own_rank;
      for (const auto& [name, source] : file.tensors) {
        if (source.state != &state) continue;
        Staged staged{.name = name, .shape = source.param->spec.shape};
        if (is_split(source, tp)) {
          gatherer.gather(source, is_own ? &staged.values : nullptr);
        } else if (is_own && ctx.device() == Device::cpu && !state.gather) {
          staged.live = source.local.ptr<float>();
        } else if (is_own) {
          staged.values = to_host<float>(ctx, source.local);
        }
        if (is_own) own[file.name].tensors.push_back(std::move(staged));
      }
    }
  }
  for (auto& [name, file] : own) files_.push_back({name, std::move(file.tensors)});
}

void RankFiles::copy() {
  for (File& file : files_)
    for (Staged& tensor : file.tensors)
      if (tensor.live != nullptr)
        tensor.values.assign(tensor.live, tensor.live + tensor.shape.numel()), tensor.live = nullptr;
}

std::map<std::string, FileDigest> RankFiles::write(const std::string& folder, const std::atomic<bool>& given_up) {
  for (const File& file : files_)
    for (const Staged& tensor : file.tensors) require_finite(tensor.name, tensor.values);
  std::map<std::string, FileDigest> digests;
  for (const auto& [name, text] : texts_) digests[name] = write_digested(folder + "/" + name, text);
  for (File& file : files_) {
    std::map<std::string, std::vector<int64_t>> shapes;
    for (const Staged& tensor : file.tensors) shapes[tensor.name] = dims_of(tensor.shape);
    SafetensorsWriter writer(folder + "/" + file.name, shapes);
    for (Staged& tensor : file.tensors) {
      if (given_up) return digests;
      writer.write(tensor.values.data(), tensor.shape.numel());
      std::vector<float>().swap(tensor.values);
    }
    digests[file.name] = writer.finish();
  }
  return digests;
}

}  // namespace weft
