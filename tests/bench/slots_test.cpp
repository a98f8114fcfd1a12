// Devices assigned to the slots of a config, and sessions of such replicas.

#include "session/slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/bench.h"
#include "bench/verify.h"
#include "core/error.h"
#include "session/dry_plan.h"
#include "session/session.h"

namespace dptrain::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Placement = std::vector<std::vector<std::string>>;

const char* kSlotsConfig = R"(dptrain: 1
name: branches
model:
  shared: {encoder: {LSTM: {units: 5}}}
  layers:
    - Input: {name: left, shape: [4, 3]}
    - Input: {name: right, shape: [4, 3]}
    - encoder: {name: one, inputs: left, device: a}
    - encoder: {name: other, inputs: right, device: b}
    - Concatenate: {name: merged, inputs: [one, other], device: cpu}
    - Dense: {name: same, units: 1, activation: sigmoid}
data: {train: {Synthetic: {samples: 33}}}
train: {epochs: 1, batch_size: 11, loss: binary_crossentropy, optimizer: {Adam: {learning_rate: 0.05}}}
)";

experiment::Experiment slots_experiment(const std::vector<std::string>& sets = {}) {
  return experiment::load_experiment_text(kSlotsConfig, "branches.yaml", {sets, {}});
}

session::DeviceRequest emulated(const std::vector<int>& ids, int slots = 1) {
  std::vector<session::GpuId> gpus;
  for (const int id : ids) gpus.push_back({backend::DeviceKind::kEmu, id});
  session::DeviceRequest request = session::request_of(gpus);
  request.slots = slots;
  request.grouped = slots > 1;
  request.replicas /= slots;
  return request;
}

session::DeviceRequest threads_of_slots(int replicas, const std::vector<int>& threads) {
  session::DeviceRequest request{
      .replicas = replicas, .slots = static_cast<int>(threads.size()), .slot_threads = threads};
  request.grouped = true;
  return request;
}

session::DeviceRequest place(const session::DeviceRequest& request) {
  return session::place_slots(request, slots_experiment().graph);
}

std::string why_not(const session::DeviceRequest& request) {
  try {
    place(request);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "accepted";
}

TEST(PlacedSlots, GpusBecomeReplicasOfOneGpuPerSlot) {
  for (const auto& [ids, replicas, slots] : std::vector<std::tuple<std::vector<int>, int, int>>{
           {{0}, 1, 1}, {{0, 1}, 1, 2}, {{0, 1, 2, 3}, 2, 2}, {{0, 1, 2, 3, 4, 5}, 3, 2}}) {
    const session::DeviceRequest request = place(emulated(ids));
    EXPECT_EQ(request.replicas, replicas);
    EXPECT_EQ(request.slots, slots);
  }
  const session::DeviceRequest two = place(emulated({0, 1}));
  EXPECT_EQ(two.placement, (Placement{{"a", "cpu"}, {"b"}})) << "cpu needs no separate device";
  EXPECT_EQ(session::place_slots(two, slots_experiment().graph).placement, two.placement);
  EXPECT_EQ(place(emulated({0, 1, 2}, 3)).placement, (Placement{{"a"}, {"b"}, {"cpu"}})) << "but takes one";
  EXPECT_EQ(place({}).placement, (Placement{{"a", "b", "cpu"}}));
  EXPECT_EQ(why_not(emulated({0, 1, 2})),
            "3 GPUs cannot be divided into replicas of 2 each, one for each slot; give a multiple, or group them, as "
            "in 0+1,2+3");
  EXPECT_THAT(why_not(threads_of_slots(1, {1, 1, 1, 1})),
              HasSubstr("4 devices for each replica, but the model has 3 slots (a, b, cpu)"));
}

TEST(PlacedSlots, TheCommandLineAssignsDevices) {
  session::DeviceRequest request = emulated({0, 1, 2, 3});
  request.places = {{"a", 1}, {"b", 0}};
  EXPECT_EQ(place(request).placement, (Placement{{"b", "cpu"}, {"a"}}));
  request.places = {{"a", 0}, {"b", 0}};
  EXPECT_EQ(place(request).replicas, 4) << "all slots on one device";
  request.places = {{"a", 1}, {"b", 1}, {"cpu", 1}};
  EXPECT_EQ(why_not(request), "no slot is on device 0 of each replica; leave it out, or name it in --slots");
  request.places = {{"nine", 1}};
  EXPECT_EQ(why_not(request), "--slots: no step has 'device: nine'; the model's slots are a, b, cpu");
  request = emulated({0});
  request.places = {{"a", 0}, {"b", 1}};
  EXPECT_EQ(why_not(request), "--slots b=1: each replica has 1 device, counted from 0");
}

TEST(PlacedSlots, OneLineListsTheDevicesOfSlots) {
  EXPECT_EQ(session::slots_line(place(emulated({0, 1}))), "a, cpu on emu:0; b on emu:1");
  EXPECT_EQ(session::slots_line(place(emulated({4, 1, 0, 3}))), "a, cpu on emu:4/emu:0; b on emu:1/emu:3");
  EXPECT_EQ(session::slots_line(place(threads_of_slots(2, {1, 2}))), "a, cpu on cpu:0/cpu:2; b on cpu:1/cpu:3");
  EXPECT_EQ(session::slots_line(place({})), "a, b, cpu on cpu:0 (fewer devices than slots)");
  EXPECT_EQ(session::slots_line({}), "");
  EXPECT_EQ(short_name(place(threads_of_slots(2, {1, 2}))), "2x1+2");
  EXPECT_EQ(short_name(place(emulated({0, 1, 2, 3}))), "2x2 emu");
  EXPECT_EQ(session::with_threads(threads_of_slots(2, {1, 2})).threads, 3);
}

/// Losses of an epoch and the weights after it.
std::pair<std::vector<double>, std::vector<std::vector<float>>> epoch_on(const session::DeviceRequest& devices) {
  session::SessionOptions options;
  options.devices = devices;
  options.wants_validation = false;
  session::Session session(slots_experiment(), options);
  std::vector<double> losses;
  std::int64_t step = 0;
  for (data::Batch batch = session.train_loader().next(); batch.rows() > 0; batch = session.train_loader().next()) {
    losses.push_back(session.replicas().step(batch.view(), {step, 0.05, batch.rows()}).loss);
    ++step;
  }
  session.replicas().pull(session.model());
  std::vector<std::vector<float>> weights;
  for (const graph::Weight& weight : session.model().weights) weights.push_back(weight.values);
  return {losses, weights};
}

TEST(PlacedSlots, ASessionTrainsToTheSameBits) {
  const auto one = epoch_on({.replicas = 1, .threads = 1});
  EXPECT_EQ(one.first.size(), 3U);
  EXPECT_EQ(epoch_on(threads_of_slots(1, {1, 1})), one);
  EXPECT_EQ(epoch_on(threads_of_slots(1, {1, 2, 1})), one);
  EXPECT_EQ(epoch_on(threads_of_slots(2, {1, 1})), epoch_on({.replicas = 2, .threads = 1}));
  // On these devices, each slot gets only the batches that it reads.
  const auto emu = epoch_on(emulated({0}));
  EXPECT_EQ(epoch_on(emulated({0, 1})), emu);
  EXPECT_EQ(epoch_on(emulated({0, 0}, 2)), emu) << "two slots on one device";
  for (std::size_t i = 0; i < one.first.size(); ++i) EXPECT_NEAR(emu.first[i], one.first[i], 1e-4);
}

TEST(PlacedSlots, BenchVerifyAndPlansSupportThem) {
  BenchOptions bench_options;
  bench_options.devices = threads_of_slots(1, {1, 1});
  bench_options.steps = 2;
  bench_options.warmup = 3;
  bench_options.repeats = 1;
  bench_options.layers = true;
  const BenchRow row = bench(slots_experiment(), bench_options);
  EXPECT_EQ(row.replicas, 1);
  EXPECT_EQ(row.threads, 2);
  std::vector<std::string> layers;
  for (const LayerTime& layer : row.layers) layers.push_back(layer.name);
  EXPECT_THAT(layers, ElementsAre("one", "other", "other to a", "merged", "same", "same/sigmoid"));
  EXPECT_GT(row.layers[1].forward_ms, 0);
  EXPECT_GT(row.layers[1].backward_ms, 0);

  VerifyOptions verify_options;
  verify_options.devices = place(emulated({0, 1, 2, 3}));
  verify_options.steps = 2;
  const VerifyResult result = verify(slots_experiment(), verify_options);
  for (const VerifyRow& one : result.rows) EXPECT_LT(one.gradient, 1e-4) << one.layer;

  const experiment::Experiment experiment = slots_experiment();
  session::DryPlan dry;
  session::make_dry_plan(experiment, threads_of_slots(1, {1, 1}), {}, dry);
  EXPECT_THAT(dry.text(), HasSubstr("slot 0: a, cpu\nslot 1: b\n"));
  EXPECT_THAT(dry.text(), HasSubstr("memory of its other slots"));
}

}  // namespace
}  // namespace dptrain::bench
