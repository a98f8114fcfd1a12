#include "backend/cuda/cudnn_convolution.h"

#include <dlfcn.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "backend/cuda/cuda_error.h"
#include "backend/cuda/cudnn_attention.h"
#include "backend/cuda/cudnn_planner.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "kernels/cuda/activation.h"
#include "kernels/cuda/bias.h"
#include "kernels/cuda/elementwise.h"

namespace dptrain::backend::cuda {

namespace kernel = kernels::DPTRAIN_BACKEND;

namespace {

std::uint64_t forward_rest_workspace(const gpu::ConvProblem& problem, bool bias) {
  return bias && problem.type != DType::kF32 ? static_cast<std::uint64_t>(problem.out_channels) * sizeof(float) : 0;
}

/// y = relu(y + bias), not fused by the engine. `bias_values`: [K] in the problem's type. `workspace`: 16-byte aligned.
void add_bias_and_relu(const gpu::ConvProblem& problem, bool bias, const void* bias_values, void* y, void* workspace,
                       int multiprocessors, gpu::StreamHandle stream) {
  const kernel::Launch at{stream, multiprocessors};
  const std::int64_t points = problem.rows * problem.out_h * problem.out_w;
  if (bias) {
    const auto* values = static_cast<const float*>(bias_values);
    if (problem.type != DType::kF32) {
      kernel::cast_to_float(at, problem.type, bias_values, static_cast<float*>(workspace), problem.out_channels);
      values = static_cast<const float*>(workspace);
    }
    kernel::bias_add(at, problem.type, y, values, points, problem.out_channels, y);
  }
  if (problem.relu)
    kernel::activation_forward(at, problem.type, kernel::Activation::kRelu, 0, y, y, points * problem.out_channels);
}

/// The device's handle, null if convolutions are only planned.
struct Engine {
  std::shared_ptr<CudnnHandle> handle;
  int multiprocessors = 1;
};

class CudnnConvolution final : public gpu::Convolution {
 public:
  CudnnConvolution(const gpu::ConvProblem& problem, Engine engine) : problem_(problem), engine_(std::move(engine)) {}

  using Plan = std::shared_future<CudnnPlanner::SharedPlan>;

  void add(ConvPass pass, Plan plan) { plans_[static_cast<std::size_t>(pass)] = std::move(plan); }

  std::uint64_t workspace() const override {
    std::uint64_t bytes = 0;
    for (const Plan& plan : plans_)
      if (plan.valid()) bytes = std::max(bytes, plan.get()->workspace);
    if (const Plan& forward = plans_[0]; forward.valid() && bias_is_left(*forward.get()))
      bytes = std::max(bytes, forward_rest_workspace(problem_, true));
    return bytes;
  }

  std::string name() const override {
    std::vector<std::string> parts;
    for (const ConvPass pass : {ConvPass::kForward, ConvPass::kData, ConvPass::kWeights})
      if (const Plan& plan = plans_[static_cast<std::size_t>(pass)]; plan.valid()) {
        const auto& made = passes_[static_cast<std::size_t>(pass)];
        std::string text =
            fmt::format("{} cudnn {}", name_of(pass), made ? made->name() : CudnnPass(plan.get()).name());
        if (pass == ConvPass::kForward && bias_is_left(*plan.get())) text += " + bias";
        if (pass == ConvPass::kForward && problem_.relu) text += " + relu";
        parts.push_back(std::move(text));
      }
    return join(parts, "; ");
  }

  void forward(const void* x, const void* filter, const void* bias, void* y, void* workspace,
               gpu::StreamHandle stream) override {
    CudnnPass& pass = planned(ConvPass::kForward);
    run(pass, {x, filter, pass.fused().bias ? bias : nullptr, y, workspace}, stream);
    const bool bias_left = bias_is_left(*pass.plan());
    if (bias_left || problem_.relu)
      add_bias_and_relu(problem_, bias_left, bias, y, workspace, engine_.multiprocessors, stream);
  }

  void backward_data(const void* dy, const void* filter, void* dx, void* workspace, gpu::StreamHandle stream) override {
    run(planned(ConvPass::kData), {dx, filter, nullptr, dy, workspace}, stream);
  }

  void backward_weights(const void* x, const void* dy, void* dfilter, void* workspace,
                        gpu::StreamHandle stream) override {
    run(planned(ConvPass::kWeights), {x, dfilter, nullptr, dy, workspace}, stream);
  }

 private:
  bool bias_is_left(const EnginePlan& forward) const { return problem_.bias && !forward.graph->fused.bias; }

  CudnnPass& planned(ConvPass pass) {
    auto& made = passes_[static_cast<std::size_t>(pass)];
    if (made) return *made;
    const Plan& plan = plans_[static_cast<std::size_t>(pass)];
    if (!plan.valid())
      throw Error(ErrorKind::kInternal,
                  fmt::format("the {} pass of the convolution {} was not planned", name_of(pass), describe(problem_)));
    return made.emplace(plan.get());
  }

  void run(CudnnPass& pass, const ConvMemory& memory, gpu::StreamHandle stream) {
    if (!engine_.handle) throw Error(ErrorKind::kInternal, "a convolution that was planned without a GPU cannot run");
    try {
      pass.run(*engine_.handle, memory, stream);
    } catch (const Error& error) {
      throw error.within(describe(problem_));
    }
  }

  gpu::ConvProblem problem_;
  Engine engine_;
  std::array<Plan, 3> plans_;                       // plans of the requested passes
  std::array<std::optional<CudnnPass>, 3> passes_;  // the passes that have run
};

class CudnnConvolutionMaker final : public gpu::ConvolutionMaker {
 public:
  CudnnConvolutionMaker(DeviceProperties device, const gpu::ConvOptions& options, std::unique_ptr<CudnnTuner> tuner,
                        std::shared_ptr<EngineShare> share, Engine engine)
      : planner_(std::move(device), options, std::move(tuner), std::move(share)), engine_(std::move(engine)) {}

  std::unique_ptr<gpu::Convolution> make(const gpu::ConvProblem& problem, const gpu::ConvPasses& passes) override {
    auto convolution = std::make_unique<CudnnConvolution>(problem, engine_);
    if (passes.forward) convolution->add(ConvPass::kForward, planner_.begin(problem, ConvPass::kForward));
    if (passes.data) convolution->add(ConvPass::kData, planner_.begin(problem, ConvPass::kData));
    if (passes.weights) convolution->add(ConvPass::kWeights, planner_.begin(problem, ConvPass::kWeights));
    return convolution;
  }

  gpu::PlannedAttention make_attention(const gpu::AttentionProblem& problem) override {
    if (std::string why = why_no_cudnn_attention(problem, cudnn().get_version()); !why.empty())
      return {.engine = nullptr, .reason = std::move(why)};
    // Else cuDNN lists no engines that are compiled at run time.
    static const bool has_driver = dlopen("libcuda.so.1", RTLD_LAZY) != nullptr;
    if (!has_driver) return {.engine = nullptr, .reason = "cuDNN plans it only where libcuda.so.1 is installed"};
    try {
      return {.engine = make_cudnn_attention(problem, planner_.begin(problem, false).get(),
                                             problem.backward ? planner_.begin(problem, true).get() : nullptr,
                                             engine_.handle),
              .reason = ""};
    } catch (const Error& error) {
      return {.engine = nullptr, .reason = error.what()};
    }
  }

 private:
  CudnnPlanner planner_;
  Engine engine_;
};

}  // namespace

std::unique_ptr<gpu::ConvolutionMaker> make_cudnn_convolutions(std::shared_ptr<gpu::Runtime> runtime, int id,
                                                               const gpu::ConvOptions& options) {
  runtime->enter();
  auto handle = std::make_shared<CudnnHandle>();
  auto tuner = std::make_unique<CudnnTuner>(runtime, handle, id);
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, id), "cudaGetDeviceProperties", runtime->name());
  return std::make_unique<CudnnConvolutionMaker>(DeviceProperties::from_device(id), options, std::move(tuner),
                                                 share_of(kind_of(properties)),
                                                 Engine{std::move(handle), runtime->multiprocessors()});
}

std::unique_ptr<gpu::ConvolutionMaker> plan_cudnn_convolutions(std::string_view device_json,
                                                               const gpu::ConvOptions& options) {
  return std::make_unique<CudnnConvolutionMaker>(DeviceProperties::from_json(device_json), options, nullptr, nullptr,
                                                 Engine{});
}

}  // namespace dptrain::backend::cuda
