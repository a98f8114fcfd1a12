// The NCCL connector on a table of functions made by the test.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <set>
#include <thread>

#include "core/clock.h"
#include "core/index.h"
#include "distributed/connector.h"
#include "distributed/fake_nccl.h"
#include "distributed/nccl_connector.h"
#include "runtime/arenas.h"
#include "runtime/sample_batch.h"
#include "support/error_thrown.h"

namespace dptrain::distributed {
namespace {

using namespace dptrain::test;  // NOLINT(google-build-using-namespace)
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr std::int64_t kNcclRows = 9;

/// Long enough for a busy machine; tests that wait for a deadline set their own.
constexpr NcclOptions kPatient{.deterministic = false, .watchdog_seconds = 300, .first_step_seconds = 300};

struct Fixture {
  using SwitchesOf = std::function<ToyDevice::Switches(int rank)>;

  Fixture(int replicas, FakeNccl& nccl, const NcclOptions& options = kPatient, const ToyDevice::Switches& switches = {},
          int faulty = -1, double exit_seconds = 60, const runtime::Timeouts& timeouts = {})
      : Fixture(
            replicas, nccl, options,
            [&](int rank) {
              ToyDevice::Switches own = switches;
              if (faulty >= 0 && rank != faulty) own.fault.reset();
              return own;
            },
            exit_seconds, timeouts) {}

  Fixture(int replicas, FakeNccl& nccl, const NcclOptions& options, const SwitchesOf& switches,
          double exit_seconds = 60, const runtime::Timeouts& timeouts = {})
      : model(model_of(kToyModel)), plan(toy_plan(model, 128)) {
    std::vector<int> gpus;
    std::vector<std::unique_ptr<backend::Device>> devices;
    for (int r = 0; r < replicas; ++r) {
      gpus.push_back(r);
      devices.push_back(std::make_unique<ToyDevice>(r, switches(r)));
    }
    connector = make_nccl(gpus, options, nccl.api());
    set.emplace(plan, std::move(devices), *connector,
                runtime::SetOptions{.weights = std::vector<double>(gpus.size(), 1.0),
                                    .batch_sizes = {kNcclRows},
                                    .optimizer = sgd(),
                                    .seed = 5,
                                    .check_every = 1,
                                    .exit_seconds = exit_seconds,
                                    .timeouts = timeouts});
    set->push(model);
  }
  void step(std::int64_t number) {
    const SampleBatch batch(kNcclRows, 6, 3, static_cast<std::uint64_t>(number));
    set->step(batch.view(), {.number = number, .learning_rate = 0.05, .global_samples = kNcclRows});
  }
  Error error_of_step(std::int64_t number) {
    return error_thrown([&] { step(number); });
  }
  graph::Model pulled() {
    graph::Model now = model;
    set->pull(now);
    return now;
  }

  graph::Model model;
  plan::Plan plan;
  std::unique_ptr<runtime::Connector> connector;
  std::optional<runtime::ReplicaSet> set;
};

/// Trains with the CPU's connector; for up to three replicas it adds in the order of the fake.
graph::Model trained_locally(int replicas, int steps) {
  const graph::Model model = model_of(kToyModel);
  const plan::Plan plan = toy_plan(model, 128);
  const auto connector = make_local(replicas);
  runtime::ReplicaSet set(plan, toy_devices(replicas), *connector,
                          {.weights = std::vector<double>(static_cast<std::size_t>(replicas), 1.0),
                           .batch_sizes = {kNcclRows},
                           .optimizer = sgd(),
                           .seed = 5});
  set.push(model);
  for (std::int64_t number = 0; number < steps; ++number) {
    const SampleBatch batch(kNcclRows, 6, 3, static_cast<std::uint64_t>(number));
    set.step(batch.view(), {.number = number, .learning_rate = 0.05, .global_samples = kNcclRows});
  }
  graph::Model now = model;
  set.pull(now);
  return now;
}

TEST(Nccl, TrainsAsReplicasOfOneProcessDo) {
  for (const int replicas : {1, 2, 3})
    for (const int polls : {0, 3}) {
      FakeNccl nccl;
      nccl.polls = polls;
      {
        Fixture f(replicas, nccl);
        for (int number = 0; number < 4; ++number) f.step(number);
        EXPECT_EQ(distance(f.pulled(), trained_locally(replicas, 4)), 0)
            << replicas << " replicas, " << polls << " polls";
        EXPECT_GT(distance(f.pulled(), f.model), 1e-2);
      }
      EXPECT_EQ(nccl.ids, 2) << "for sums and for gathers";
      EXPECT_EQ(nccl.wrong_configs, 0);
      EXPECT_EQ(nccl.used_after_end, 0);
      EXPECT_EQ(nccl.finalized, 2 * replicas);
      EXPECT_EQ(nccl.destroyed, 2 * replicas);
      EXPECT_EQ(nccl.aborted, 0);
    }
}

TEST(Nccl, AddsInTreeOrderOnRequest) {
  NcclOptions options = kPatient;
  options.tree_order = true;
  for (const int replicas : {4, 5, 8}) {
    FakeNccl nccl;
    nccl.polls = 1;
    Fixture f(replicas, nccl, options);
    for (int number = 0; number < 4; ++number) f.step(number);
    EXPECT_EQ(distance(f.pulled(), trained_locally(replicas, 4)), 0) << replicas << " replicas";
    EXPECT_TRUE(nccl.sums.empty()) << "NCCL's all-reduce has another order";
  }
}

TEST(Nccl, SumsBucketsInPlanOrderOnAllRanks) {
  FakeNccl nccl;
  nccl.polls = 1;
  Fixture f(3, nccl);
  f.step(0);
  f.step(1);
  ASSERT_GT(f.plan.buckets.size(), 3U);
  ASSERT_EQ(nccl.sums.size(), 3U);
  f.set->on_each([&](int rank, runtime::Replica& replica) {
    std::vector<FakeNccl::Call> expected;
    for (int step = 0; step < 2; ++step)
      for (const auto& [begin, end] : f.plan.buckets)
        expected.push_back({replica.arenas().gradients() + begin, static_cast<std::size_t>(end - begin)});
    EXPECT_EQ(nccl.sums.at(rank), expected);
  });
}

TEST(Nccl, SumsOnlyGradientsInBfloat16) {
  NcclOptions options = kPatient;
  options.sums_in_bfloat16 = true;
  FakeNccl nccl;
  nccl.polls = 1;
  Fixture f(3, nccl, options);
  const SampleBatch batch(kNcclRows, 6, 3, 0);
  std::vector<std::vector<float>> parts(3), sums(3);
  f.set->gradients(batch.view(), kNcclRows, 0);
  f.set->on_each([&](int rank, runtime::Replica& replica) { parts[at(rank)] = replica.arenas().pull_gradients(); });
  f.step(0);
  f.set->on_each([&](int rank, runtime::Replica& replica) { sums[at(rank)] = replica.arenas().pull_gradients(); });
  EXPECT_EQ(sums[0], sums[1]);
  EXPECT_EQ(sums[0], sums[2]);
  const auto rounded = [](float x) { return float_of_bf16(bf16_of(x)); };
  ASSERT_LT(f.plan.trainable_end, f.plan.statistics_end);
  int changed = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(f.plan.statistics_end); ++i) {
    const float a = parts[0][i], b = parts[1][i], c = parts[2][i], exact = a + b + c;
    const bool trains = i < static_cast<std::size_t>(f.plan.trainable_end);
    EXPECT_EQ(sums[0][i], trains ? rounded(rounded(rounded(a) + rounded(b)) + rounded(c)) : exact) << i;
    if (sums[0][i] != exact) ++changed;
  }
  EXPECT_GT(changed, 0);
  f.step(1);  // a step that passes buckets during backward
  std::int64_t in_bfloat16 = 0, in_float32 = 0;
  for (const FakeNccl::Call& call : nccl.sums.at(2))
    (call.type == nccl::kBfloat16 ? in_bfloat16 : in_float32) += static_cast<std::int64_t>(call.count);
  EXPECT_EQ(in_bfloat16, 2 * f.plan.trainable_end);
  EXPECT_EQ(in_float32, 2 * (f.plan.statistics_end - f.plan.trainable_end));
}

TEST(Nccl, HasASeparateCommunicatorForGathers) {
  FakeNccl nccl;
  nccl.polls = 1;
  Fixture f(3, nccl);
  for (int number = 0; number < 3; ++number) f.step(number);
  f.set->on_each([&](int rank, runtime::Replica& replica) {
    ASSERT_EQ(nccl.sums_at.at(rank).size(), 1U);
    ASSERT_EQ(nccl.gathers_at.at(rank).size(), 1U);
    const FakeNccl::Place sums = *nccl.sums_at.at(rank).begin(), gathers = *nccl.gathers_at.at(rank).begin();
    EXPECT_NE(sums.communicator, gathers.communicator);
    EXPECT_NE(sums.stream, gathers.stream);
    EXPECT_EQ(gathers.stream, replica.stream().native());
  });
  EXPECT_GT(nccl.max_blocks, 0) << "bounded, so that a sum can run concurrently with a gather";
}

TEST(Nccl, AnErrorOfACallEndsAllWithItsReason) {
  for (const bool later : {false, true}) {
    FakeNccl nccl;
    nccl.trouble = {.rank = 1, .call = 3, .result = nccl::kRemoteError, .later = later};
    {
      Fixture f(3, nccl);
      const Error error = f.error_of_step(0);
      EXPECT_EQ(error.kind(), ErrorKind::kDevice);
      EXPECT_THAT(error.what(), AllOf(HasSubstr("replica 1 (toy:1), step 0: "), HasSubstr("NCCL "),
                                      HasSubstr("remote process exited"), HasSubstr("fake words")));
      EXPECT_THAT(f.error_of_step(1).what(),
                  AllOf(HasSubstr("stopped, because of replica 1 (toy:1): "), HasSubstr("remote process exited")));
    }
    EXPECT_EQ(nccl.aborted, 2 * 3);
    EXPECT_EQ(nccl.destroyed, 0);
    EXPECT_EQ(nccl.used_after_end, 0);
  }
}

TEST(Nccl, AFailedReplicaWakesAllOthers) {
  for (const bool backward : {false, true}) {
    FakeNccl nccl;
    {
      Fixture f(3, nccl, kPatient, {.fault = Fault{.layer = "t1", .step = 1, .backward = backward}}, 2);
      f.step(0);
      EXPECT_STREQ(f.error_of_step(1).what(), "replica 2 (toy:2), step 1: layer t1: injected");
      EXPECT_THAT(f.error_of_step(2).what(), HasSubstr("stopped, because of replica 2 (toy:2): layer t1: injected"));
    }
    EXPECT_EQ(nccl.aborted, 2 * 3);
    EXPECT_EQ(nccl.used_after_end, 0);
  }
}

/// All-reduces and gathers of one step of a rank.
std::int64_t calls_per_step() {
  FakeNccl nccl;
  Fixture f(2, nccl);
  const auto& plan = f.plan;
  std::int64_t gathers = 0;  // of the toy's normalization: rows and sums forward, sums backward
  for (const plan::Step& step : plan.steps)
    if (step.name == "n1" || step.name == "n2") gathers += step.input_gradients[0] == plan::kAbsent ? 2 : 3;
  return gathers + static_cast<std::int64_t>(plan.buckets.size());
}

TEST(Nccl, AHangingReplicaExceedsTheDeadline) {
  // The first step has another deadline than later ones.
  const std::int64_t per_step = calls_per_step();
  for (const std::int64_t step : {0, 2}) {
    FakeNccl nccl;
    nccl.trouble = {.rank = 1, .call = step * per_step + 2, .result = nccl::kInProgress};
    const double first = step == 0 ? 0.2 : 300, later = step == 0 ? 300 : 0.2;
    Fixture f(2, nccl, {.deterministic = false, .watchdog_seconds = later, .first_step_seconds = first});
    for (std::int64_t number = 0; number < step; ++number) f.step(number);
    const Stopwatch watch;
    const Error error = f.error_of_step(step);
    EXPECT_LT(watch.seconds(), 60);
    EXPECT_EQ(error.exit_code(), 9);
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr(fmt::format("step {}: ", step)), HasSubstr("NCCL "), HasSubstr("no progress for 0.2 s"),
                      HasSubstr("calls so far: replica 0 "), HasSubstr("fake words"), HasSubstr("--resume")));
  }
}

TEST(Nccl, AHangingDeviceExceedsTheDeadline) {
  FakeNccl nccl;
  std::atomic<bool> stuck = false;
  Fixture f(2, nccl, {.deterministic = false, .watchdog_seconds = 0.2, .first_step_seconds = 300}, {.stuck = &stuck});
  f.step(0);
  stuck = true;
  const Error error = f.error_of_step(1);
  EXPECT_EQ(error.kind(), ErrorKind::kDeadline);
  EXPECT_THAT(error.what(), HasSubstr("step 1: NCCL all-reduce of bucket"));
}

TEST(NcclDeathTest, ADeviceThatHangsAfterTheAbortDoesNotKeepTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto hang = [] {
    FakeNccl nccl;
    std::atomic<bool> hanging = false;
    Fixture f(
        2, nccl, kPatient,
        {.reads_host_memory = false, .fault = Fault{.layer = "t1", .step = 1, .backward = true}, .hanging = &hanging},
        1, 0.3);
    f.step(0);
    hanging = true;
    f.step(1);
  };
  EXPECT_EXIT(hang(), ::testing::ExitedWithCode(9),
              "replica 1 .toy:1.: layer t1: injected; 0.3 s later the devices have not stopped");
}

TEST(Nccl, NoCollectiveRunsWhileAnotherReplicaMayStillLoadSomething) {
  FakeNccl nccl;
  std::array<std::atomic<int>, 3> visits{};
  std::set<std::string> apart;  // collectives at which one replica lagged
  nccl.on_call = [&](int rank) {
    if (visits[0] != visits[1] || visits[1] != visits[2])
      apart.insert(fmt::format("rank {}: {} {} {}", rank, visits[0].load(), visits[1].load(), visits[2].load()));
  };
  Fixture f(3, nccl, kPatient, [&](int rank) {
    return ToyDevice::Switches{.visits = &visits[static_cast<std::size_t>(rank)],
                               .pause = std::chrono::milliseconds(rank == 1 ? 2 : 0)};
  });
  f.step(0);
  EXPECT_THAT(apart, ::testing::IsEmpty());
  EXPECT_GT(visits[0], 0);
  const std::int64_t fewer = kNcclRows - 1;  // another number of rows, which needs kernels to be loaded again
  const SampleBatch batch(fewer, 6, 3);
  f.set->step(batch.view(), {.number = 1, .learning_rate = 0.05, .global_samples = fewer});
  EXPECT_THAT(apart, ::testing::IsEmpty());
  f.step(2);  // from here on replicas pass their buckets while others compute
  EXPECT_THAT(apart, ::testing::Not(::testing::IsEmpty()));
}

TEST(NcclDeathTest, AThreadThatIsStuckInACallIsNamedInTime) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const bool backward : {false, true}) {
    const auto hang = [&] {
      FakeNccl nccl;
      Fixture f(
          3, nccl, kPatient,
          {.reads_host_memory = false, .fault = Fault{.layer = "t1", .step = 1, .backward = backward, .hangs = true}},
          1, 60, {.seconds = 0.3, .first_seconds = 300});
      f.set->set_fatal_error_handler([](const Error& why) { std::fprintf(stderr, "kept: %s\n", why.what()); });
      f.step(0);
      f.step(1);
    };
    const std::string where = fmt::format("replica 1 .toy:1., step 1: no progress for 0.[0-9]+ s in {} of layer t1",
                                          backward ? "backward" : "forward");
    EXPECT_EXIT(hang(), ::testing::ExitedWithCode(9),
                fmt::format("kept: {}(.|\n)*error: {}(.|\n)*the process ends without that thread", where, where));
  }
}

TEST(Nccl, AnErrorThatComesWhileTheDeviceWorksIsFound) {
  const std::int64_t per_step = calls_per_step();
  FakeNccl nccl;
  std::atomic<bool> stuck = false;
  Fixture f(2, nccl, kPatient, {.stuck = &stuck});
  // The last call of step 1 is accepted; then the communicator reports an error.
  nccl.trouble = {.rank = 0, .call = 2 * per_step - 1, .result = nccl::kRemoteError, .later = true};
  f.step(0);
  stuck = true;
  EXPECT_THAT(f.error_of_step(1).what(),
              AllOf(HasSubstr("replica 0 (toy:0), step 1"), HasSubstr("remote process exited")));
}

TEST(Nccl, HasNoDeadlineBetweenSteps) {
  FakeNccl nccl;
  std::atomic<bool> stuck = false;
  Fixture f(2, nccl, {.deterministic = false, .watchdog_seconds = 0.05, .first_step_seconds = 300}, {.stuck = &stuck});
  f.step(0);
  const SampleBatch batch(kNcclRows, 6, 3);
  stuck = true;
  std::thread free([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    stuck = false;
  });
  EXPECT_NO_THROW(f.set->evaluate(batch.view()));
  free.join();
}

TEST(Nccl, StartsTogetherOrNotAtAll) {
  FakeNccl refusing;
  refusing.init_result = 2;
  try {
    Fixture f(3, refusing);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kDevice);
    EXPECT_THAT(error.what(), HasSubstr("replica 1 (toy:1): NCCL initialization: unhandled system error"));
  }
  EXPECT_EQ(refusing.used_after_end, 0);

  FakeNccl waiting;
  waiting.absent = true;
  try {
    Fixture f(3, waiting, {.deterministic = false, .first_step_seconds = 0.2});
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kDeadline);
  }
  EXPECT_EQ(waiting.aborted, 3);
}

TEST(Nccl, IsDeterministicUnlessTheUserOverridesIt) {
  const auto value = [](const char* name) -> std::string {
    const char* found = std::getenv(name);
    return found == nullptr ? "unset" : found;
  };
  const auto clear = [] {
    for (const char* name : {"NCCL_ALGO", "NCCL_PROTO", "NCCL_NVLS_ENABLE", "NCCL_GRAPH_REGISTER"}) unsetenv(name);
  };
  FakeNccl nccl;
  clear();
  make_nccl({0, 1}, {.deterministic = false}, nccl.api());
  EXPECT_EQ(value("NCCL_ALGO"), "unset");
  EXPECT_EQ(value("NCCL_NVLS_ENABLE"), "unset");
  EXPECT_EQ(value("NCCL_GRAPH_REGISTER"), "unset");
  make_nccl({0, 1}, {}, nccl.api());
  EXPECT_EQ(value("NCCL_ALGO"), "Ring,Tree");
  EXPECT_EQ(value("NCCL_NVLS_ENABLE"), "0");
  EXPECT_EQ(value("NCCL_GRAPH_REGISTER"), "0");
  EXPECT_EQ(value("NCCL_PROTO"), "unset") << "a list would allow LL128 where NCCL has not tried it";
  clear();
  setenv("NCCL_ALGO", "Tree", 1);
  setenv("NCCL_PROTO", "LL", 1);
  make_nccl({0, 1}, {}, nccl.api());
  EXPECT_EQ(value("NCCL_ALGO"), "Tree");
  EXPECT_EQ(value("NCCL_PROTO"), "LL");
  EXPECT_EQ(value("NCCL_NVLS_ENABLE"), "0");
  clear();
}

TEST(Nccl, RejectsARepeatedGpuAndAMissingLibrary) {
  FakeNccl nccl;
  try {
    make_nccl({1, 0, 1}, {}, nccl.api());
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kDevice);
    EXPECT_THAT(error.what(), HasSubstr("gpu:1 is named twice"));
  }
  try {
    nccl::open_library("libnccl-missing.so.2");
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kDevice);
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("NCCL cannot be opened (libnccl-missing.so.2"), HasSubstr("install NCCL 2")));
  }
}

TEST(Nccl, FindsItsFunctionsInTheLibrary) {
  try {
    const nccl::Api api = nccl::open_library("libnccl.so.2");
    int version = 0;
    EXPECT_EQ(api.get_version(&version), nccl::kSuccess);
    EXPECT_GT(version, 20000);
    EXPECT_STREQ(api.error_string(nccl::kSuccess), "no error");
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot be opened"));
    GTEST_SKIP() << error.what();
  }
}

}  // namespace
}  // namespace dptrain::distributed
