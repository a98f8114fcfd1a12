// Command: words to variables, and what it says about wrong ones.

#include <gtest/gtest.h>

#include "cli/app.h"
#include "cli/config_flags.h"
#include "cli/device_flags.h"
#include "core/error.h"

namespace dptrain::cli {
namespace {

struct Bound {
  std::string config, choice = "a";
  std::vector<std::string> sets, rest;
  std::optional<std::string> text, resume;
  std::optional<std::int64_t> whole;
  std::optional<double> number;
  bool flag = false;
};

Command command_for(Bound& bound) {
  Command command("fit", "trains");
  command.positional("CONFIG", bound.config, "the file")
      .option("--set", "K=V", bound.sets, "sets")
      .option("--text", "T", bound.text, "text")
      .option("--other", "T", bound.text, "the same")
      .optional_value("--resume", "PATH", "last", bound.resume, "goes on")
      .whole("--steps", "N", bound.whole, "steps")
      .option("--tol", "X", bound.number, "tolerance")
      .choice("--data", {"real", "synthetic"}, bound.choice, "data")
      .flag("--quiet,-q", bound.flag, "quiet")
      .exclusive({"--text", "--other"});
  return command;
}

Bound parsed(const std::vector<std::string>& words) {
  Bound bound;
  command_for(bound).parse(words);
  return bound;
}

std::string refusal(const std::vector<std::string>& words) {
  try {
    parsed(words);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "accepted";
}

TEST(Command, BindsFlagsInAnyOrder) {
  const Bound bound = parsed(
      {"--set", "a=1", "-q", "net.yaml", "--set", "b=2", "--steps", "20", "--tol", "1e-5", "--data", "synthetic"});
  EXPECT_EQ(bound.config, "net.yaml");
  EXPECT_EQ(bound.sets, (std::vector<std::string>{"a=1", "b=2"}));
  EXPECT_EQ(bound.whole, 20);
  EXPECT_EQ(bound.number, 1e-5);
  EXPECT_EQ(bound.choice, "synthetic");
  EXPECT_TRUE(bound.flag);
  EXPECT_FALSE(bound.resume.has_value());
}

TEST(Command, TakesAnOptionalValueOnlyAfterEquals) {
  EXPECT_EQ(parsed({"--resume", "net.yaml"}).resume, "last");
  EXPECT_EQ(parsed({"--resume", "net.yaml"}).config, "net.yaml");
  EXPECT_EQ(parsed({"net.yaml", "--resume"}).resume, "last");
  EXPECT_EQ(parsed({"net.yaml", "--resume=best"}).resume, "best");
  EXPECT_EQ(parsed({"net.yaml", "--resume=runs/x y.h5"}).resume, "runs/x y.h5");
}

TEST(Command, SaysWhatIsWrong) {
  EXPECT_EQ(refusal({}), "fit: CONFIG is missing; see dptrain fit --help");
  EXPECT_EQ(refusal({"net.yaml", "--step", "3"}), "fit: unknown flag '--step'; did you mean '--steps'?");
  EXPECT_EQ(refusal({"net.yaml", "--watchdog=60s"}), "fit: unknown flag '--watchdog'; see dptrain fit --help");
  EXPECT_EQ(refusal({"net.yaml", "more.yaml"}), "fit: unexpected argument 'more.yaml'; see dptrain fit --help");
  EXPECT_EQ(refusal({"net.yaml", "--steps", "many"}),
            "fit: --steps must be a whole number >= 1, found 'many'; see dptrain fit --help");
  EXPECT_EQ(refusal({"net.yaml", "--steps", "0"}),
            "fit: --steps must be a whole number >= 1, found 0; see dptrain fit --help");
  EXPECT_EQ(refusal({"net.yaml", "--steps", "2.5"}),
            "fit: --steps must be a whole number >= 1, found '2.5'; see dptrain fit --help");
  EXPECT_EQ(refusal({"net.yaml", "--tol", "inf"}),
            "fit: --tol must be a finite number, found 'inf'; see dptrain fit --help");
  EXPECT_EQ(refusal({"net.yaml", "--data", "reel"}),
            "fit: --data must be real or synthetic, found 'reel'; did you mean 'real'?");
  EXPECT_EQ(refusal({"net.yaml", "--steps", "3", "--steps", "4"}),
            "fit: --steps is given 2 times; see dptrain fit --help");
  EXPECT_EQ(refusal({"net.yaml", "--text", "a", "--other", "b"}),
            "fit: give one of --text and --other, not both; see dptrain fit --help");
  EXPECT_NE(refusal({"net.yaml", "--steps"}), "accepted");
}

TEST(Command, HelpNamesEveryFlag) {
  Bound bound;
  const std::string text = help(command_for(bound));
  for (const char* part : {"Usage: dptrain fit CONFIG [flags]", "--set K=V", "(repeatable)", "--resume[=PATH]",
                           "-q, --quiet", "--data real|synthetic"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(DeviceFlags, CpusAreReplicasAndThreads) {
  EXPECT_EQ(parse_cpus("3").replicas, 3);
  EXPECT_EQ(parse_cpus("3").threads, 0);
  EXPECT_EQ(parse_cpus("4x2").replicas, 4);
  EXPECT_EQ(parse_cpus("4x2").threads, 2);
  for (const char* wrong : {"", "0", "x2", "2x", "2x0", "-1", "2.5", "two", "2x2x2", "1000000000000"})
    EXPECT_THROW(parse_cpus(wrong), Error) << wrong;
}

TEST(DeviceFlags, GpusWithoutABackendAreADeviceError) {
  DeviceFlags flags;
  flags.gpus = "none";
  EXPECT_EQ(flags.request().replicas, 1);
  flags.gpus = "0,1";
  try {
    flags.request();
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kDevice);
    EXPECT_NE(std::string(error.what()).find("--gpus 0,1: this dptrain has no GPU backend"), std::string::npos)
        << error.what();
  }
}

TEST(ConfigFlags, SplitIsWrittenAsAList) {
  EXPECT_EQ(parse_split("2:1"), "[2, 1]");
  EXPECT_EQ(parse_split("1:0:2.5"), "[1, 0, 2.5]");
  EXPECT_EQ(parse_split("even"), "even");
  for (const char* wrong : {"", "2", "2:", ":1", "2:x", "2:-1", "auto", "2:inf"})
    EXPECT_THROW(parse_split(wrong), Error) << wrong;
}

TEST(ConfigFlags, ShorthandsReplaceTheKeyThatExcludesThem) {
  ConfigFlags flags;
  flags.sets = {"train.loss=mse"};
  flags.batch_size = 512;
  flags.steps = 20;
  flags.split = "2:1";
  flags.name = "1e3";
  flags.variables = {"DATA=/a=b"};
  const train::Overrides overrides = flags.overrides();
  EXPECT_EQ(overrides.sets, (std::vector<std::string>{"train.loss=mse", "name=\"1e3\"", "train.batch_size=512",
                                                      "train.batch_size_per_replica=null", "train.steps=20",
                                                      "train.epochs=null", "parallel.split=[2, 1]"}));
  EXPECT_EQ(overrides.variables.at("DATA"), "/a=b");
  flags.epochs = 2;  // then the steps are a second limit of the trainer's
  EXPECT_EQ(flags.overrides().sets[4], "train.epochs=2");
  flags.variables = {"DATA"};
  EXPECT_THROW(flags.overrides(), Error);
}

}  // namespace
}  // namespace dptrain::cli
