#include "device/loss_function.h"

#include "core/error.h"
#include "core/format.h"
#include "optim/loss.h"

namespace dptrain::device {

LossFunction loss_function(const config::Typed& loss) {
  if (const auto* spec = loss.get_if<optim::CategoricalCrossentropySpec>())
    return {LossKind::kCategorical, static_cast<float>(spec->label_smoothing)};
  if (loss.get_if<optim::SparseCategoricalCrossentropySpec>()) return {LossKind::kCategorical};
  if (const auto* spec = loss.get_if<optim::BinaryCrossentropySpec>())
    return {LossKind::kBinary, static_cast<float>(spec->label_smoothing)};
  if (loss.get_if<optim::MeanSquaredErrorSpec>()) return {LossKind::kSquared};
  if (loss.get_if<optim::MeanAbsoluteErrorSpec>()) return {LossKind::kAbsolute};
  throw Error(ErrorKind::kInternal, fmt::format("{}: no device has such a loss", loss.name()));
}

}  // namespace dptrain::device
