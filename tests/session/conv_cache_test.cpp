// The cache of convolution choices, and its users.

#include "session/conv_cache.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/error.h"
#include "core/format.h"
#include "session/dry_plan.h"
#include "session/session.h"

namespace dptrain::session {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const char* kConvCacheConfig =
    "dptrain: 1\n"
    "name: tiny\n"
    "model:\n"
    "  layers:\n"
    "    - Input: {shape: [12, 12, 16]}\n"
    "    - Conv2D: {filters: 16, kernel_size: 3, activation: relu, padding: same}\n"
    "    - Flatten\n"
    "    - Dense: {units: 3, activation: softmax}\n"
    "data: {train: {Synthetic: {samples: 33}}}\n"
    "train: {epochs: 1, batch_size: 11, loss: categorical_crossentropy, optimizer: SGD}\n";

class ConvCacheFile : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  experiment::RuntimeSection runtime() const {
    experiment::RuntimeSection section;
    section.conv_cache = {experiment::ConvCache::Kind::kFile, {file_}};
    return section;
  }
  experiment::Experiment experiment(const std::string& cache) const {
    return experiment::load_experiment_text(kConvCacheConfig, "tiny.yaml", {{"runtime.conv_cache=" + cache}, {}});
  }
  void write(const std::string& text) const { std::ofstream(file_) << text; }
  std::string text() const {
    std::ifstream stream(file_);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  const fs::path folder_ = fs::temp_directory_path() / fmt::format("dptrain-conv-cache-{}", getpid());
  const std::string file_ = (folder_ / "below" / "conv.json").string();
};

TEST_F(ConvCacheFile, ReadsBackStoredChoices) {
  save_conv_choices(file_, {{"forward a threads 1", "winograd"}});
  save_conv_choices(file_, {{"forward b threads 1", "dnnl nhwc"}, {"forward a threads 1", "direct"}});
  const auto choices = open_conv_choices(runtime(), {});
  ASSERT_NE(choices->tuned("forward b threads 1"), nullptr);
  EXPECT_EQ(*choices->tuned("forward b threads 1"), "dnnl nhwc");
  EXPECT_EQ(*choices->tuned("forward a threads 1"), "direct");
  EXPECT_EQ(choices->tuned("forward a threads 2"), nullptr);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "below"), {}), 1) << "no temporary file remains";
}

TEST_F(ConvCacheFile, IsSpecificToAMachine) {
  save_conv_choices(file_, {{"forward a threads 1", "winograd"}});
  std::string other = text();
  other.replace(other.find("dptrain 0"), 9, "dptrain x");
  write(other);
  EXPECT_EQ(open_conv_choices(runtime(), {})->tuned("forward a threads 1"), nullptr);
  save_conv_choices(file_, {{"forward b threads 1", "winograd"}});
  EXPECT_THAT(text(), AllOf(HasSubstr("dptrain x"), HasSubstr("forward a"), HasSubstr("forward b")));
}

TEST_F(ConvCacheFile, ADamagedFileGivesAWarningAndTheRules) {
  fs::create_directories(folder_ / "below");
  const std::string deep =
      "{\"format\": 1, \"machines\": " + std::string(200'000, '[') + std::string(200'000, ']') + "}";
  for (const char* damaged : {"", "{\"format\": 1, \"machines\"", "[]", "{\"format\": 1, \"machines\": {\"m\": 3}}",
                              "{\"format\": \"1\"}", deep.c_str()}) {
    write(damaged);
    testing::internal::CaptureStderr();
    const auto choices = open_conv_choices(runtime(), {});
    EXPECT_THAT(testing::internal::GetCapturedStderr(), AllOf(HasSubstr(file_), HasSubstr("by rule"))) << damaged;
    EXPECT_EQ(choices->tuned("forward a threads 1"), nullptr);
  }
  save_conv_choices(file_, {{"forward a threads 1", "winograd"}});
  EXPECT_NE(open_conv_choices(runtime(), {})->tuned("forward a threads 1"), nullptr);
}

TEST_F(ConvCacheFile, AMissingFileGivesNoWarning) {
  testing::internal::CaptureStderr();
  EXPECT_NE(open_conv_choices(runtime(), {}), nullptr);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(ConvCacheFile, IsInTheCacheFolder) {
  experiment::RuntimeSection section;
  setenv("XDG_CACHE_HOME", "/somewhere", 1);
  EXPECT_EQ(conv_cache_file(section), "/somewhere/dptrain/conv.json");
  unsetenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  const std::string before = home == nullptr ? "" : home;
  setenv("HOME", "/home/me", 1);
  EXPECT_EQ(conv_cache_file(section), "/home/me/.cache/dptrain/conv.json");
  if (home != nullptr) setenv("HOME", before.c_str(), 1);
  setenv("XDG_CACHE_HOME", "/nonexistent", 1);
  section.conv_cache.kind = experiment::ConvCache::Kind::kNone;
  EXPECT_EQ(conv_cache_file(section), "");
}

TEST_F(ConvCacheFile, ThrowsIfItsFolderCannotBeMade) {
  std::ofstream(folder_ / "below").put('x');
  try {
    save_conv_choices(file_, {{"forward a threads 1", "winograd"}});
    FAIL() << "written below a file";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kWrite);
  }
}

TEST_F(ConvCacheFile, DecidesForEveryReplicaAndThePlan) {
  const DeviceRequest two{.replicas = 2, .threads = 1};
  const auto asked = std::make_shared<backend::ConvChoices>();
  collect_convolutions(experiment(file_), two, asked);
  backend::ConvChoices::Names names;
  for (const auto& [key, use] : asked->uses()) {
    EXPECT_EQ(use.name, "winograd") << key;
    names[key] = "dnnl nhwc";
  }
  ASSERT_EQ(names.size(), 2U) << "forward and weights: the input has no gradient";
  save_conv_choices(file_, names);

  SessionOptions options;
  options.devices = two;
  options.wants_validation = false;
  Session session(experiment(file_), options);
  for (const auto& [key, use] : session.conv_choices()->uses())
    EXPECT_TRUE(use.tuned && use.name == "dnnl nhwc") << key;
  EXPECT_EQ(conv_choices_line(*session.conv_choices(), session.experiment().config.runtime),
            "2 convolution passes: 2 tuned (" + file_ + "), 0 by rule");

  DryPlan plan;
  make_dry_plan(experiment(file_), two, {.conv_choices = open_conv_choices(runtime(), two)}, plan);
  EXPECT_THAT(plan.text(), HasSubstr(", tuned"));
  Session by_rule(experiment("none"), options);
  EXPECT_EQ(conv_choices_line(*by_rule.conv_choices(), by_rule.experiment().config.runtime),
            "2 convolution passes by rule");
}

TEST(ConvDifference, ComparesOnlyPassesOfBoth) {
  EXPECT_EQ(conv_difference({{"forward a", "winograd"}, {"forward b", "direct"}},
                            {{"forward a", "winograd"}, {"forward c", "direct"}}),
            "");
  EXPECT_THAT(conv_difference({{"forward a", "winograd"}}, {{"forward a", "dnnl nhwc"}}),
              AllOf(HasSubstr("1 convolution pass is computed by another algorithm"),
                    HasSubstr("forward a was winograd, is dnnl nhwc"), Not(HasSubstr("\n"))));
}

}  // namespace
}  // namespace dptrain::session
