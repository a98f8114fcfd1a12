#include "formats/checkpoint/average.h"

#include <algorithm>
#include <functional>

#include "formats/checkpoint/weights.h"

namespace dptrain::formats {

void load_average(const std::vector<std::string>& files, graph::Model& model) {
  std::vector<std::vector<double>> sums(model.weights.size());
  for (const std::string& file : files) {
    graph::WeightsSpec spec;
    spec.file.value = file;
    load_weights(spec, model, Coverage::kAll);
    for (std::size_t w = 0; w < sums.size(); ++w) {
      const std::vector<float>& values = model.weights[w].values;
      sums[w].resize(values.size());
      std::ranges::transform(sums[w], values, sums[w].begin(), std::plus<>());
    }
  }
  for (std::size_t w = 0; w < sums.size(); ++w)
    std::ranges::transform(sums[w], model.weights[w].values.begin(),
                           [&](double sum) { return static_cast<float>(sum / static_cast<double>(files.size())); });
}

}  // namespace dptrain::formats
