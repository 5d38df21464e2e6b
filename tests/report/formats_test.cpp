#include <gtest/gtest.h>

#include <fmt/format.h>

#include "report/report.hpp"

namespace culprit::report {
namespace {

TEST(Formats, AreTheOnesThatHelpNames) {
  std::vector<std::string> names;
  for (const Format* f : formats()) names.emplace_back(f->name);
  const std::string last = names.back();
  names.pop_back();
  EXPECT_EQ(kFormatNames, fmt::format("{} or {}", fmt::join(names, ", "), last));
  for (const std::string& name : names) EXPECT_NE(find_format(name), nullptr);
  EXPECT_EQ(find_format("docx"), nullptr);
}

TEST(Formats, TakeAnyDocument) {
  for (const Format* f : formats())
    for (const char* document : {"", "{}", "[1]", "{\"findings\": [3, {}], \"verdict\": 7}"})
      EXPECT_NO_THROW((void)f->render(document, {})) << f->name << " of " << document;
}

}  // namespace
}  // namespace culprit::report
