#include "graph/orthogonal.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace dptrain::graph {
namespace {

/// A column of a tall matrix.
using Column = std::vector<double>;

double dot(const Column& a, const Column& b, std::size_t from) {
  return std::inner_product(a.begin() + static_cast<std::ptrdiff_t>(from), a.end(),
                            b.begin() + static_cast<std::ptrdiff_t>(from), 0.0);
}

/// x -= 2 v (v . x), the reflection that leaves the first `from` components alone. v has length 1.
void reflect(const Column& v, Column& x, std::size_t from) {
  const double twice = 2 * dot(v, x, from);
  for (std::size_t i = from; i < x.size(); ++i) x[i] -= twice * v[i];
}

/// Q of the QR factors of a tall matrix by Householder reflections (Golub, Van Loan: "Matrix Computations", 5.2), each
/// column times the sign of R's diagonal: that makes it uniform over the orthogonal matrices.
std::vector<Column> orthonormal_columns(std::vector<Column> a) {
  const std::size_t columns = a.size(), rows = a.front().size();
  std::vector<Column> mirrors;
  std::vector<double> signs;
  for (std::size_t k = 0; k < columns; ++k) {
    Column v(rows, 0.0);
    std::copy(a[k].begin() + static_cast<std::ptrdiff_t>(k), a[k].end(), v.begin() + static_cast<std::ptrdiff_t>(k));
    const double length = std::sqrt(dot(v, v, k));
    const double diagonal = v[k] > 0 ? -length : length;  // away from cancellation
    v[k] -= diagonal;
    const double norm = std::sqrt(dot(v, v, k));
    if (norm > 0)
      for (std::size_t i = k; i < rows; ++i) v[i] /= norm;
    for (std::size_t j = k; j < columns; ++j) reflect(v, a[j], k);
    mirrors.push_back(std::move(v));
    signs.push_back(diagonal < 0 ? -1 : 1);
  }
  for (std::size_t k = 0; k < columns; ++k) {
    Column& q = a[k];
    std::fill(q.begin(), q.end(), 0.0);
    q[k] = signs[k];
    for (std::size_t j = columns; j-- > 0;) reflect(mirrors[j], q, j);
  }
  return a;
}

}  // namespace

void fill_orthogonal(std::span<float> values, const Shape& shape, double gain, RandomStream& stream) {
  const auto last = static_cast<std::size_t>(shape.rank() == 0 ? 1 : shape.back());
  const std::size_t first = values.size() / last;
  std::vector<Column> columns(std::min(first, last), Column(std::max(first, last)));
  for (Column& column : columns)
    for (double& x : column) x = stream.normal();
  columns = orthonormal_columns(std::move(columns));
  for (std::size_t r = 0; r < first; ++r)
    for (std::size_t c = 0; c < last; ++c)
      values[r * last + c] = static_cast<float>(gain * (first >= last ? columns[c][r] : columns[r][c]));
}

}  // namespace dptrain::graph
