// The optimizer's pass on every device: Keras 3's traces, penalties, clipping, averages and loss scaling.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "backend/golden.h"
#include "backend/harness.h"
#include "backend/number_types.h"
#include "nn/optimizer.h"
#include "nn/optimizers.h"

namespace dptrain::test {
namespace {

using nlohmann::json;
using plan::ParameterKind;

/// Arenas of some parameters, in the layout of plans.
struct Arena {
  plan::Plan plan;
  std::vector<float> weights, gradients, average;
  std::vector<std::vector<float>> slots;
  std::vector<float> compute;                    ///< contents of the copy in plan.compute
  std::optional<kernels::LossScale> loss_scale;  ///< none: gradients are not checked

  void add(ParameterKind kind, std::vector<std::int64_t> dims, nn::Penalty penalty = {}, double momentum = 0) {
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
    for (const auto& slot : nn::slots(optimizer))
      slots.emplace_back(static_cast<std::size_t>(plan.trainable_end), slot.initial);
    average.assign(static_cast<std::size_t>(plan.trainable_end), 0.0F);
  }

  static void set(std::vector<float>& arena, const plan::Parameter& p, const std::vector<double>& values) {
    std::copy(values.begin(), values.end(), arena.begin() + p.offset);
  }
  std::vector<float> get(const plan::Parameter& p) const {
    return {weights.begin() + p.offset, weights.begin() + p.offset + p.elements()};
  }
};

/// The arenas in device memory, and the device's Update of them.
class OnDevice {
 public:
  OnDevice(backend::Device& device, Arena& arena, const config::Typed& optimizer, bool continue_after_nonfinite = false)
      : device_(device), arena_(arena) {
    shuffle();
    device.enter();
    arena.plan.compute = device.options().compute;
    stream_ = device.make_stream();
    update_ = device.make_update(
        {.plan = arena.plan, .optimizer = optimizer, .continue_after_nonfinite = continue_after_nonfinite});
    state_ = device.allocate(sizeof(kernels::StepState));
    for (std::vector<float>* array : arrays()) memory_.push_back(device.allocate(array->size() * sizeof(float)));
    compute_ = device.allocate(arena.weights.size() * sizeof(float));
    scale_ = device.allocate(sizeof(kernels::LossScale));
  }

  /// One step: copies the arenas to the device and back.
  void step(std::int64_t number, double learning_rate) {
    const auto all = arrays();
    for (std::size_t i = 0; i < all.size(); ++i)
      device_.copy_to_device(memory_[i]->data(), all[i]->data(), memory_[i]->bytes(), *stream_);
    if (arena_.loss_scale) device_.copy_to_device(scale_->data(), &*arena_.loss_scale, scale_->bytes(), *stream_);
    const backend::UpdateArgs args{.step = number, .learning_rate = learning_rate};
    kernels::StepState state;
    update_->describe(args, state);
    device_.copy_to_device(state_->data(), &state, sizeof(state), *stream_);
    update_->run(buffers(), args, state_->as<kernels::StepState>(), *stream_);
    for (std::size_t i = 0; i < all.size(); ++i)
      device_.copy_to_host(all[i]->data(), memory_[i]->data(), memory_[i]->bytes(), *stream_);
    if (arena_.loss_scale) device_.copy_to_host(&*arena_.loss_scale, scale_->data(), scale_->bytes(), *stream_);
    std::vector<std::byte> compute(compute_->bytes());
    device_.copy_to_host(compute.data(), compute_->data(), compute.size(), *stream_);
    arena_.compute = decoded(arena_.plan.compute, compute.data(), arena_.weights.size());
  }

  double penalty() {
    device_.copy_to_device(memory_[0]->data(), arena_.weights.data(), memory_[0]->bytes(), *stream_);
    const std::unique_ptr<backend::Buffer> value = device_.allocate(sizeof(double));
    update_->penalty(memory_[0]->as<float>(), value->as<double>(), *stream_);
    double penalty = 0;
    device_.copy_to_host(&penalty, value->data(), sizeof(penalty), *stream_);
    return penalty;
  }

 private:
  std::vector<std::vector<float>*> arrays() {
    std::vector<std::vector<float>*> all{&arena_.weights, &arena_.gradients, &arena_.average};
    for (auto& slot : arena_.slots) all.push_back(&slot);
    return all;
  }
  backend::UpdateBuffers buffers() const {
    backend::UpdateBuffers b{.weights = memory_[0]->as<float>(),
                             .gradients = memory_[1]->as<float>(),
                             .slots = {},
                             .average = memory_[2]->as<float>(),
                             .compute = arena_.plan.compute == DType::kF32 ? nullptr : compute_->data(),
                             .loss_scale = arena_.loss_scale ? scale_->as<kernels::LossScale>() : nullptr};
    for (std::size_t i = 3; i < memory_.size(); ++i) b.slots.push_back(memory_[i]->as<float>());
    return b;
  }

  backend::Device& device_;
  Arena& arena_;
  std::unique_ptr<backend::Stream> stream_;
  std::unique_ptr<backend::Update> update_;
  std::unique_ptr<backend::Buffer> state_, compute_, scale_;
  std::vector<std::unique_ptr<backend::Buffer>> memory_;
};

/// Compares one trace of Keras with one device.
void follow(backend::Device& device, const config::Typed& optimizer, const json& file, const json& entry) {
  SCOPED_TRACE(device.description());
  Arena arena;
  for (const json& w : file.at("w0")) arena.add(ParameterKind::kTrainable, {static_cast<std::int64_t>(flat(w).size())});
  arena.allocate(optimizer);
  const auto& parameters = arena.plan.parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i) Arena::set(arena.weights, parameters[i], flat(file.at("w0")[i]));
  OnDevice on_it(device, arena, optimizer);
  for (std::size_t step = 0; step < file.at("grads").size(); ++step) {
    SCOPED_TRACE(step);
    for (std::size_t i = 0; i < parameters.size(); ++i)
      Arena::set(arena.gradients, parameters[i], flat(file.at("grads")[step][i]));
    on_it.step(static_cast<std::int64_t>(step), nn::common(optimizer).learning_rate.constant);
    for (std::size_t i = 0; i < parameters.size(); ++i)
      expect_close(arena.get(parameters[i]), flat(entry.at("after_step")[step][i]), 1e-6,
                   "weights " + std::to_string(i));
  }
  for (std::size_t i = static_cast<std::size_t>(parameters[0].elements()); i < plan::kAlignElements; ++i)
    EXPECT_EQ(arena.weights[i], 0.0F) << "the gap between parameters";
}

TEST(Golden, Optimizers) {
  const json file = golden("optimizers.json");
  std::size_t checked = 0;
  for (const json& entry : file.at("cases")) {
    const auto name = entry.at("optimizer").get<std::string>();
    if (nn::optimizer_family().find(name) == nullptr || entry.at("config").contains("gradient_accumulation_steps"))
      continue;
    SCOPED_TRACE(name + entry.at("config").dump());
    const config::Typed optimizer = from_keras(nn::optimizer_family(), name, entry.at("config"));
    for (const auto& device : devices()) follow(*device, optimizer, file, entry);
    ++checked;
  }
  EXPECT_EQ(checked, 33U);
}

config::Typed optimizer_of(const std::string& yaml) {
  config::Diagnostics diagnostics;
  config::Reader reader(diagnostics);
  config::Typed typed = nn::optimizer_family().read(config::load_text(yaml, "test", "", diagnostics), reader);
  diagnostics.throw_if_errors();
  return typed;
}

/// Each optimizer with its defaults and its declared variants.
std::vector<config::Typed> every_optimizer(const std::string& common = "") {
  std::vector<config::Typed> all;
  for (const config::TypeDef* def : nn::optimizer_family().types()) {
    std::vector<std::string> variants = static_cast<const nn::OptimizerType*>(def)->variants;
    variants.emplace_back();
    for (const std::string& variant : variants)
      all.push_back(
          optimizer_of(def->name + ": {" + variant + (variant.empty() || common.empty() ? "" : ", ") + common + "}"));
  }
  return all;
}

/// Weights and slots are the whole state: a new Update continues with the bits of an uninterrupted one.
TEST(Update, ContinuesFromWeightsAndSlotsWithTheSameBits) {
  const json file = golden("optimizers.json");
  for (const config::Typed& optimizer : every_optimizer("use_ema: true, weight_decay: 0.01, clipnorm: 2")) {
    SCOPED_TRACE(config::to_yaml(optimizer.write(true)));
    for (const auto& device : devices()) {
      SCOPED_TRACE(device->description());
      const auto train = [&](std::size_t stop) {
        Arena arena;
        for (const json& w : file.at("w0"))
          arena.add(ParameterKind::kTrainable, {static_cast<std::int64_t>(flat(w).size())});
        arena.allocate(optimizer);
        const auto& parameters = arena.plan.parameters;
        for (std::size_t i = 0; i < parameters.size(); ++i)
          Arena::set(arena.weights, parameters[i], flat(file.at("w0")[i]));
        std::optional<OnDevice> on_it;
        for (std::size_t step = 0; step < file.at("grads").size(); ++step) {
          if (step == 0 || step == stop) on_it.emplace(*device, arena, optimizer);
          for (std::size_t i = 0; i < parameters.size(); ++i)
            Arena::set(arena.gradients, parameters[i], flat(file.at("grads")[step][i]));
          on_it->step(static_cast<std::int64_t>(step), 0.01);
        }
        return arena;
      };
      const Arena whole = train(0);
      for (const std::size_t stop : {1U, 4U}) {
        const Arena resumed = train(stop);
        EXPECT_EQ(resumed.weights, whole.weights);
        EXPECT_EQ(resumed.slots, whole.slots);
        EXPECT_EQ(resumed.average, whole.average);
      }
    }
  }
}

config::Typed sgd(const std::function<void(nn::SGDSpec&)>& change = {}) {
  nn::SGDSpec spec;
  spec.learning_rate.constant = 0.5;
  if (change) change(spec);
  return nn::optimizer_family().make(spec);
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

void step(backend::Device& device, Arena& arena, const config::Typed& optimizer, std::int64_t number = 0) {
  OnDevice(device, arena, optimizer).step(number, 0.5);
}

/// Runs `test` on every device.
void on_devices(const std::function<void(backend::Device&)>& test, const backend::RuntimeOptions& options = {}) {
  for (const auto& device : devices(options)) {
    SCOPED_TRACE(device->description());
    test(*device);
  }
}

TEST(Update, PenaltiesStatisticsAndFrozenWeights) {
  on_devices([](backend::Device& device) {
    Arena arena = mixed(sgd());
    const auto& p = arena.plan.parameters;
    // Trainable weights only.
    EXPECT_DOUBLE_EQ(OnDevice(device, arena, sgd()).penalty(), 0.25 * 3 + 0.5 * 5);
    step(device, arena, sgd());
    // g = 0.5 + 2 l2 w + l1 sign w = {1.75, -1.75, 0.5}; sign(0) is 0.
    EXPECT_EQ(arena.get(p[0]), (std::vector<float>{0.125F, -1.125F, -0.25F}));
    EXPECT_EQ(arena.get(p[1]), (std::vector<float>{2.5F, 10.0F}));
    EXPECT_EQ(arena.get(p[2]), (std::vector<float>{8.0F, 16.0F}));  // 0.75 old + 0.25 value
    EXPECT_EQ(arena.get(p[3]), std::vector<float>{5.0F});
  });
}

TEST(Update, ClipsAfterPenalties) {
  on_devices([](backend::Device& device) {
    const auto by_value = sgd([](auto& s) { s.clipvalue = 1.0; });
    Arena arena = mixed(by_value);
    step(device, arena, by_value);
    EXPECT_EQ(arena.get(arena.plan.parameters[0]), (std::vector<float>{0.5F, -1.5F, -0.25F}));

    const auto by_norm = sgd([](auto& s) { s.clipnorm = 2.5; });
    arena = mixed(by_norm);
    step(device, arena, by_norm);
    EXPECT_EQ(arena.get(arena.plan.parameters[1]), (std::vector<float>{3.25F, 9.0F}));  // |g| = 5, halved
    // |g|^2 = 1.75^2 + 1.75^2 + 0.5^2 = 6.375 > 2.5^2: scaled by 2.5 / 2.5249
    EXPECT_NEAR(arena.get(arena.plan.parameters[0])[0], 1 - 0.5 * 1.75 * 2.5 / std::sqrt(6.375), 1e-6);

    const auto global = sgd([](auto& s) { s.global_clipnorm = 1.0; });
    arena = mixed(global);
    step(device, arena, global);
    EXPECT_NEAR(arena.get(arena.plan.parameters[1])[0], 4 - 0.5 * 3 / std::sqrt(6.375 + 25), 1e-6);
    EXPECT_EQ(arena.get(arena.plan.parameters[2]), (std::vector<float>{8.0F, 16.0F}));  // no gradient
  });
}

TEST(Update, AveragesAndOverwrites) {
  on_devices([](backend::Device& device) {
    const auto ema = sgd([](auto& s) {
      s.use_ema = true;
      s.ema_momentum = 0.5;
      s.ema_overwrite_frequency = 2;
    });
    Arena arena = mixed(ema);
    const std::int64_t second = arena.plan.parameters[1].offset;
    arena.average.assign(arena.average.size(), 99.0F);  // the initial contents are unused
    step(device, arena, ema, 0);
    EXPECT_EQ(arena.average[static_cast<std::size_t>(second)], 2.5F);
    Arena::set(arena.gradients, arena.plan.parameters[1], {1, 0});
    step(device, arena, ema, 1);
    // w = 2.5 - 0.5 = 2; average = (2.5 + 2) / 2, which overwrites the weights.
    EXPECT_EQ(arena.average[static_cast<std::size_t>(second)], 2.25F);
    EXPECT_EQ(arena.weights[static_cast<std::size_t>(second)], 2.25F);
  });
}

TEST(Update, PropagatesNaN) {
  on_devices([](backend::Device& device) {
    std::vector<config::Typed> optimizers = every_optimizer();
    optimizers.push_back(sgd([](auto& s) { s.global_clipnorm = 1.0; }));
    for (const config::Typed& optimizer : optimizers) {
      SCOPED_TRACE(config::to_yaml(optimizer.write(true)));
      Arena arena = mixed(optimizer);
      arena.gradients[0] = std::numeric_limits<float>::quiet_NaN();
      step(device, arena, optimizer);
      EXPECT_TRUE(std::isnan(arena.weights[0]));
    }
  });
}

/// The copy in the compute type follows the weights after updates, averages and statistics.
TEST(Update, WritesTheComputeCopy) {
  for (const DType type : {DType::kBf16, DType::kF16})
    on_devices(
        [&](backend::Device& device) {
          std::vector<config::Typed> optimizers = every_optimizer();
          optimizers.push_back(sgd([](auto& s) {
            s.use_ema = true;
            s.ema_overwrite_frequency = 1;
          }));
          for (const auto& optimizer : optimizers) {
            SCOPED_TRACE(config::to_yaml(optimizer.write(true)));
            Arena arena = mixed(optimizer);
            arena.weights[0] = 1.0F / 3.0F;  // more digits than the type has
            step(device, arena, optimizer);
            for (const plan::Parameter& p : arena.plan.parameters) {
              if (p.kind == ParameterKind::kFrozen) continue;
              for (std::int64_t i = p.offset; i < p.offset + p.elements(); ++i) {
                const auto at = static_cast<std::size_t>(i);
                EXPECT_EQ(arena.compute[at], rounded(type, static_cast<double>(arena.weights[at]))) << i;
              }
            }
          }
        },
        {.compute = type});
}

/// Gradients are multiplied by the scale, statistics are not.
TEST(Update, DividesByTheLossScale) {
  on_devices(
      [](backend::Device& device) {
        Arena plain = mixed(sgd()), scaled = mixed(sgd());
        for (std::int64_t i = 0; i < scaled.plan.trainable_end; ++i)
          scaled.gradients[static_cast<std::size_t>(i)] *= 1024;
        scaled.loss_scale = kernels::LossScale{.scale = 1024, .good_steps = 5};
        step(device, plain, sgd());
        step(device, scaled, sgd());
        EXPECT_EQ(plain.weights, scaled.weights);
        EXPECT_EQ(scaled.loss_scale->scale, 1024);
        EXPECT_EQ(scaled.loss_scale->good_steps, 6);
        EXPECT_EQ(scaled.loss_scale->skipped, 0);
      },
      {.compute = DType::kF16});
}

TEST(Update, SkipsANonFiniteStep) {
  for (const config::Typed& optimizer : every_optimizer())
    for (const std::size_t place : {0U, 128U})  // a gradient, a statistic
      on_devices(
          [&](backend::Device& device) {
            SCOPED_TRACE(config::to_yaml(optimizer.write(true)));
            Arena arena = mixed(optimizer);
            ASSERT_EQ(arena.plan.parameters[2].offset, 128);
            arena.gradients[place] = std::numeric_limits<float>::infinity();
            arena.loss_scale = kernels::LossScale{.scale = 1024, .good_steps = 5};
            const Arena before = arena;
            step(device, arena, optimizer);
            EXPECT_EQ(arena.weights, before.weights);
            EXPECT_EQ(arena.slots, before.slots);
            EXPECT_EQ(arena.loss_scale->scale, 512);
            EXPECT_EQ(arena.loss_scale->good_steps, 0);
            EXPECT_EQ(arena.loss_scale->found_inf, 0);
            EXPECT_EQ(arena.loss_scale->skipped, 1);
          },
          {.compute = DType::kF16});
}

/// In float32: the steps after a non-finite one, and the optimizer's count of steps.
TEST(Update, StopsOrContinuesAfterANonFiniteStep) {
  for (const config::Typed& optimizer : every_optimizer("use_ema: true, ema_overwrite_frequency: 2"))
    for (const std::size_t place : {0U, 128U})  // a gradient, a statistic
      on_devices([&](backend::Device& device) {
        SCOPED_TRACE(config::to_yaml(optimizer.write(true)));
        Arena arena = mixed(optimizer);
        arena.loss_scale = kernels::LossScale{.scale = 1};
        const Arena good = arena;
        arena.gradients[place] = std::numeric_limits<float>::quiet_NaN();
        Arena standing = arena, going = arena, unhurt = good;

        OnDevice stands(device, standing, optimizer), goes(device, going, optimizer, true),
            never_hurt(device, unhurt, optimizer, true);
        for (const auto& [arenas, update] : {std::pair(&standing, &stands), std::pair(&going, &goes)}) {
          update->step(0, 0.01);
          EXPECT_EQ(arenas->weights, good.weights);
          EXPECT_EQ(arenas->slots, good.slots);
          arenas->gradients = good.gradients;
          update->step(1, 0.01);
        }
        EXPECT_EQ(standing.weights, good.weights) << "until found_inf is reset";
        EXPECT_EQ(standing.loss_scale->found_inf, 1);
        EXPECT_EQ(standing.loss_scale->skipped, 0);
        standing.loss_scale->found_inf = 0;
        standing.gradients = good.gradients;
        stands.step(0, 0.01);

        never_hurt.step(0, 0.01);
        EXPECT_NE(unhurt.weights, good.weights);
        EXPECT_EQ(standing.weights, unhurt.weights);
        EXPECT_EQ(going.loss_scale->found_inf, 0);
        EXPECT_EQ(going.loss_scale->skipped, 1);
        ASSERT_EQ(going.weights.size(), unhurt.weights.size());
        for (std::size_t i = 0; i < going.weights.size();
             ++i)  // GPUs: the rate is computed elsewhere after a skipped step
          EXPECT_FLOAT_EQ(going.weights[i], unhurt.weights[i]) << "optimizers count the steps that they have taken";
        for (std::size_t i = 0; i < going.average.size(); ++i)
          EXPECT_FLOAT_EQ(going.average[i], unhurt.average[i]) << "and so do averages";
      });
}

}  // namespace
}  // namespace dptrain::test
