#include "backend/cpu/bench/suite.h"
#include "backend/cpu/dnnl_support.h"
#include "backend/cpu/inner_product.h"
#include "core/format.h"

namespace dptrain::backend::cpu {
namespace {

/// The products of a Dense layer with their oneDNN engine and scratch.
struct Product {
  Dnnl dnnl;
  InnerProduct product;
  std::vector<std::byte> scratch;

  Product(std::int64_t rows, std::int64_t in, std::int64_t units)
      : product(rows, in, units, true, true, true, dnnl), scratch(product.scratch() + kAlign) {}
  void* aligned_scratch() {
    void* at = scratch.data();
    std::size_t bytes = scratch.size();
    return std::align(kAlign, scratch.size() - kAlign, at, bytes);
  }

 private:
  static constexpr std::size_t kAlign = 64;
};

/// Bytes count weights, inputs and outputs once.
void add_dense(Suite& suite, std::int64_t rows, std::int64_t in, std::int64_t units) {
  const std::int64_t weights = in * units;
  const double bytes = 4.0 * static_cast<double>(weights + rows * (in + units));
  const double flops = 2.0 * static_cast<double>(rows) * static_cast<double>(weights);
  const auto with = [&](const char* pass, auto run) {
    suite.push_back({fmt::format("dense/{}x{}x{}/{}", rows, in, units, pass), [=] {
                       const auto product = std::make_shared<Product>(rows, in, units);
                       const auto arrays = std::make_shared<Arrays>();
                       return Kernel{.run = [=] { run(*product, *arrays); }, .flops = flops, .bytes = bytes};
                     }});
  };
  with("forward", [=](Product& p, Arrays& r) {
    p.product.forward(r.floats(0, rows * in), r.floats(1, weights), r.floats(2, units), r.floats(3, rows * units),
                      p.aligned_scratch());
  });
  with("data", [=](Product& p, Arrays& r) {
    p.product.backward_data(r.floats(3, rows * units), r.floats(1, weights), r.floats(0, rows * in),
                            p.aligned_scratch());
  });
  with("weights", [=](Product& p, Arrays& r) {
    p.product.backward_weights(r.floats(0, rows * in), r.floats(3, rows * units), r.floats(1, weights),
                               r.floats(2, units), p.aligned_scratch());
  });
}

}  // namespace

void add_products(Suite& suite) {
  for (const std::int64_t rows : {1, 8, 64, 512}) add_dense(suite, rows, 4096, 4096);
}

}  // namespace dptrain::backend::cpu
