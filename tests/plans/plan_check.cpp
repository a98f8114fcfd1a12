// dptrain_plan_check [--gpu ID] [--threads N] [--replicas N] [--prefer N] [--all] MODE BATCH LIST...: checks that cuDNN
// has an engine on an H200 for every convolution of the lists. Needs neither a GPU nor a driver. Prints a line per pass
// and a total per list. dptrain_plan_check --gpu ID --properties prints cuDNN's description of that GPU for
// backend/cuda/plan_only_gpus.h. dptrain_plan_check --attention checks attention in 16 bits on several GPUs instead,
// and prints the engines of each GPU.
//
//   --gpu  an installed GPU instead of the specified H200; plans do not use the device
//   --threads  number of threads that make plans concurrently, like those of a replica (1)
//   --replicas  number of replicas that plan concurrently on equal GPUs and share engines (1)
//   --prefer  number of the engine that dense layers prefer in all passes, instead of preferred_engines()
//   --all  lists every suitable engine in the heuristics' order, instead of the chosen one
//   MODE   bf16, fp16, tf32 or fp32 (no TF32), with its default workspace limit, or another one with ":MIB"
//   LIST   a file in the format of make_lists.py
//
// Exit code: 0, 1 (a pass has no engine), 2 (usage, or a list that cannot be read), 77 (no cuDNN or no libcuda here).
// A separate program, as cuDNN may crash on unsupported graphs, which must fail a test, not the runner.

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <exception>
#include <fstream>
#include <limits>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cuda/cudnn_api.h"
#include "backend/cuda/cudnn_attention.h"
#include "backend/cuda/cudnn_descriptor.h"
#include "backend/cuda/cudnn_pass.h"
#include "backend/cuda/cudnn_planner.h"
#include "backend/cuda/plan_only_gpus.h"
#include "backend/gpu/convolution.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "core/threads.h"

namespace dptrain::backend::cuda {
namespace {

struct PlanCase {
  std::string where;  ///< the layer's name in the output
  gpu::ConvProblem problem;
  gpu::ConvPasses passes;
};

struct PlanLine {
  std::string where, pass, problem;
  std::string engine;  ///< "eng57 k13=2 (A0, 12.0 MiB)", or empty
  std::string error;   ///< reason if there is none
  std::uint64_t workspace = 0;
  bool runtime_compiled = false;
  bool finished = false;    ///< finished plan of an equal GPU, not planned by the engine's name
  bool bias_apart = false;  ///< a separate step after the convolution, like every ReLU
};

struct PlanCheck {
  std::vector<PlanLine> lines;
  int convolutions = 0;  ///< distinct problems
  int missing = 0;       ///< passes without an engine
  int runtime_compiled = 0;
  int apart = 0;  ///< forward passes with a separate bias step
  std::uint64_t largest_workspace = 0;
  int taken = 0;      ///< plans taken from other replicas, over all replicas
  int finished = 0;   ///< of these, finished plans
  int different = 0;  ///< lines that differ on another replica
  double seconds = 0;
};

/// How the plans are made.
struct PlanParallelism {
  int threads = 1;   ///< total of all replicas
  int replicas = 1;  ///< on equal GPUs, which share engines
};

std::vector<PlanCase> without_repeats(const std::vector<PlanCase>& cases) {
  std::vector<PlanCase> different;
  for (const PlanCase& one : cases) {
    const auto same = std::ranges::find(different, one.problem, &PlanCase::problem);
    if (same == different.end()) {
      different.push_back(one);
      continue;
    }
    same->passes.forward |= one.passes.forward;
    same->passes.data |= one.passes.data;
    same->passes.weights |= one.passes.weights;
  }
  return different;
}

PlanLine plan_line(CudnnPlanner& planner, const PlanCase& one, ConvPass pass) {
  PlanLine line;
  line.where = one.where;
  line.pass = name_of(pass);
  line.problem = describe(one.problem);
  try {
    const CudnnPass planned = planner.plan(one.problem, pass);
    line.engine = planned.name();
    line.workspace = planned.workspace();
    line.runtime_compiled = planned.plan()->runtime_compiled;
    line.finished = !planned.plan()->taken.empty();
    line.bias_apart = pass == ConvPass::kForward && one.problem.bias && !planned.fused().bias;
  } catch (const Error& error) {
    line.error = error.what();
  }
  return line;
}

/// Plans equal problems once, under the name of the first, with all passes of any of them.
PlanCheck check_plans(const std::vector<PlanCase>& cases, std::string_view device_json, const gpu::ConvOptions& options,
                      const PlanParallelism& parallelism, std::span<const PreferredEngine> preferred) {
  const auto begin = std::chrono::steady_clock::now();
  const auto share = parallelism.replicas > 1 ? std::make_shared<EngineShare>() : nullptr;
  std::deque<CudnnPlanner> planners;
  while (std::ssize(planners) < parallelism.replicas)
    planners.emplace_back(DeviceProperties::from_json(device_json), options, nullptr, share, preferred);
  PlanCheck check;
  const std::vector<PlanCase> different = without_repeats(cases);
  check.convolutions = static_cast<int>(different.size());
  std::vector<std::vector<std::future<PlanLine>>> lines(planners.size());
  TaskPool pool(parallelism.threads);
  const auto plan = [&](const PlanCase& one, ConvPass pass) {
    for (std::size_t r = 0; r < planners.size(); ++r)
      lines[r].push_back(pool.send([&planner = planners[r], &one, pass] { return plan_line(planner, one, pass); }));
  };
  for (const PlanCase& one : different) {
    if (one.passes.forward) plan(one, ConvPass::kForward);
    if (one.passes.data) plan(one, ConvPass::kData);
    if (one.passes.weights) plan(one, ConvPass::kWeights);
  }
  for (auto& line : lines.front()) check.lines.push_back(line.get());
  for (const PlanLine& line : check.lines) check.finished += line.finished;
  for (std::size_t r = 1; r < lines.size(); ++r)
    for (std::size_t i = 0; i < lines[r].size(); ++i) {
      const PlanLine line = lines[r][i].get();
      check.finished += line.finished;
      check.different += line.engine != check.lines[i].engine || line.error != check.lines[i].error;
    }
  for (const CudnnPlanner& planner : planners) check.taken += planner.taken();
  for (const PlanLine& line : check.lines) {
    check.missing += line.engine.empty();
    check.runtime_compiled += line.runtime_compiled;
    check.apart += line.bias_apart;
    check.largest_workspace = std::max(check.largest_workspace, line.workspace);
  }
  check.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return check;
}

}  // namespace
}  // namespace dptrain::backend::cuda

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

/// The candidates of `runtime.autotune: time`, and further engines.
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

/// One engine for dense layers with these options, on an architecture with any version of cuDNN.
std::vector<backend::cuda::PreferredEngine> preferring(int engine, const Mode& mode, std::string_view properties) {
  namespace cuda = backend::cuda;
  std::vector<cuda::PreferredEngine> table;
  for (const cuda::ConvPass pass : {cuda::ConvPass::kForward, cuda::ConvPass::kData, cuda::ConvPass::kWeights})
    table.push_back({.pass = pass,
                     .products = cuda::product_type(mode.type, mode.options),
                     .architecture = cuda::DeviceProperties::from_json(properties).architecture(),
                     .first_version = 0,
                     .last_version = std::numeric_limits<std::size_t>::max(),
                     .engine = engine});
  return table;
}

/// An H100's properties with what attention depends on of another GPU.
struct OtherGpu {
  int architecture, multiprocessors;
  std::int64_t shared_bytes;
  int threads;  ///< of a multiprocessor
};
constexpr OtherGpu kAttentionGpus[] = {{80, 108, 166912, 2048},
                                       {86, 84, 101376, 1536},
                                       {90, 132, 232448, 2048},
                                       {100, 148, 232448, 2048},
                                       {120, 188, 101376, 1536}};

std::string properties_of(const OtherGpu& gpu) {
  std::string text = backend::cuda::properties_of(backend::cuda::kH100);
  for (const auto& [key, from, to] :
       {std::tuple{"deviceVer", std::int64_t{900}, std::int64_t{gpu.architecture} * 10},
        std::tuple{"multiProcessorCount", std::int64_t{132}, std::int64_t{gpu.multiprocessors}},
        std::tuple{"maxSharedMemoryPerBlockOptin", std::int64_t{232448}, gpu.shared_bytes},
        std::tuple{"maxThreadsPerSM", std::int64_t{2048}, std::int64_t{gpu.threads}}}) {
    const std::string entry = fmt::format("\"{}\": {}", key, from);
    text.replace(text.find(entry), entry.size(), fmt::format("\"{}\": {}", key, to));
  }
  return text;
}

/// Heads whose q, k and v are columns of one product or of several.
std::vector<backend::gpu::AttentionProblem> attention_problems(DType type) {
  constexpr std::int64_t kHeads = 3;
  std::vector<backend::gpu::AttentionProblem> all;
  for (const std::int64_t width : {32, 64, 96, 128})
    for (const auto& [queries, keys] : {std::pair{1, 7}, std::pair{7, 1}, std::pair{17, 17}, std::pair{128, 128},
                                        std::pair{200, 333}, std::pair{511, 511}})
      for (const bool causal : {false, true})
        for (const std::int64_t value_width : {width, std::int64_t{40}}) {
          const std::int64_t columns = queries == keys ? kHeads * (2 * width + value_width) : 0;
          all.push_back({.shape = {.heads = kHeads,
                                   .queries = queries,
                                   .keys = keys,
                                   .key_dim = width,
                                   .value_dim = value_width,
                                   .causal = causal},
                         .rows = 5,
                         .q_stride = std::max(columns, kHeads * width),
                         .k_stride = std::max(columns, kHeads * width),
                         .v_stride = std::max(columns, kHeads * value_width),
                         .type = type,
                         .backward = true});
        }
  return all;
}

int check_attention(const Mode& mode) {
  namespace cuda = backend::cuda;
  int missing = 0;
  for (const OtherGpu& gpu : kAttentionGpus) {
    cuda::CudnnPlanner planner(cuda::DeviceProperties::from_json(properties_of(gpu)), mode.options);
    const auto problems = attention_problems(mode.type);
    std::set<std::string> engines[2];
    for (const auto& problem : problems)
      for (const bool backward : {false, true}) {
        std::string why = cuda::why_no_cudnn_attention(problem, cuda::cudnn().get_version());
        try {
          if (why.empty())
            engines[int{backward}].insert(fmt::format("eng{}", planner.begin(problem, backward).get()->name.engine));
        } catch (const Error& error) {
          why = error.what();
        }
        if (why.empty()) continue;
        ++missing;
        std::printf("%s\n", fmt::format("sm_{} {} {}: NONE: {}", gpu.architecture, backward ? "backward" : "forward",
                                        cuda::describe(problem), why)
                                .c_str());
      }
    const auto names = [](const std::set<std::string>& of) {
      return join(std::vector<std::string>(of.begin(), of.end()), " ");
    };
    std::printf("%s\n", fmt::format("sm_{}: {} problems, forward {}, backward {}", gpu.architecture, problems.size(),
                                    names(engines[0]), names(engines[1]))
                            .c_str());
  }
  std::printf("%d passes of attention without an engine\n", missing);
  return missing == 0 ? 0 : 1;
}

/// Loads the driver's library, else the toolkit's stub: without it, cuDNN does not list engines compiled at run time.
/// Global, as cuDNN looks its functions up by name.
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
  std::string properties = backend::cuda::properties_of(backend::cuda::kH200);
  if (arguments.size() >= 2 && arguments[0] == "--gpu") {
    if (!open_driver() || !open_cudnn()) return kSkipped;
    properties = backend::cuda::DeviceProperties::from_device(std::stoi(arguments[1])).json();
    arguments.erase(arguments.begin(), arguments.begin() + 2);
    if (arguments == std::vector<std::string>{"--properties"}) {
      std::printf("%s\n", properties.c_str());
      return 0;
    }
  }
  backend::cuda::PlanParallelism parallelism;
  int preferred_engine = -1;
  for (const auto& [flag, number] :
       {std::pair{"--threads", &parallelism.threads}, std::pair{"--replicas", &parallelism.replicas},
        std::pair{"--prefer", &preferred_engine}})
    if (arguments.size() >= 2 && arguments[0] == flag) {
      *number = std::stoi(arguments[1]);
      arguments.erase(arguments.begin(), arguments.begin() + 2);
    }
  if (arguments.size() == 2 && arguments[0] == "--attention")
    return open_driver() && open_cudnn() ? check_attention(mode_of(arguments[1])) : kSkipped;
  const bool all = !arguments.empty() && arguments[0] == "--all";
  if (all) arguments.erase(arguments.begin());
  if (arguments.size() < 3)
    throw Error(ErrorKind::kUsage,
                "usage: dptrain_plan_check [--gpu ID] [--threads N] [--replicas N] [--prefer N] [--all] MODE BATCH "
                "LIST..., --attention MODE, or --gpu ID --properties");
  const Mode mode = mode_of(arguments[0]);
  const std::int64_t batch = std::stoll(arguments[1]);
  if (!open_driver() || !open_cudnn()) return kSkipped;
  std::vector<backend::cuda::PreferredEngine> injected;
  if (preferred_engine >= 0) injected = preferring(preferred_engine, mode, properties);
  int missing = 0;
  for (std::size_t i = 2; i < arguments.size(); ++i) {
    if (all) {
      print_all(arguments[i], mode, properties, batch);
      continue;
    }
    const auto check =
        backend::cuda::check_plans(read_list(arguments[i], mode.type, batch), properties, mode.options, parallelism,
                                   injected.empty() ? backend::cuda::preferred_engines() : injected);
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
