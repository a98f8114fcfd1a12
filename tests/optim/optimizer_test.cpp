#include "optim/optimizer.h"

#include <gtest/gtest.h>

#include "optim/example.h"

namespace dptrain::optim {
namespace {

std::string slot_names(const std::string& yaml) {
  std::string text;
  for (const SlotDef& slot : slots(make(optimizer_family(), yaml))) text += (text.empty() ? "" : ", ") + slot.name;
  return text;
}

TEST(Optimizer, AliasesAndDefaults) {
  const config::Family& family = optimizer_family();
  EXPECT_EQ(make(family, "sgd").as<SGDSpec>().learning_rate.constant, 0.01);
  EXPECT_EQ(make(family, "adam").as<AdamSpec>().learning_rate.constant, 0.001);
  EXPECT_EQ(make(family, "adamw").as<AdamWSpec>().weight_decay, 0.004);
  EXPECT_EQ(make(family, "AdamW: {weight_decay: null}").as<AdamWSpec>().weight_decay, std::nullopt);
  EXPECT_EQ(make(family, "rmsprop").as<RMSpropSpec>().rho, 0.9);
  EXPECT_EQ(make(family, "adagrad").as<AdagradSpec>().initial_accumulator_value, 0.1);
  EXPECT_EQ(make(family, "SGD: 0.5").as<SGDSpec>().learning_rate.constant, 0.5);
  EXPECT_EQ(read(family, "Adm").errors.substr(0, 44), "unknown optimizer 'Adm'; did you mean 'Adam'");
}

TEST(Optimizer, CommonIsFoundInEach) {
  for (const char* type : {"SGD", "Adam", "AdamW", "RMSprop", "Adagrad"}) {
    const config::Typed value =
        make(optimizer_family(),
             std::string(type) + ": {learning_rate: 0.5, clipnorm: 2, use_ema: true, ema_momentum: 0.9}");
    EXPECT_EQ(common(value).learning_rate.constant, 0.5) << type;
    EXPECT_EQ(common(value).clipnorm, 2) << type;
    EXPECT_TRUE(common(value).use_ema) << type;
  }
}

TEST(Optimizer, Slots) {
  EXPECT_EQ(slot_names("SGD"), "");
  EXPECT_EQ(slot_names("SGD: {momentum: 0.9}"), "momentum");
  EXPECT_EQ(slot_names("Adam"), "momentum, velocity");
  EXPECT_EQ(slot_names("AdamW: {amsgrad: true}"), "momentum, velocity, velocity_hat");
  EXPECT_EQ(slot_names("RMSprop"), "velocity");
  EXPECT_EQ(slot_names("RMSprop: {centered: true, momentum: 0.5}"), "velocity, momentum, average_gradient");
  const auto adagrad = slots(make(optimizer_family(), "Adagrad: {initial_accumulator_value: 0.25}"));
  ASSERT_EQ(adagrad.size(), 1U);
  EXPECT_EQ(adagrad[0].name, "accumulator");
  EXPECT_EQ(adagrad[0].initial, 0.25F);
}

TEST(Optimizer, Refuses) {
  EXPECT_EQ(read(optimizer_family(), "SGD: {clipnorm: 1, clipvalue: 1}").errors,
            "SGD: at most one of clipnorm, clipvalue and global_clipnorm can be given\n");
  EXPECT_EQ(read(optimizer_family(), "Adam: {beta_1: 1}").errors, "Adam: beta_1 must be >= 0 and < 1, found 1\n");
  EXPECT_EQ(read(optimizer_family(), "Adam: {learning_rat: 1}").errors,
            "Adam: unknown argument 'learning_rat'; did you mean 'learning_rate'?\n");
}

TEST(Optimizer, WritesWhatItReads) {
  for (const char* yaml : {"Adam: {learning_rate: {CosineDecay: {initial_learning_rate: 0.1, decay_steps: 5 epochs}}}",
                           "SGD: {momentum: 0.9, nesterov: true}", "AdamW: {weight_decay: null}"}) {
    const config::Typed value = make(optimizer_family(), yaml);
    for (const bool minimal : {false, true}) {
      const config::Typed again = make(optimizer_family(), config::to_yaml(value.write(minimal)));
      EXPECT_TRUE(config::same(value.write(), again.write())) << yaml;
    }
  }
}

}  // namespace
}  // namespace dptrain::optim
