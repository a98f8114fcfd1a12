#pragma once

// Examples of fused ops: a layer with the tail that its op computes, or with the activation below that its backward
// includes. They are defined in the tests of the op and register before main. FusionRollCall compares each with
// separate ops and requires an example for every claim in the table of ops.

#include <vector>

#include "backend/harness.h"

namespace dptrain::test {

/// `make` is called in a test, after all layers are registered. The case's `tail` or `undoes` is fused.
struct FusionExample {
  explicit FusionExample(Case (*make)());
};
std::vector<Case> fusion_examples();

}  // namespace dptrain::test
