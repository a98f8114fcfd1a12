#include "kernels/cuda/merge.h"

#include <memory>
#include <numeric>

#include "kernels/cuda/pad.h"
#include "kernels_cuda/support.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)
using Shapes = std::vector<std::vector<std::int64_t>>;

constexpr std::int64_t kMergeRows = 3;

std::int64_t product(const std::vector<std::int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

/// Inputs of one merge, and naive broadcasting.
struct MergeCase {
  Shapes inputs;
  std::vector<std::int64_t> output;

  /// Element of input i that belongs to element `o` of the output, over all rows.
  std::int64_t source(std::size_t i, std::int64_t o) const {
    const std::vector<std::int64_t>& shape = inputs[i];
    std::int64_t rest = o % product(output), step = 1, offset = 0;
    for (std::size_t d = 0; d < output.size(); ++d) {
      const std::int64_t extent = output[output.size() - 1 - d],
                         own = d < shape.size() ? shape[shape.size() - 1 - d] : 1;
      offset += own == 1 ? 0 : rest % extent * step;
      step *= own;
      rest /= extent;
    }
    return o / product(output) * product(shape) + offset;
  }
};

const std::vector<MergeCase>& merge_cases() {
  static const std::vector<MergeCase> list{
      {{{5}, {5}}, {5}},
      {{{4, 4, 16}, {4, 4, 16}}, {4, 4, 16}},
      {{{2, 3, 5}, {2, 3, 5}, {2, 3, 5}}, {2, 3, 5}},
      {{{4, 6, 16}, {1, 1, 16}}, {4, 6, 16}},                     // squeeze and excite
      {{{1, 1, 5}, {4, 3, 5}}, {4, 3, 5}},                        // the first is broadcast
      {{{5, 3, 8}, {5, 3, 1}}, {5, 3, 8}},                        // along the last axis
      {{{3, 1, 8}, {1, 5, 8}, {3, 5, 1}}, {3, 5, 8}},             // all are broadcast
      {{{2, 1, 3, 1}, {1, 4, 1, 5}, {3, 5}, {1}}, {2, 4, 3, 5}},  // many axes, fewer axes
      {{{7, 9, 300}, {300}}, {7, 9, 300}},                        // more than a tile
      {{{40, 40, 2}, {1, 1, 2}}, {40, 40, 2}},                    // more terms than threads
      {{{30, 40}, {30, 1}}, {30, 40}},
      {{{1}, {1}}, {1}},
      {{{6}}, {6}},
      {{{1, 2000}, {1, 1}}, {1, 2000}},
      {{{7, 31}, {1, 31}}, {7, 31}},  // around a tile of 32 sums, whose terms 8 threads add
      {{{8, 32}, {1, 32}}, {8, 32}},
      {{{9, 33}, {1, 33}}, {9, 33}},
      {{{17, 65}, {1, 65}}, {17, 65}},
  };
  return list;
}

/// The inputs of a case on the device and on the host.
struct Operands {
  std::vector<std::unique_ptr<Tensor>> tensors;
  std::vector<const void*> pointers;
  std::vector<std::vector<float>> values;

  Operands(DType type, int offset, const MergeCase& c) {
    for (std::size_t i = 0; i < c.inputs.size(); ++i) {
      const std::vector<float> random = random_floats(kMergeRows * product(c.inputs[i]), static_cast<std::uint32_t>(i));
      tensors.push_back(std::make_unique<Tensor>(type, random, offset));
      pointers.push_back(tensors.back()->data());
      values.push_back(tensors.back()->read());
    }
  }
  double value(const MergeCase& c, std::size_t i, std::int64_t o) const { return at(values[i], c.source(i, o)); }
};

void on_every_case(const std::function<void(const MergeCase&, DType, int)>& f) {
  for (std::size_t i = 0; i < merge_cases().size(); ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    on_every_type([&](DType type, int offset) { f(merge_cases()[i], type, offset); });
  }
}

TEST(GpuMerge, AddsWithAndWithoutRelu) {
  on_every_case([](const MergeCase& c, DType type, int offset) {
    const Merge merge(c.inputs, c.output);
    const Operands in(type, offset, c);
    const std::int64_t n = kMergeRows * product(c.output);
    for (const bool relu : {false, true}) {
      std::vector<double> expected;
      for (std::int64_t o = 0; o < n; ++o) {
        double sum = 0;
        for (std::size_t i = 0; i < c.inputs.size(); ++i) sum += in.value(c, i, o);
        expected.push_back(relu ? std::max(sum, 0.0) : sum);
      }
      Tensor y(type, n, offset);
      add_forward(test_launch(), type, merge, in.pointers.data(), kMergeRows, relu, y.data());
      expect_near(type, expected, y.read(), 1e-6, 1e-6);
    }
  });
}

TEST(GpuMerge, Multiplies) {
  on_every_case([](const MergeCase& c, DType type, int offset) {
    const Merge merge(c.inputs, c.output);
    const Operands in(type, offset, c);
    const std::int64_t n = kMergeRows * product(c.output);
    std::vector<double> expected;
    for (std::int64_t o = 0; o < n; ++o) {
      double value = 1;
      for (std::size_t i = 0; i < c.inputs.size(); ++i) value *= in.value(c, i, o);
      expected.push_back(value);
    }
    Tensor y(type, n, offset);
    multiply_forward(test_launch(), type, merge, in.pointers.data(), kMergeRows, y.data());
    expect_near(type, expected, y.read());
  });
}

TEST(GpuMerge, GradientsOfASum) {
  on_every_case([](const MergeCase& c, DType type, int offset) {
    const Merge merge(c.inputs, c.output);
    const std::int64_t n = kMergeRows * product(c.output);
    const Tensor dy(type, random_floats(n, 21), offset), y(type, random_floats(n, 22), offset);
    const std::vector<float> g = dy.read(), gate = y.read();
    for (const bool relu : {false, true}) {
      for (std::size_t i = 0; i < c.inputs.size(); ++i) {
        std::vector<double> expected(static_cast<std::size_t>(kMergeRows * product(c.inputs[i])));
        for (std::int64_t o = 0; o < n; ++o)
          if (!relu || at(gate, o) > 0) expected[static_cast<std::size_t>(c.source(i, o))] += at(g, o);
        Tensor dx(type, static_cast<std::int64_t>(expected.size()), offset);
        add_backward(test_launch(), type, merge, static_cast<int>(i), relu ? y.data() : nullptr, dy.data(), kMergeRows,
                     dx.data());
        expect_near(type, expected, dx.read(), 1e-5, 1e-4);
      }
    }
  });
}

TEST(GpuMerge, GradientsOfAProduct) {
  on_every_case([](const MergeCase& c, DType type, int offset) {
    const Merge merge(c.inputs, c.output);
    const Operands in(type, offset, c);
    const std::int64_t n = kMergeRows * product(c.output);
    const Tensor dy(type, random_floats(n, 23), offset);
    const std::vector<float> g = dy.read();
    for (std::size_t i = 0; i < c.inputs.size(); ++i) {
      std::vector<double> expected(static_cast<std::size_t>(kMergeRows * product(c.inputs[i])));
      for (std::int64_t o = 0; o < n; ++o) {
        double value = at(g, o);
        for (std::size_t j = 0; j < c.inputs.size(); ++j)
          if (j != i) value *= in.value(c, j, o);
        expected[static_cast<std::size_t>(c.source(i, o))] += value;
      }
      Tensor dx(type, static_cast<std::int64_t>(expected.size()), offset);
      multiply_backward(test_launch(), type, merge, static_cast<int>(i), in.pointers.data(), dy.data(), kMergeRows,
                        dx.data());
      expect_near(type, expected, dx.read(), 1e-5, 3e-4);
    }
  });
}

TEST(GpuMerge, MeansAndDifferences) {
  on_every_case([](const MergeCase& c, DType type, int offset) {
    const Merge merge(c.inputs, c.output);
    const Operands in(type, offset, c);
    const std::int64_t n = kMergeRows * product(c.output);
    std::vector<double> mean, difference;
    for (std::int64_t o = 0; o < n; ++o) {
      double sum = 0;
      for (std::size_t i = 0; i < c.inputs.size(); ++i) sum += in.value(c, i, o);
      mean.push_back(sum / static_cast<double>(c.inputs.size()));
      if (c.inputs.size() == 2) difference.push_back(in.value(c, 0, o) - in.value(c, 1, o));
    }
    Tensor y(type, n, offset);
    average_forward(test_launch(), type, merge, in.pointers.data(), kMergeRows, y.data());
    expect_near(type, mean, y.read(), 1e-6, 1e-6);
    if (difference.empty()) return;
    subtract_forward(test_launch(), type, merge, in.pointers.data(), kMergeRows, y.data());
    expect_near(type, difference, y.read(), 1e-6, 1e-6);
  });
}

TEST(GpuMerge, GradientsOfAMultiple) {
  on_every_case([](const MergeCase& c, DType type, int offset) {
    const Merge merge(c.inputs, c.output);
    const std::int64_t n = kMergeRows * product(c.output);
    const Tensor dy(type, random_floats(n, 23), offset);
    const std::vector<float> g = dy.read();
    for (std::size_t i = 0; i < c.inputs.size(); ++i) {
      std::vector<double> expected(static_cast<std::size_t>(kMergeRows * product(c.inputs[i])));
      for (std::int64_t o = 0; o < n; ++o) expected[static_cast<std::size_t>(c.source(i, o))] += -0.5 * at(g, o);
      Tensor dx(type, static_cast<std::int64_t>(expected.size()), offset);
      scaled_backward(test_launch(), type, merge, static_cast<int>(i), -0.5F, dy.data(), kMergeRows, dx.data());
      expect_near(type, expected, dx.read(), 1e-5, 3e-4);
    }
  });
}

TEST(GpuMerge, ExtremesAndTheirGradients) {
  on_every_case([](const MergeCase& c, DType type, int offset) {
    const Merge merge(c.inputs, c.output);
    const Operands in(type, offset, c);
    const std::int64_t n = kMergeRows * product(c.output);
    const Tensor dy(type, random_floats(n, 23), offset);
    const std::vector<float> g = dy.read();
    for (const Extreme which : {Extreme::kLargest, Extreme::kSmallest}) {
      std::vector<double> expected;
      std::vector<std::vector<double>> gradients;
      for (const auto& shape : c.inputs) gradients.emplace_back(static_cast<std::size_t>(kMergeRows * product(shape)));
      for (std::int64_t o = 0; o < n; ++o) {
        std::size_t winner = 0;  // the first of equals
        for (std::size_t i = 1; i < c.inputs.size(); ++i) {
          const double here = in.value(c, i, o), best = in.value(c, winner, o);
          if (which == Extreme::kLargest ? here > best : here < best) winner = i;
        }
        expected.push_back(in.value(c, winner, o));
        gradients[winner][static_cast<std::size_t>(c.source(winner, o))] += at(g, o);
      }
      Tensor y(type, n, offset);
      extreme_forward(test_launch(), type, which, merge, in.pointers.data(), kMergeRows, y.data());
      expect_near(type, expected, y.read());
      for (std::size_t i = 0; i < c.inputs.size(); ++i) {
        Tensor dx(type, static_cast<std::int64_t>(gradients[i].size()), offset);
        extreme_backward(test_launch(), type, merge, static_cast<int>(i), in.pointers.data(), y.data(), dy.data(),
                         kMergeRows, dx.data());
        expect_near(type, gradients[i], dx.read(), 1e-5, 3e-4);
      }
    }
  });
}

TEST(GpuMerge, WorksInPlaceWithoutBroadcasting) {
  const Merge merge({{7, 5}, {5}}, {7, 5});
  Array<float> x(random_floats(kMergeRows * 35, 1)), bias(random_floats(kMergeRows * 5, 2)), y(kMergeRows * 35);
  const void* const inputs[] = {x.data(), bias.data()};
  add_forward(test_launch(), DType::kF32, merge, inputs, kMergeRows, true, y.data());
  add_forward(test_launch(), DType::kF32, merge, inputs, kMergeRows, true, x.data());
  EXPECT_EQ(x.read(), y.read());
}

TEST(GpuMerge, AcceptsTheDocumentedNumberOfInputs) {
  const std::size_t most = Merge::kMaxInputs;
  const Shapes shapes(most, {3, 4});
  Array<float> x(std::vector<float>(12, 1.0F)), y(12);
  const std::vector<const void*> inputs(most, x.data());
  add_forward(test_launch(), DType::kF32, Merge(shapes, {3, 4}), inputs.data(), 1, false, y.data());
  EXPECT_EQ(y.read(), std::vector<float>(12, static_cast<float>(most)));
  EXPECT_THROW(Merge(Shapes(most + 1, {3, 4}), {3, 4}), std::invalid_argument);
  EXPECT_THROW(Merge(Shapes{}, {3, 4}), std::invalid_argument);
  EXPECT_THROW(Merge({{3, 2}}, {3, 4}), std::invalid_argument);
  EXPECT_THROW(Merge({{2, 3, 4}}, {3, 4}), std::invalid_argument);
}

TEST(GpuMerge, CopiesColumns) {
  // The first joins widths 5 and 3, the second 16 and 8, into rows of both.
  for (const auto& [a, b] : {std::pair<std::int64_t, std::int64_t>{5, 3}, {16, 8}, {2, 6}}) {
    on_every_type([a = a, b = b](DType type, int offset) {
      const std::int64_t rows = 67, total = a + b;
      const Tensor x(type, random_floats(rows * a, 1), offset), z(type, random_floats(rows * b, 2), offset);
      Tensor joined(type, rows * total, offset), x_again(type, rows * a, offset), z_again(type, rows * b, offset);
      const auto column = [type](auto* tensor, std::int64_t c) {
        return static_cast<unsigned char*>(tensor->data()) + static_cast<std::size_t>(c) * size_of(type);
      };
      copy_columns(test_launch(), type, x.data(), a, joined.data(), total, rows, a);
      copy_columns(test_launch(), type, z.data(), b, column(&joined, a), total, rows, b);
      const std::vector<float> left = x.read(), right = z.read();
      std::vector<float> expected;
      for (std::int64_t row = 0; row < rows; ++row) {
        expected.insert(expected.end(), left.begin() + row * a, left.begin() + (row + 1) * a);
        expected.insert(expected.end(), right.begin() + row * b, right.begin() + (row + 1) * b);
      }
      EXPECT_EQ(joined.read(), expected);
      copy_columns(test_launch(), type, joined.data(), total, x_again.data(), a, rows, a);
      copy_columns(test_launch(), type, column(&joined, a), total, z_again.data(), b, rows, b);
      EXPECT_EQ(x_again.read(), left);
      EXPECT_EQ(z_again.read(), right);
    });
  }
}

TEST(Merge, BothGradientsOfASumWithRelu) {
  on_every_type([](DType type, int offset) {
    for (const std::int64_t n : {1, 7, 64, 5000}) {
      const Tensor output(type, random_floats(n, 1), offset);
      Tensor dy(type, random_floats(n, 2), offset), other(type, n, offset);
      const std::vector<float> gate = output.read();
      std::vector<float> expected = dy.read();
      for (std::size_t i = 0; i < expected.size(); ++i)
        if (gate[i] <= 0.0F) expected[i] = 0.0F;
      add_relu_backward(test_launch(), type, output.data(), dy.data(), n, other.data(), dy.data());
      EXPECT_EQ(other.read(), expected);
      EXPECT_EQ(dy.read(), expected);
    }
  });
}

}  // namespace
}  // namespace dptrain::kernels::DPTRAIN_BACKEND
