#pragma once

// The shapes of a merge layer in the words of kernels/cuda.

#include <stdexcept>
#include <vector>

#include "backend/op.h"
#include "backend/ops/backend.h"
#include "core/error.h"
#include "core/format.h"
#include "kernels/cuda/merge.h"

namespace dptrain::backend::DPTRAIN_BACKEND {

/// Throws Error{kUsage} where the kernels have no room for so many inputs or axes.
inline kernel::Merge merge_of(const OpContext& context) try {
  std::vector<std::vector<std::int64_t>> inputs;
  for (std::size_t i = 0; i < context.inputs(); ++i) inputs.push_back(context.input(i).dims());
  return kernel::Merge(inputs, context.output().dims());
} catch (const std::invalid_argument& error) {
  throw Error(ErrorKind::kUsage, fmt::format("{} '{}': {}", context.step.spec.name(), context.step.name, error.what()));
}

}  // namespace dptrain::backend::DPTRAIN_BACKEND
