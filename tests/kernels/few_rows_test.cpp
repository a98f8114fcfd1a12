#include "kernels/cpu/few_rows.h"

#include <gtest/gtest.h>

#include "kernels/support.h"

namespace dptrain::kernels::cpu {
namespace {

using test::agrees;
using test::at;
using test::random_floats;
using test::written_floats;

TEST(FewRows, TimesTheLinesOfAMatrix) {
  struct Shape {
    int64_t rows, lines, width;
  };
  // Every number of rows side by side, lines that come out odd, a width of several blocks and one below a vector.
  for (const Shape& s : {Shape{1, 5, 37}, {3, 33, 1}, {7, 19, 1100}, {8, 40, 2065}, {2, 70, 300}, {15, 2, 64}}) {
    SCOPED_TRACE(testing::Message() << s.rows << ", " << s.lines << ", " << s.width);
    const auto x = random_floats(s.rows * s.width, 1), matrix = random_floats(s.lines * s.width, 2);
    std::vector<double> y;
    for (int64_t row = 0; row < s.rows; ++row)
      for (int64_t line = 0; line < s.lines; ++line) {
        double sum = 0;
        for (int64_t i = 0; i < s.width; ++i) sum += at(x, row * s.width + i) * at(matrix, line * s.width + i);
        y.push_back(sum);
      }
    // Sums of products of up to four, rounded as they grow: without vectors one chain of a whole block.
    agrees(y, 1e-5, 1e-5 * std::sqrt(static_cast<double>(s.width)), [&] {
      return written_floats(s.rows * s.lines, [&](float* out) {
        rows_times_lines(x.data(), s.rows, matrix.data(), s.lines, s.width, out);
      });
    });
  }
}

}  // namespace
}  // namespace dptrain::kernels::cpu
