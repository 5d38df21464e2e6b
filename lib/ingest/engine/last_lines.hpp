// What a log said last before a trouble: what the program did then is often told by lines that no
// rule knows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/rows.hpp"
#include "model/sink.hpp"

namespace culprit::ingest {

class LastLines {
 public:
  // A trouble stands at `at`. `text` is what was read before it, as far as it is at hand, and ends
  // where that line begins.
  void trouble(std::string_view text, const Place& at);
  // `tail` is the end of the log. Puts the lines before the first trouble and before the last one
  // that others do not lead up to; of a log without any, those before the end.
  void finish(std::string_view tail, const Place& end, Sink& sink);

 private:
  std::vector<LastLineRow> first_, last_;
  std::uint64_t trouble_ = 0;  // the line of the last one
};

}  // namespace culprit::ingest
