#include "cli/sweep_flags.h"

#include <gtest/gtest.h>

#include "cli/config_flags.h"
#include "core/error.h"
#include "core/machine.h"

namespace dptrain::cli {
namespace {

using Words = std::vector<std::string>;

TEST(SweepDevices, OfCpusAreTrialsAndThreads) {
  SweepFlags flags;
  flags.devices.cpus = "3x2";
  EXPECT_EQ(devices_of(flags, 20, true).flags, (std::vector<Words>(3, {"--cpus", "1x2"})));
  EXPECT_EQ(devices_of(flags, 2, true).flags.size(), 2U) << "no more than there are trials";
  EXPECT_EQ(devices_of(flags, 20, true).sets, Words{"data.loader.workers=2"});
  EXPECT_TRUE(devices_of(flags, 20, false).sets.empty()) << "the config sets the number of workers";
  flags.devices.cpus = "1+1";
  EXPECT_THROW(devices_of(flags, 20, true), Error);
}

TEST(SweepDevices, ShareTheCoresByDefault) {
  SweepFlags flags;
  flags.devices.gpus = "none";
  const int cores = machine::cpus();
  EXPECT_EQ(devices_of(flags, 1000, true).flags,
            (std::vector<Words>(static_cast<std::size_t>(cores), {"--cpus", "1x1"})));
  flags.parallel = 1;
  EXPECT_EQ(devices_of(flags, 1000, true).flags, (std::vector<Words>{{"--cpus", "1x" + std::to_string(cores)}}));
  flags.parallel = 10 * cores;
  EXPECT_EQ(devices_of(flags, 1000, true).flags.size(), static_cast<std::size_t>(10 * cores));
}

TEST(SweepDevices, AssignOneGpuPerTrialInRotation) {
  SweepFlags flags;
  flags.devices.gpus = "emu:0,emu:1";
  EXPECT_EQ(devices_of(flags, 20, true).flags, (std::vector<Words>{{"--gpus", "emu:0"}, {"--gpus", "emu:1"}}));
  flags.parallel = 3;
  EXPECT_EQ(devices_of(flags, 20, true).flags,
            (std::vector<Words>{{"--gpus", "emu:0"}, {"--gpus", "emu:1"}, {"--gpus", "emu:0"}}));
  flags.parallel.reset();
  flags.devices.gpus = "emu:0+emu:1,emu:2+emu:3";
  EXPECT_EQ(devices_of(flags, 20, true).flags,
            (std::vector<Words>{{"--gpus", "emu:0+emu:1"}, {"--gpus", "emu:2+emu:3"}}));
}

TEST(FindLr, ReadsTwoRates) {
  const train::RateRange range = parse_rate_range("1e-6..1", 50);
  EXPECT_EQ(range.low, 1e-6);
  EXPECT_EQ(range.high, 1);
  EXPECT_EQ(range.steps, 50);
  EXPECT_EQ(parse_rate_range("1e-7..10", {}).steps, 100);
  for (const char* text : {"", "1", "1..", "..1", "2..1", "0..1", "-1..1", "a..b", "1e-3..nan"})
    EXPECT_THROW(parse_rate_range(text, {}), Error) << text;
  EXPECT_THROW(parse_rate_range("1e-7..10", 3), Error);
}

}  // namespace
}  // namespace dptrain::cli
