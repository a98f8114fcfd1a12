#include "nn/reshaping.h"

#include <gtest/gtest.h>

#include "backend/harness.h"

namespace dptrain::test {
namespace {

/// The permutation by index arithmetic, axis by axis.
Reference permuted(const Shape& in, const Shape& dims) {
  return [=](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) {
    std::vector<std::int64_t> out;
    for (const std::int64_t axis : dims.dims()) out.push_back(in[static_cast<int>(axis - 1)]);
    Tensor y = batch(inputs[0].dim(0), Shape(out));
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      std::vector<std::int64_t> index(out.size());
      auto rest = static_cast<std::int64_t>(i);
      for (std::size_t d = out.size(); d-- > 0; rest /= out[d])
        index[static_cast<std::size_t>(dims[static_cast<int>(d)] - 1)] = rest % out[d];
      std::int64_t at = rest;  // the row
      for (int d = 0; d < in.rank(); ++d) at = at * in[d] + index[static_cast<std::size_t>(d)];
      y.values[i] = inputs[0].values[static_cast<std::size_t>(at)];
    }
    return y;
  };
}

void check_permute(const Shape& in, const Shape& dims) {
  SCOPED_TRACE("dims " + dims.str());
  Case c;
  c.layer = layer(nn::PermuteSpec{.dims = dims});
  c.inputs = {in};
  agrees(c, permuted(in, dims));
}

TEST(PermuteOp, EveryOrderOfThreeAxes) {
  for (const Shape& dims :
       {Shape{1, 2, 3}, Shape{1, 3, 2}, Shape{2, 1, 3}, Shape{2, 3, 1}, Shape{3, 1, 2}, Shape{3, 2, 1}})
    check_permute({4, 3, 5}, dims);
}
TEST(PermuteOp, FewAndManyAxes) {
  check_permute({7}, {1});
  check_permute({5, 6}, {2, 1});
  check_permute({2, 3, 2, 4}, {4, 2, 1, 3});
  check_permute({2, 3, 1, 2, 3}, {3, 5, 1, 4, 2});
  check_permute({2, 3, 2, 2, 1, 2}, {6, 4, 2, 5, 3, 1});
}
/// Edges that do not fill a tile, and runs copied in wide words.
TEST(PermuteOp, Tiles) {
  Case c;
  c.rows = 2;
  c.differentiable = false;  // the gradient is the same copy, and the reference is slow for large cases
  for (const auto& [in, dims] :
       {std::pair<Shape, Shape>{{33, 70}, {2, 1}}, {{6, 35, 33}, {3, 2, 1}}, {{3, 34, 16}, {2, 1, 3}}}) {
    c.layer = layer(nn::PermuteSpec{.dims = dims});
    c.inputs = {in};
    agrees(c, permuted(in, dims));
  }
}

}  // namespace
}  // namespace dptrain::test
