#pragma once

// Shared by the tests of convolutions: the spec and the case of each kind.

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

/// Weight gradients are sums of up to a hundred products of size one, about ten in total; oneDNN's order of summation
/// depends on the number of threads.
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
