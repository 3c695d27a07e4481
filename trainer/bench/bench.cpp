// trainer/bench/bench.cpp: runs the measurements one after the other.
#include "trainer/bench/bench.h"

#include "model/transformer.h"
#include "parallel/device_mesh.h"
#include "tensor/context.h"
#include "tensor/error.h"
#include "trainer/plan/check_options.h"
#include "trainer/precision.h"
#include "trainer/step/step_flops.h"
#include "trainer/step/step_graphs.h"
#include "trainer/trainer.h"

namespace weft {
namespace {

// Each measurement gets one of these shares of the time budget.
constexpr double kPeakShare = 0.1, kProductsShare = 0.25, kCopiesShare = 0.05, kKernelsShare = 0.15, kStepShare = 0.35,
                 kAllReduceShare = 0.1;

int64_t count_parameters(const RunConfig& config) {
  ParamStore params(0, 1);
  const Transformer model(config.model, params, /*num_positions=*/1);
  return params.global_numel();
}

}  // namespace

RunConfig resolve_bench(RunConfig c, Communicator& world, const RankDevice& own) {
  c.data = {};
  c.parallel = resolve_grid(c.parallel, world.size());
  for (int64_t* vocabulary : {&c.model.source_vocabulary, &c.model.target_vocabulary})
    if (*vocabulary == 0) *vocabulary = kBenchVocabulary;
  c.model.resolve(c.parallel.tp);
  if (c.batch.source_rows == 0) c.batch.source_rows = c.batch.rows;
  if (c.batch.blocks == 0) c.batch.blocks = c.parallel.dp;
  resolve_blocks(c.batch);
  require_even_rows(c);
  c.train.precision =
      choose_precision(c.train.precision, half_instructions(own.device, world), /*before=*/"").precision;
  return c;
}

std::string BenchReport::device_name() const {
  return own.device == Device::cpu ? cpu_description() : device_properties(own.device).name;
}

double BenchReport::peak() const {
  const DType storage = storage_of(config.train.precision);
  const double half = storage == DType::bf16 ? peak_bf16 : storage == DType::f16 ? peak_f16 : 0;
  return half > 0 ? half : peak_f32;
}

double BenchReport::rank_peak() const { return product_peak(peaks, storage_of(config.train.precision)); }

BenchReport measure_machine(const RunConfig& config, Communicator& world, double seconds, const RankDevice& own) {
  require_gpu_to_tune(config, own.device);
  const MachineLoad load;
  Context ctx(own.device);
  const bool on_cpu = own.device == Device::cpu;
  BenchReport report{.config = config, .own = own, .ranks = world.size(), .threads = num_threads()};
  if (report.config.train.cuda_graph == CudaGraph::automatic)  // `on`: the measured steps use graphs or fail
    report.config.train.cuda_graph = choose_graphs(config, own) == CudaGraph::off ? CudaGraph::off : CudaGraph::on;
  report.parameters = count_parameters(config);
  world.barrier();
  report.peaks = on_cpu ? measure_peaks(kPeakShare * seconds) : measure_square_products(ctx, kPeakShare * seconds);
  report.peak_f32 = world.sum(best_peak(report.peaks, DType::f32));
  report.peak_bf16 = world.sum(best_peak(report.peaks, DType::bf16));
  report.peak_f16 = world.sum(best_peak(report.peaks, DType::f16));
  report.products = measure_products(config, world, ctx, kProductsShare * seconds);
  report.copies = measure_copies(ctx, kCopiesShare * seconds);
  report.kernels = measure_kernels(config, world, kKernelsShare * seconds, own);
  report.step = measure_steps(report.config, world, kStepShare * seconds, own);
  const auto gpus =
      on_cpu ? nullptr
             : make_device_communicator(ctx, world, own, config.parallel.communication, nccl_limits(config.parallel));
  report.all_reduce = measure_all_reduce(world, ctx, gpus ? *gpus : world, kAllReduceShare * seconds);
  report.load = load.report(world);
  return report;
}

}  // namespace weft
