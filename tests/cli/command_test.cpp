// Command: parsing of words into variables, and its errors.

#include <gtest/gtest.h>

#include <functional>

#include "backend/device.h"
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
  std::optional<std::int64_t> integer;
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
      .integer("--steps", "N", bound.integer, "steps")
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
  EXPECT_EQ(bound.integer, 20);
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

TEST(Command, ReportsErrors) {
  EXPECT_EQ(refusal({}), "fit: CONFIG is missing; see dptrain fit --help");
  EXPECT_EQ(refusal({"net.yaml", "--step", "3"}), "fit: unknown flag '--step'; did you mean '--steps'?");
  EXPECT_EQ(refusal({"net.yaml", "--watchdog=60s"}), "fit: unknown flag '--watchdog'; see dptrain fit --help");
  EXPECT_EQ(refusal({"net.yaml", "more.yaml"}), "fit: unexpected argument 'more.yaml'; see dptrain fit --help");
  EXPECT_EQ(refusal({"net.yaml", "--resume", "a.h5"}), "fit: unexpected argument 'a.h5'; did you mean --resume=a.h5?");
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

TEST(Command, HelpListsEveryFlag) {
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
  const session::DeviceRequest automatic = parse_cpus("auto");
  EXPECT_EQ(static_cast<int>(automatic.cpus.size()), automatic.replicas);
  EXPECT_GE(automatic.threads, 1);
  for (const char* wrong : {"", "0", "x2", "2x", "2x0", "-1", "2.5", "two", "2x2x2", "1000000000000", "1+", "+1", "1+0",
                            "2x1+", "x1+1", "1+1x2", "1+1,1+1"})
    EXPECT_THROW(parse_cpus(wrong), Error) << wrong;
}

std::string refusal(ErrorKind kind, const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "accepted";
}

TEST(DeviceFlags, GpusAreOneIdPerReplica) {
  const session::DeviceRequest two = parse_gpus("emu:0,emu:1");
  EXPECT_EQ(two.replicas, 2);
  EXPECT_EQ(two.gpus, (std::vector<session::GpuId>{{backend::DeviceKind::kEmu, 0}, {backend::DeviceKind::kEmu, 1}}));
  EXPECT_EQ(parse_gpus("emu:3,emu:0-2,emu:0").replicas, 5);
  EXPECT_FALSE(parse_gpus("none").on_gpus());
  for (const char* wrong :
       {"", "x", "0-", "-1", "3-1", "0,,1", "0;1", "emu:", "emu:x", "gpu:0x", "1000000000000", "0-99999"})
    EXPECT_NE(refusal(ErrorKind::kUsage, [&] { parse_gpus(wrong); }), "accepted") << wrong;
  EXPECT_FALSE(parse_device("cpu", "--against").on_gpus());
  EXPECT_EQ(parse_device("emu:1", "--against").gpus.front().id, 1);
  for (const char* wrong : {"0", "none", "emu:0,emu:1", "cpu:0"})
    EXPECT_NE(refusal(ErrorKind::kUsage, [&] { parse_device(wrong, "--against"); }), "accepted") << wrong;
}

TEST(DeviceFlags, SlotsAreGroupsOfThreadsOrGpus) {
  EXPECT_EQ(parse_cpus("1+2").replicas, 1);
  EXPECT_EQ(parse_cpus("1+2").slot_threads, (std::vector<int>{1, 2}));
  EXPECT_EQ(parse_cpus("3x1+2").replicas, 3);
  EXPECT_EQ(parse_cpus("3x1+2").slots, 2);
  EXPECT_TRUE(parse_cpus("3x2").slot_threads.empty());
  const session::DeviceRequest two = parse_gpus("emu:0+emu:1,emu:2+emu:3");
  EXPECT_EQ(two.replicas, 2);
  EXPECT_EQ(two.slots, 2);
  EXPECT_TRUE(two.grouped);
  EXPECT_EQ(two.gpus, parse_gpus("emu:0-3").gpus);
  EXPECT_FALSE(parse_gpus("emu:0,emu:1").grouped);
  for (const char* wrong : {"emu:0+", "+emu:0", "emu:0++emu:1", "emu:0-1+emu:2", "emu:0+emu:1,"})
    EXPECT_NE(refusal(ErrorKind::kUsage, [&] { parse_gpus(wrong); }), "accepted") << wrong;
  EXPECT_EQ(refusal(ErrorKind::kUsage, [] { parse_gpus("emu:0+emu:1,emu:2"); }),
            "--gpus emu:0+emu:1,emu:2: every replica has the same number of devices, as in 0+1,2+3");
  DeviceFlags flags;
  flags.gpus = "emu:0+emu:1,emu:2+emu:3";
  flags.slots = "a=1,b=0";
  EXPECT_EQ(flags.first_gpus(2).replicas, 1);
  EXPECT_EQ(flags.plan_request().places, (std::vector<std::pair<std::string, int>>{{"a", 1}, {"b", 0}}));
  EXPECT_EQ(refusal(ErrorKind::kUsage, [&] { flags.first_gpus(3); }),
            "--sweep gpus=3: --gpus makes replicas of 2 GPUs each");
  EXPECT_EQ(parse_slots("gpu:0=2").front(), (std::pair<std::string, int>{"gpu:0", 2}));
  for (const char* wrong : {"", "a", "a=", "=1", "a=x", "a=-1", "a=0,a=1", "a=0,"})
    EXPECT_NE(refusal(ErrorKind::kUsage, [&] { parse_slots(wrong); }), "accepted") << wrong;
}

TEST(DeviceFlags, PlanOnlyGpusAreRejectedForRuns) {
  DeviceFlags flags;
  flags.gpus = "h200";
  EXPECT_EQ(flags.plan_request().plan_only_gpu, "h200");
  flags.gpus = "h100";
  EXPECT_EQ(flags.plan_request().plan_only_gpu, "h100");
  EXPECT_NE(refusal(ErrorKind::kUsage, [&] { flags.request(); }).find("nothing runs on it"), std::string::npos);
}

TEST(DeviceFlags, ASweepUsesTheFirstGpus) {
  DeviceFlags flags;
  flags.gpus = "emu:2,emu:0,emu:1";
  EXPECT_EQ(flags.first_gpus(2).gpus, parse_gpus("emu:2,emu:0").gpus);
  EXPECT_EQ(refusal(ErrorKind::kUsage, [&] { flags.first_gpus(4); }), "--sweep gpus=4: --gpus names 3");
}

TEST(DeviceFlags, MissingGpusAreADeviceError) {
  if (!backend::list_cuda().empty()) GTEST_SKIP() << "there are GPUs here";
  DeviceFlags flags;
  EXPECT_FALSE(flags.request().on_gpus());  // without a flag: the CPU
  for (const char* ids : {"0", "0,1", "all"}) {
    flags.gpus = ids;
    const std::string message = refusal(ErrorKind::kDevice, [&] { flags.request(); });
    EXPECT_EQ(message.rfind(std::string("--gpus ") + ids + ": ", 0), 0U) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
  flags.gpus.reset();
  flags.num_gpus = 1;
  EXPECT_EQ(refusal(ErrorKind::kDevice, [&] { flags.request(); }).rfind("--num-gpus 1: ", 0), 0U);
}

TEST(ConfigFlags, SplitIsWrittenAsAList) {
  EXPECT_EQ(parse_split("2:1"), "[2, 1]");
  EXPECT_EQ(parse_split("1:0:2.5"), "[1, 0, 2.5]");
  EXPECT_EQ(parse_split("even"), "even");
  EXPECT_EQ(parse_split("auto"), "auto");
  for (const char* wrong : {"", "2", "2:", ":1", "2:x", "2:-1", "automatic", "2:inf"})
    EXPECT_THROW(parse_split(wrong), Error) << wrong;
}

TEST(ConfigFlags, ShorthandsReplaceTheConflictingKey) {
  ConfigFlags flags;
  flags.sets = {"train.loss=mse"};
  flags.batch_size = 512;
  flags.steps = 20;
  flags.split = "2:1";
  flags.name = "1e3";
  flags.variables = {"DATA=/a=b"};
  const experiment::Overrides overrides = flags.overrides();
  EXPECT_EQ(overrides.sets, (std::vector<std::string>{"train.loss=mse", "name=\"1e3\"", "train.batch_size=512",
                                                      "train.batch_size_per_replica=null", "train.steps=20",
                                                      "train.epochs=null", "parallel.split=[2, 1]"}));
  EXPECT_EQ(overrides.variables.at("DATA"), "/a=b");
  flags.epochs = 2;  // then the steps are another limit, checked by the trainer
  EXPECT_EQ(flags.overrides().sets[4], "train.epochs=2");
  flags.variables = {"DATA"};
  EXPECT_THROW(flags.overrides(), Error);
}

TEST(ConfigFlags, SetChangesTheTensorBoardCallback) {
  ConfigFlags flags;
  flags.tensorboard = "logs";
  flags.sets = {"callbacks.TensorBoard.update_freq=batch"};
  EXPECT_EQ(flags.overrides().sets, (std::vector<std::string>{"callbacks.+.TensorBoard.log_dir=logs",
                                                              "callbacks.TensorBoard.update_freq=batch"}));
}

}  // namespace
}  // namespace dptrain::cli
