// The ends of chains of waits, looked at one by one.
#include "analyze/hang/stack_sinks.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "analyze/hang/crossed_calls.hpp"
#include "model/confidence.hpp"
#include "model/contains.hpp"
#include "model/phrases.hpp"
#include "model/ranges.hpp"

namespace culprit::analyze {

namespace {

class Sinks {
 public:
  Sinks(const Facts& facts, const Topology& topology, const StackParams& params,
        StackReport& report)
      : facts_(facts), topology_(topology), params_(params), report_(report), placed_(topology) {
    for (const StackProcess& p : report.processes) {
      seen_in_python_ += report.normal.python[stack_of(facts, p)];
      if (p.role == "trainer" && p.rank) trainers_.emplace(*p.rank, &p);
    }
    for (const auto& [rank, p] : trainers_)
      if (!p->host.empty()) placed_.host_of.emplace(rank, p->host);
  }

  void run() {
    std::vector<RankStage> stages;
    std::set<std::string> machines;
    for (const auto& [rank, p] : trainers_) {
      if (!blind(*p)) stages.push_back({rank, p->stage, p->stack});
      machines.insert(p->host.empty() ? "rank " + std::to_string(number_of(rank))
                                      : std::string(p->host));
    }
    if (trainers_.empty()) {
      report_.notes.push_back(say(Phrase::no_stack_with_rank));
      name_exception();
      return;
    }
    const std::set<Rank> all = ranks_of_job();
    for (const Rank r : all)
      if (const StackProcess* p = trainer(r); p == nullptr || blind(*p))
        report_.unheard.push_back(r);
    if (!report_.outliers.empty())
      report_.cover =
          smallest_cover(report_.outliers, placed_, std::max(machines.size(), placed_hosts()));
    wait_for(stages, report_.outliers, placed_, report_.unheard, report_.waits, report_.sinks);
    const bool many_unheard = !few(report_.unheard.size(), std::max(all.size(), stages.size()));
    const bool somebody_else = std::ranges::any_of(report_.sinks, &StackSink::elsewhere);
    std::erase_if(report_.sinks,
                  [&](const StackSink& s) { return s.unheard && (many_unheard || somebody_else); });
    for (StackSink& sink : report_.sinks) fill(sink);
    // Where no chain of waits has an end outside of all collectives, calls may have crossed.
    if (std::ranges::none_of(report_.sinks,
                             [](const StackSink& s) { return s.elsewhere || s.unheard; }))
      if (const auto crossed = crossed_calls(report_.waits)) blame_branch(*crossed);
    if (report_.sinks.empty() && 2 * trainers_.size() < report_.trainers) name_exception();
    find_storage(machines.size());
    report_.confidence = confidence();
  }

 private:
  const StackProcess* trainer(Rank rank) const {
    const auto at = trainers_.find(rank);
    return at == trainers_.end() ? nullptr : at->second;
  }

  // Machine code below Python's interpreter, beside processes that are seen at Python's level: a
  // collective that the program makes in Python has no frame of its own there, so that none is seen
  // says nothing.
  bool blind(const StackProcess& p) const {
    const std::size_t stack = stack_of(facts_, p);
    if (p.stage.waits() || report_.normal.python[stack] ||
        2 * seen_in_python_ <= report_.processes.size())
      return false;
    const auto& frames = facts_.stacks.stacks[stack];
    return std::ranges::any_of(frames, [&](std::uint32_t frame) {
      return contains(facts_.stacks.frames[frame].function, "PyEval_");
    });
  }

  // Nobody knows the ranks; still, where nearly all wait in collectives, or for a GPU that may be
  // in one, the process that does not is what they wait for.
  void name_exception() {
    const StackProcess* odd = nullptr;
    std::size_t waiting = 0;
    for (const StackProcess& p : report_.processes) {
      if (p.role != "trainer") continue;
      if (p.stage.doing == Doing::collective || p.stage.doing == Doing::gpu) {
        ++waiting;
        continue;
      }
      if (odd != nullptr || p.stage.waits()) return;
      odd = &p;
    }
    if (odd == nullptr || waiting < 3) return;
    StackSink sink{.stage = odd->stage,
                   .native_reason = odd->native_reason,
                   .samples = {odd->sample},
                   .waiting = waiting,
                   .elsewhere = true};
    if (!odd->host.empty()) sink.hosts = {odd->host};
    if (odd->rank) sink.ranks = {*odd->rank};
    place(sink, sink.stage);
    report_.sinks.push_back(std::move(sink));
    report_.confidence = confidence();
  }

  // So few that it says something of them.
  bool few(std::size_t unheard, std::size_t everybody) const {
    return static_cast<double>(unheard) <= params_.unheard * static_cast<double>(everybody);
  }

  // Nothing may tell how large the job is. Numbers are given without gaps: those left out between
  // others, where they are few, are ranks of which nothing was collected. Beyond the lowest and the
  // highest nobody knows.
  std::set<Rank> ranks_of_job() const {
    std::set<Rank> all;
    for (const RankRow& r : facts_.ranks) all.insert(r.rank);
    for (const auto& [rank, host] : topology_.host_of) all.insert(rank);
    for (const ParallelGroup& g : topology_.groups) all.insert(g.ranks.begin(), g.ranks.end());
    for (std::int64_t r = 0; r < std::min<std::int64_t>(facts_.world_size, 1 << 20); ++r)
      all.insert(Rank(r));
    for (const auto& [rank, p] : trainers_) all.insert(rank);
    if (!is_rank_of(1 << 20, *all.begin()) || !is_rank_of(1 << 20, *all.rbegin())) return all;
    const std::int64_t first = number_of(*all.begin()), end = number_of(*all.rbegin()) + 1;
    const auto count = static_cast<std::size_t>(end - first);
    if (few(count - all.size(), count))
      for (std::int64_t r = first; r < end; ++r) all.insert(Rank(r));
    return all;
  }

  std::size_t placed_hosts() const {
    std::set<Host> hosts;
    for (const auto& [rank, host] : placed_.host_of) hosts.insert(host);
    return hosts.size();
  }

  void fill(StackSink& sink) {
    std::set<Host> hosts;
    for (const Rank r : sink.ranks) {
      const StackProcess* p = trainer(r);
      if (p != nullptr && !p->host.empty())
        hosts.insert(p->host);
      else if (const auto at = placed_.host_of.find(r); at != placed_.host_of.end())
        hosts.insert(at->second);
      if (p == nullptr || sink.samples.size() >= 6) continue;
      sink.samples.push_back(p->sample);
      if (p->native) sink.samples.push_back(*p->native);
      if (sink.native_reason.empty()) sink.native_reason = p->native_reason;
    }
    sink.hosts.assign(hosts.begin(), hosts.end());
    place(sink, sink.stage);
    if (sink.stage.doing == Doing::data) blame_worker(sink);
  }

  void place(StackSink& sink, const Stage& s) const {
    if (s.where < 0) return;
    const Frame& f = facts_.stacks.frames[static_cast<std::size_t>(s.where)];
    sink.function = normal_function(f.function, f.native);
    sink.file = f.file;
    sink.line = f.line;
    const bool own = !f.native && !rules::library_file(f.file) && sink.native_reason.empty();
    const bool runs = !sink.samples.empty() &&
                      facts_.samples[sink.samples.front()].row.state.starts_with("active");
    // A trainer that computes may as well stand on a machine that does not: only of what makes
    // batches, which touches neither GPU nor network, is it the code.
    sink.program =
        own &&
        ((s.doing == Doing::compute && runs && (sink.role == "dataloader" || s.loads_data)) ||
         (s.doing == Doing::lock && s.decided == s.where));
  }

  // The fewer are named, and the line at which their way parts from that of the others.
  void blame_branch(const CrossedCalls& crossed) {
    const StackProcess* one = trainer(crossed.ranks.front());
    const StackProcess* other = trainer(crossed.others.front());
    if (one == nullptr || other == nullptr) return;
    Stage at = one->stage;
    at.where = branch_of(facts_.stacks, stack_of(facts_, *one), stack_of(facts_, *other));
    if (at.where < 0 ||
        rules::library_file(facts_.stacks.frames[static_cast<std::size_t>(at.where)].file))
      return;  // their ways part within a library: the program called it in one place
    StackSink sink{
        .ranks = crossed.ranks,
        .stage = at,
        .waiting = crossed.others.size(),
        .crossed = say(Phrase::calls_cross, to_ranges(crossed.ranks), crossed.ranks.size(),
                       crossed.operation, crossed.others.size(), crossed.operation_of_others)};
    fill(sink);
    report_.sinks = {std::move(sink)};
  }

  // A trainer that waits for data waits for its own workers: one that is not idle is what it waits
  // for.
  void blame_worker(StackSink& sink) const {
    const StackProcess* worker = nullptr;
    for (const StackProcess& p : report_.processes) {
      if (p.role != "dataloader" || p.stage.doing == Doing::idle) continue;
      const bool of_rank = p.rank && std::ranges::binary_search(sink.ranks, *p.rank);
      const bool child = !of_rank && !p.rank && std::ranges::any_of(sink.ranks, [&](Rank r) {
        const StackProcess* t = trainer(r);
        return t != nullptr && t->pid && parent_of(p) == t->pid && t->host == p.host;
      });
      if (!of_rank && !child && !of_only_waiter(p, sink.ranks)) continue;
      // Storage explains a stall; code that computes may be about to finish.
      if (worker == nullptr ||
          (worker->stage.doing != Doing::storage && p.stage.doing == Doing::storage))
        worker = &p;
    }
    if (worker == nullptr) return;
    sink.role = "dataloader";
    sink.stage = worker->stage;
    sink.native_reason = worker->native_reason;
    sink.samples.insert(sink.samples.begin(), worker->sample);
    place(sink, sink.stage);
  }

  // A worker whose parent nothing tells is of the one trainer of its machine that waits for data.
  bool of_only_waiter(const StackProcess& worker, const std::vector<Rank>& ranks) const {
    if (worker.rank || worker.host.empty() || ranks.size() != 1 || parent_of(worker)) return false;
    std::size_t waiting = 0;
    for (const StackProcess& p : report_.processes)
      waiting += p.role == "trainer" && p.host == worker.host && p.stage.doing == Doing::data;
    const StackProcess* own = trainer(ranks.front());
    return waiting == 1 && own != nullptr && own->host == worker.host;
  }

  std::optional<std::int64_t> parent_of(const StackProcess& p) const {
    for (const ProcessRow& row : facts_.processes)
      if (p.pid && row.pid == *p.pid &&
          (!row.host || p.host.empty() || short_host(*row.host) == p.host))
        return row.parent;
    return std::nullopt;
  }

  // The same call on many machines is not the fault of any of them.
  void find_storage(std::size_t machines) {
    struct Call {
      std::string where;
      std::set<Host> hosts;
    };
    std::map<std::string, Call> calls;  // by operation
    for (const StackSink& s : report_.sinks) {
      if (s.stage.doing != Doing::storage) continue;
      Call& call = calls[std::string(s.stage.operation)];
      if (call.where.empty())
        call.where = fmt::format(
            "{} in {}{}", s.stage.operation, s.function.empty() ? "?" : s.function,
            s.file.empty()
                ? ""
                : fmt::format(" ({})", place_of(std::string(base_name(s.file)), s.line)));
      call.hosts.insert(s.hosts.begin(), s.hosts.end());
    }
    for (const auto& [operation, call] : calls) {
      const std::size_t n = call.hosts.size();
      if (n < 2 || n <= report_.storage_hosts.size() ||
          (n < params_.storage_hosts &&
           static_cast<double>(n) <= params_.storage_share * static_cast<double>(machines)))
        continue;
      report_.storage = call.where;
      report_.storage_hosts.assign(call.hosts.begin(), call.hosts.end());
    }
  }

  double confidence() const {
    if (report_.sinks.empty()) return 0;
    if (!report_.hang) return confidence::kStacksNoHang;
    const StackSink& first = report_.sinks.front();
    const auto rivals =
        static_cast<double>(std::ranges::count_if(report_.sinks, [&](const StackSink& s) {
          return s.elsewhere == first.elsewhere && s.unheard == first.unheard;
        }));
    double c = first.elsewhere ? confidence::kStackElsewhere
               : first.unheard ? confidence::kNoStack
                               : confidence::kStackSays;
    // What blocks explains a hang; code that runs may merely have been caught at work.
    if (first.elsewhere && first.stage.doing != Doing::compute &&
        first.stage.doing != Doing::unknown)
      c += confidence::kStackBlocks;
    if (report_.motion == Motion::standing)
      c += report_.standing_for > 0
               ? confidence::kStillLater
               : -confidence::kLooksUndated;  // looks without times may be close
    if (report_.motion == Motion::moving) c -= confidence::kStacksMove;
    // Half of the ranks waiting for it is what a hang looks like.
    if (2 * (first.waiting + first.ranks.size()) < report_.trainers) c -= confidence::kFewWait;
    return std::clamp(c / std::max(1.0, rivals), 0.1, 0.95);
  }

  const Facts& facts_;
  const Topology& topology_;
  const StackParams& params_;
  StackReport& report_;
  Topology placed_;  // the topology may not know where ranks live; the stacks do
  std::map<Rank, const StackProcess*> trainers_;
  std::size_t seen_in_python_ = 0;  // of all processes
};

}  // namespace

void find_sinks(const Facts& facts, const Topology& topology, const StackParams& params,
                StackReport& report) {
  Sinks(facts, topology, params, report).run();
}

}  // namespace culprit::analyze
