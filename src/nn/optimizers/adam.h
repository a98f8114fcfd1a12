#pragma once

#include "nn/optimizer.h"

namespace dptrain::nn {

/// Kingma and Ba 2015; amsgrad: Reddi, Kale and Kumar 2018.
struct AdamSpec : OptimizerCommon {
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
  bool amsgrad = false;
};

/// Adam, or what derives from it.
template <class Spec>
OptimizerBuilder<Spec> adam(const std::string& name) {
  return optimizer<Spec>(name)
      .key(key_of<Spec>("beta_1", &AdamSpec::beta_1).at_least(0).below(1))
      .key(key_of<Spec>("beta_2", &AdamSpec::beta_2).at_least(0).below(1))
      .key(key_of<Spec>("epsilon", &AdamSpec::epsilon).at_least(0))
      .key(key_of<Spec>("amsgrad", &AdamSpec::amsgrad))
      .by_element()
      .slots([](const Spec& spec) {
        std::vector<SlotDef> all{{"momentum"}, {"velocity"}};
        if (spec.amsgrad) all.push_back({"velocity_hat"});
        return all;
      })
      .variant("amsgrad: true");
}

}  // namespace dptrain::nn
