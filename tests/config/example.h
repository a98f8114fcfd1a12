#pragma once

// A small invented language for the tests of the config module: a layer, optimizers, schedules, a section.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config_loader.h"
#include "config/family.h"

namespace dptrain::config {

enum class TestPadding { kValid, kSame };
template <>
struct EnumNames<TestPadding> {
  static constexpr std::array names{std::pair{TestPadding::kValid, "valid"}, std::pair{TestPadding::kSame, "same"}};
};

struct DecaySpec {
  double initial_learning_rate = 0.1;
  Duration decay_steps;
  bool staircase = false;
};
struct ConstantSpec {
  double value = 0.01;
};

inline Family& test_schedules() {
  static Family family = [] {
    Family f("schedule");
    f.add(type_def<ConstantSpec>(Schema::of<ConstantSpec>("Constant").positional(key("value", &ConstantSpec::value))));
    f.add(type_def<DecaySpec>(
        Schema::of<DecaySpec>("ExponentialDecay")
            .key(key("initial_learning_rate", &DecaySpec::initial_learning_rate).required().at_least(0))
            .key(key("decay_steps", &DecaySpec::decay_steps).required())
            .key(key("staircase", &DecaySpec::staircase))));
    return f;
  }();
  return family;
}

struct SgdSpec {
  Of<test_schedules> learning_rate{ConstantSpec{}};
  float momentum = 0;
  bool nesterov = false;
};
struct AdamSpec {
  double learning_rate = 0.001;
  std::optional<double> clipnorm;
};

inline Family& test_optimizers() {
  static Family family = [] {
    Family f("optimizer");
    f.add(type_def<SgdSpec>(Schema::of<SgdSpec>("SGD")
                                .key(key("learning_rate", &SgdSpec::learning_rate))
                                .key(key("momentum", &SgdSpec::momentum).at_least(0).below(1))
                                .key(key("nesterov", &SgdSpec::nesterov))
                                .rule<SgdSpec>([](const SgdSpec& s) -> std::string {
                                  return s.nesterov && s.momentum <= 0 ? "nesterov needs momentum > 0" : "";
                                }),
                            {"sgd"}));
    f.add(type_def<AdamSpec>(Schema::of<AdamSpec>("Adam")
                                 .positional(key("learning_rate", &AdamSpec::learning_rate).above(0).alias("lr"))
                                 .key(key("clipnorm", &AdamSpec::clipnorm).above(0)),
                             {"adam"}));
    return f;
  }();
  return family;
}

struct ConvSpec {
  int filters = 0;
  Size2 strides;
  TestPadding padding = TestPadding::kValid;
  std::string activation = "linear";
  std::vector<int> axes;
  Of<test_schedules> schedule;
  std::optional<Size2> pool;
};

inline const Schema& conv_schema() {
  static const Schema schema =
      Schema::of<ConvSpec>("Conv2D")
          .positional(key("filters", &ConvSpec::filters).required().at_least(1).doc("Number of output channels."))
          .key(key("strides", &ConvSpec::strides).at_least(1))
          .key(key("padding", &ConvSpec::padding))
          .key(key("activation", &ConvSpec::activation))
          .key(key("axes", &ConvSpec::axes).check([](const std::vector<int>& axes) -> std::string {
            return axes.size() > 3 ? "must have at most 3 values" : "";
          }))
          .key(key("schedule", &ConvSpec::schedule))
          .key(key("pool", &ConvSpec::pool).at_least(1));
  return schema;
}

/// Reads one text; `messages()` returns the errors as "line:column: message", sorted.
struct Reading {
  explicit Reading(const std::string& text) : root(load_text(text, "test.yaml", "/configs", diagnostics)) {}

  std::vector<std::string> messages() const {
    std::vector<std::string> all;
    for (const Diagnostic& d : diagnostics.errors())
      all.push_back(std::to_string(d.mark.line) + ":" + std::to_string(d.mark.column) + ": " + d.message);
    std::sort(all.begin(), all.end());
    return all;
  }

  Diagnostics diagnostics;
  Reader reader{diagnostics};
  Node root;
};

inline Node parsed(const std::string& text) { return Reading(text).root; }

}  // namespace dptrain::config
