#pragma once

// A test layer with two outputs: the halves of its input. Keras has no such simple layer.

#include "nn/layer.h"

namespace dptrain::test {

/// Splits [n] into "low" [n / 2] and "high" [n - n / 2].
struct HalvesSpec {};

inline const nn::Registered kHalves =
    nn::layer<HalvesSpec>("TestHalves")
        .inputs(1)
        .of_rank(1)
        .outputs([](const HalvesSpec&, std::span<const nn::TensorDef> in) {
          const std::int64_t low = in[0].shape[0] / 2;
          return std::vector<nn::OutputDef>{{"low", Shape{low}, DType::kF32},
                                            {"high", Shape{in[0].shape[0] - low}, DType::kF32}};
        });

}  // namespace dptrain::test
