#pragma once

// What attention's kernels cannot do.

#include "backend/ops/backend.h"
#include "core/error.h"
#include "core/format.h"
#include "kernels/cuda/attention.h"

namespace dptrain::backend::DPTRAIN_BACKEND {

inline void check_attention_fits(const kernels::AttentionShape& shape) {
  if (!kernel::attention_fits(shape))
    throw Error(ErrorKind::kDevice, fmt::format("queries of {} numbers and values of {} are too large for attention in "
                                                "a GPU's shared memory",
                                                shape.key_dim, shape.value_dim));
}

}  // namespace dptrain::backend::DPTRAIN_BACKEND
