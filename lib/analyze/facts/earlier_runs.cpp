#include "analyze/facts/earlier_runs.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string>

namespace culprit::analyze {

namespace {

constexpr Nanoseconds kPause = 30 * kSecond;  // a log that is rotated goes on at once

// One file after the other, with a pause between: runs. Files of ranks and machines overlap.
bool in_turn(const std::vector<OutputSpan>& files) {
  for (std::size_t i = 1; i < files.size(); ++i)
    if (files[i - 1].last + kPause >= files[i].first) return false;
  return files.size() > 1;
}

// Rows of `member` that have no time came before `end`; its last dated line is the nearest time.
void date(Facts& facts, MemberId member, Nanoseconds last, Nanoseconds end) {
  const Nanoseconds before = std::max<Nanoseconds>(0, end - last - 1);
  facts.earlier_output.insert(member);
  for (EventRow& e : facts.events)
    if (e.place.member == member && !e.time_ns) {
      e.time_ns = e.last_time_ns = last;
      e.uncertainty = before;
    }
  for (TracebackRow& t : facts.tracebacks)
    if (t.place.member == member && !t.time_ns) {
      t.time_ns = last;
      t.uncertainty = before;
    }
  for (ExitRow& x : facts.exits)
    if (x.place.member == member && !x.time_ns) x.time_ns = last;
}

}  // namespace

std::string name_without_numbers(std::string_view path) {
  std::string out;
  for (const char c : path)
    if (c < '0' || c > '9')
      out += c;
    else if (out.empty() || out.back() != '#')
      out += '#';
  return out;
}

void find_earlier_runs(Facts& facts, std::span<const OutputSpan> output) {
  std::map<MemberId, OutputSpan> earlier;
  std::map<MemberId, Nanoseconds> ends;
  if (facts.start_is_known && facts.job_start)
    for (const OutputSpan& s : output)
      if (s.last + kMinute < *facts.job_start)
        earlier.emplace(s.member, s), ends[s.member] = *facts.job_start;
  std::map<std::pair<std::optional<Host>, std::string>, std::vector<OutputSpan>> alike;
  for (const OutputSpan& s : output)
    if (const MemberRow* m = facts.member(s.member);
        m != nullptr && m->duplicate_of == 0 && !m->rank && !m->local_rank)
      alike[{m->host, name_without_numbers(m->path)}].push_back(s);
  // The last run began after all that is earlier had paused, and before any of its own files.
  Nanoseconds paused = std::numeric_limits<Nanoseconds>::min(),
              begun = std::numeric_limits<Nanoseconds>::max();
  std::vector<OutputSpan> before_last;
  for (auto& [name, files] : alike) {
    std::sort(files.begin(), files.end(), [](const OutputSpan& a, const OutputSpan& b) {
      return std::tie(a.first, a.last, a.member) < std::tie(b.first, b.last, b.member);
    });
    if (!in_turn(files)) continue;
    paused = std::max(paused, files[files.size() - 2].last + kPause);
    begun = std::min(begun, files.back().first);
    before_last.insert(before_last.end(), files.begin(), files.end() - 1);
  }
  if (paused <= begun)
    for (const OutputSpan& s : before_last)
      if (earlier.emplace(s.member, s).second) ends[s.member] = paused;
  for (const auto& [member, span] : earlier) date(facts, member, span.last, ends[member]);
  if (!before_last.empty() && paused <= begun && !facts.start_is_known) {
    facts.job_start = paused;
    facts.start_is_known = true;
  }
}

}  // namespace culprit::analyze
