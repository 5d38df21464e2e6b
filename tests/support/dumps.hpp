// A flight recorder's dump of a rank, as an empty file that was written at a moment.
#pragma once

#include <cstdint>
#include <string>

#include "analyze/facts/facts.hpp"

namespace culprit::analyze {

inline MemberId add_dump(Facts& facts, std::int64_t rank, std::int64_t mtime_s) {
  MemberRow m;
  m.id = rank + 1;
  m.path = "dumps/rank_" + std::to_string(rank);
  m.mtime_s = mtime_s;
  facts.members.push_back(m);
  RecorderRow d;
  d.place.member = m.id;
  d.source = CollectiveSource::recorder;
  d.rank = Rank(rank);
  facts.recorders.push_back(d);
  return m.id;
}

}  // namespace culprit::analyze
