// Devices of a request, their connections and memory; uses the emulator in place of GPUs.

#include "session/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/link_speed.h"
#include "bench/verify.h"
#include "core/error.h"
#include "core/machine.h"
#include "session/dry_plan.h"
#include "session/session.h"

namespace dptrain::bench {
namespace {

using backend::DeviceKind;

const char* kConfig =
    "dptrain: 1\n"
    "name: tiny\n"
    "model:\n"
    "  layers:\n"
    "    - Input: {shape: [7, 5, 3]}\n"
    "    - Conv2D: {filters: 5, kernel_size: 3, activation: relu, padding: same}\n"
    "    - BatchNormalization\n"
    "    - MaxPooling2D\n"
    "    - Flatten\n"
    "    - Dropout: 0.3\n"
    "    - Dense: {units: 3, activation: softmax}\n"
    "data: {train: {Synthetic: {samples: 33}}}\n"
    "train: {epochs: 1, batch_size: 11, loss: categorical_crossentropy, optimizer: {SGD: {learning_rate: 0.05, "
    "momentum: 0.9}}}\n";

using ::testing::HasSubstr;

experiment::Experiment experiment(const std::vector<std::string>& sets = {}) {
  return experiment::load_experiment_text(kConfig, "tiny.yaml", {sets, {}});
}

session::DeviceRequest on(DeviceKind kind, const std::vector<int>& ids) {
  std::vector<session::GpuId> gpus;
  for (const int id : ids) gpus.push_back({kind, id});
  return session::request_of(gpus);
}
session::DeviceRequest emu(const std::vector<int>& ids) { return on(DeviceKind::kEmu, ids); }

std::string refusal(ErrorKind kind, const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "accepted";
}

session::SessionOptions options_for(const session::DeviceRequest& devices) {
  session::SessionOptions options;
  options.devices = devices;
  options.wants_validation = false;
  return options;
}

TEST(BoundReplicas, ComputeTheSameAndKeepTheCallersAffinity) {
  const std::vector<int> before = machine::allowed_cpus();
  session::DeviceRequest bound{.replicas = 2, .threads = 1};
  const auto losses = [](const session::DeviceRequest& devices) {
    const experiment::Experiment tiny = experiment();
    session::Session session(tiny, options_for(devices));
    const data::Batch batch = session.train_loader().next();
    std::vector<double> all;
    for (int step = 0; step < 3; ++step)
      all.push_back(session.replicas().step(batch.view(), {step, 0.05, batch.rows()}).loss);
    return std::pair(all, session.device_lines());
  };
  const auto free = losses(bound);
  bound.cpus = {{before.front()}, {before.back()}};
  const auto held = losses(bound);
  EXPECT_EQ(held.first, free.first);
  EXPECT_THAT(held.second.back(), HasSubstr("on CPU " + std::to_string(before.back())));
  EXPECT_EQ(machine::allowed_cpus(), before) << "of the thread that made the session";
}

TEST(SharersOfAGpu, CountThoseOfTheFullestGpu) {
  EXPECT_EQ(session::max_slots_per_gpu(session::DeviceRequest{}), 1);
  EXPECT_EQ(session::max_slots_per_gpu(on(DeviceKind::kCuda, {0, 1, 2})), 1);
  EXPECT_EQ(session::max_slots_per_gpu(on(DeviceKind::kCuda, {0, 1, 1})), 2);
}

TEST(BoundReplicas, RunOnTheirCpus) {
  const std::vector<int> before = machine::allowed_cpus();
  session::DeviceRequest bound{.replicas = 2, .threads = 1};
  bound.cpus = {{before.front()}, {before.back()}};
  const experiment::Experiment tiny = experiment();
  session::Session session(tiny, options_for(bound));
  std::vector<std::vector<int>> seen(2);
  session.replicas().on_each(
      [&](int local_rank, runtime::Replica&) { seen[static_cast<std::size_t>(local_rank)] = machine::allowed_cpus(); });
  EXPECT_EQ(seen, bound.cpus);
}

TEST(Devices, HaveShortNames) {
  EXPECT_EQ(session::short_name({.replicas = 2, .threads = 3}), "2x3");
  EXPECT_EQ(session::short_name(emu({4})), "1 emu");
  EXPECT_EQ(session::short_name(on(DeviceKind::kCuda, {2, 3})), "2 gpu");
  EXPECT_EQ(session::short_name(on(DeviceKind::kCuda, {1, 1, 1})), "3 on 1 gpu");
  EXPECT_EQ(session::short_name(on(DeviceKind::kCuda, {1, 3, 1})), "3 on 2 gpu");
}

TEST(Devices, RejectMixturesThatCannotBeConnected) {
  const auto message = [](const session::DeviceRequest& request) {
    return refusal(ErrorKind::kUsage, [&] { session::make_devices(request, {}); });
  };
  session::DeviceRequest both = emu({0});
  both.gpus.push_back({DeviceKind::kCuda, 0});
  both.replicas = 2;
  EXPECT_NE(message(both).find("emu:0, gpu:0: replicas run on GPUs or on the emulator, not on both"),
            std::string::npos);
  EXPECT_EQ(session::make_devices(emu({0, 0, 1}), {}).size(), 3U);
  const experiment::Experiment sharded = experiment({"parallel.virtual_shards=4"});
  EXPECT_EQ(refusal(ErrorKind::kUsage,
                    [&] {
                      session::make_connector(on(DeviceKind::kCuda, {0, 0, 1}), sharded.config.parallel, true);
                    }),
            "parallel.virtual_shards: gpu:0, gpu:0, gpu:1: use a GPU for each replica, as in 0,1, or one for all, as "
            "in 0,0");
}

TEST(Devices, OnlyNcclSendsGradientsInBfloat16) {
  const experiment::Experiment halved = experiment({"parallel.allreduce_dtype=bfloat16"});
  const auto refused = [&](const session::DeviceRequest& request, int ranks) {
    return refusal(ErrorKind::kUsage, [&] { session::check_allreduce_dtype(request, halved.config.parallel, ranks); });
  };
  EXPECT_THAT(refused({.replicas = 2, .threads = 1}, 2), HasSubstr("2 replicas on CPUs add float32"));
  EXPECT_THAT(refused({.replicas = 1, .threads = 1}, 2), HasSubstr("2 replicas on CPUs")) << "in two processes";
  EXPECT_THAT(refused(emu({0, 1}), 2), HasSubstr("on the emulator"));
  EXPECT_THAT(refused(on(DeviceKind::kCuda, {0, 0}), 2), HasSubstr("on one GPU"));
  EXPECT_EQ(refused(on(DeviceKind::kCuda, {0, 1}), 2), "accepted");
  EXPECT_EQ(refused(on(DeviceKind::kCuda, {0}), 2), "accepted") << "in two processes";
  EXPECT_EQ(refused({.replicas = 1, .threads = 1}, 1), "accepted") << "nothing is summed";
  session::Session alone(halved, options_for({.replicas = 1, .threads = 1}));
  EXPECT_THAT(refusal(ErrorKind::kUsage, [&] { session::Session(halved, options_for({.replicas = 2, .threads = 1})); }),
              HasSubstr("remove the key"));
  EXPECT_EQ(default_tolerance(halved, {.devices = emu({0})}).layers, 2e-2);
  EXPECT_EQ(default_tolerance(halved, {.devices = emu({0})}).loss,
            default_tolerance(experiment(), {.devices = emu({0})}).loss);
}

TEST(Devices, FollowTheConfig) {
  const experiment::Experiment all = experiment(
      {"runtime={tf32: false, workspace_limit: 64 MiB, cudnn_attention: true, autotune: time, deterministic: false}",
       "train.dtype_policy=mixed_float16"});
  const backend::RuntimeOptions options = session::runtime_options(all.config);
  EXPECT_EQ(options.compute, DType::kF16);
  EXPECT_FALSE(options.tf32);
  EXPECT_TRUE(options.autotune);
  EXPECT_TRUE(options.cudnn_attention);
  EXPECT_FALSE(options.deterministic);
  EXPECT_EQ(options.workspace_limit, 64U << 20);
  EXPECT_EQ(session::runtime_options(experiment().config).workspace_limit, 1U << 30);
  EXPECT_FALSE(session::runtime_options(experiment().config).cudnn_attention);
}

TEST(Devices, MeasureEnginesIfConfigured) {
  for (const bool training : {false, true}) {
    const auto measures = [&](const experiment::Experiment& one) {
      return session::runtime_options(one.config, nullptr, training).autotune;
    };
    EXPECT_FALSE(measures(experiment()));
    EXPECT_EQ(measures(experiment({"runtime={autotune: auto}"})), training);
    EXPECT_TRUE(measures(experiment({"runtime={autotune: time}"})));
    EXPECT_FALSE(measures(experiment({"runtime={autotune: heuristic}"})));
  }
}

TEST(Devices, TheCpuRejectsFloat16) {
  const std::string message = refusal(ErrorKind::kDevice, [] {
    session::Session(experiment({"train.dtype_policy=mixed_float16"}), options_for({.replicas = 1, .threads = 1}));
  });
  EXPECT_EQ(message, "cpu cannot run train.dtype_policy mixed_float16; use float32 or mixed_bfloat16, or a GPU");
}

TEST(Devices, SumsOverReplicasAreMeasured) {
  for (const auto& request : {session::DeviceRequest{.replicas = 2, .threads = 1}, emu({0, 1, 2}), emu({0, 0})}) {
    const LinkSpeed speed = measure_all_reduce(request, 4000, 3);
    EXPECT_EQ(speed.bytes, 4000U);
    EXPECT_GT(speed.seconds, 0);
    EXPECT_DOUBLE_EQ(speed.bus_gbps(2), speed.algorithm_gbps());
  }
}

TEST(Devices, ADryPlanPredictsTheMemoryOfDataSets) {
  const experiment::Experiment tiny = experiment();
  session::DryPlan dry;
  session::make_dry_plan(tiny, emu({0, 1}), {.data = true}, dry);
  session::Session session(tiny, options_for(emu({0, 1})));
  ASSERT_FALSE(session.device_datasets().empty());
  ASSERT_EQ(dry.inputs.size(), session.device_datasets().size());
  std::uint64_t least = dry.replica_bytes, most = dry.replica_bytes + 1024;
  for (std::size_t i = 0; i < dry.inputs.size(); ++i) {
    const session::DatasetMemory& input = dry.inputs[i];
    EXPECT_THAT(session.device_datasets()[i], HasSubstr(input.name + (input.resident ? " resident" : " uploaded")));
    EXPECT_THAT(dry.text(), HasSubstr("data." + input.name));
    least += input.samples;
    most += input.samples + input.working;
  }
  EXPECT_GT(least, dry.replica_bytes) << "nothing is resident";
  session.replicas().on_each([&](int rank, runtime::Replica& replica) {
    if (rank != 0) return;
    EXPECT_GE(replica.bytes(), least);
    EXPECT_LE(replica.bytes(), most);
  });

  session::DryPlan off, cpu;
  session::make_dry_plan(experiment({"runtime.resident=off"}), emu({0}), {.data = true}, off);
  EXPECT_TRUE(off.inputs.empty());
  EXPECT_THAT(off.text(), HasSubstr("staging"));
  session::make_dry_plan(tiny, {.replicas = 1, .threads = 1}, {.data = true}, cpu);
  EXPECT_EQ(cpu.text().find("additional memory of the device"), std::string::npos)
      << "the CPU reads batches where they are";
}

TEST(Devices, ADryPlanPredictsTheMemoryOfAReplica) {
  for (const char* policy : {"float32", "mixed_bfloat16", "mixed_float16"})
    for (const char* accumulate : {"1", "3"}) {
      const experiment::Experiment tiny = experiment(
          {std::string("train.dtype_policy=") + policy, std::string("train.accumulate_steps=") + accumulate});
      session::DryPlan dry;
      session::make_dry_plan(tiny, emu({0, 1}), {}, dry);
      session::SessionOptions options = options_for(emu({0, 1}));
      options.device_datasets = false;  // the plan excludes data sets
      session::Session session(tiny, options);
      session.replicas().on_each([&](int rank, runtime::Replica& replica) {
        if (rank != 0) return;
        EXPECT_GE(replica.bytes(), dry.replica_bytes) << policy << " " << accumulate;
        EXPECT_LE(replica.bytes(), dry.replica_bytes + 1024) << policy << " " << accumulate;  // for sums
      });
    }
}

TEST(Devices, TheEmulatorEqualsTheCpu) {
  VerifyOptions options;
  options.devices = emu({0, 1});
  options.against = session::DeviceRequest{.replicas = 1, .threads = 1};
  options.steps = 3;
  for (const char* policy : {"float32", "mixed_bfloat16", "mixed_float16"}) {
    const VerifyResult result = verify(experiment({std::string("train.dtype_policy=") + policy}), options);
    EXPECT_TRUE(result.passed) << policy << ": " << result.rows.front().gradient << " in " << result.rows.front().layer;
    EXPECT_EQ(result.reference_device.rfind("cpu:0", 0), 0U);
    EXPECT_GT(result.rows.front().gradient, 0) << "two implementations round differently somewhere";
  }
  options.tolerance = 1e-12;
  EXPECT_FALSE(verify(experiment(), options).passed);
}

TEST(Devices, OutOfMemoryNamesTheLargestBatch) {
  session::DryPlan dry;
  session::make_dry_plan(experiment(), emu({0}), {}, dry);
  ASSERT_GT(dry.batch_bytes, 0U);
  ASSERT_LT(dry.batch_bytes, dry.replica_bytes);
  const std::string enough = session::memory_advice(experiment(), emu({0}), {});
  EXPECT_NE(enough.find("other programs may have taken memory"), std::string::npos) << enough;
  // 4 GiB fit some millions of these rows.
  const std::int64_t huge = 1 << 24;
  const std::string advice = session::memory_advice(experiment(), emu({0, 0}), {.global_batch = huge});
  const std::size_t place = advice.find("the largest global batch that fits is ");
  ASSERT_NE(place, std::string::npos) << advice;
  const std::int64_t fits = std::stoll(advice.substr(place + 38));
  ASSERT_GT(fits, 0);
  ASSERT_LT(fits, huge);
  const std::uint64_t share = (std::uint64_t{4} << 30) / 2;
  session::DryPlan largest, larger;
  session::make_dry_plan(experiment(), emu({0, 0}), {.global_batch = fits}, largest);
  session::make_dry_plan(experiment(), emu({0, 0}), {.global_batch = fits + fits / 32}, larger);
  EXPECT_LE(largest.replica_bytes, share);
  EXPECT_GT(larger.replica_bytes, share - share / 64);
}

}  // namespace
}  // namespace dptrain::bench
