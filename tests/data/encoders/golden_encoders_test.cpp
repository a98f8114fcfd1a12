// Encoders against Keras's layers (scripts/interop/keras_encoders.py); $DPTRAIN_GOLDEN_ENCODERS names a larger file.

#include <cstdlib>
#include <fstream>

#include "data/encoders/columns.h"
#include "support/test_data.h"

namespace dptrain::data {
namespace {

using Json = nlohmann::json;

Json golden_file() {
  const char* const other = std::getenv("DPTRAIN_GOLDEN_ENCODERS");
  std::ifstream file(other != nullptr ? other : test::test_data("golden/encoders.json"));
  return Json::parse(file);
}

void expect_near(const std::vector<float>& found, const Json& expected, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double value = expected[i].get<double>();
    // Keras sums the mean of idf weights in floats.
    ASSERT_NEAR(found[i], value, 2e-6 * std::max(1.0, std::abs(value))) << what << ", element " << i;
  }
}

void check_text(const Json& golden, const std::vector<std::string>& texts, const std::string& what) {
  const Column column(Texts{{texts.begin(), texts.begin() + golden.at("adapt").get<std::ptrdiff_t>()}}, 3);
  const auto made = learned(Json{{"TextVectorization", golden.at("arguments")}}.dump(), column);
  const auto& text = dynamic_cast<const TextEncoder&>(*made);
  EXPECT_EQ(made->learned().at("vocabulary"), golden.at("vocabulary")) << what;
  ASSERT_EQ(golden.at("outputs").size(), texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string& input = texts[i];
    const Json& output = golden.at("outputs")[i];
    if (made->ids() > 0) {
      std::vector<std::int32_t> ids(static_cast<std::size_t>(made->ids()), -7);
      text.encode_ids(input, ids.data());
      ASSERT_EQ(Json(ids), output) << what << " of '" << input << "'";
    } else {
      std::vector<float> floats(static_cast<std::size_t>(made->floats()), -7.0F);
      text.encode(input, floats.data());
      expect_near(floats, output, what + " of '" + input + "'");
    }
  }
}

TEST(GoldenEncoders, GiveWhatKerasGives) {
  const Json file = golden_file();
  const auto texts = file.at("texts").get<std::vector<std::string>>();
  EXPECT_FALSE(file.at("cases").empty());
  for (const Json& golden : file.at("cases")) {
    const auto layer = golden.at("layer").get<std::string>();
    const std::string what = layer + " " + golden.at("arguments").dump();
    if (layer == "TextVectorization") check_text(golden, texts, what);
  }
}

}  // namespace
}  // namespace dptrain::data
