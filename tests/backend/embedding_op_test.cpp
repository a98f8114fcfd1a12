#include "nn/embedding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/net_run.h"
#include "core/error.h"

namespace dptrain::test {
namespace {

constexpr std::int64_t kWordRows = 3, kWordSteps = 4, kWordWidth = 3;

graph::Model words_model() {
  return model_of(R"(
layers:
  - Input: {name: x, shape: [4], dtype: int32}
  - Embedding: {name: words, input_dim: 5, output_dim: 3, mask_zero: true}
  - Flatten: {name: end}  # of the mask, which no loss takes
)");
}

/// Ids that occur several times in one row and in several, an unused id, and padding.
const std::vector<std::int32_t> kWords{2, 4, 2, 0, 1, 2, 0, 0, 4, 4, 4, 2};

TEST(EmbeddingOp, GathersRowsAndSumsTheirGradients) {
  const graph::Model model = words_model();
  const std::vector<float>& table = model.weights.front().values;
  std::vector<float> dy(kWords.size() * kWordWidth);
  for (std::size_t i = 0; i < dy.size(); ++i) dy[i] = 0.01F * static_cast<float>(i % 17) - 0.07F;
  on_devices_in_all_types([&](backend::Device& device, double tolerance) {
    const NetRun found = Net(device, model, kWordRows).run(kWords, dy);
    std::vector<double> gradient(table.size(), 0);
    for (std::size_t i = 0; i < kWords.size(); ++i)
      for (std::size_t c = 0; c < kWordWidth; ++c) {
        const std::size_t from = static_cast<std::size_t>(kWords[i]) * kWordWidth + c;
        EXPECT_NEAR(found.tensors.at("words")[i * kWordWidth + c], table[from], tolerance * 0.05);
        gradient[from] += static_cast<double>(dy[i * kWordWidth + c]);
      }
    for (std::size_t k = 0; k < gradient.size(); ++k)
      EXPECT_NEAR(found.gradients.at("words/embeddings")[k], gradient[k], tolerance) << k;
    for (std::size_t i = 0; i < kWords.size(); ++i)
      EXPECT_EQ(found.masks.at("words.mask")[i], kWords[i] != 0 ? 1 : 0) << i;
  });
}

TEST(EmbeddingOp, TheSameBitsTwice) {
  const graph::Model model = words_model();
  std::vector<float> dy(kWords.size() * kWordWidth);
  for (std::size_t i = 0; i < dy.size(); ++i) dy[i] = 1.0F / static_cast<float>(i + 3);
  for (const auto& device : devices()) {
    const NetRun first = Net(*device, model, kWordRows).run(kWords, dy);
    EXPECT_EQ(Net(*device, model, kWordRows).run(kWords, dy).gradients, first.gradients) << device->description();
  }
}

TEST(EmbeddingOp, InvalidIdsReadNothingFromTheTable) {
  const graph::Model model = words_model();
  std::vector<std::int32_t> ids = kWords;
  ids[5] = 5;
  const std::vector<float> dy(ids.size() * kWordWidth, 1.0F);
  for (const auto& device : devices()) {
    SCOPED_TRACE(device->description());
    if (device->reads_host_memory()) {
      try {
        Net(*device, model, kWordRows).run(ids, dy);
        FAIL() << "no error";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kData);
        EXPECT_STREQ(error.what(), "id 5 in row 1 of the batch, expected 0 to 4; raise input_dim");
      }
    } else {
      const NetRun found = Net(*device, model, kWordRows).run(ids, dy);
      EXPECT_TRUE(std::isnan(found.tensors.at("words")[5 * kWordWidth]));
    }
  }
}

}  // namespace
}  // namespace dptrain::test
