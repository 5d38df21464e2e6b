// Counters of launches, work requests and completions (Aegis sections 4.2.2 and 5.2), through
// files: figures 7b, 7c and 9b by hand, and jobs that are run to a halt by one fault each.
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <fmt/format.h>

#include "bundle.hpp"
#include "report/phrases.hpp"

namespace culprit::diagnose::test {
namespace {

class WorkRequests : public SmallBundle {};

std::string row(const std::string& communicator, int rank, int host, int cl, int wr, int wc,
                const std::string& rest = "") {
  return fmt::format("{},{},node-{},{},{},{}{}\n", communicator, rank, host, cl, wr, wc, rest);
}

// G2 has launched C1 once less than the others.
TEST_F(WorkRequests, FigureSevenB) {
  std::string text = "communicator,rank,host,CL,WR,WC\n";
  for (int r = 0; r < 4; ++r) text += row("c1", r, r, r == 2 ? 41 : 42, r == 2 ? 246 : 252, 246);
  write("counters.csv", text);
  const Answer answer = diagnose();
  const Finding* f = answer.fired(Analysis::collectives, "stopped/host_stopped");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->ranks, std::vector<Rank>{Rank(2)});
  EXPECT_EQ(f->host, "node-2");
  EXPECT_EQ(answer.targets(SubjectKind::rank), std::vector<std::string>{"2"});
}

// All have launched C1 42 times; of G1 six requests are not over. It sends them to G2.
TEST_F(WorkRequests, FigureSevenC) {
  for (const bool peers : {false, true}) {
    std::string text = fmt::format("communicator,rank,host,CL,WR,WC{}\n", peers ? ",peer" : "");
    for (int r = 0; r < 4; ++r)
      text += row("c1", r, r, 42, 252, r == 1 ? 246 : 252,
                  peers ? fmt::format(",{}", (r + 1) % 4) : "");
    rewrite("counters.csv", text);
    const Answer answer = diagnose();
    const Finding* f = answer.fired(Analysis::collectives, "stopped/network");
    ASSERT_NE(f, nullptr);
    const std::vector<std::string> ends =
        peers ? std::vector<std::string>{"node-1", "node-2"} : std::vector<std::string>{"node-1"};
    EXPECT_EQ(f->ranks, peers ? (std::vector<Rank>{Rank(1), Rank(2)}) : std::vector<Rank>{Rank(1)});
    EXPECT_EQ(answer.verdict.action, Action::checks);
    EXPECT_EQ(answer.targets(SubjectKind::host), ends);
    ASSERT_FALSE(f->evidence.empty());
    EXPECT_EQ(f->evidence[0].line, 3u);
  }
}

// Figures 7b and 7c in other layouts: counters of all communicators in one, wide tables.
TEST_F(WorkRequests, OtherLayoutsOfFigureSeven) {
  std::string narrow = "time,rank,host,CL,WR,WC\n", wide = "rank,host,dp0_CL,dp0_WR,dp0_WC\n";
  for (int r = 0; r < 4; ++r) narrow += fmt::format("2026-11-21T03:00:00Z,{0},node-{0},9,9,9\n", r);
  std::string late = narrow;
  for (int r = 0; r < 4; ++r) {
    const int done = r == 1 ? 246 : 252;
    narrow += fmt::format("2026-11-21T03:00:10Z,{0},node-{0},42,252,{1}\n", r, done);
    late += fmt::format("2026-11-21T03:00:10Z,{0},node-{0},{1},{2},246\n", r, r == 1 ? 41 : 42,
                        r == 1 ? 246 : 252);
    wide += fmt::format("{0},node-{0},42,252,{1}\n", r, done);
  }
  for (const auto& [text, kind] : {std::pair{narrow, "stopped/network"},
                                   {wide, "stopped/network"},
                                   {late, "stopped/host_stopped"}}) {
    rewrite("counters.csv", text);
    const Answer answer = diagnose();
    const Finding* f = answer.fired(Analysis::collectives, kind);
    ASSERT_NE(f, nullptr) << text;
    EXPECT_EQ(f->ranks, std::vector<Rank>{Rank(1)}) << text;
  }
}

// Stages of a pipeline launch different numbers in all: nobody is behind.
TEST_F(WorkRequests, SumsOfStagesDoNotCompare) {
  std::string text = "rank,host,CL,WR,WC\n";
  for (int r = 0; r < 4; ++r)
    text += fmt::format("{0},node-{0},{1},{2},{2}\n", r, r < 2 ? 90 : 100, r < 2 ? 540 : 600);
  write("counters.csv", text);
  const Answer answer = diagnose();
  EXPECT_EQ(answer.fired(Analysis::collectives, "stopped/host_stopped"), nullptr);
  EXPECT_EQ(answer.verdict.action == Action::isolate, false);
}

// Six requests of 4 MB each: 4 ms, and 12 ms on rank 3. By hand: 1 ms a MB against 3 ms a MB; the
// mean of all four is 1.5, and 3 is above 1.5 times that.
TEST_F(WorkRequests, FigureNineB) {
  std::string text = "communicator,rank,host,CL,WR,WC,bytes,time_ms\n";
  for (int k = 1; k <= 6; ++k)
    for (int r = 0; r < 4; ++r)
      text += row("c1", r, r, k, k * 6, k * 6, fmt::format(",4000000,{}", r == 3 ? 12 : 4));
  write("counters.csv", text);
  const Answer answer = diagnose();
  const Finding* f = answer.fired(Analysis::collectives, "slow_requests");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->ranks, std::vector<Rank>{Rank(3)});
  EXPECT_EQ(f->figures, (std::vector<std::pair<std::string, std::string>>{
                            {"factor", "3.000"}, {"ms_per_mb", "3"}, {"others_ms_per_mb", "1"}}));
  EXPECT_EQ(answer.verdict.action, Action::checks);
  EXPECT_EQ(answer.targets(SubjectKind::host), std::vector<std::string>{"node-3"});
}

TEST_F(WorkRequests, EqualCountersAccuseNobody) {
  std::string text = "communicator,rank,host,CL,WR,WC,bytes,time_ms\n";
  for (int r = 0; r < 4; ++r)
    text += row("c1", r, r, 42, 252, 252, fmt::format(",4000000,{}", 4 + r));
  write("counters.csv", text);
  const Answer answer = diagnose();
  EXPECT_TRUE(answer.verdict.targets.empty());
  EXPECT_EQ(answer.fired(Analysis::collectives), nullptr);
}

// Requests that are in flight while a job runs are no fault: its steps went on after the counters.
TEST_F(WorkRequests, StepsAfterTheCountersAccuseNobody) {
  const auto count = [&](int minute) {
    std::string text = "communicator,rank,host,CL,WR,WC,timestamp\n";
    for (int r = 0; r < 4; ++r)
      text += row("c1", r, r, 42, 252, r == 1 ? 246 : 252,
                  fmt::format(",2026-03-04T07:{:02}:00Z", minute));
    rewrite("counters.csv", text);
  };
  std::string log;
  for (int minute = 0; minute < 20; ++minute)
    log +=
        fmt::format("2026-03-04T07:{:02}:30Z step: {}/400 loss: 2.31 time: 60 s\n", minute, minute);
  write("train.log", log);
  count(5);
  EXPECT_TRUE(diagnose().verdict.targets.empty());
  count(59);
  EXPECT_EQ(diagnose().targets(SubjectKind::host), std::vector<std::string>{"node-1"});
}

enum class Fault { compute, network, link, card, slow, slow_link, none };

// A job whose ranks call collectives in order, `ahead` of what is over; tp groups lie within a
// machine, dp groups across. One fault holds it up, and what its counters then are is written in
// one of several layouts.
class CountedJob {
 public:
  explicit CountedJob(unsigned seed) : random_(seed) {
    hosts_ = pick(3, 6);
    tp_ = pick(0, 1) != 0 ? 4 : 2;
    dp_ = hosts_ * 4 / tp_;
    ahead_ = pick(0, 2);
    fault_ = static_cast<Fault>(seed % 7);
    culprit_ = pick(0, world() - 1);
    for (int r = 0; r < world(); ++r) {
      members_[tp_of(r)].push_back(r);
      members_[dp_of(r)].push_back(r);
    }
    bad_from_ = pick(9, 30);
    run();
  }

  int world() const { return hosts_ * 4; }
  static int host_of(int rank) { return rank / 4; }
  std::string tp_of(int r) const { return fmt::format("tp{}", r / tp_); }
  std::string dp_of(int r) const { return fmt::format("0xd{:x}", r % tp_); }
  int next(const std::string& comm, int rank) const {
    const auto& m = members_.at(comm);
    const auto at = static_cast<std::size_t>(std::find(m.begin(), m.end(), rank) - m.begin());
    return m[(at + 1) % m.size()];
  }
  int peer() const { return next(dp_of(culprit_), culprit_); }

  Fault fault() const { return fault_; }
  int culprit() const { return culprit_; }
  std::set<std::string> guilty() const {
    std::set<std::string> out;
    if (fault_ == Fault::none) return out;
    out.insert(fmt::format("node-{}", host_of(culprit_)));
    if (fault_ == Fault::link || fault_ == Fault::slow_link)
      out.insert(fmt::format("node-{}", host_of(peer())));
    return out;
  }

  struct Line {
    std::string comm;
    int rank, peer;
    long cl, wr, wc, bytes;
    double ms;
  };
  // In an order of its own.
  std::vector<Line> lines() {
    std::vector<Line> out;
    for (const auto& [comm, ranks] : members_)
      for (const int r : ranks) {
        long cl = 0, over = 0;
        for (std::size_t i = 0; i < launched_[r]; ++i) cl += comm_at(r, i) == comm;
        for (std::size_t i = 0; i < finished_[r]; ++i) over += comm_at(r, i) == comm;
        const long each = 2 * (static_cast<long>(ranks.size()) - 1);
        Line line{comm, r, next(comm, r), cl, over * each, over * each, 4 << 20, 0};
        if (begun(comm, r)) {
          // Who waits for somebody that never came may have sent something already.
          const long sent = all_in(comm, r) ? each : pick(0, 1) * pick(0, 3);
          line.wr += sent;
          line.wc +=
              all_in(comm, r) ? each - missing(comm, r, each) : pick(0, static_cast<int>(sent));
        }
        line.ms = 0.42 * (0.85 + 0.3 * unit()) * slow(comm, r);
        out.push_back(line);
      }
    std::shuffle(out.begin(), out.end(), random_);
    return out;
  }
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  double unit() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  bool peers_told() const {
    return fault_ == Fault::link || fault_ == Fault::card || fault_ == Fault::slow_link;
  }

 private:
  // Three calls an iteration: tp, tp, dp.
  std::string comm_at(int rank, std::size_t step) const {
    return step % 3 == 2 ? dp_of(rank) : tp_of(rank);
  }
  bool never_ends(int rank, std::size_t step) const {
    if (step < static_cast<std::size_t>(bad_from_) * 3 || step % 3 != 2) return false;
    if (fault_ == Fault::network || fault_ == Fault::link) return dp_of(rank) == dp_of(culprit_);
    return fault_ == Fault::card;
  }
  void run() {
    launched_.assign(world(), 0);
    finished_.assign(world(), 0);
    const std::size_t steps = static_cast<std::size_t>(bad_from_) * 3 + 12;
    const std::size_t stop = static_cast<std::size_t>(bad_from_) * 3 + pick(0, 2);
    for (bool moved = true; moved;) {
      moved = false;
      for (int r = 0; r < world(); ++r)
        if (launched_[r] < steps &&
            launched_[r] <= finished_[r] + static_cast<std::size_t>(ahead_) &&
            !(fault_ == Fault::compute && r == culprit_ && launched_[r] >= stop))
          ++launched_[r], moved = true;
      for (int r = 0; r < world(); ++r) {
        if (finished_[r] >= launched_[r]) continue;
        const std::size_t step = finished_[r];
        const auto& all = members_.at(comm_at(r, step));
        const bool in = std::all_of(all.begin(), all.end(), [&](int m) {
          return launched_[m] > step && finished_[m] >= step;
        });
        if (in && !never_ends(r, step)) ++finished_[r], moved = true;
      }
    }
  }
  bool begun(const std::string& comm, int r) const {
    return finished_[r] < launched_[r] && comm_at(r, finished_[r]) == comm;
  }
  bool all_in(const std::string& comm, int r) const {
    const auto& all = members_.at(comm);
    return std::all_of(all.begin(), all.end(), [&](int m) {
      return launched_[m] > finished_[r] && finished_[m] >= finished_[r];
    });
  }
  long missing(const std::string& comm, int r, long each) {
    const bool stuck = never_ends(r, finished_[r]);
    if (!stuck) return 0;
    const int host = host_of(culprit_);
    const bool end = fault_ == Fault::card ? host_of(r) == host || host_of(next(comm, r)) == host
                                           : r == culprit_;
    return end ? pick(1, static_cast<int>(each)) : 0;
  }
  double slow(const std::string& comm, int r) {
    if ((fault_ != Fault::slow && fault_ != Fault::slow_link) || r != culprit_ || comm != dp_of(r))
      return 1;
    return 2.2 + 5 * unit();
  }

  std::mt19937 random_;
  int hosts_ = 0, tp_ = 0, dp_ = 0, ahead_ = 0, culprit_ = 0, bad_from_ = 0;
  Fault fault_ = Fault::none;
  std::map<std::string, std::vector<int>> members_;
  std::vector<std::size_t> launched_, finished_;
};

class Injected : public SmallBundle {
 protected:
  // One table, one a machine, or one a rank; comma, tab or JSON lines; hosts in it or in job.json;
  // with or without a history before the last row.
  void lay_out(CountedJob& job, unsigned seed) {
    const int files = static_cast<int>(seed / 7 % 3), form = static_cast<int>(seed / 21 % 3);
    const bool host_column = seed / 63 % 2 == 0;
    const bool slow = job.fault() == Fault::slow || job.fault() == Fault::slow_link;
    const bool history = slow || seed / 5 % 2 == 0;
    std::map<std::string, std::string> out;
    for (const CountedJob::Line& line : job.lines()) {
      const int host = CountedJob::host_of(line.rank);
      const std::string name = fmt::format("counters/{}.{}",
                                           files == 0   ? "all"
                                           : files == 1 ? fmt::format("node-{}", host)
                                                        : fmt::format("rank_{}", line.rank),
                                           form == 0   ? "csv"
                                           : form == 1 ? "tsv"
                                                       : "jsonl");
      for (int k = history ? 3 : 0; k >= 0; --k) {
        std::vector<std::pair<std::string, std::string>> cells = {
            {form == 1 ? "comm" : "communicator", line.comm},
            {"rank", std::to_string(line.rank)},
            {form == 1 ? "launches" : "CL", std::to_string(std::max(0L, line.cl - k))},
            {form == 1 ? "work_requests" : "WR", std::to_string(std::max(0L, line.wr - 6 * k))},
            {form == 1 ? "work_completions" : "WC", std::to_string(std::max(0L, line.wc - 6 * k))},
            {"bytes", std::to_string(line.bytes)},
            {form == 0 ? "time" : "time_ms",
             fmt::format("{:.6f}", line.ms * (0.95 + 0.1 * job.unit()) / (form == 0 ? 1000 : 1))}};
        if (job.peers_told()) cells.emplace_back("peer", std::to_string(line.peer));
        if (host_column) cells.emplace_back("host", fmt::format("node-{}", host));
        std::string& text = out[name];
        if (form != 2 && text.empty()) text += joined(cells, form, true);
        text += joined(cells, form, false);
      }
    }
    for (const auto& [name, text] : out) rewrite(name, text);
    if (host_column) return;
    std::string hosts;
    for (int h = 0; h < job.world() / 4; ++h)
      hosts += fmt::format("{}\"node-{}\"", h ? ", " : "", h);
    rewrite(
        "job.json",
        fmt::format(
            R"({{"schema": "culprit.job/1", "world_size": {}, "gpus_per_node": 4, "hosts": [{}]}})",
            job.world(), hosts));
  }
  static std::string joined(const std::vector<std::pair<std::string, std::string>>& cells, int form,
                            bool names) {
    std::string out = form == 2 ? "{" : "";
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) out += form == 1 ? "\t" : ",";
      if (form == 2)
        out += fmt::format("\"{}\": {}", cells[i].first,
                           cells[i].first == "communicator" || cells[i].first == "host"
                               ? "\"" + cells[i].second + "\""
                               : cells[i].second);
      else
        out += names ? cells[i].first : cells[i].second;
    }
    return out + (form == 2 ? "}\n" : "\n");
  }
};

TEST_F(Injected, FaultsOfSevenKinds) {
  constexpr unsigned kCases = CULPRIT_INJECTED, kFirst = 7000;
  unsigned right = 0, innocent = 0;
  std::map<int, std::pair<int, int>> by_fault;
  for (unsigned seed = kFirst; seed < kFirst + kCases; ++seed) {
    std::filesystem::remove_all(folder_);
    CountedJob job(seed);
    lay_out(job, seed);
    const Answer answer = diagnose();
    const auto hosts = answer.targets(SubjectKind::host);
    const std::set<std::string> named(hosts.begin(), hosts.end());
    bool good = named == job.guilty();
    if (job.fault() == Fault::compute)
      good = answer.targets(SubjectKind::rank) ==
             std::vector<std::string>{std::to_string(job.culprit())};
    innocent += std::any_of(named.begin(), named.end(),
                            [&](const std::string& host) { return job.guilty().count(host) == 0; });
    right += good;
    auto& [of, all] = by_fault[static_cast<int>(job.fault())];
    of += good, ++all;
    if (!good)
      std::cout << fmt::format("seed {} fault {} culprit {}: {} {} ranks {}\n", seed,
                               static_cast<int>(job.fault()), job.culprit(),
                               name(answer.verdict.action), fmt::join(hosts, ","),
                               fmt::join(answer.targets(SubjectKind::rank), ","));
  }
  for (const auto& [fault, count] : by_fault)
    EXPECT_GE(count.first * 100, count.second * 95) << "fault " << fault;
  EXPECT_GE(right, kCases * 98 / 100);
  EXPECT_LE(innocent, kCases * 2 / 100);
}

}  // namespace
}  // namespace culprit::diagnose::test
