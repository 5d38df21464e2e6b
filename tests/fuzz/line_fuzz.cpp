// Any bytes, as one line of a log: colours, wrappers, prefixes, times, zones. Nothing may crash; a
// message is no longer than its line; heads of torn records lie within the line, in order.
#include <algorithm>

#include "any_rows.hpp"
#include "line/line.hpp"
#include "line/timestamp.hpp"
#include "line/wrapper.hpp"
#include "line/zone.hpp"

using namespace culprit;
using test::hold;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view raw(reinterpret_cast<const char*>(data), size);
  const line::Habit found = line::habit_of(raw);
  for (const line::Habit habit :
       {line::Habit{}, found, line::Habit{true, false, false}, line::Habit{false, true, false},
        line::Habit{false, false, true}}) {
    const line::Line line = line::peel(raw, habit);
    line::Line again;
    line::peel(raw, habit, again);
    hold(again.message == line.message, "the same message");
    hold(line.message.size() <= 4 * size, "a message out of the line");
    hold(line.message.find('\0') == std::string::npos || raw.find("\\u0000") != raw.npos,
         "no NUL in a message");
  }
  std::size_t before = 0;
  const auto heads = line::record_heads(raw);
  hold(!heads.empty() && heads[0] == 0, "the first record");
  for (std::size_t i = 1; i < heads.size(); before = heads[i++])
    hold(heads[i] > before && heads[i] < size, "heads in order");
  hold(heads.size() == 1 || line::may_hold_heads(raw), "what may hold heads");
  hold(line::needs_cleaning(raw) || line::clean(raw).size() <= size, "clean text");
  Timestamp stamp;
  hold(line::parse_iso(raw, stamp) <= size && line::parse_calendar(raw, stamp) <= size &&
           line::parse_time_of_day(raw, stamp) <= size && line::parse_glog(raw, stamp) <= size,
       "a time within the text");
  if (const auto zone = size < 64 ? line::Zone::named(raw) : std::nullopt) {
    const Nanoseconds noon = 1'790'000'000LL * 1'000'000'000;
    const Nanoseconds offset = zone->offset(noon);
    hold(offset > -Nanoseconds{30} * 3600 * 1'000'000'000 &&
             offset < Nanoseconds{30} * 3600 * 1'000'000'000,
         "an offset of a day at most");
  }
  return 0;
}
