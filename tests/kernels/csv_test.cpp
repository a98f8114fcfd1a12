#include "kernels/cpu/csv.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "kernels/support.h"
#include "support/tier.h"

namespace dptrain::kernels::cpu {
namespace {

/// Text framed by bytes that a reader must ignore.
class Padded {
 public:
  explicit Padded(const std::string& text) : all_(std::string(kTextPad, '"') + text + std::string(kTextPad, '"')) {}
  const char* begin() const { return all_.data() + kTextPad; }

 private:
  std::string all_;
};

std::string random_bytes(std::mt19937& random, size_t n, const std::string& alphabet) {
  std::string text(n, ' ');
  for (char& c : text) c = alphabet[random() % alphabet.size()];
  return text;
}

TEST(Csv, FindsMarksAtTheirPositions) {
  std::mt19937 random(tier::case_seed(1));
  const std::string alphabets[] = {"ab,\n", "ab,\n\r\"", "a", ",", "\n", std::string("a\0,", 3), "a\x80\xFF"};
  for (const std::string& alphabet : alphabets)
    for (size_t n = 0; n < 200; n += n < 70 ? 1 : 13) {
      const std::string text = random_bytes(random, n, alphabet);
      std::vector<uint32_t> places, feeds;
      for (uint32_t i = 0; i < n; ++i) {
        if (text[i] == '\n') feeds.push_back(static_cast<uint32_t>(places.size()));
        if (std::string(",\n\r\"").find(text[i]) != std::string::npos) places.push_back(i);
      }
      const auto has = [&](const auto& f) { return std::any_of(text.begin(), text.end(), f); };
      test::on_every_target([&] {
        std::vector<uint32_t> found(n + 64), found_feeds(n + 64);
        const Padded padded(text);
        const CsvMarks marks = find_csv_marks(padded.begin(), n, ',', found.data(), found_feeds.data());
        found.resize(marks.marks);
        found_feeds.resize(marks.line_feeds);
        ASSERT_EQ(found, places) << testing::PrintToString(text);
        ASSERT_EQ(found_feeds, feeds) << testing::PrintToString(text);
        EXPECT_EQ(marks.quotes, has([](char c) { return c == '"'; }));
        EXPECT_EQ(marks.returns, has([](char c) { return c == '\r'; }));
        EXPECT_EQ(marks.zeros, has([](char c) { return c == '\0'; })) << testing::PrintToString(text);
        EXPECT_EQ(marks.high, has([](char c) { return static_cast<unsigned char>(c) >= 0x80; }));
        EXPECT_EQ(has_byte(padded.begin(), n, 'b'), has([](char c) { return c == 'b'; }));
        EXPECT_EQ(has_byte(padded.begin(), n, '"'), has([](char c) { return c == '"'; }));
      });
    }
}

/// Fields read by the kernel as one row: bits, or nothing if it leaves the field to the caller.
std::vector<std::optional<uint32_t>> decimals(const std::vector<std::string>& fields, bool empty_is_nan = false) {
  std::string text;
  std::vector<uint32_t> ends, field, slot, left(fields.size());
  for (size_t i = 0; i < fields.size(); ++i) {
    text += fields[i] + ",";
    ends.push_back(static_cast<uint32_t>(text.size() - 1));
    field.push_back(static_cast<uint32_t>(i));
    slot.push_back(static_cast<uint32_t>(fields.size() - 1 - i));  // in reverse order
  }
  const Padded padded(text);
  const uint32_t begin = 0;
  std::vector<float> out(fields.size());
  left.resize(short_decimals({padded.begin(), &begin, ends.data(), 1, fields.size()},
                             {field.data(), slot.data(), fields.size()}, empty_is_nan, out.data(), out.size(),
                             left.data()));
  std::vector<std::optional<uint32_t>> bits;
  for (size_t i = 0; i < fields.size(); ++i)
    if (std::find(left.begin(), left.end(), i) == left.end())
      bits.emplace_back(std::bit_cast<uint32_t>(out[slot[i]]));
    else
      bits.emplace_back();
  return bits;
}

std::string random_decimal(std::mt19937& random) {
  std::string text = random() % 2 == 0 ? "-" : "";
  const size_t digits = 1 + random() % 16;
  const size_t zeros = random() % 3 == 0 ? random() % digits : 0;
  for (size_t i = 0; i < digits; ++i) text += i < zeros ? '0' : static_cast<char>('0' + random() % 10);
  if (digits < 16 && random() % 8 != 0) text.insert(text.size() - random() % (digits + 1), ".");
  return text;
}

/// The nearest float, computed by the C library from all digits.
uint32_t nearest(const std::string& text) { return std::bit_cast<uint32_t>(std::strtof(text.c_str(), nullptr)); }

TEST(Csv, RoundsShortDecimalsToTheNearestFloat) {
  std::mt19937 random(tier::case_seed(2));
  for (int round = tier::how_many(100, 20'000); round > 0; --round) {
    std::vector<std::string> fields;
    for (int i = 0; i < 2000; ++i) fields.push_back(random_decimal(random));
    const auto expect_nearest = [&] {
      size_t left = 0;
      const auto bits = decimals(fields);
      for (size_t i = 0; i < fields.size(); ++i) {
        left += !bits[i];
        ASSERT_EQ(bits[i].value_or(nearest(fields[i])), nearest(fields[i])) << fields[i];
      }
      EXPECT_LT(left, fields.size() / 10);
    };
    if (round == 1)
      test::on_every_target(expect_nearest);
    else
      expect_nearest();
  }
}

/// Midpoints between floats and their neighbours in the last of sixteen digits, where double rounding is wrong.
TEST(Csv, RoundsDecimalsNearMidpointsOrLeavesThem) {
  std::mt19937 random(tier::case_seed(3));
  size_t taken = 0;
  for (int i = tier::how_many(200'000, 20'000'000); i > 0; --i) {
    const double low =
        std::bit_cast<float>(static_cast<uint32_t>((100U + random() % 50U) << 23 | (random() & 0x7FFFFF)));
    const double midpoint = low + std::ldexp(1.0, std::ilogb(low) - 24);
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", static_cast<int>(random() % 16), midpoint);
    std::string field(text);
    if (field.size() > 16) field.resize(16);
    if (random() % 2 == 0 && field.back() != '.') field.back() = static_cast<char>('0' + random() % 10);
    const auto bits = decimals({field});
    if (!bits[0]) continue;
    ++taken;
    ASSERT_EQ(*bits[0], nearest(field)) << field;
  }
  EXPECT_GT(taken, 0U);
}

TEST(Csv, LeavesOtherFieldsToTheCaller) {
  const std::vector<std::string> fields{"",
                                        "-",
                                        ".",
                                        "-.",
                                        "1.2.3",
                                        "12a",
                                        "a12",
                                        "1e5",
                                        "+1",
                                        " 1",
                                        "1 ",
                                        "--1",
                                        "1-",
                                        "0x10",
                                        "inf",
                                        "nan",
                                        "12345678901234567",
                                        "1,2",
                                        "\"1\"",
                                        "1234567.8.",
                                        ".12345678.",
                                        "1/",
                                        "1:",
                                        "9999999999999999",
                                        "\xB1",
                                        "12345678\xB1"};
  test::on_every_target([&] {
    const auto bits = decimals(fields);
    for (size_t i = 0; i < fields.size(); ++i) EXPECT_FALSE(bits[i]) << fields[i];
  });
}

TEST(Csv, ReadsSmallDecimals) {
  const std::vector<std::string> fields{
      "0", "-0", "1", "-1", "5.", ".5", "-.5", "00012", "0.00000000000001", "123456789012345", "1234567.12345678"};
  test::on_every_target([&] {
    const auto bits = decimals(fields);
    for (size_t i = 0; i < fields.size(); ++i) EXPECT_EQ(bits[i], nearest(fields[i])) << fields[i];
    const auto empty = decimals({"", "1"}, true);
    ASSERT_TRUE(empty[0] && empty[1]);
    EXPECT_TRUE(std::isnan(std::bit_cast<float>(*empty[0])));
  });
}

}  // namespace
}  // namespace dptrain::kernels::cpu
