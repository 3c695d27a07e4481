// trainer/replica.h: holds one rank's replica of the model (or its tensor-parallel part), its device and communicators.
#pragma once

#include "model/transformer.h"
#include "parallel/device_mesh.h"
#include "trainer/config/run_config.h"

namespace weft {

class Replica {
 public:
  // All ranks of the mesh's world construct it together. The parameters are allocated but not initialized. `compute` is
  // the storage type of activations and GEMM operands. REQUIRES: `config.model` is resolved for the mesh.
  Replica(const RunConfig& config, const Mesh& mesh, DType compute, int64_t num_positions,
          ParamUse use = ParamUse::training);

  const Mesh& mesh() const { return mesh_; }                      // communicators for host values
  const DeviceMesh& device_mesh() const { return device_mesh_; }  // communicators for tensors
  Context& context() const { return device_mesh_.context(); }
  const TensorParallel& tp() const { return tp_; }
  ParamStore& params() { return params_; }
  const ParamStore& params() const { return params_; }
  const Transformer& model() const { return model_; }

 private:
  const Mesh& mesh_;
  DeviceMesh device_mesh_;
  TensorParallel tp_;
  ParamStore params_;
  Transformer model_;
};

}  // namespace weft
