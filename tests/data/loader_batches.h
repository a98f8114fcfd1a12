#pragma once

// A loader's data set and options for tests, and copies of its batches.

#include <vector>

#include "data/fixtures.h"
#include "data/loader.h"

namespace dptrain::data {

inline LoaderOptions loader_options(std::int64_t batch, int workers = 1, int prefetch = 0) {
  LoaderOptions o;
  o.batch_size = batch;
  o.seed = 11;
  o.workers = workers;
  o.prefetch = prefetch;
  return o;
}

/// Element e of sample i is 100 i + e, its class i % 4.
inline std::shared_ptr<VectorSource> numbered_source(std::int64_t size, bool contiguous = true) {
  auto source = std::make_shared<VectorSource>(size, Shape{2, 3, 1});
  source->contiguous = contiguous;
  for (std::int64_t i = 0; i < size; ++i) source->classes.push_back(i % 4);
  return source;
}

inline const ModelSide kLoaderModel = model_of({2, 3, 1}, {4});
inline const std::vector<LabelForm> kLoaderClasses{{.output = "digits", .kind = nn::LabelKind::kClass, .width = 4}};

/// Contents of a batch, for comparisons.
struct Copy {
  std::int64_t epoch, first;
  std::vector<std::int64_t> indices;
  std::vector<float> input;
  std::vector<std::int32_t> labels;
  bool operator==(const Copy&) const = default;
};
inline Copy copy(const Batch& batch) {
  const auto rows = static_cast<std::size_t>(batch.rows());
  const auto* labels = static_cast<const std::int32_t*>(batch.labels());
  return {batch.epoch(),
          batch.first(),
          batch.indices(),
          {batch.input(0), batch.input(0) + rows * 6},
          {labels, labels + rows}};
}
inline std::vector<Copy> epochs(Loader& loader, int count) {
  std::vector<Copy> all;
  for (int e = 0; e < count; ++e) {
    for (Batch batch = loader.next(); batch.rows() > 0; batch = loader.next()) all.push_back(copy(batch));
    loader.next_epoch();
  }
  return all;
}

}  // namespace dptrain::data
