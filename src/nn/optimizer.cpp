#include "nn/optimizer.h"

namespace dptrain::nn {

config::Family& optimizer_family() {
  static config::Family family("optimizer", "SGD");
  return family;
}

std::string clip_error(const OptimizerCommon& common) {
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

bool is_elementwise(const config::Typed& optimizer) {
  const OptimizerCommon& all = common(optimizer);
  return optimizer_type(optimizer).by_element && !all.clipnorm && !all.global_clipnorm && !all.use_ema;
}

}  // namespace dptrain::nn
