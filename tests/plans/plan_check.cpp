// dptrain_plan_check [--gpu ID] [--threads N] [--replicas N] [--all] MODE BATCH LIST...: has every convolution of the
// lists an engine of cuDNN's on an H200? None need be there, nor a driver. Prints one line per pass and a sum for each
// list. dptrain_plan_check --gpu ID --properties: what cuDNN knows of that GPU, the text to write into
// backend/cuda/paper_gpus.h.
//
//   --gpu  the GPU that is there instead of the H200 on paper; its plans, too, are made without touching it
//   --threads  that make plans side by side, as a replica's do (1)
//   --replicas  that plan on equal GPUs side by side, and take engines from one another (1)
//   --all  every engine that would do, in the heuristics' order, instead of the one that is taken
//   MODE   bf16, fp16, tf32 or fp32 (no TF32), each with the workspace limit that fits it, or with ":MIB" another one
//   LIST   a file of make_lists.py's format
//
// Exit code: 0, 1 (a pass has no engine), 2 (usage, or a list that cannot be read), 77 (no cuDNN or no libcuda here).
// A program of its own because cuDNN has crashed on graphs that it did not like, which must fail a test, not the
// runner.

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <sstream>

#include "backend/cuda/cudnn_api.h"
#include "backend/cuda/cudnn_descriptor.h"
#include "backend/cuda/cudnn_pass.h"
#include "backend/cuda/paper_gpus.h"
#include "backend/cuda/plan_check.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain {
namespace {

using backend::cuda::PlanCase;
using backend::cuda::PlanCheck;
using backend::gpu::ConvOptions;
using backend::gpu::ConvProblem;

constexpr int kSkipped = 77;

struct Mode {
  DType type = DType::kF32;
  ConvOptions options;
};

Mode mode_of(const std::string& word) {
  const std::size_t colon = word.find(':');
  const std::string name = word.substr(0, colon);
  Mode mode;
  mode.options.tf32 = name != "fp32";
  std::uint64_t mebibytes = 1024;
  if (name == "bf16" || name == "fp16") {
    mode.type = name == "bf16" ? DType::kBf16 : DType::kF16;
    mebibytes = 512;
  } else if (name != "tf32" && name != "fp32") {
    throw Error(ErrorKind::kUsage, fmt::format("mode: expected bf16, fp16, tf32 or fp32, found '{}'", word));
  }
  if (colon != std::string::npos) mebibytes = std::stoull(word.substr(colon + 1));
  mode.options.workspace_limit = mebibytes << 20;
  return mode;
}

PlanCase case_of(const std::string& line, DType type, std::int64_t batch) {
  std::istringstream words(line);
  PlanCase one;
  ConvProblem& p = one.problem;
  p.type = type;
  p.rows = batch;
  bool data = true;
  words >> one.where >> p.in_h >> p.in_w >> p.in_channels >> p.out_h >> p.out_w >> p.out_channels >> p.kernel_h >>
      p.kernel_w >> p.stride_h >> p.stride_w >> p.dilation_h >> p.dilation_w >> p.pad_top >> p.pad_bottom >>
      p.pad_left >> p.pad_right >> p.groups >> p.bias >> p.relu >> data;
  std::string more;
  if (!words || words >> more)
    throw Error(ErrorKind::kData, fmt::format("expected a name and 20 numbers, found '{}'", line));
  one.passes = {.forward = true, .data = data, .weights = true};
  return one;
}

std::vector<PlanCase> read_list(const std::string& path, DType type, std::int64_t batch) {
  std::ifstream file(path);
  if (!file) throw Error(ErrorKind::kData, fmt::format("{} cannot be opened", path));
  std::vector<PlanCase> cases;
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line.front() != '#') cases.push_back(case_of(line, type, batch));
  if (cases.empty()) throw Error(ErrorKind::kData, fmt::format("{} lists no convolution", path));
  return cases;
}

void print(const std::string& list, const std::string& mode, const PlanCheck& check) {
  for (const backend::cuda::PlanLine& line : check.lines)
    std::printf("%s\n",
                fmt::format("{} {} {} {}: {}{}", list, mode, line.where, line.pass,
                            line.engine.empty() ? "NONE: " + line.error : line.engine, line.bias_apart ? " + bias" : "")
                    .c_str());
  std::printf("%s\n",
              fmt::format("{} {}: {} convolutions, {} passes, {} without an engine, {} compiled at run time, {} with "
                          "the bias apart, {} taken from equal GPUs ({} finished), {} different "
                          "there, largest workspace {}, {:.2f} s",
                          list, mode, check.convolutions, check.lines.size(), check.missing, check.runtime_compiled,
                          check.apart, check.taken, check.finished, check.different,
                          human_bytes(check.largest_workspace), check.seconds)
                  .c_str());
  std::fflush(stdout);
}

/// What `runtime.autotune: time` chooses from, and what is behind it.
void print_all(const std::string& list, const Mode& mode, std::string_view properties, std::int64_t batch) {
  namespace cuda = backend::cuda;
  constexpr std::size_t kMany = 1000;
  const cuda::DeviceProperties gpu = cuda::DeviceProperties::from_json(properties);
  for (const PlanCase& one : read_list(list, mode.type, batch))
    for (const cuda::ConvPass pass : {cuda::ConvPass::kForward, cuda::ConvPass::kData, cuda::ConvPass::kWeights}) {
      if (pass == cuda::ConvPass::kData && !one.passes.data) continue;
      cuda::Rejections rejections;
      for (auto& plan : cuda::find_engines(cuda::make_conv_graph(one.problem, pass, {.bias = one.problem.bias}), gpu,
                                           {.type = mode.type,
                                           .options = mode.options,
                                           .pass = pass,
                                           .uneven_padding = one.problem.uneven_padding(),
                                           .wanted = kMany},
                                           rejections))
        std::printf("%s %s %s\n", one.where.c_str(), std::string(cuda::name_of(pass)).c_str(),
                    cuda::CudnnPass(std::make_shared<const cuda::EnginePlan>(std::move(plan))).name().c_str());
      std::printf("%s %s refused: %s\n", one.where.c_str(), std::string(cuda::name_of(pass)).c_str(),
                  rejections.text().c_str());
    }
}

/// The driver's library if the machine has one, else the toolkit's stub of it: engines that are compiled at run time
/// are not even named without. Global, because cuDNN looks its functions up by name.
bool open_driver() {
  for (const char* file : {"libcuda.so.1", DPTRAIN_CUDA_STUB})
    if (dlopen(file, RTLD_NOW | RTLD_GLOBAL) != nullptr) return true;
  std::printf("SKIPPED: neither libcuda.so.1 nor the toolkit's stub of it (%s) can be opened\n", DPTRAIN_CUDA_STUB);
  return false;
}

bool open_cudnn() {
  try {
    std::printf("cuDNN %s\n", backend::cuda::cudnn().version().c_str());
    return true;
  } catch (const Error& error) {
    std::printf("SKIPPED: %s\n", error.what());
    return false;
  }
}

int run(std::vector<std::string> arguments) {
  std::string properties{backend::cuda::kPaperH200};
  if (arguments.size() >= 2 && arguments[0] == "--gpu") {
    if (!open_driver() || !open_cudnn()) return kSkipped;
    properties = backend::cuda::DeviceProperties::from_device(std::stoi(arguments[1])).json();
    arguments.erase(arguments.begin(), arguments.begin() + 2);
    if (arguments == std::vector<std::string>{"--properties"}) {
      std::printf("%s\n", properties.c_str());
      return 0;
    }
  }
  backend::cuda::PlanCrew crew;
  for (const auto& [flag, number] : {std::pair{"--threads", &crew.threads}, std::pair{"--replicas", &crew.replicas}})
    if (arguments.size() >= 2 && arguments[0] == flag) {
      *number = std::stoi(arguments[1]);
      arguments.erase(arguments.begin(), arguments.begin() + 2);
    }
  const bool all = !arguments.empty() && arguments[0] == "--all";
  if (all) arguments.erase(arguments.begin());
  if (arguments.size() < 3)
    throw Error(ErrorKind::kUsage,
                "usage: dptrain_plan_check [--gpu ID] [--threads N] [--replicas N] [--all] MODE BATCH LIST..., or "
                "--gpu ID --properties");
  const Mode mode = mode_of(arguments[0]);
  const std::int64_t batch = std::stoll(arguments[1]);
  if (!open_driver() || !open_cudnn()) return kSkipped;
  int missing = 0;
  for (std::size_t i = 2; i < arguments.size(); ++i) {
    if (all) {
      print_all(arguments[i], mode, properties, batch);
      continue;
    }
    const auto check =
        backend::cuda::check_plans(read_list(arguments[i], mode.type, batch), properties, mode.options, crew);
    const std::size_t slash = arguments[i].rfind('/');
    print(arguments[i].substr(slash == std::string::npos ? 0 : slash + 1), arguments[0], check);
    missing += check.missing;
  }
  return missing == 0 ? 0 : 1;
}

}  // namespace
}  // namespace dptrain

int main(int argc, char** argv) {
  try {
    return dptrain::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
