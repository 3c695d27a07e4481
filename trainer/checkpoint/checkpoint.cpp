// trainer/checkpoint/checkpoint.cpp: saving and loading: converts between the ranks' slices and a
// checkpoint's global tensors.
//
// Saving communicates over tp (of dp rank 0) and agrees over world; loading does not communicate. Both hold one global
// tensor at a time.
#include "trainer/checkpoint/checkpoint.h"

#include <map>
#include <nlohmann/json.hpp>

#include "tensor/error.h"
#include "tensor/transfer.h"
#include "trainer/checkpoint/checkpoint_draft.h"
#include "trainer/checkpoint/finite.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/checkpoint/strict_json.h"

namespace weft {

using nlohmann::json;

namespace {

constexpr char kStateName[] = "state.json";
constexpr char kConfigName[] = "config.cfg";

struct Source {  // location of a stored tensor in this rank's device memory
  const Param* param;
  Tensor local;  // [n] of the buffer
};

using FileLayout = std::map<std::string, Source>;  // tensor name -> source, in the order of the file
using Layout = std::map<std::string, FileLayout>;  // "model.safetensors" -> ...

Layout make_layout(const Context& ctx, const ParamStore& params, const std::vector<FlatState>& buffers) {
  Layout layout;
  for (const FlatState& buffer : buffers) {
    const bool fits = buffer.flat.numel() == params.numel() && buffer.flat.device == ctx.device();
    require(fits, ErrorKind::internal,
            "a checkpoint's buffer is laid out like the parameters, on the context's device");
    for (const Param& param : params.params()) {
      const Source source{&param, buffer.flat.slice_rows(param.offset, param.numel())};
      const bool added = layout[buffer.file + ".safetensors"].emplace(buffer.prefix + param.spec.name, source).second;
      require(added, ErrorKind::internal, "two tensors of one name in a checkpoint's file");
    }
  }
  return layout;
}

std::vector<int64_t> dims_of(const Shape& shape) {
  std::vector<int64_t> dims;
  for (int i = 0; i < shape.rank(); ++i) dims.push_back(shape[i]);
  return dims;
}

void check_finite(Context& ctx, const Layout& layout, int64_t step) {
  std::vector<float> copy;
  for (const auto& [file, tensors] : layout)
    for (const auto& [name, source] : tensors)
      if (!describe_not_finite(on_host(ctx, source.local, copy), {source.local.numel()}).empty())
        fail(ErrorKind::diverged,
             fmt::format("tensor '{}' holds a value that is not finite, so no checkpoint of step {} is written; the "
                         "last one is kept (a lower optimizer or schedule rate, or clipping, helps)",
                         name, step));
}

// Gathers a tensor's slices on tp rank 0.
class SliceGatherer {
 public:
  SliceGatherer(Context& ctx, Communicator& tp) : ctx_(ctx), tp_(tp) {}

  const float* gather(const Source& source) {  // the global tensor on rank 0; nullptr on others
    const Param& param = *source.param;
    const float* local = on_host(ctx_, source.local, copy_);
    if (param.spec.tp_dim < 0 || tp_.size() == 1) return local;
    const int64_t n = param.numel();
    slices_.resize(static_cast<size_t>(n * tp_.size()));
    tp_.all_gather(Tensor(const_cast<float*>(local), {n}), Tensor(slices_.data(), {tp_.size(), n}));
    if (!tp_.is_main_rank()) return nullptr;
    global_.resize(static_cast<size_t>(param.spec.shape.numel()));
    for (int rank = 0; rank < tp_.size(); ++rank)
      slice_to_global(param.spec, rank, tp_.size(), slices_.data() + rank * n, global_.data());
    return global_.data();
  }

 private:
  Context& ctx_;
  Communicator& tp_;
  std::vector<float> copy_, slices_, global_;
};

// Streams all tensors to their files. A rank without a draft only sends. After a failed write the remaining
// tensors are still gathered, because the other ranks take part; then the error is thrown.
void save_tensors(Context& ctx, const Layout& layout, Communicator& tp, CheckpointDraft* draft) {
  SliceGatherer gatherer(ctx, tp);
  std::exception_ptr error;
  const auto attempt = [&](auto&& action) {
    if (!draft || error) return;
    try {
      action();
    } catch (...) {
      error = std::current_exception();
    }
  };
  for (const auto& [file, tensors] : layout) {
    std::optional<SafetensorsWriter> writer;
    attempt([&, &file = file, &tensors = tensors] {
      std::map<std::string, std::vector<int64_t>> shapes;
      for (const auto& [name, source] : tensors) shapes[name] = dims_of(source.param->spec.shape);
      writer.emplace(draft->path_of(file), shapes);
      for (const auto& [name, shape] : shapes) draft->manifest.tensors[name] = {file, "F32", shape};
    });
    for (const auto& [name, source] : tensors) {
      const float* global = gatherer.gather(source);
      attempt([&, &source = source] { writer->write(global, source.param->spec.shape.numel()); });
    }
    attempt([&, &file = file] { draft->manifest.files[file] = writer->finish(); });
  }
  if (error) std::rethrow_exception(error);
}

void add_small_files(CheckpointDraft& draft, const json& state, const CheckpointExtras& extras) {
  const std::string text = state.dump(2) + "\n";
  if (json::parse(text) != state)  // a NaN, for instance
    fail(ErrorKind::internal, "the trainer's state would not read back from JSON as it is");
  draft.add_text(kStateName, text);
  draft.add_text(kConfigName, extras.config);
  for (const auto& [name, contents] : extras.files) draft.add_text(name, contents);
}

void check_tensors(const SafetensorsFile& file, const FileLayout& wanted) {
  const auto refuse = [&](const std::string& name, const std::string& why) {
    fail(ErrorKind::checkpoint,
         fmt::format("{}: tensor '{}' {}: the checkpoint is of another model (compare the [model] section of its {})",
                     file.path(), printable(name), why, kConfigName));
  };
  for (const auto& [name, source] : wanted) {
    const auto it = file.entries().find(name);
    if (it == file.entries().end()) refuse(name, "is missing");
    const std::vector<int64_t> dims = dims_of(source.param->spec.shape);
    if (it->second.shape != dims)
      refuse(name, fmt::format("has shape {}, the model's has {}", str(it->second.shape), str(dims)));
    if (it->second.dtype != "F32") refuse(name, fmt::format("is {}, only F32 can be loaded", it->second.dtype));
  }
  for (const auto& [name, entry] : file.entries())
    if (!wanted.contains(name)) refuse(name, "is not one of the model's");
}

// Calls use(file, name, source, its global values) for each tensor of the files, one at a time.
template <typename Use>
void for_each_tensor(const Layout& layout, const std::map<std::string, SafetensorsFile>& files, Use&& use) {
  std::vector<float> global;
  for (const auto& [name, tensors] : layout)
    for (const auto& [tensor, source] : tensors) {
      global.resize(static_cast<size_t>(source.param->spec.shape.numel()));
      files.at(name).read(tensor, global.data());
      use(name, tensor, source, global.data());
    }
}

// This rank's slice of a global tensor, in its place.
void put_slice(Context& ctx, const Source& source, const float* global) {
  if (ctx.device() == Device::cpu) return slice_from_global(*source.param, global, source.local.ptr<float>());
  std::vector<float> local(static_cast<size_t>(source.local.numel()));
  slice_from_global(*source.param, global, local.data());
  upload(ctx, local.data(), source.local);
}

}  // namespace

std::string save_checkpoint(Context& ctx, const std::string& root, int64_t step, const Mesh& mesh,
                            const ParamStore& params, const std::vector<FlatState>& buffers, const json& state,
                            const CheckpointExtras& extras) {
  Communicator& world = mesh.world();
  const Layout layout = make_layout(ctx, params, buffers);
  all_or_none(world, [&] { check_finite(ctx, layout, step); });

  std::optional<CheckpointDraft> draft;  // on world rank 0
  all_or_none(world, [&] {
    if (!world.is_main_rank()) return;
    draft.emplace(root, step);
    draft->manifest.dp = mesh.dp().size();
    draft->manifest.tp = mesh.tp().size();
    add_small_files(*draft, state, extras);
  });
  all_or_none(world, [&] {
    if (mesh.dp().is_main_rank()) save_tensors(ctx, layout, mesh.tp(), draft ? &*draft : nullptr);
  });
  all_or_none(world, [&] {
    if (draft) draft->commit();
  });
  return root + "/" + step_folder_name(step);
}

json load_checkpoint(Context& ctx, const std::string& folder, const ParamStore& params,
                     const std::vector<FlatState>& buffers) {
  const Layout layout = make_layout(ctx, params, buffers);
  const CheckpointManifest manifest = read_checkpoint_manifest(folder);
  const auto digest_of = [&](const std::string& name) {
    const auto it = manifest.files.find(name);
    if (it == manifest.files.end())
      fail(ErrorKind::checkpoint, fmt::format("{}: the manifest does not list {}", folder, name));
    return &it->second;
  };

  for (const auto& [name, digest] : manifest.files)  // tokenizers and the like: small, and read elsewhere
    if (!name.ends_with(".safetensors")) CheckedReader(folder + "/" + name).verify(digest);
  digest_of(kStateName);
  const CheckedReader state_file(folder + "/" + kStateName);
  json state = parse_strict_json(state_file.read_all(), state_file.path());

  std::map<std::string, SafetensorsFile> files;
  for (const auto& [name, tensors] : layout) {
    const auto it = files.try_emplace(name, folder + "/" + name, digest_of(name)).first;
    check_tensors(it->second, tensors);
  }
  // Two passes over the files: no buffer changes if any value is bad.
  for_each_tensor(layout, files, [&](auto& file, auto& tensor, const Source& source, const float* global) {
    const std::string bad = describe_not_finite(global, dims_of(source.param->spec.shape));
    if (!bad.empty())
      fail(ErrorKind::checkpoint,
           fmt::format("{}/{}: tensor '{}' holds {}: load an older checkpoint", folder, file, tensor, bad));
  });
  for_each_tensor(layout, files,
                  [&](auto&, auto&, const Source& source, const float* global) { put_slice(ctx, source, global); });
  return state;
}

}  // namespace weft
