// Runs dptrain_plan_check in a separate process per test, so that a crash of cuDNN fails only that test.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace dptrain::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int kExitSkipped = 77;

struct Outcome {
  int code = -1;  ///< 128 + signal if it was killed by one
  std::string output;
  std::vector<std::string> lines;

  /// The only line that begins with these words.
  std::string line(const std::string& begin) const {
    const auto found = std::ranges::find_if(lines, [&](const std::string& text) { return text.starts_with(begin); });
    return found == lines.end() ? "(no line '" + begin + "')" : *found;
  }
};

Outcome plan_check(const std::string& arguments) {
  // cuDNN leaks, which AddressSanitizer would report in the exit code.
  const std::string command =
      std::string("ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 exec ") + DPTRAIN_PLAN_CHECK + " " + arguments + " 2>&1";
  Outcome outcome;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return outcome;
  std::array<char, 4096> block{};
  while (const std::size_t got = fread(block.data(), 1, block.size(), pipe)) outcome.output.append(block.data(), got);
  const int status = pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  std::istringstream text(outcome.output);
  for (std::string line; std::getline(text, line);) outcome.lines.push_back(line);
  return outcome;
}

std::string list(const std::string& name) { return std::string(DPTRAIN_PLAN_LISTS) + "/" + name; }

/// Reads a line "... : eng57 k13=2 (A0, 12.0 MiB)".
double workspace_mebibytes(const std::string& line) {
  std::istringstream words(line.substr(line.find(", ", line.rfind('(')) + 2));
  double size = -1;
  std::string unit;
  words >> size >> unit;
  for (const char first : std::string("BKMGT")) {
    if (unit.front() == first) return size / (1024.0 * 1024.0);
    size *= 1024;
  }
  return -1;
}

#define SKIP_IF_SKIPPED(outcome) \
  if ((outcome).code == kExitSkipped) GTEST_SKIP() << (outcome).output

struct Network {
  std::string list;
  int convolutions = 0, passes = 0;
};

// The number of lines per list, and three passes per line, two if the input needs no gradient.
const std::vector<Network> kNetworks{{"resnet50.txt", 21, 62},
                                     {"vgg16.txt", 12, 35},
                                     {"xception.txt", 26, 77},
                                     {"mobilenetv2.txt", 31, 92},
                                     {"odd.txt", 21, 60}};

class EveryPassHasAnEngine : public testing::TestWithParam<std::string> {};

TEST_P(EveryPassHasAnEngine, WithinTheWorkspaceLimit) {
  const std::string mode = GetParam();
  std::string lists;
  for (const Network& network : kNetworks) lists += " " + list(network.list);
  const Outcome outcome = plan_check(mode + " 256" + lists);
  SKIP_IF_SKIPPED(outcome);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, Not(HasSubstr("NONE")));
  for (const Network& network : kNetworks)
    EXPECT_THAT(outcome.line(network.list + " " + mode + ": "),
                HasSubstr(std::to_string(network.convolutions) + " convolutions, " + std::to_string(network.passes) +
                          " passes, 0 without an engine"));
  const double limit = mode.ends_with(":0") ? 0 : mode.ends_with("16") ? 512 : 1024;
  for (const std::string& line : outcome.lines)
    if (line.find(": eng") != std::string::npos) {
      EXPECT_LE(workspace_mebibytes(line), limit) << line;
    }
}

// With 0 MiB only engines without workspace are left.
INSTANTIATE_TEST_SUITE_P(Modes, EveryPassHasAnEngine, testing::Values("bf16", "fp16", "tf32", "fp32", "bf16:0"),
                         [](const auto& mode) {
                           std::string name = mode.param;
                           std::ranges::replace(name, ':', '_');
                           return name;
                         });

TEST(PlanCheck, AWorkspaceLimitChangesTheChoice) {
  const Outcome wide = plan_check("tf32 256 " + list("odd.txt")), tight = plan_check("tf32:16 256 " + list("odd.txt"));
  SKIP_IF_SKIPPED(wide);
  const std::string begin = " padded_stem_4 weights: ";
  EXPECT_GT(workspace_mebibytes(wide.line("odd.txt tf32" + begin)), 16);
  const double under_limit = workspace_mebibytes(tight.line("odd.txt tf32:16" + begin));
  EXPECT_GE(under_limit, 0);
  EXPECT_LE(under_limit, 16);
}

// The threads of a replica make the plans of all its layers concurrently.
TEST(PlanCheck, ConcurrentThreadsFindTheEnginesOfOne) {
  for (const char* mode : {"bf16", "fp32"}) {
    const std::string rest = std::string(mode) + " 64 " + list("odd.txt") + " " + list("resnet50.txt");
    const Outcome one = plan_check(rest), many = plan_check("--threads 8 " + rest);
    SKIP_IF_SKIPPED(one);
    EXPECT_EQ(many.code, 0) << many.output;
    ASSERT_EQ(one.lines.size(), many.lines.size());
    int engines = 0;
    for (std::size_t i = 0; i < one.lines.size(); ++i) {
      const std::size_t time = one.lines[i].find(" passes, ");  // a list's last line ends with a time
      EXPECT_EQ(one.lines[i].substr(0, time), many.lines[i].substr(0, time));
      engines += one.lines[i].find(": eng") != std::string::npos;
    }
    EXPECT_GT(engines, 100);
  }
}

// One replica on equal GPUs plans each engine, and all have the engines that one alone has. Engines compiled at run
// time have no plan without a driver and are found by name.
TEST(PlanCheck, EqualGpusShareEngines) {
  for (const char* mode : {"bf16", "tf32"}) {
    const std::string rest = std::string(mode) + " 64 " + list("odd.txt");
    const Outcome one = plan_check(rest), three = plan_check("--threads 6 --replicas 3 " + rest);
    SKIP_IF_SKIPPED(one);
    EXPECT_EQ(three.code, 0) << three.output;
    EXPECT_THAT(one.output, HasSubstr(" 0 taken from equal GPUs (0 finished), 0 different there, "));
    EXPECT_THAT(three.output, HasSubstr(" 60 passes, "));
    EXPECT_THAT(three.output, HasSubstr(" 120 taken from equal GPUs ("));
    EXPECT_THAT(three.output, Not(HasSubstr(" (0 finished)")));
    EXPECT_THAT(three.output, HasSubstr(" finished), 0 different there, "));
    ASSERT_EQ(one.lines.size(), three.lines.size());
    for (std::size_t i = 0; i + 1 < one.lines.size(); ++i) EXPECT_EQ(one.lines[i], three.lines[i]);
  }
}

TEST(PlanCheck, StrictFloatUsesOtherEnginesThanTf32) {
  const Outcome tf32 = plan_check("tf32 256 " + list("vgg16.txt")),
                strict = plan_check("fp32 256 " + list("vgg16.txt"));
  SKIP_IF_SKIPPED(tf32);
  int different = 0;
  for (const std::string& line : tf32.lines)
    if (const auto colon = line.find(": eng"); colon != std::string::npos) {
      const std::string begin = "vgg16.txt fp32" + line.substr(std::string("vgg16.txt tf32").size(), colon - 12);
      const std::string other = strict.line(begin);
      EXPECT_THAT(other, HasSubstr(": eng"));
      different += other.substr(other.find(": eng")) != line.substr(colon);
    }
  EXPECT_GE(different, 30) << "of 35: an engine that rounds to TF32 passes for one that does not";
}

/// A list of a dense layer and a convolution.
class SmallList {
 public:
  SmallList() {
    std::ofstream(path_) << "dense 1 1 4096  1 1 4096  1 1  1 1  1 1  0 0 0 0  1  1 0 1\n"
                            "conv 14 14 64  14 14 64  3 3  1 1  1 1  1 1 1 1  1  1 0 1\n";
  }
  ~SmallList() { std::filesystem::remove(path_); }
  SmallList(const SmallList&) = delete;
  SmallList& operator=(const SmallList&) = delete;

  std::string path() const { return path_.string(); }
  /// "dense weights: " begins with the list's name and the mode.
  std::string begin(const std::string& mode, const std::string& pass) const {
    return path_.filename().string() + " " + mode + " " + pass + ": ";
  }

 private:
  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("dense_list_" + std::to_string(getpid()) + ".txt");
};

/// "58" of a line with "eng58 k2=9"; "" without an engine.
std::string engine_number(const std::string& line) {
  const std::size_t found = line.find("eng");
  return found == std::string::npos ? "" : line.substr(found + 3, line.find(' ', found) - found - 3);
}

// The engine with this number moves to the front wherever it is suitable; convolutions keep theirs.
TEST(PlanCheck, DenseLayersTakeTheEngineThatATablePrefers) {
  const SmallList dense;
  const std::string rest = "tf32 256 " + dense.path();
  const Outcome usual = plan_check(rest), all = plan_check("--all " + rest);
  SKIP_IF_SKIPPED(usual);
  const std::string begin = dense.begin("tf32", "dense weights");
  std::string last;
  for (const std::string& line : all.lines)
    if (line.starts_with("dense weights eng")) last = engine_number(line);
  ASSERT_NE(last, "") << all.output;
  ASSERT_NE(last, engine_number(usual.line(begin))) << "cuDNN lists one engine";
  const Outcome preferred = plan_check("--prefer " + last + " " + rest);
  EXPECT_EQ(engine_number(preferred.line(begin)), last);
  for (const char* pass : {"conv forward", "conv data", "conv weights"}) {
    const std::string line = usual.line(dense.begin("tf32", pass));
    EXPECT_THAT(line, HasSubstr(": eng"));
    EXPECT_EQ(preferred.line(dense.begin("tf32", pass)), line);
  }
}

// The engine of TF32 rounds its factors.
TEST(PlanCheck, ThePreferredEngineMustBeSuitable) {
  const SmallList dense;
  const Outcome tf32 = plan_check("tf32 256 " + dense.path()), strict = plan_check("fp32 256 " + dense.path());
  SKIP_IF_SKIPPED(tf32);
  const std::string rounds = engine_number(tf32.line(dense.begin("tf32", "dense forward"))),
                    begin = dense.begin("fp32", "dense forward");
  ASSERT_NE(rounds, engine_number(strict.line(begin)));
  const Outcome preferred = plan_check("--prefer " + rounds + " fp32 256 " + dense.path());
  EXPECT_EQ(preferred.code, 0);
  EXPECT_EQ(preferred.line(begin), strict.line(begin));
}

TEST(PlanCheck, TheBiasIsPartOfEveryForwardGraph) {
  const Outcome outcome = plan_check("bf16 256 " + list("odd.txt"));
  SKIP_IF_SKIPPED(outcome);
  EXPECT_THAT(outcome.output, HasSubstr(" 0 with the bias apart, "));
  EXPECT_THAT(outcome.output, Not(HasSubstr(" + bias")));
}

TEST(PlanCheck, ReportsCudnnsReasonForInvalidProblems) {
  const auto path = std::filesystem::temp_directory_path() / ("plan_check_" + std::to_string(getpid()) + ".txt");
  std::ofstream(path) << "wrong_size 56 56 64  54 55 64  3 3  1 1  1 1  1 1 1 1  1  0 0 1\n";
  const Outcome outcome = plan_check("bf16 4 " + path.string());
  std::filesystem::remove(path);
  SKIP_IF_SKIPPED(outcome);
  EXPECT_EQ(outcome.code, 1) << outcome.output;
  EXPECT_THAT(outcome.output,
              HasSubstr("NONE: forward pass of the convolution bfloat16 [4, 56, 56, 64] -> [4, 54, 55, 64], "
                        "filter 3x3, padding (1, 1), (1, 1): cudnnBackendFinalize: CUDNN_STATUS_BAD_PARAM ("));
  EXPECT_THAT(outcome.output, HasSubstr("3 without an engine"));
}

TEST(PlanCheck, AttentionHasEnginesOnEveryGpu) {
  for (const char* mode : {"bf16", "fp16"}) {
    const Outcome outcome = plan_check(std::string("--attention ") + mode);
    SKIP_IF_SKIPPED(outcome);
    if (outcome.output.find("needs cuDNN") != std::string::npos) GTEST_SKIP() << outcome.lines.front();
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    for (const char* gpu : {"sm_80", "sm_86", "sm_90", "sm_100", "sm_120"})
      EXPECT_THAT(outcome.line(std::string(gpu) + ": "), HasSubstr("96 problems, forward eng")) << mode;
    EXPECT_THAT(outcome.output, HasSubstr("\n0 passes of attention without an engine"));
  }
}

TEST(PlanCheck, AWorkspaceLimitLeavesAttentionToOwnKernels) {
  const Outcome outcome = plan_check("--attention bf16:1");
  SKIP_IF_SKIPPED(outcome);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.output, HasSubstr("workspace over 1.0 MiB"));
}

TEST(PlanCheck, BadListsAndModesAreUsageErrors) {
  const Outcome probe = plan_check("bf16 4 " + list("vgg16.txt"));
  SKIP_IF_SKIPPED(probe);
  for (const char* arguments : {"bf16 4 /nowhere.txt", "bf17 4 x", "bf16"})
    EXPECT_EQ(plan_check(arguments).code, 2) << arguments;
}

}  // namespace
}  // namespace dptrain::test
