#include "device/cuda/cudnn_convolution.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "device/cuda/cudnn_planner.h"
#include "device/cuda/forward_rest.h"

namespace dptrain::device::cuda {
namespace {

/// What convolutions run on; handle is null where they are only planned.
struct Engine {
  std::shared_ptr<CudnnHandle> handle;
  int multiprocessors = 1;
};

class CudnnConvolution final : public gpu::Convolution {
 public:
  CudnnConvolution(const gpu::ConvProblem& problem, Engine engine) : problem_(problem), engine_(std::move(engine)) {}

  void add(ConvPass pass, CudnnPass planned) { passes_[static_cast<std::size_t>(pass)].emplace(std::move(planned)); }

  std::uint64_t workspace() const override {
    std::uint64_t bytes = 0;
    for (const auto& pass : passes_)
      if (pass) bytes = std::max(bytes, pass->workspace());
    if (const auto& forward = passes_[0]; forward && bias_is_left(*forward))
      bytes = std::max(bytes, forward_rest_workspace(problem_, true));
    return bytes;
  }

  std::string name() const override {
    std::vector<std::string> parts;
    for (const ConvPass pass : {ConvPass::kForward, ConvPass::kData, ConvPass::kWeights})
      if (const auto& planned = passes_[static_cast<std::size_t>(pass)]) {
        std::string text = fmt::format("{} cudnn {}", name_of(pass), planned->name());
        if (pass == ConvPass::kForward && bias_is_left(*planned)) text += " + bias";
        if (pass == ConvPass::kForward && problem_.relu) text += " + relu";
        parts.push_back(std::move(text));
      }
    return join(parts, "; ");
  }

  void forward(const void* x, const void* filter, const void* bias, void* y, void* workspace,
               gpu::StreamHandle stream) override {
    CudnnPass& pass = planned(ConvPass::kForward);
    run(pass, {x, filter, pass.fused().bias ? bias : nullptr, y, workspace}, stream);
    if (bias_is_left(pass) || problem_.relu)
      add_bias_and_relu(problem_, bias_is_left(pass), bias, y, workspace, engine_.multiprocessors, stream);
  }

  void backward_data(const void* dy, const void* filter, void* dx, void* workspace, gpu::StreamHandle stream) override {
    run(planned(ConvPass::kData), {dx, filter, nullptr, dy, workspace}, stream);
  }

  void backward_weights(const void* x, const void* dy, void* dfilter, void* workspace,
                        gpu::StreamHandle stream) override {
    run(planned(ConvPass::kWeights), {x, dfilter, nullptr, dy, workspace}, stream);
  }

 private:
  bool bias_is_left(const CudnnPass& pass) const { return problem_.bias && !pass.fused().bias; }

  CudnnPass& planned(ConvPass pass) {
    auto& found = passes_[static_cast<std::size_t>(pass)];
    if (!found)
      throw Error(ErrorKind::kInternal,
                  fmt::format("the {} pass of the convolution {} was not asked for when it was made", name_of(pass),
                              describe(problem_)));
    return *found;
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
  std::array<std::optional<CudnnPass>, 3> passes_;
};

class CudnnConvolutionMaker final : public gpu::ConvolutionMaker {
 public:
  CudnnConvolutionMaker(DeviceProperties device, const gpu::ConvOptions& options, std::unique_ptr<CudnnTuner> tuner,
                        Engine engine)
      : planner_(std::move(device), options, std::move(tuner)), engine_(std::move(engine)) {}

  std::unique_ptr<gpu::Convolution> make(const gpu::ConvProblem& problem, const gpu::ConvPasses& passes) override {
    auto convolution = std::make_unique<CudnnConvolution>(problem, engine_);
    if (passes.forward) convolution->add(ConvPass::kForward, planner_.plan(problem, ConvPass::kForward));
    if (passes.data) convolution->add(ConvPass::kData, planner_.plan(problem, ConvPass::kData));
    if (passes.weights) convolution->add(ConvPass::kWeights, planner_.plan(problem, ConvPass::kWeights));
    return convolution;
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
  return std::make_unique<CudnnConvolutionMaker>(DeviceProperties::from_device(id), options, std::move(tuner),
                                                 Engine{std::move(handle), runtime->multiprocessors()});
}

std::unique_ptr<gpu::ConvolutionMaker> plan_cudnn_convolutions(std::string_view device_json,
                                                               const gpu::ConvOptions& options) {
  return std::make_unique<CudnnConvolutionMaker>(DeviceProperties::from_json(device_json), options, nullptr, Engine{});
}

}  // namespace dptrain::device::cuda
