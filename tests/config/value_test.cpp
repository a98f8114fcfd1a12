#include "config/value.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "tests/config/example.h"

namespace dptrain::config {
namespace {

/// The value written as YAML, or the error.
template <class T>
std::string read(const std::string& text) {
  Reading r(text);
  EXPECT_TRUE(r.diagnostics.ok()) << r.diagnostics.render();
  const Reader::Key key(r.reader, "x");
  T value{};
  if (!Value<T>::read(r.root, r.reader, value)) return r.diagnostics.errors().at(0).message;
  EXPECT_TRUE(r.diagnostics.ok());
  Node document = Node::map();
  document.set("x", Value<T>::write(value));
  const std::string written = to_yaml(document);
  T again{};
  const Node back = parsed(written);
  EXPECT_TRUE(Value<T>::read(*back.find("x"), r.reader, again)) << written;
  EXPECT_TRUE(same(Value<T>::write(value), Value<T>::write(again))) << written;
  return written.substr(3, written.size() - 4);
}

TEST(Value, Numbers) {
  EXPECT_EQ(read<int>("6/2"), "3");
  EXPECT_EQ(read<int>("3000000000"), "x must be an integer between -2147483648 and 2147483647, found 3000000000");
  EXPECT_EQ(read<std::int64_t>("-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(read<std::int64_t>("9223372036854775808"),
            "x must be an integer of at most 64 bits, found 9223372036854775808");
  EXPECT_EQ(read<std::uint64_t>("18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(read<std::uint64_t>("-1"), "x must be >= 0, found -1");
  EXPECT_EQ(read<std::uint64_t>("x"), "x must be an integer, found 'x'");
  EXPECT_EQ(read<float>("0.1"), "0.1");
  EXPECT_EQ(read<float>("1e39"), "x must be a number that fits in 32 bits, found 1e39");
  EXPECT_EQ(read<double>("0.1%"), "0.001");
  EXPECT_EQ(read<bool>("no"), "x must be true or false, found 'no'");
}

TEST(Value, Text) {
  EXPECT_EQ(read<std::string>("NO"), "NO");
  EXPECT_EQ(read<std::string>("12"), "\"12\"");
  EXPECT_EQ(read<std::string>("a$$b"), "a$$b");
  EXPECT_EQ(read<std::string>("[a]"), "x must be text, found a list");
  EXPECT_EQ(read<std::string>("~"), "x must be text, found nothing");
  EXPECT_EQ(read<Path>("a/b"), "/configs/a/b");
  EXPECT_EQ(read<TestPadding>("same"), "same");
  EXPECT_EQ(read<TestPadding>("sane"), "x must be valid or same, found 'sane'; did you mean 'same'?");
  EXPECT_EQ(read<TestPadding>("[same]"), "x must be valid or same, found a list");
}

TEST(Value, ListsAndMaps) {
  EXPECT_EQ(read<std::vector<int>>("[1, 2*2]"), "[1, 4]");
  EXPECT_EQ(read<std::vector<int>>("3"), "[3]");
  EXPECT_EQ(read<std::vector<int>>("~"), "[]");
  EXPECT_EQ(read<std::vector<int>>("[1, b]"), "x[1] must be an integer, found 'b'");
  EXPECT_EQ(read<std::vector<int>>("[1, ~]"), "x[1] is empty");
  EXPECT_EQ(read<std::vector<std::string>>("[a, [b]]"), "x[1] must be text, found a list");
  EXPECT_EQ(read<std::optional<int>>("~"), "null");
  EXPECT_EQ(read<std::optional<int>>("2"), "2");
  EXPECT_EQ((read<std::map<std::string, double>>("{b: 1/2, a: 1}")), "{a: 1, b: 0.5}");
  EXPECT_EQ((read<std::map<std::string, double>>("{b: x}")), "x.b must be a number, found 'x'");
  EXPECT_EQ((read<std::map<std::string, double>>("[1]")), "x must be a mapping, found a list");
}

TEST(Value, Shapes) {
  EXPECT_EQ(read<Size2>("3"), "[3, 3]");
  EXPECT_EQ(read<Size2>("[3, 5]"), "[3, 5]");
  EXPECT_EQ(read<Size2>("[3]"), "x must be [height, width], found 1 value");
  EXPECT_EQ(read<Size2>("{a: 1}"), "x must be an integer or [height, width], found a mapping");
  EXPECT_EQ(read<Size2>("[3, x]"), "x[1] must be an integer, found 'x'");
  EXPECT_EQ(read<Shape>("[28, 28, 1]"), "[28, 28, 1]");
  EXPECT_EQ(read<Shape>("784"), "[784]");
  EXPECT_EQ(read<Shape>("~"), "x must be a list of integers, found nothing");
  EXPECT_EQ(read<Shape>("[~, 3]"), "x[0] is empty");
}

TEST(Value, Durations) {
  EXPECT_EQ(read<Duration>("350"), "350");
  EXPECT_EQ(read<Duration>("1 step"), "1 step");
  EXPECT_EQ(read<Duration>("200 steps"), "200 steps");
  EXPECT_EQ(read<Duration>("0.5 epochs"), "0.5 epochs");
  EXPECT_EQ(read<Duration>("2*5 epochs"), "10 epochs");
  EXPECT_EQ(read<Duration>("1000 samples"), "1000 samples");
  EXPECT_EQ(read<Duration>("30s"), "30 seconds");
  EXPECT_EQ(read<Duration>("10m"), "10 minutes");
  EXPECT_EQ(read<Duration>("90 minutes"), "90 minutes");
  EXPECT_EQ(read<Duration>("2h"), "2 hours");
  EXPECT_EQ(read<Duration>("1 hour"), "1 hour");
  EXPECT_EQ(read<Duration>("0.1s"), "0.1 seconds");
  EXPECT_EQ(read<Duration>("0 steps"), "0 steps");
  const std::string form =
      "x must be a duration such as 10, 200 steps, 5 epochs, 1000 samples, 30s, 10 minutes or 2h, found ";
  EXPECT_EQ(read<Duration>("5 epoch s"), form + "'5 epoch s'");
  EXPECT_EQ(read<Duration>("5 eons"), form + "'5 eons'");
  EXPECT_EQ(read<Duration>("epochs"), form + "'epochs'");
  EXPECT_EQ(read<Duration>("[5]"), form + "a list");
  EXPECT_EQ(read<Duration>("-1 steps"), "x must be >= 0, found '-1 steps'");
  EXPECT_EQ(read<Duration>("1.5"), "x must be a whole number, found 1.5");
  EXPECT_EQ(read<Duration>("1.5 steps"), "x must be a whole number of steps, found '1.5 steps'");
}

TEST(Duration, CountsSteps) {
  using Unit = Duration::Unit;
  EXPECT_EQ((Duration{350, Unit::kEpochs}.steps(391, 128)), 136850);
  EXPECT_EQ((Duration{0.5, Unit::kEpochs}.steps(118, 512)), 59);
  EXPECT_EQ((Duration{7, Unit::kBare}.steps(391, 128)), 7);
  EXPECT_EQ((Duration{7, Unit::kSteps}.steps(391, 128)), 7);
  EXPECT_EQ((Duration{257, Unit::kSamples}.steps(391, 128)), 3);
  try {
    (void)Duration{600, Unit::kSeconds}.steps(1, 1);
    FAIL() << "must throw";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "'10 minutes' cannot be counted in steps; give steps, epochs or samples");
  }
}

TEST(Value, Sizes) {
  EXPECT_EQ(read<ByteSize>("512 KiB"), "512 KiB");
  EXPECT_EQ(read<ByteSize>("25MiB"), "25 MiB");
  EXPECT_EQ(read<ByteSize>("1024 MiB"), "1 GiB");
  EXPECT_EQ(read<ByteSize>("0.5 GiB"), "512 MiB");
  EXPECT_EQ(read<ByteSize>("1000"), "1000");
  EXPECT_EQ(read<ByteSize>("0"), "0");
  EXPECT_EQ(read<ByteSize>("5 MB"), "x must be a size such as 512 KiB, 25 MiB or 1 GiB, found '5 MB'");
  EXPECT_EQ(read<ByteSize>("-1"), "x must be a size such as 512 KiB, 25 MiB or 1 GiB, found -1");
  EXPECT_EQ(read<ByteSize>("1e30 GiB"), "x must be a size such as 512 KiB, 25 MiB or 1 GiB, found '1e30 GiB'");
  EXPECT_EQ(read<ByteSize>("0.5"), "x must be a whole number of bytes, found 0.5");
}

}  // namespace
}  // namespace dptrain::config
