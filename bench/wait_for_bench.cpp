// Whom everybody waits for, from a database of N ranks: tp 8, pp 8, dp the rest, every rank in
// three process groups, one rank stopped. Reading and analysing are timed apart; the answer is
// checked.
//   wait_for_bench [RANKS...]     (default 32768 100352)
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "analyze/facts/attribution.hpp"
#include "analyze/hang/collectives.hpp"
#include "store/database.hpp"

namespace {

using namespace culprit;

constexpr std::int64_t kTp = 8, kPp = 8;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void fill(store::Database& db, std::int64_t world, std::int64_t culprit) {
  if (!db.begin_ingest()) std::abort();
  MemberSink& sink = db.sink();
  const std::int64_t dp = world / (kTp * kPp);
  const auto rank_of = [&](std::int64_t t, std::int64_t d, std::int64_t p) {
    return Rank(t + kTp * (d + dp * p));
  };
  std::vector<GroupRow> tp_groups, dp_groups;
  for (std::int64_t p = 0; p < kPp; ++p)
    for (std::int64_t d = 0; d < dp; ++d) {
      GroupRow g{fmt::format("tp{}", tp_groups.size()), "TENSOR_MODEL_PARALLEL_GROUP", {}, kTp};
      for (std::int64_t t = 0; t < kTp; ++t) g.ranks.push_back(rank_of(t, d, p));
      tp_groups.push_back(std::move(g));
    }
  for (std::int64_t p = 0; p < kPp; ++p)
    for (std::int64_t t = 0; t < kTp; ++t) {
      GroupRow g{fmt::format("dp{}", dp_groups.size()), "DATA_PARALLEL_GROUP", {}, dp};
      for (std::int64_t d = 0; d < dp; ++d) g.ranks.push_back(rank_of(t, d, p));
      dp_groups.push_back(std::move(g));
    }
  std::vector<GroupRow> mp_groups;  // the same place in every stage
  for (std::int64_t d = 0; d < dp; ++d)
    for (std::int64_t t = 0; t < kTp; ++t) {
      GroupRow g{fmt::format("mp{}", mp_groups.size()), "MODEL_PARALLEL_GROUP", {}, kPp};
      for (std::int64_t p = 0; p < kPp; ++p) g.ranks.push_back(rank_of(t, d, p));
      mp_groups.push_back(std::move(g));
    }
  std::vector<GroupId> tp_id, dp_id, mp_id;
  const std::int64_t tp_of_culprit = culprit / kTp;
  for (std::int64_t r = 0; r < world; ++r) {
    MemberRow m;
    m.path = fmt::format("traces/_dump_{}", r);
    m.format = "flight-recorder";
    m.id = sink.begin_member(m);
    if (tp_id.empty()) {
      for (const GroupRow& g : tp_groups) tp_id.push_back(sink.group(g));
      for (const GroupRow& g : dp_groups) dp_id.push_back(sink.group(g));
      for (const GroupRow& g : mp_groups) mp_id.push_back(sink.group(g));
    }
    const std::int64_t t = r % kTp, rest = r / kTp, d = rest % dp, p = rest / dp;
    RecorderRow dump;
    dump.place.member = m.id;
    dump.source = CollectiveSource::recorder;
    dump.encoding = "pickle";
    dump.rank = Rank(r);
    dump.entries = 2000;
    dump.has_status = true;
    sink.put(dump);
    // Its tensor group waits for the culprit in operation 5000; its stage waits for that group in
    // the gradients, operation 300; the other stages have those behind them and wait for that stage
    // in the norm, operation 50.
    const bool beside = rest == tp_of_culprit, stage = p == tp_of_culprit / dp;
    const auto frontier = [&](GroupId group, std::int64_t enqueued, std::int64_t completed) {
      FrontierRow f;
      f.place.member = m.id;
      f.source = CollectiveSource::recorder;
      f.rank = Rank(r);
      f.group = group;
      f.enqueued = enqueued;
      f.completed = completed;
      sink.put(f);
    };
    const auto pending = [&](GroupId group, std::int64_t sequence, const char* operation,
                             std::int64_t record) {
      CollectiveRow c;
      c.place.member = m.id;
      c.source = CollectiveSource::recorder;
      c.rank = Rank(r);
      c.group = group;
      c.record = record;
      c.sequence = sequence;
      c.operation = operation;
      c.state = "scheduled";
      sink.put(c);
    };
    frontier(tp_id[static_cast<std::size_t>(rest)],
             r == culprit ? 4999
             : beside     ? 5001
                          : 5010,
             beside ? 4999 : 5010);
    frontier(dp_id[static_cast<std::size_t>(p * kTp + t)], beside ? 299 : 300, stage ? 299 : 300);
    frontier(mp_id[static_cast<std::size_t>(d * kTp + t)], stage ? 49 : 50, 49);
    if (r == culprit) {
    } else if (beside) {
      pending(tp_id[static_cast<std::size_t>(rest)], 5000, "all_reduce", 1);
      pending(tp_id[static_cast<std::size_t>(rest)], 5001, "all_reduce", 2);
    } else if (!stage) {
      pending(mp_id[static_cast<std::size_t>(d * kTp + t)], 50, "all_reduce", 1);
    } else {
      pending(dp_id[static_cast<std::size_t>(p * kTp + t)], 300, "_reduce_scatter_base", 1);
    }
    sink.end_member(m);
  }
}

bool run(std::int64_t world) {
  world -= world % (kTp * kPp);
  const auto path =
      std::filesystem::temp_directory_path() / fmt::format("wait_for_bench_{}.db", ::getpid());
  std::filesystem::remove(path);
  const std::int64_t culprit = world / 3;
  {
    auto db = store::Database::open(path.string(), store::Access::create);
    if (!db) return false;
    fill(*db, world, culprit);
    (void)db->finish_ingest();
    (void)db->set_meta("state", "done");
  }
  auto db = store::Database::open(path.string(), store::Access::read);
  if (!db) return false;
  const auto begin = std::chrono::steady_clock::now();
  analyze::Facts facts;
  facts.members = db->members();
  for (std::size_t i = 0; i < facts.members.size(); ++i)
    facts.members[i].order = static_cast<std::int64_t>(i);
  facts.groups = db->rows<GroupRow>();
  facts.frontiers = db->rows<FrontierRow>();
  facts.recorders = db->rows<RecorderRow>();
  db->each_launch([&](CollectiveRow&& row, std::optional<std::int64_t>) {
    facts.collectives.push_back({std::move(row), -1});
  });
  analyze::attribute_dumps(facts);
  const double read = seconds_since(begin);
  const auto middle = std::chrono::steady_clock::now();
  const auto report = analyze::wait_for(facts, {});
  const double analysed = seconds_since(middle);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const bool right =
      report.leaves.size() == 1 && report.leaves[0].ranks == std::vector<Rank>{Rank(culprit)};
  fmt::print(
      "{} ranks, {} groups, {} rows: read {:.2f} s, analysed {:.3f} s, {} wait, peak memory {} MB, "
      "{}\n",
      world, facts.groups.size(),
      facts.frontiers.size() + facts.collectives.size() + facts.recorders.size(), read, analysed,
      right ? report.leaves[0].waiting : 0, usage.ru_maxrss / 1024, right ? "right" : "WRONG");
  std::filesystem::remove(path);
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::int64_t> worlds;
  for (int i = 1; i < argc; ++i)
    if (argv[i][0] != '-') worlds.push_back(std::strtoll(argv[i], nullptr, 10));
  if (worlds.empty()) worlds = {32768, 100352};
  bool good = true;
  for (const std::int64_t world : worlds) good = run(world) && good;
  return good ? 0 : 1;
}
