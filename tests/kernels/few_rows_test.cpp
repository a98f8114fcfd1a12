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
  // Every number of rows processed together, odd line lengths, widths of several blocks and below a vector.
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
    // Rounding of sums of products of up to four; without vectors, one chain over a whole block.
    agrees(y, 1e-5, 1e-5 * std::sqrt(static_cast<double>(s.width)), [&] {
      return written_floats(s.rows * s.lines, [&](float* out) {
        rows_times_lines(x.data(), s.rows, matrix.data(), s.lines, s.width, out);
      });
    });
  }
}

TEST(FewRows, TimesAMatrix) {
  struct Shape {
    int64_t rows, lines, width;
  };
  // Every number of rows processed together, lines above a multiple of eight and below, columns of several pieces and
  // below a vector.
  for (const Shape& s : {Shape{1, 37, 5}, {3, 1, 33}, {7, 110, 519}, {8, 41, 1065}, {2, 70, 300}, {15, 16, 50}}) {
    SCOPED_TRACE(testing::Message() << s.rows << ", " << s.lines << ", " << s.width);
    const auto x = random_floats(s.rows * s.lines, 1), matrix = random_floats(s.lines * s.width, 2),
               bias = random_floats(s.width, 3);
    for (const float* const added : {bias.data(), static_cast<const float*>(nullptr)}) {
      std::vector<double> y;
      for (int64_t row = 0; row < s.rows; ++row)
        for (int64_t c = 0; c < s.width; ++c) {
          double sum = added == nullptr ? 0 : at(bias, c);
          for (int64_t i = 0; i < s.lines; ++i) sum += at(x, row * s.lines + i) * at(matrix, i * s.width + c);
          y.push_back(sum);
        }
      agrees(y, 1e-5, 1e-5 * std::sqrt(static_cast<double>(s.lines)), [&] {
        return written_floats(s.rows * s.width, [&](float* out) {
          rows_times_matrix(x.data(), s.rows, matrix.data(), added, s.lines, s.width, out);
        });
      });
    }
  }
}

}  // namespace
}  // namespace dptrain::kernels::cpu
