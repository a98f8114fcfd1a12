#include "nn/loss.h"

namespace dptrain::nn {

config::Family& loss_family() {
  static config::Family family("loss");  // function-local, so that it exists before the first registration
  return family;
}

const LossType& loss_type(const config::Typed& loss) { return static_cast<const LossType&>(loss.def()); }

bool from_logits(const config::Typed& loss) { return loss_type(loss).from_logits(loss.spec()); }

std::optional<std::int64_t> ignore_class(const config::Typed& loss) {
  return loss_type(loss).ignore_class(loss.spec());
}

config::Typed with_ignore_class(const config::Typed& loss, std::int64_t ignored) {
  const LossType& type = loss_type(loss);
  return type.with_ignore_class ? config::Typed(type, type.with_ignore_class(loss.spec(), ignored), loss.mark()) : loss;
}

bool compares_classes(const config::Typed& loss) { return loss_type(loss).labels_in_unit_interval; }

}  // namespace dptrain::nn
