#pragma once

// A sum of leaves in the order of kernels/sum_tree.h, implemented as its recursive definition.

namespace dptrain::test {

/// Sums value(begin), ..., value(end - 1).
template <class F>
auto tree_sum(int begin, int end, const F& value) -> decltype(value(begin)) {
  if (end - begin == 1) return value(begin);
  int left = 1;
  while (2 * left < end - begin) left *= 2;
  const auto first = tree_sum(begin, begin + left, value);
  return first + tree_sum(begin + left, end, value);
}

}  // namespace dptrain::test
