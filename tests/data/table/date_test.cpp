#include "data/table/date.h"

#include <gtest/gtest.h>

#include <chrono>

namespace dptrain::data::table {
namespace {

std::int32_t minutes(int year, unsigned month, unsigned day, int hour = 0, int minute = 0) {
  using namespace std::chrono;
  const sys_days date = std::chrono::year(year) / std::chrono::month(month) / std::chrono::day(day);
  return static_cast<std::int32_t>(date.time_since_epoch().count() * 1440 + hour * 60 + minute);
}

TEST(Date, IsoDatesAndTimes) {
  const std::pair<const char*, std::int32_t> cases[] = {
      {"1970-01-01", 0},
      {"2026-11-25", minutes(2026, 11, 25)},
      {"2024-02-29", minutes(2024, 2, 29)},
      {"1969-12-31T23:59", -1},
      {"2026-11-25T10:20", minutes(2026, 11, 25, 10, 20)},
      {"2026-11-25 10:20:59", minutes(2026, 11, 25, 10, 20)},
      {"2026-11-25t10:20:30.123456z", minutes(2026, 11, 25, 10, 20)},
      {"2026-11-25T10:20+01:00", minutes(2026, 11, 25, 9, 20)},
      {"2026-11-25T10:20:00 -0530", minutes(2026, 11, 25, 15, 50)},
      {"2026-11-25T00:20+02", minutes(2026, 11, 24, 22, 20)},
      {"2026-12-31T24:00", minutes(2027, 1, 1)},
      {"0001-01-01", minutes(1, 1, 1)},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(read_date(text, DateForm::kIso), expected) << text;
}

TEST(Date, DayOrMonthFirst) {
  EXPECT_EQ(read_date("25/11/2026", DateForm::kDayFirst), minutes(2026, 11, 25));
  EXPECT_EQ(read_date("5.1.2026 7:05", DateForm::kDayFirst), minutes(2026, 1, 5, 7, 5));
  EXPECT_EQ(read_date("11/25/2026", DateForm::kMonthFirst), minutes(2026, 11, 25));
  EXPECT_EQ(read_date("11-25-2026", DateForm::kMonthFirst), minutes(2026, 11, 25));
}

TEST(Date, RejectsOtherTexts) {
  for (const char* text : {"",
                           "2026",
                           "2026-11",
                           "2026-13-01",
                           "2026-02-29",
                           "2026-11-31",
                           "2026-00-10",
                           "2026-1-1",
                           "26-11-25",
                           "2026/11/25",
                           "2026-11-25T",
                           "2026-11-25T10",
                           "2026-11-25T25:00",
                           "2026-11-25T24:01",
                           "2026-11-25T10:60",
                           "2026-11-25T10:20:",
                           "2026-11-25T10:20:61",
                           "2026-11-25T10:20+1",
                           "2026-11-25T10:20+24:00",
                           "2026-11-25x",
                           "2026-11-25 10:20 ",
                           "0000-01-01",
                           "9999-12-31",
                           " 2026-11-25",
                           "-2026-11-25"})
    EXPECT_FALSE(read_date(text, DateForm::kIso)) << text;
  for (const char* text :
       {"25/11-2026", "25/13/2026", "31/11/2026", "25/11/26", "25//2026", "/11/2026", "2026-11-25", "25 11 2026"})
    EXPECT_FALSE(read_date(text, DateForm::kDayFirst)) << text;
  EXPECT_FALSE(read_date("25/11/2026", DateForm::kMonthFirst));
}

}  // namespace
}  // namespace dptrain::data::table
