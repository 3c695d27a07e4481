// tests/emulation/cublas_lt/cublas_lt_name.cpp: names of the emulated cuBLASLt's calls.
#include <utility>

#include "tests/emulation/cublas_lt/cublas_lt_product.h"

namespace weft::emulation {
namespace {

const char* name_of(cudaDataType_t type) {
  switch (type) {
    case CUDA_R_16BF:
      return "bf16";
    case CUDA_R_16F:
      return "f16";
    case CUDA_R_32F:
      return "f32";
    default:
      return "f64";
  }
}

const char* name_of(uint32_t epilogue) {
  constexpr std::pair<uint32_t, const char*> kNames[] = {{CUBLASLT_EPILOGUE_DEFAULT, ""},
                                                         {CUBLASLT_EPILOGUE_RELU, ", RELU"},
                                                         {CUBLASLT_EPILOGUE_BIAS, ", BIAS"},
                                                         {CUBLASLT_EPILOGUE_RELU_BIAS, ", RELU_BIAS"},
                                                         {CUBLASLT_EPILOGUE_RELU_AUX, ", RELU_AUX"},
                                                         {CUBLASLT_EPILOGUE_RELU_AUX_BIAS, ", RELU_AUX_BIAS"},
                                                         {CUBLASLT_EPILOGUE_DRELU, ", DRELU"},
                                                         {CUBLASLT_EPILOGUE_DRELU_BGRAD, ", DRELU_BGRAD"},
                                                         {CUBLASLT_EPILOGUE_GELU, ", GELU"},
                                                         {CUBLASLT_EPILOGUE_GELU_BIAS, ", GELU_BIAS"},
                                                         {CUBLASLT_EPILOGUE_GELU_AUX, ", GELU_AUX"},
                                                         {CUBLASLT_EPILOGUE_GELU_AUX_BIAS, ", GELU_AUX_BIAS"},
                                                         {CUBLASLT_EPILOGUE_DGELU, ", DGELU"},
                                                         {CUBLASLT_EPILOGUE_DGELU_BGRAD, ", DGELU_BGRAD"},
                                                         {CUBLASLT_EPILOGUE_BGRADA, ", BGRADA"},
                                                         {CUBLASLT_EPILOGUE_BGRADB, ", BGRADB"}};
  for (const auto& [value, name] : kNames)
    if (value == epilogue) return name;
  return ", an unknown epilogue";
}

}  // namespace

std::string name_of(const ColumnProduct& p) {
  return std::string("cublasLtMatmul ") + (p.trans_a ? "T" : "N") + (p.trans_b ? "T " : "N ") + name_of(p.a.type) +
         " -> " + name_of(p.d.type) + (p.beta == 0 ? "" : ", beta 1") + name_of(p.epilogue);
}

}  // namespace weft::emulation
