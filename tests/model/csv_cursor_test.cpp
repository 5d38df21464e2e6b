#include "model/csv_cursor.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace culprit {
namespace {

using Record = std::vector<std::string>;

std::vector<Record> records(std::string_view text, char separator = ',',
                            std::size_t longest = static_cast<std::size_t>(-1)) {
  std::vector<Record> out;
  for (CsvCursor in(text, separator, longest); !in.done();) {
    Record record;
    in.next_record();
    for (CsvCell cell; in.more();) {
      if (!in.next(cell)) {
        record.push_back("OPEN");
        out.push_back(record);
        return out;
      }
      record.push_back(cell.doubled ? csv_undoubled(cell.text) : std::string(cell.text));
    }
    out.push_back(record);
  }
  return out;
}

TEST(CsvCursor, RecordsAndCells) {
  EXPECT_EQ(records("a,b\nc,,d\n"), (std::vector<Record>{{"a", "b"}, {"c", "", "d"}}));
  EXPECT_EQ(records("a,"), (std::vector<Record>{{"a", ""}}));
  EXPECT_EQ(records("a,\nb"), (std::vector<Record>{{"a", ""}, {"b"}}));
  EXPECT_EQ(records("\n\nx"), (std::vector<Record>{{""}, {""}, {"x"}}));
  EXPECT_EQ(records("a\tb c\t", '\t'), (std::vector<Record>{{"a", "b c", ""}}));
  EXPECT_TRUE(records("").empty());
}

TEST(CsvCursor, Quotes) {
  EXPECT_EQ(records("\"a,b\",c"), (std::vector<Record>{{"a,b", "c"}}));
  EXPECT_EQ(records("x, \"a, b\" ,c"), (std::vector<Record>{{"x", "a, b", "c"}}));
  EXPECT_EQ(records("\"say \"\"no\"\"\",1"), (std::vector<Record>{{"say \"no\"", "1"}}));
  EXPECT_EQ(records("\"two\nlines\",1\nnext"),
            (std::vector<Record>{{"two\nlines", "1"}, {"next"}}));
  EXPECT_EQ(records("\"a\" rubbish,b"), (std::vector<Record>{{"a", "b"}}));
  EXPECT_EQ(records("a\"b,c"), (std::vector<Record>{{"a\"b", "c"}}));
  EXPECT_EQ(records("1,\"open,2"), (std::vector<Record>{{"1", "OPEN"}}));
  EXPECT_EQ(records("\"123456\",2", ',', 3), (std::vector<Record>{{"OPEN"}}));
}

}  // namespace
}  // namespace culprit
