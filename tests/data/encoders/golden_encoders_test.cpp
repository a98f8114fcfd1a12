// Compares encoders with Keras's layers (scripts/interop/keras_encoders.py); $DPTRAIN_GOLDEN_ENCODERS names a larger
// file.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>

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
    // Keras computes the mean of idf weights in floats.
    ASSERT_NEAR(found[i], value, 2e-6 * std::max(1.0, std::abs(value))) << what << ", element " << i;
  }
}

void check_text(const Json& golden, const std::vector<std::string>& texts, const std::string& what) {
  const Column column(Texts{{texts.begin(), texts.begin() + golden.at("adapt").get<std::ptrdiff_t>()}}, 3);
  const auto made = fitted_encoder(Json{{"TextVectorization", golden.at("arguments")}}.dump(), column);
  const auto& text = dynamic_cast<const TextEncoder&>(*made);
  EXPECT_EQ(made->fitted_state().at("vocabulary"), golden.at("vocabulary")) << what;
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

void check_words(const Json& golden, const std::string& what) {
  const auto column = golden.at("column").get<std::vector<std::string>>();
  std::map<std::string, std::int64_t> counts;
  std::int64_t missing = 0;
  for (const std::string& word : column) word.empty() ? ++missing : ++counts[word];
  std::vector<TrainingColumn::Word> words;
  for (const auto& [word, count] : counts) words.push_back({word, count});
  const auto made = fitted_encoder(Json{{golden.at("layer"), golden.at("arguments")}}.dump(), Column(words, missing));
  if (!golden.at("vocabulary").empty()) {
    EXPECT_EQ(made->fitted_state().at("vocabulary"), golden.at("vocabulary")) << what;
  }
  const auto& lookup = dynamic_cast<const WordEncoder&>(*made);
  ASSERT_EQ(golden.at("ids").size(), golden.at("inputs").size());
  for (std::size_t i = 0; i < golden.at("ids").size(); ++i) {
    const auto word = golden.at("inputs")[i].get<std::string>();
    EXPECT_EQ(word.empty() ? lookup.missing_index() : lookup.index(word), golden.at("ids")[i].get<std::int32_t>())
        << what << " of '" << word << "'";
  }
}

void check_numbers(const Json& golden, const std::string& what) {
  const auto made = fitted_encoder(Json{{golden.at("layer"), golden.at("arguments")}}.dump(),
                                   Column(golden.at("column").get<std::vector<double>>()));
  if (golden.contains("bin_boundaries"))
    expect_near(made->fitted_state().at("bin_boundaries").get<std::vector<float>>(), golden.at("bin_boundaries"), what);
  ASSERT_EQ(golden.at("outputs").size(), golden.at("inputs").size());
  for (std::size_t i = 0; i < golden.at("inputs").size(); ++i) {
    // Tables hold floats.
    const auto number = static_cast<double>(golden.at("inputs")[i].get<float>());
    std::vector<float> out(static_cast<std::size_t>(made->floats()), -7.0F);
    dynamic_cast<const NumberEncoder&>(*made).encode(number, out.data());
    const Json& expected = golden.at("outputs")[i];
    if (expected.is_array() || made->floats() == 1) {
      expect_near(out, expected.is_array() ? expected : Json::array({expected}), what);
    } else {
      EXPECT_EQ(std::ranges::count(out, 0.0F), made->floats() - 1);
      EXPECT_EQ(out[expected.get<std::size_t>()], 1.0F) << what << " of " << number;
      std::int32_t id = -7;
      dynamic_cast<const NumberEncoder&>(*made).encode_ids(number, &id);
      EXPECT_EQ(id, expected.get<std::int32_t>()) << what << " of " << number;
    }
  }
}

TEST(GoldenEncoders, EqualKeras) {
  const Json file = golden_file();
  const auto texts = file.at("texts").get<std::vector<std::string>>();
  EXPECT_FALSE(file.at("cases").empty());
  for (const Json& golden : file.at("cases")) {
    const auto layer = golden.at("layer").get<std::string>();
    const std::string what = layer + " " + golden.at("arguments").dump();
    if (layer == "TextVectorization")
      check_text(golden, texts, what);
    else if (golden.contains("ids"))
      check_words(golden, what);
    else
      check_numbers(golden, what);
  }
}

}  // namespace
}  // namespace dptrain::data
