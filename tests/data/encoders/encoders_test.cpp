// Fitting and applying encoders; expected values are those of Keras's layers.

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "data/encoders/columns.h"

namespace dptrain::data {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

std::vector<float> numbers(const Encoder& encoder, double number) {
  std::vector<float> out(static_cast<std::size_t>(encoder.floats()));
  dynamic_cast<const NumberEncoder&>(encoder).encode(number, out.data());
  return out;
}
const WordEncoder& words(const std::unique_ptr<const Encoder>& encoder) {
  return dynamic_cast<const WordEncoder&>(*encoder);
}

TEST(NormalizationEncoder, UsesTheMeanAndDeviationOfThePopulation) {
  const auto encoder = fitted_encoder("Normalization", Column({1, 2, 3, 4}));
  EXPECT_THAT(numbers(*encoder, 1), ElementsAre(FloatNear(-1.3416408F, 1e-6F)));
  EXPECT_THAT(numbers(*encoder, 2.5), ElementsAre(0.0F));
}

TEST(NormalizationEncoder, KeepsTheVarianceOfLargeNumbers) {
  const auto encoder = fitted_encoder("Normalization", Column({1e9 + 1, 1e9 + 2, 1e9 + 3, 1e9 + 4}));
  EXPECT_THAT(numbers(*encoder, 1e9 + 1), ElementsAre(FloatNear(-1.3416408F, 1e-6F)));
}

TEST(NormalizationEncoder, ReplacesMissingNumbersByTheMeanOrTheGivenValue) {
  const Column column({1, 1, 4, kMissing});
  EXPECT_THAT(numbers(*fitted_encoder("Normalization", column), kMissing), ElementsAre(FloatNear(0, 1e-7F)));
  const auto frequent = fitted_encoder("Normalization: {missing: most_frequent}", column);
  EXPECT_EQ(numbers(*frequent, kMissing), numbers(*frequent, 1));
  const auto given = fitted_encoder("Normalization: {missing: 7}", column);
  EXPECT_EQ(numbers(*given, kMissing), numbers(*given, 7));
  const auto refused = fitted_encoder("Normalization: {missing: error}", column);
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { numbers(*refused, kMissing); }), HasSubstr("a number is missing"));
}

TEST(NormalizationEncoder, AConstantColumnStaysFinite) {
  EXPECT_THAT(numbers(*fitted_encoder("Normalization", Column({5, 5, 5})), 5), ElementsAre(0.0F));
  EXPECT_THAT(numbers(*fitted_encoder("Normalization: {mean: 1, variance: 4}", Column({5, 5})), 5), ElementsAre(2.0F));
}

TEST(StringLookupEncoder, SortsWordsByFrequencyThenReverseAlphabet) {
  const auto encoder = fitted_encoder("StringLookup", Column({{"b", 1}, {"c", 3}, {"a", 1}, {"d", 3}}));
  EXPECT_EQ(encoder->floats(), 5);
  EXPECT_EQ(encoder->id_limit(), 5);
  std::vector<std::int32_t> found;
  for (const char* const word : {"d", "c", "b", "a", "never seen"}) found.push_back(words(encoder).index(word));
  EXPECT_THAT(found, ElementsAre(1, 2, 3, 4, 0));
  EXPECT_TRUE(words(encoder).is_unknown(0));
  EXPECT_FALSE(words(encoder).is_unknown(1));
}

TEST(StringLookupEncoder, MaxTokensIncludesTheUnknownToken) {
  const auto encoder = fitted_encoder("StringLookup: {max_tokens: 3}", Column({{"b", 1}, {"c", 3}, {"a", 2}}));
  EXPECT_EQ(encoder->floats(), 3);
  EXPECT_EQ(words(encoder).index("b"), 0);
  std::vector<float> out(3, 7);
  words(encoder).encode(2, out.data());
  EXPECT_THAT(out, ElementsAre(0, 0, 1));
}

TEST(StringLookupEncoder, KeepsAnIndexForMissingWordsOfTraining) {
  EXPECT_EQ(words(fitted_encoder("StringLookup", Column({{"a", 5}}, 2))).missing_index(), 2);
  EXPECT_EQ(words(fitted_encoder("StringLookup", Column({{"a", 5}}))).missing_index(), 0);
  const auto frequent = fitted_encoder("StringLookup: {missing: most_frequent}", Column({{"a", 5}, {"b", 1}}, 2));
  EXPECT_EQ(words(frequent).missing_index(), 1);
  EXPECT_EQ(frequent->floats(), 3);
  const auto refused = fitted_encoder("StringLookup: {missing: error}", Column({{"a", 5}}));
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { words(refused).missing_index(); }), HasSubstr("a word is missing"));
}

TEST(StringLookupEncoder, RejectsUnknownWordsWithoutAnIndex) {
  const auto encoder = fitted_encoder("StringLookup: {num_oov_indices: 0}", Column({{"a", 5}}));
  EXPECT_EQ(words(encoder).index("a"), 0);
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { words(encoder).index("b"); }),
              HasSubstr("'b' is not in the vocabulary of 1 words"));
}

TEST(StringLookupEncoder, KeepsAGivenVocabulary) {
  const auto encoder = fitted_encoder("StringLookup: {vocabulary: [x, y]}", Column({{"a", 5}, {"y", 1}}));
  EXPECT_EQ(words(encoder).index("y"), 2);
  EXPECT_EQ(words(encoder).index("a"), 0);
}

TEST(DateEncoder, EncodesYearAndWeekAsCircles) {
  constexpr double kDay = 1440;
  const auto encoder = fitted_encoder("Date", Column({0, 2 * kDay}));  // a Thursday, a Saturday
  EXPECT_EQ(encoder->floats(), 5);
  const float week = static_cast<float>(2 * M_PI * 3 / 7);
  EXPECT_THAT(numbers(*encoder, 0),
              ElementsAre(-1.0F, 0.0F, 1.0F, FloatNear(std::sin(week), 1e-6F), FloatNear(std::cos(week), 1e-6F)));
  EXPECT_THAT(numbers(*encoder, kMissing), ElementsAre(0, 0, 0, 0, 0));
  // The middle of a leap year, 2024-07-02 00:00, is the opposite point of the circle.
  EXPECT_THAT(numbers(*encoder, 19906 * kDay)[2], FloatNear(-1, 1e-6F));
  EXPECT_EQ(fitted_encoder("Date", Column({0, 90}))->floats(), 7) << "with times of day";
}

}  // namespace
}  // namespace dptrain::data
