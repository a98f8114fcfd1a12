#include "data/table/row_stream.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string_view>

#include <unistd.h>

#include "core/error.h"
#include "data/table/files.h"
#include "support/folder.h"

namespace dptrain::data::table::test {
namespace {

class Pipe {
 public:
  Pipe() {
    if (pipe(ends_) != 0) std::abort();
  }
  ~Pipe() {
    close(ends_[0]);
    end();
  }
  int out() const { return ends_[0]; }
  void write(std::string_view text) const {
    ASSERT_EQ(::write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void end() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  int ends_[2];
};

Schema two_columns() {
  Schema schema = schema_of({ColumnType::kNumber, ColumnType::kText});
  schema.dialect.header = true;
  schema.columns[0].name = "x";
  schema.columns[1].name = "t";
  return schema;
}

/// Rows are returned while the writer keeps its end open.
TEST(RowStream, ReturnsRowsAsTheyAreWritten) {
  Pipe pipe;
  pipe.write("t,x,more\nhello,1,");
  RowStream stream(pipe.out(), "stdin", two_columns(), {});
  EXPECT_EQ(stream.header(), (std::vector<std::string>{"t", "x", "more"}));
  pipe.write("!\nworld,2,!\n");
  Table rows;
  ASSERT_TRUE(stream.next(rows, 1));
  EXPECT_EQ(rows.rows(), 1);
  EXPECT_EQ(number(rows, 0, 0), 1.0F);
  ASSERT_TRUE(stream.next(rows, 100));
  ASSERT_EQ(rows.rows(), 1);
  EXPECT_EQ(text_of(rows, 1, 0), "world");
  EXPECT_EQ(rows.place(0), "stdin:3");
  pipe.write("again,3,!");
  pipe.end();
  ASSERT_TRUE(stream.next(rows, 100));
  EXPECT_EQ(number(rows, 0, 0), 3.0F);
  EXPECT_FALSE(stream.next(rows, 100));
  EXPECT_EQ(rows.rows(), 0);
}

TEST(RowStream, ReturnsWholeBatchesOfAFile) {
  const dptrain::test::Folder folder;
  const std::string path = folder / "a.csv";
  std::string text = "x,t\n";
  for (int i = 0; i < 1000; ++i) text += std::to_string(i) + ",word" + std::to_string(i) + "\n";
  std::ofstream(path) << text;
  RowStream stream(path, two_columns(), {.block_bytes = 50});
  Table rows;
  for (int begin = 0; begin < 1000; begin += 300) {
    ASSERT_TRUE(stream.next(rows, 300));
    ASSERT_EQ(rows.rows(), std::min(300, 1000 - begin));
    for (int i = 0; i < rows.rows(); ++i) {
      ASSERT_EQ(number(rows, 0, i), static_cast<float>(begin + i));
      ASSERT_EQ(text_of(rows, 1, i), "word" + std::to_string(begin + i));
      ASSERT_EQ(rows.place(i), path + ":" + std::to_string(begin + i + 2));
    }
  }
  EXPECT_FALSE(stream.next(rows, 300));
}

TEST(RowStream, CodesStayTheSameBetweenBlocks) {
  Pipe pipe;
  Schema schema = schema_of({ColumnType::kCategory, ColumnType::kNumber});
  RowStream stream = [&] {
    pipe.write("b,1\na,2\nb,3\nc,4\na,5\n");
    pipe.end();
    return RowStream(pipe.out(), "stdin", schema, {.block_bytes = 4});
  }();
  Table rows;
  std::string words;
  while (stream.next(rows, 2))
    for (std::int64_t i = 0; i < rows.rows(); ++i)
      words += std::to_string(rows.row(i)[0].code) + word(rows, 0, i) + " ";
  EXPECT_EQ(words, "0b 1a 0b 2c 1a ");
}

TEST(RowStream, RejectsAFieldOfAnotherType) {
  Pipe pipe;
  const Schema schema = two_columns();
  pipe.write("x,t\n1,a\nb,b\n");
  pipe.end();
  RowStream stream(pipe.out(), "stdin", schema, {});
  Table rows;
  try {
    while (stream.next(rows, 10)) {
    }
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).substr(0, 30), "stdin:3:1: column 'x': found '");
  }
}

/// Unchanged bytes, also of columns outside the schema.
TEST(RowStream, KeepsFieldsOfColumns) {
  Pipe pipe;
  pipe.write("t,x,more\nhello,01.50, \xE4 b\n\"a \"\"b\"\", c\",2,\n");
  pipe.end();
  RowStream stream(pipe.out(), "stdin", two_columns(), {}, {.names = {"x", "more", "t"}});
  Table rows;
  ASSERT_TRUE(stream.next(rows, 100));
  ASSERT_EQ(rows.rows(), 2);
  EXPECT_EQ(number(rows, 0, 0), 1.5F);
  ASSERT_EQ(stream.passthrough().size(), 3U);
  EXPECT_EQ(text_of(rows, stream.passthrough()[0], 0), "01.50");
  EXPECT_EQ(text_of(rows, stream.passthrough()[1], 0), " \xE4 b");
  EXPECT_EQ(text_of(rows, stream.passthrough()[1], 1), "");
  EXPECT_EQ(text_of(rows, stream.passthrough()[2], 1), "a \"b\", c");
}

TEST(RowStream, KeepsAllColumnsOrListsThem) {
  Pipe pipe;
  pipe.write("t,x,more\nhello,1,2\n");
  pipe.end();
  RowStream stream(pipe.out(), "stdin", two_columns(), {}, {.all = true});
  Table rows;
  ASSERT_TRUE(stream.next(rows, 100));
  ASSERT_EQ(stream.passthrough().size(), 3U);
  EXPECT_EQ(text_of(rows, stream.passthrough()[2], 0), "2");
  try {
    Pipe other;
    other.write("t,x,more\nhello,1,2\n");
    other.end();
    RowStream(other.out(), "stdin", two_columns(), {}, {.names = {"mor"}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_STREQ(error.what(), "stdin: has no column 'mor' to keep; it has t, x, more; did you mean 'more'?");
  }
}

/// Columns are named column1 and so on; rows still have the fields of the schema.
TEST(RowStream, KeepsFieldsWithoutAHeader) {
  const dptrain::test::Folder folder;
  std::ofstream(folder / "a.csv") << "1,hello\n2,world\n";
  Schema schema = two_columns();
  schema.dialect.header = false;
  RowStream stream(folder / "a.csv", schema, {}, {.all = true});
  Table rows;
  ASSERT_TRUE(stream.next(rows, 100));
  EXPECT_EQ(text_of(rows, stream.passthrough()[0], 1), "2");
  EXPECT_EQ(text_of(rows, stream.passthrough()[1], 1), "world");
}

}  // namespace
}  // namespace dptrain::data::table::test
