// Progress bars of work that is no training step: tokenising, mapping, filtering, downloading,
// generating a split. One that was never full says what a process was busy with while others
// waited for it. Behind it, on the same line, often stands what another process wrote.
#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include <re2/re2.h>

#include "ingest/engine/events.hpp"
#include "ingest/engine/recogniser.hpp"

namespace culprit::ingest {

namespace {

constexpr std::int64_t kLeastSeconds = 300;  // who waits for less than that gives up on nothing
constexpr std::size_t kMostWork = 64;        // kinds of work in a member
constexpr std::size_t kLongestBar = 400;

// "29:55" and "1:02:03" in seconds; -1: neither.
std::int64_t seconds_of(std::string_view clock) {
  std::int64_t out = 0;
  while (!clock.empty()) {
    std::int64_t part = 0;
    const auto [end, error] = std::from_chars(clock.data(), clock.data() + clock.size(), part);
    if (error != std::errc() || part < 0 || part > 100'000) return -1;
    out = out * 60 + part;
    clock.remove_prefix(static_cast<std::size_t>(end - clock.data()));
    if (clock.starts_with(':')) clock.remove_prefix(1);
  }
  return out;
}

// The last state of each kind of work that a member tells of.
class Work final : public Kept {
 public:
  void add(const std::string& what, bool full, std::int64_t seconds, std::string_view bar,
           const TextLine& line) {
    auto one = std::ranges::find_if(all_, [&](const State& s) {
      return s.what == what && s.local_rank == line.line.prefix.local_rank;
    });
    if (one == all_.end()) {
      if (all_.size() >= kMostWork) return;
      one = all_.insert(one, State{what, line.line.prefix.local_rank, -1, {}, {}});
    }
    // Several processes may draw the same bar: the one that has worked longest counts.
    if (full) one->seconds = -1;
    if (full || seconds < std::max(one->seconds, kLeastSeconds)) return;
    one->seconds = seconds;
    one->place = line.place;
    one->line.prefix = bar.size() + 2 < line.raw.size() ? line::Prefix{} : line.line.prefix;
    one->line.message = std::string(bar.substr(0, kLongestBar));
  }

  void finish(Reading& reading) override {
    for (State& s : all_) {
      if (s.seconds < 0) continue;
      const auto match = reading.pack.match("unfinished: " + s.line.message);
      if (!match) continue;
      const TextLine text{s.place, s.line.message, s.line};
      reading.sink.put(make_event(text, *match, reading));
    }
  }

 private:
  struct State {
    std::string what;
    std::optional<LocalRank> local_rank;
    std::int64_t seconds = -1;  // of work that is not done; -1: of none
    Place place;
    line::Line line;
  };
  std::vector<State> all_;
};

Outcome read_work_bar(const TextLine& line, Reading& reading) {
  static const re2::RE2 kBar(
      R"((([^\r|%\[\]]{2,80}?):?\s+(\d{1,3})%\|[^|\r]{0,400}\|\s*\S+/\S+ \[([\d:]{4,9})<[^\]\r]{1,40}\]))");
  re2::StringPiece rest(line.raw.data(), line.raw.size()), bar;
  std::string what, percent, clock;
  bool any = false;
  while (re2::RE2::FindAndConsume(&rest, kBar, &bar, &what, &percent, &clock)) {
    any = true;
    reading.keep<Work>().add(what, percent == "100", seconds_of(clock), {bar.data(), bar.size()},
                             line);
  }
  return {any, nullptr, {}, false};
}

// With the unit of what is worked on: those of steps are read elsewhere.
constexpr std::string_view kWorkBarWords[] = {
    "examples/s]", " docs/s]", " files/s]", " rows/s]", "0MB/s]", "1MB/s]", "2MB/s]",
    "3MB/s]",      "4MB/s]",   "5MB/s]",    "6MB/s]",   "7MB/s]", "8MB/s]", "9MB/s]"};

constexpr std::string_view kAlsoOfBars[] = {"%|"};

}  // namespace

extern constinit const Recogniser kWorkBar{
    "work-bar",
    "progress bars of work that is no step: tokenising, downloads",
    kWorkBarWords,
    read_work_bar,
    {},
    kAlsoOfBars};

}  // namespace culprit::ingest
