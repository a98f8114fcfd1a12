#pragma once

// What the tests of convolutions have in common: a spec of any of them, and its case.

#include "backend/harness.h"

namespace dptrain::test {

template <class Spec, class Size>
Spec conv_spec(std::int64_t filters, const Size& kernel, const Size& strides, nn::Padding padding) {
  Spec spec;
  spec.filters = filters;
  spec.kernel_size = kernel;
  spec.strides = strides;
  spec.padding = padding;
  return spec;
}

/// Weight gradients add up to a hundred products of size one, on a scale of about ten; oneDNN may sum in another order
/// with another number of threads.
template <class Spec>
Case conv_case(const Spec& spec, const Shape& in) {
  Case c;
  c.layer = layer(spec);
  c.inputs = {in};
  c.tolerance = 5e-6;
  c.gradient_tolerance = 1e-5;
  c.same_bits_on_all_threads = false;
  return c;
}

}  // namespace dptrain::test
