#pragma once

// Constants of optimizers (values per step: UpdateState in kernels/{cpu,cuda}/optimizer.h). They are double, so that 1
// - beta is computed before rounding to float. weight_decay is decoupled: w -= lr weight_decay w before the update.

namespace dptrain::kernels {

struct SgdPass {
  double momentum = 0.0;
  bool nesterov = false;
  double weight_decay = 0.0;
};

struct RmspropPass {
  double rho = 0.9;
  double momentum = 0.0;
  double epsilon = 1e-7;
  double weight_decay = 0.0;
};

struct AdagradPass {
  double epsilon = 1e-7;
  double weight_decay = 0.0;
};

struct AdadeltaPass {
  double rho = 0.95;
  double epsilon = 1e-7;
  double weight_decay = 0.0;
};

struct LionPass {
  double beta_1 = 0.9;
  double beta_2 = 0.99;
  double weight_decay = 0.0;
};

struct AdamPass {
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  double weight_decay = 0.0;
};

}  // namespace dptrain::kernels
