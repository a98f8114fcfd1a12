#include "optim/loss.h"

namespace dptrain::optim {

config::Family& loss_family() {
  static config::Family family("loss");  // a function's own, so that it exists before the first registration
  return family;
}

const LossType& loss_type(const config::Typed& loss) { return static_cast<const LossType&>(loss.def()); }

bool from_logits(const config::Typed& loss) { return loss_type(loss).from_logits(loss.spec()); }

config::Node keras_config(const config::Typed& loss) {
  const LossType& type = loss_type(loss);
  const auto text = [](const std::string& words) { return config::Node::text(words); };
  if (type.schema.write(loss.spec(), true).entries().empty()) return text(type.keras_name);
  config::Node config = config::Node::map();
  config.set("reduction", text("sum_over_batch_size"));  // Keras 3 refuses the "auto" that Keras 2 would write
  config.set("name", text(type.keras_name));
  const config::Node keys = type.schema.write(loss.spec());
  for (const auto& entry : keys.entries()) config.set(entry.key, entry.value);
  config::Node object = config::Node::map();
  object.set("class_name", text(type.name));
  object.set("config", std::move(config));
  return object;
}

}  // namespace dptrain::optim
