#include "train/callback.h"

#include <nlohmann/json.hpp>

#include "train/callback_def.h"

namespace dptrain::train {

nlohmann::json Callback::save() const { return nlohmann::json::object(); }
const std::vector<std::vector<float>>& Callback::saved_weights() const {
  static const std::vector<std::vector<float>> none;
  return none;
}

std::unique_ptr<Callback> make_callback(const experiment::CallbackConfig& config) {
  return static_cast<const CallbackDef&>(config.def()).make(config.spec());
}

}  // namespace dptrain::train
