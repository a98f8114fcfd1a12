#include "nn/optimizer.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "nn/example.h"
#include "nn/optimizers.h"
#include "support/test_data.h"

namespace dptrain::nn {
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
  EXPECT_EQ(make(family, "adadelta").as<AdadeltaSpec>().rho, 0.95);
  EXPECT_EQ(make(family, "adamax").as<AdamaxSpec>().beta_2, 0.999);
  EXPECT_EQ(make(family, "nadam").as<NadamSpec>().epsilon, 1e-7);
  EXPECT_EQ(make(family, "lion").as<LionSpec>().beta_2, 0.99);
  EXPECT_EQ(make(family, "lamb").as<LambSpec>().beta_1, 0.9);
  EXPECT_EQ(make(family, "SGD: 0.5").as<SGDSpec>().learning_rate.constant, 0.5);
  EXPECT_EQ(read(family, "Adm").errors.substr(0, 44), "unknown optimizer 'Adm'; did you mean 'Adam'");
}

TEST(Optimizer, EachHasTheCommonArguments) {
  for (const std::string& type : optimizer_family().names()) {
    const config::Typed value =
        make(optimizer_family(), type + ": {learning_rate: 0.5, clipnorm: 2, use_ema: true, ema_momentum: 0.9}");
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
  EXPECT_EQ(slot_names("Adadelta"), "accumulated_grad, accumulated_delta_var");
  EXPECT_EQ(slot_names("Adamax"), "momentum, norm");
  EXPECT_EQ(slot_names("Nadam"), "momentum, velocity");
  EXPECT_EQ(slot_names("Lion"), "momentum");
  EXPECT_EQ(slot_names("Lamb"), "momentum, velocity");
  const auto adagrad = slots(make(optimizer_family(), "Adagrad: {initial_accumulator_value: 0.25}"));
  ASSERT_EQ(adagrad.size(), 1U);
  EXPECT_EQ(adagrad[0].name, "accumulator");
  EXPECT_EQ(adagrad[0].initial, 0.25F);
}

/// Keras's names of the slots, as in its variables: "adam/w0_momentum".
TEST(Optimizer, SlotsAreNamedAsInKeras) {
  std::ifstream file(dptrain::test::test_data("golden/optimizers.json"));
  const nlohmann::json golden = nlohmann::json::parse(file);
  for (const nlohmann::json& one : golden["cases"]) {
    const std::string name = one["optimizer"];
    if (optimizer_family().find(name) == nullptr || one["config"].contains("gradient_accumulation_steps")) continue;
    const std::string yaml = "{" + name + ": " + one["config"].dump() + "}";
    std::set<std::string> expected, found;
    for (const std::string variable : one["variables"])
      if (const auto at = variable.find("/w0_"); at != std::string::npos) expected.insert(variable.substr(at + 4));
    for (const SlotDef& slot : slots(make(optimizer_family(), yaml))) found.insert(slot.name);
    if (common(make(optimizer_family(), yaml)).use_ema) found.insert("average");
    EXPECT_EQ(found, expected) << yaml;
  }
}

TEST(Optimizer, VariantsAreArguments) {
  for (const config::TypeDef* def : optimizer_family().types())
    for (const std::string& variant : static_cast<const OptimizerType*>(def)->variants)
      EXPECT_EQ(read(optimizer_family(), def->name + ": {" + variant + "}").errors, "") << def->name;
}

TEST(Optimizer, RejectsInvalidArguments) {
  EXPECT_EQ(read(optimizer_family(), "SGD: {clipnorm: 1, clipvalue: 1}").errors,
            "SGD: at most one of clipnorm, clipvalue and global_clipnorm can be given\n");
  EXPECT_EQ(read(optimizer_family(), "Lion: {beta_1: 0}").errors, "Lion: beta_1 must be > 0 and <= 1, found 0\n");
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
}  // namespace dptrain::nn
