#pragma once

// Examples of what ops fuse: a layer with the tail that its op computes, or the activation below that its backward goes
// back through. They stand beside the tests of the op and register before main. FusionRollCall computes each in one op
// and in ops apart, and wants one for every claim in the table of ops.

#include <vector>

#include "backend/harness.h"

namespace dptrain::test {

/// `make` is called in a test, when all layers are registered. The case's `tail` or `undoes` says what is fused.
struct FusionExample {
  explicit FusionExample(Case (*make)());
};
std::vector<Case> fusion_examples();

}  // namespace dptrain::test
