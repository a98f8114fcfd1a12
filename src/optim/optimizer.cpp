#include "optim/optimizer.h"

#include "core/text.h"

namespace dptrain::optim {

config::Family& optimizer_family() {
  static config::Family family("optimizer", "SGD");
  return family;
}

std::string clip_complaint(const OptimizerCommon& common) {
  const int clips =
      int{common.clipnorm.has_value()} + int{common.clipvalue.has_value()} + int{common.global_clipnorm.has_value()};
  return clips <= 1 ? "" : "at most one of clipnorm, clipvalue and global_clipnorm can be given";
}

const OptimizerType& optimizer_type(const config::Typed& optimizer) {
  return static_cast<const OptimizerType&>(optimizer.def());
}

const OptimizerCommon& common(const config::Typed& optimizer) {
  return optimizer_type(optimizer).common(optimizer.spec());
}

std::vector<SlotDef> slots(const config::Typed& optimizer) { return optimizer_type(optimizer).slots(optimizer.spec()); }

config::Node keras_arguments(const config::Typed& optimizer) {
  // The common ones lie in the base, whose keys every optimizer has: all others are its own.
  static const config::Schema shared = OptimizerBuilder<OptimizerCommon>("").build()->schema;
  const config::Node common_keys = shared.write(shared.make().get());
  config::Node own = config::Node::map();
  for (const config::Field& field : optimizer_type(optimizer).schema.fields()) {
    if (common_keys.find(field.name) != nullptr) continue;
    config::Node value = field.write(optimizer.spec());
    if (field.value == &config::kValueOperations<double>)
      value = config::Node::scalar(shortest(std::stod(value.str()), true));
    own.set(field.name, std::move(value));
  }
  return own;
}

}  // namespace dptrain::optim
