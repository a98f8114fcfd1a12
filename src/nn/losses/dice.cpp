#include "nn/losses/dice.h"

#include <algorithm>

#include "core/format.h"
#include "core/text.h"
#include "nn/loss.h"

namespace dptrain::nn {
namespace {

std::vector<std::int64_t> sorted_axes(const DiceSpec& spec, const Shape& output) {
  std::vector<std::int64_t> axes = *spec.axis;
  for (std::int64_t& axis : axes)
    if (axis < 0) axis += output.rank() + 1;
  std::ranges::sort(axes);
  return axes;
}

/// "1, 2, 3" for an output of three axes.
std::string all_axes(const Shape& output) {
  std::vector<std::string> axes;
  for (int axis = 1; axis <= output.rank(); ++axis) axes.push_back(std::to_string(axis));
  return join(axes, ", ");
}

std::string misfit(const DiceSpec& spec, const LossFit& fit) {
  if (!spec.axis || spec.axis->empty())
    return fmt::format(
        "without axis it sums over the whole batch, as Keras does: no mean over samples, so replicas, micro-batches "
        "and "
        "the last short batch would change what is trained; give it the axes of a sample, axis: [{}]",
        all_axes(fit.output));
  const std::vector<std::int64_t> axes = sorted_axes(spec, fit.output);
  bool fits = axes.front() >= 1 && axes.back() <= fit.output.rank();
  for (std::size_t i = 1; i < axes.size(); ++i) fits = fits && axes[i] == axes[i - 1] + 1;
  if (fits && fit.masked && axes.front() < fit.output.rank())
    return fmt::format(
        "its sums go over the steps of a mask; give it the last axis alone, axis: [{}], or do without "
        "the mask",
        fit.output.rank());
  if (fits) return "";
  std::vector<std::string> found;
  for (const std::int64_t axis : *spec.axis) found.push_back(std::to_string(axis));
  return fmt::format("axis [{}] does not fit an output of {}; expected neighbouring axes of a sample, from 1 to {}{}",
                     join(found, ", "), fit.output.str(), fit.output.rank(),
                     std::ranges::find(axes, 0) != axes.end() ? " (0 is the batch's: the loss would not be a mean over "
                                                                "samples)"
                                                              : "");
}

const RegisteredLoss kDice = loss<DiceSpec>("Dice", "dice")
                                 .positional(key("axis", &DiceSpec::axis))
                                 .shares_of_one()
                                 .misfit(misfit)
                                 .example("axis: [1]");

}  // namespace

DiceSums dice_sums(const DiceSpec& spec, const Shape& output) {
  const std::vector<std::int64_t> axes = sorted_axes(spec, output);
  DiceSums sums;
  for (int axis = 1; axis <= output.rank(); ++axis) {
    std::int64_t& part = axis < axes.front() ? sums.outer : axis > axes.back() ? sums.inner : sums.length;
    part *= output[axis - 1];
  }
  return sums;
}

}  // namespace dptrain::nn
