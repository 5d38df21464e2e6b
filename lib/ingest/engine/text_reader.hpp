// The careful half of reading text: candidates of scanned blocks, in order, to recognisers,
// assemblers and rules.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ingest/engine/day_of_line.hpp"
#include "ingest/engine/events.hpp"
#include "ingest/engine/last_lines.hpp"
#include "ingest/engine/scan.hpp"

namespace culprit::ingest {

class TextReader {
 public:
  TextReader(const Scanner& scanner, Sink& sink, MemberId member, std::string text_kind,
             line::Habit habit, bool rules, std::string path = {});

  // A block begins where the one before ended, and ends after a line end or at the end of the
  // member.
  void block(std::string_view bytes, const BlockScan& scan);
  // One line of an export, whose time and host its record told; it stands where the record does.
  void record(const Place& place, std::string_view text, const line::Prefix& told);
  void finish();

  std::uint64_t lines() const { return lines_; }  // lines begun, so an unfinished last one counts
  std::uint64_t used() const { return used_; }
  std::uint64_t rejected() const { return rejected_; }
  bool tail_truncated() const { return open_line_; }

 private:
  struct Partial {
    Place place;  // of the first record
    line::Line line;
  };

  bool judge_joined(const Partial& partial, std::uint64_t last_line);
  bool join_partial(const TextLine& line);
  void look(const TextLine& line, const Candidate* candidate);
  void look_at_each(const Place& place, std::string_view text, const line::Prefix& told);
  Outcome ask_recognisers(const RecogniserSet& wanted, const TextLine& line);
  void keep_claim(const TextLine& line);
  void keep_event(const TextLine& line, const rules::Match& match);
  void keep_event_of_each(EventRow row);
  bool count_suppressed(const TextLine& line, const rules::Match& match);
  bool feed_assemblers(const TextLine& line);
  bool wants_every_line() const {
    return !every_line_.recognisers.empty() || !running_.empty() || !partial_.empty() ||
           !waiting_.empty();
  }
  bool only_ranks_run() const;
  std::size_t next_of_ranks(std::string_view bytes, std::size_t from, std::size_t to) const;
  void settle_waiting(const TextLine& line);
  void walk_lines(std::string_view bytes, std::size_t from, std::size_t to,
                  std::uint64_t newlines_before);
  void mark_used(std::uint64_t line);
  void reject(const TextLine& line, std::string_view reason);
  void keep_clock(const TextLine& line);
  void keep_first_clocks(std::string_view bytes);
  void begin_by_name(std::string_view bytes);
  void keep_edge_time(std::string_view bytes, bool first);
  void keep_last_lines(std::string_view bytes, const Candidate& candidate);
  void keep_printed_zone(std::string_view head, const line::Prefix& prefix);
  void keep_zone_beside(std::span<const std::string_view> lines, std::string_view offset,
                        Nanoseconds first, const Place& place);

  const Scanner& scanner_;
  Reading reading_;
  MemberId member_;
  line::Habit habit_;
  DayOfLine days_;
  bool rules_;
  line::Line peeled_;     // the line being read
  Candidate every_line_;  // for the recognisers that see all of a text of this kind
  StormFolder storms_;
  std::set<std::pair<Host, Rank>> claims_;
  // What tells the lines of one process from those of others in the same pipe.
  struct Stream {
    explicit Stream(const line::Prefix& prefix)
        : rank(prefix.rank),
          local_rank(prefix.local_rank),
          task(prefix.task),
          pid(prefix.pid),
          address(prefix.address),
          name(prefix.stream) {}
    bool is(const line::Prefix& prefix) const {
      return rank == prefix.rank && local_rank == prefix.local_rank && task == prefix.task &&
             pid == prefix.pid && address == prefix.address && name == prefix.stream;
    }
    std::optional<Rank> rank;
    std::optional<LocalRank> local_rank;
    std::optional<std::int64_t> task, pid;
    std::optional<std::string> address;
    std::string name;
  };
  struct Running {
    Stream stream;
    std::unique_ptr<Assembler> assembler;
    std::uint64_t fed = 0;
  };
  std::vector<Running> running_;
  // Broken connections that print no time (NCCL's warnings before 2.26), until the watchdog of the
  // same process reports the same failure a few lines on: the order in which connections broke is
  // worth the wait.
  struct Waiting {
    EventRow row;
    int lines = 0;
  };
  std::vector<Waiting> waiting_;
  std::map<std::string, Partial> partial_;  // CRI stream -> message so far
  std::uint64_t bytes_ = 0;
  std::uint64_t newlines_ = 0;
  std::uint64_t lines_ = 0;
  std::uint64_t used_ = 0;
  std::uint64_t rejected_ = 0;
  std::uint64_t last_used_line_ = 0;
  std::uint64_t last_rejected_line_ = 0;
  std::uint64_t clocks_kept_ = 0;
  bool open_line_ = false;
  std::uint64_t without_time_ = 0;  // so many bytes from the begin on print none
  std::string tail_;                // the end of what was read
  LastLines last_lines_;
  bool trouble_ = false;  // the line that was looked at last is one
};

}  // namespace culprit::ingest
