// From "the rules say X of this line" to an event row; storms become one row with a count.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "ingest/engine/recogniser.hpp"

namespace culprit::ingest {

// A capture of digits as a number.
std::optional<std::int64_t> captured_number(const std::map<std::string, std::string>& captures,
                                            const char* key);

EventRow make_event(const TextLine& line, const rules::Match& match, const Reading& reading);

// What a reader says of a record, in words that the rules know: an event where one of them takes
// it, and true. It is over at `until`; without that it is of one moment.
bool put_said(const Place& place, const line::Line& said, std::string_view text_kind,
              Reading& reading, const std::optional<Timestamp>& until = std::nullopt);

// The same of what a host says at no known time.
bool put_said(const Place& place, const std::optional<Host>& host, std::string message,
              Reading& reading);

// Holds back the newest row of each kind, so that a storm (11,000 lines of Xid 45, 800,000
// corrected errors) becomes a row that says how many lines from when to when. Lines of one kind
// more than a minute apart are another row; so is every one of the first few, which a person wants
// to see by themselves.
class StormFolder {
 public:
  void add(EventRow row, Sink& sink);
  // "message repeated N times", "Skipped N previous similar messages": counts for the newest row
  // (of that function).
  bool add_repeats(std::uint64_t times, std::string_view like, std::uint64_t line);
  void flush(Sink& sink);

 private:
  struct Open {
    EventRow row;
    std::uint64_t rows = 1;  // rows of this kind so far
  };
  std::map<std::string, Open> open_;
  std::string newest_;
};

}  // namespace culprit::ingest
