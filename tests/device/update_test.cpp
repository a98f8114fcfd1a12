// The optimizer's pass: Keras 3's traces, and what stands around the update.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "device/golden.h"
#include "device/harness.h"
#include "optim/optimizer.h"

namespace dptrain::test {
namespace {

using nlohmann::json;
using plan::ParameterKind;

/// Arenas of some parameters, laid out as plans are.
struct Arena {
  plan::Plan plan;
  std::vector<float> weights, gradients, average;
  std::vector<std::vector<float>> slots;

  void add(ParameterKind kind, std::vector<std::int64_t> dims, layers::Penalty penalty = {}, double momentum = 0) {
    plan::Parameter p;
    p.shape = Shape(std::move(dims));
    p.kind = kind;
    p.offset = plan.total;
    p.penalty = penalty;
    p.momentum = momentum;
    plan.total += (p.elements() + plan::kAlignElements - 1) / plan::kAlignElements * plan::kAlignElements;
    if (kind == ParameterKind::kTrainable) plan.trainable_end = plan.total;
    if (kind != ParameterKind::kFrozen) plan.statistics_end = plan.total;
    plan.parameters.push_back(p);
  }

  void allocate(const config::Typed& optimizer) {
    weights.assign(static_cast<std::size_t>(plan.total), 0.0F);
    gradients.assign(static_cast<std::size_t>(plan.statistics_end), 0.0F);
    for (const auto& slot : optim::slots(optimizer))
      slots.emplace_back(static_cast<std::size_t>(plan.trainable_end), slot.initial);
    average.assign(static_cast<std::size_t>(plan.trainable_end), 0.0F);
  }

  static void set(std::vector<float>& arena, const plan::Parameter& p, const std::vector<double>& values) {
    std::copy(values.begin(), values.end(), arena.begin() + p.offset);
  }
  std::vector<float> get(const plan::Parameter& p) const {
    return {weights.begin() + p.offset, weights.begin() + p.offset + p.elements()};
  }

  device::UpdateBuffers buffers() {
    device::UpdateBuffers b{
        .weights = weights.data(), .gradients = gradients.data(), .slots = {}, .average = average.data()};
    for (auto& slot : slots) b.slots.push_back(slot.data());
    return b;
  }
};

TEST(Golden, Optimizers) {
  const json file = golden("optimizers.json");
  std::size_t judged = 0;
  for (const json& entry : file.at("cases")) {
    const auto name = entry.at("optimizer").get<std::string>();
    if (optim::optimizer_family().find(name) == nullptr || entry.at("config").contains("gradient_accumulation_steps"))
      continue;
    SCOPED_TRACE(name + entry.at("config").dump());
    const config::Typed optimizer = from_keras(optim::optimizer_family(), name, entry.at("config"));
    Arena arena;
    for (const json& w : file.at("w0"))
      arena.add(ParameterKind::kTrainable, {static_cast<std::int64_t>(flat(w).size())});
    arena.allocate(optimizer);
    const auto& parameters = arena.plan.parameters;
    for (std::size_t i = 0; i < parameters.size(); ++i)
      Arena::set(arena.weights, parameters[i], flat(file.at("w0")[i]));
    const auto device = std::move(devices()[0]);
    const auto stream = device->make_stream();
    const auto update = device->make_update({.plan = arena.plan, .optimizer = optimizer});
    for (std::size_t step = 0; step < file.at("grads").size(); ++step) {
      SCOPED_TRACE(step);
      for (std::size_t i = 0; i < parameters.size(); ++i)
        Arena::set(arena.gradients, parameters[i], flat(file.at("grads")[step][i]));
      update->run(
          arena.buffers(),
          {.step = static_cast<std::int64_t>(step), .learning_rate = optim::common(optimizer).learning_rate.constant},
          *stream);
      for (std::size_t i = 0; i < parameters.size(); ++i)
        expect_close(arena.get(parameters[i]), flat(entry.at("after_step")[step][i]), 1e-6,
                     "weights " + std::to_string(i));
    }
    for (std::size_t i = static_cast<std::size_t>(parameters[0].elements()); i < plan::kAlignElements; ++i)
      EXPECT_EQ(arena.weights[i], 0.0F) << "the gap between parameters";
    ++judged;
  }
  EXPECT_EQ(judged, 17U);
}

config::Typed sgd(const std::function<void(optim::SGDSpec&)>& change = {}) {
  optim::SGDSpec spec;
  spec.learning_rate.constant = 0.5;
  if (change) change(spec);
  return optim::optimizer_family().make(spec);
}

/// One step on an arena: trainable with penalty, trainable, statistic, frozen with penalty.
Arena mixed(const config::Typed& optimizer) {
  Arena arena;
  arena.add(ParameterKind::kTrainable, {3}, {.l1 = 0.25, .l2 = 0.5});
  arena.add(ParameterKind::kTrainable, {2});
  arena.add(ParameterKind::kStatistic, {2}, {}, 0.75);
  arena.add(ParameterKind::kFrozen, {1}, {.l1 = 1, .l2 = 1});
  arena.allocate(optimizer);
  const auto& p = arena.plan.parameters;
  Arena::set(arena.weights, p[0], {1, -2, 0});
  Arena::set(arena.weights, p[1], {4, 8});
  Arena::set(arena.weights, p[2], {10, 20});
  Arena::set(arena.weights, p[3], {5});
  Arena::set(arena.gradients, p[0], {0.5, 0.5, 0.5});
  Arena::set(arena.gradients, p[1], {3, -4});
  Arena::set(arena.gradients, p[2], {2, 4});
  return arena;
}

void step(Arena& arena, const config::Typed& optimizer, std::int64_t number = 0) {
  const auto device = std::move(devices()[0]);
  const auto stream = device->make_stream();
  device->make_update({.plan = arena.plan, .optimizer = optimizer})
      ->run(arena.buffers(), {.step = number, .learning_rate = 0.5}, *stream);
}

TEST(Update, PenaltiesStatisticsAndFrozenWeights) {
  Arena arena = mixed(sgd());
  const auto& p = arena.plan.parameters;
  const auto device = std::move(devices()[0]);
  const auto stream = device->make_stream();
  const auto update = device->make_update({.plan = arena.plan, .optimizer = sgd()});
  EXPECT_DOUBLE_EQ(update->penalty(arena.weights.data(), *stream), 0.25 * 3 + 0.5 * 5);  // trainable weights alone
  step(arena, sgd());
  // g = 0.5 + 2 l2 w + l1 sign w = {1.75, -1.75, 0.5}; sign(0) is 0.
  EXPECT_EQ(arena.get(p[0]), (std::vector<float>{0.125F, -1.125F, -0.25F}));
  EXPECT_EQ(arena.get(p[1]), (std::vector<float>{2.5F, 10.0F}));
  EXPECT_EQ(arena.get(p[2]), (std::vector<float>{8.0F, 16.0F}));  // 0.75 old + 0.25 value
  EXPECT_EQ(arena.get(p[3]), std::vector<float>{5.0F});
}

TEST(Update, ClipsAfterPenalties) {
  const auto by_value = sgd([](auto& s) { s.clipvalue = 1.0; });
  Arena arena = mixed(by_value);
  step(arena, by_value);
  EXPECT_EQ(arena.get(arena.plan.parameters[0]), (std::vector<float>{0.5F, -1.5F, -0.25F}));

  const auto by_norm = sgd([](auto& s) { s.clipnorm = 2.5; });
  arena = mixed(by_norm);
  step(arena, by_norm);
  EXPECT_EQ(arena.get(arena.plan.parameters[1]), (std::vector<float>{3.25F, 9.0F}));  // |g| = 5, halved
  // |g|^2 = 1.75^2 + 1.75^2 + 0.5^2 = 6.375 > 2.5^2: scaled by 2.5 / 2.5249
  EXPECT_NEAR(arena.get(arena.plan.parameters[0])[0], 1 - 0.5 * 1.75 * 2.5 / std::sqrt(6.375), 1e-6);

  const auto global = sgd([](auto& s) { s.global_clipnorm = 1.0; });
  arena = mixed(global);
  step(arena, global);
  EXPECT_NEAR(arena.get(arena.plan.parameters[1])[0], 4 - 0.5 * 3 / std::sqrt(6.375 + 25), 1e-6);
  EXPECT_EQ(arena.get(arena.plan.parameters[2]), (std::vector<float>{8.0F, 16.0F}));  // statistics are no gradients
}

TEST(Update, AveragesAndOverwrites) {
  const auto ema = sgd([](auto& s) {
    s.use_ema = true;
    s.ema_momentum = 0.5;
    s.ema_overwrite_frequency = 2;
  });
  Arena arena = mixed(ema);
  const std::int64_t second = arena.plan.parameters[1].offset;
  arena.average.assign(arena.average.size(), 99.0F);  // whatever is there before the first step
  step(arena, ema, 0);
  EXPECT_EQ(arena.average[static_cast<std::size_t>(second)], 2.5F);
  Arena::set(arena.gradients, arena.plan.parameters[1], {1, 0});
  step(arena, ema, 1);
  // w = 2.5 - 0.5 = 2; average = (2.5 + 2) / 2, and that is written to the weights.
  EXPECT_EQ(arena.average[static_cast<std::size_t>(second)], 2.25F);
  EXPECT_EQ(arena.weights[static_cast<std::size_t>(second)], 2.25F);
}

TEST(Update, NothingHidesANaN) {
  const auto clipped = sgd([](auto& s) { s.global_clipnorm = 1.0; });
  Arena arena = mixed(clipped);
  arena.gradients[0] = std::numeric_limits<float>::quiet_NaN();
  step(arena, clipped);
  EXPECT_TRUE(std::isnan(arena.weights[0]));
}

}  // namespace
}  // namespace dptrain::test
