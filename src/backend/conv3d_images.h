#pragma once

// The Conv2D that a Conv3D is over the images of its windows: as the step of an inner op, and in what it says to the
// plan. Pure functions, any thread.

#include "backend/device.h"
#include "nn/convolutions.h"

namespace dptrain::backend {

/// The inner step's layer, tail and parameters. A layer in the tail is the one that computes its frames.
plan::Step image_step(const nn::Conv3DSpec& spec, const plan::Step& outer);
/// What a window sees of `volume`, as one image: kernel_size[0] times the channels.
Shape image_shape(const nn::Conv3DSpec& spec, const Shape& volume);

/// A max-pooling within frames, where the device's Conv2D takes that of images.
FusionClaim takes_frame_pooling();

}  // namespace dptrain::backend
