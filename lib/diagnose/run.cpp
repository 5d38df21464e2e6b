#include "run.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "ingest/engine/document.hpp"
#include "ingest/engine/ingest.hpp"
#include "line/line.hpp"
#include "pace.hpp"

namespace culprit::diagnose {

namespace {

constexpr std::size_t kMostLineOfRun = 16u << 10;  // bytes of a line that are looked at
constexpr std::size_t kHeadOfRun = 64u << 10;      // of a file, to learn its habits from

// Logs. Data files differ in every line, and dumps of processes and stacks are compared by their
// own analyses.
bool has_log_lines(const MemberRow& m) {
  if (m.kind != "file" || m.text_kind == "data" || m.text_kind == "stack" ||
      m.text_kind == "process" || m.text_kind == "source")
    return false;
  const auto kinds = ingest::text_kinds();
  return m.format == "text" || std::ranges::any_of(kinds, [&](const ingest::TextKind& kind) {
           return kind.name == m.format;
         });
}

class LineVisitor : public bundle::Visitor {
 public:
  LineVisitor(std::size_t run, std::string label,
              const std::unordered_map<std::string, const MemberRow*>& wanted,
              analyze::TemplateMiner& miner)
      : run_(run), label_(std::move(label)), wanted_(wanted), miner_(miner) {}

  bool begin(const bundle::MemberHead& head) override {
    const auto it = wanted_.find(label_.empty() ? head.path : label_ + "/" + head.path);
    member_ = it == wanted_.end() ? nullptr : it->second;
    buffer_.clear();
    habit_known_ = false;
    skipping_ = false;
    number_ = offset_ = 0;
    if (member_ != nullptr) miner_.begin_file(run_, member_->path, member_->text_kind);
    return member_ != nullptr;
  }
  void data(std::string_view bytes) override {
    if (member_ == nullptr) return;
    buffer_.append(bytes);
    if (!habit_known_ && buffer_.size() < kHeadOfRun) return;
    drain(false);
  }
  void end(const bundle::MemberEnd&) override {
    if (member_ != nullptr) drain(true);
  }
  void note(const bundle::MemberHead&) override {}
  void problem(const bundle::Problem&) override {}

 private:
  void drain(bool last) {
    if (!habit_known_) habit_ = line::habit_of(std::string_view(buffer_).substr(0, kHeadOfRun));
    habit_known_ = true;
    std::size_t at = 0;
    for (std::size_t end; (end = buffer_.find('\n', at)) != std::string::npos; at = end + 1)
      tell(std::string_view(buffer_).substr(at, end - at), offset_ + at, true);
    const std::string_view rest = std::string_view(buffer_).substr(at);
    if (!rest.empty() && (last || rest.size() > kMostLineOfRun)) {
      tell(rest, offset_ + at, false);
      at = buffer_.size();
    }
    buffer_.erase(0, at);
    offset_ += at;
  }
  // whole: the line ends here. The rest of a line that is too long is left out.
  void tell(std::string_view raw, std::uint64_t offset, bool whole) {
    if (!skipping_) {
      ++number_;
      const analyze::LineBytes bytes{offset, static_cast<std::uint32_t>(raw.size())};
      while (!raw.empty() && raw.back() == '\r') raw.remove_suffix(1);
      if (const std::size_t bar = raw.rfind('\r'); bar != std::string_view::npos)
        raw.remove_prefix(bar + 1);  // a progress bar
      line::peel(raw.substr(0, kMostLineOfRun), habit_, line_);
      if (!line_.message.empty()) miner_.line(line_.message, number_, 1, bytes);
    }
    skipping_ = !whole;
  }

  std::size_t run_;
  std::string label_;
  const std::unordered_map<std::string, const MemberRow*>& wanted_;
  analyze::TemplateMiner& miner_;
  const MemberRow* member_ = nullptr;
  std::string buffer_;
  line::Habit habit_;
  line::Line line_;
  bool habit_known_ = false, skipping_ = false;
  std::uint64_t number_ = 0;
  std::uint64_t offset_ = 0;  // of buffer_ in the member
};

// Two runs can be compared in numbers that nobody has a name for. What only rises counts something:
// its steps are told.
std::vector<MetricSeries> unknown_metrics(const store::Database& db, const analyze::Facts& facts) {
  std::map<std::string, std::map<std::string, MetricSeries::Entity>> all;
  const rules::Catalogue& catalogue = rules::Catalogue::built_in();
  for (const SeriesRow& row : facts.series) {
    const MemberRow* member = facts.member(row.member);
    if (!facts.counts(member) || catalogue.find(row.name, row.unit)) continue;
    SeriesRow owned = row;
    if (!owned.host) owned.host = member->host;
    if (!owned.rank && !owned.gpu && !owned.nic && member->rank) owned.rank = member->rank;
    const std::string entity = analyze::entity_name(owned);
    SeriesPoints points = db.points(row.id);
    std::vector<double>& values = points.values;
    std::erase_if(values, [](double v) { return !std::isfinite(v); });
    if (values.size() > 3 && values.back() > values.front() && std::ranges::is_sorted(values)) {
      for (std::size_t i = values.size() - 1; i > 0; --i) values[i] -= values[i - 1];
      values.erase(values.begin());
    }
    if (entity.empty() || values.empty()) continue;
    MetricSeries::Entity& e = all[row.name][entity];
    e.name = entity;
    e.host = owned.host.value_or(Host());
    e.values.insert(e.values.end(), values.begin(), values.end());
  }
  std::vector<MetricSeries> out;
  for (auto& [name, entities] : all) {
    MetricSeries one{name, "", {}};
    for (auto& [entity, e] : entities) one.entities.push_back(std::move(e));
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

std::vector<std::string> readable_sources(const store::Database& db) {
  std::vector<std::string> sources;
  const std::string said = db.meta("sources").value_or("");
  for (std::size_t at = 0; at < said.size();) {
    const std::size_t end = std::min(said.find('\n', at), said.size());
    sources.push_back(said.substr(at, end - at));
    at = end + 1;
  }
  if (std::ranges::any_of(sources, [](const std::string& path) {
        return path == "-" || !bundle::check_readable(path);
      }))
    sources.clear();
  return sources;
}

std::set<std::string> text_kinds_of(const analyze::Facts& facts) {
  std::set<std::string> out;
  for (const MemberRow& m : facts.members)
    if (has_log_lines(m) && facts.counts(&m) && m.lines > 0) out.insert(m.text_kind);
  return out;
}

Result<LoadedRun> load_run(store::Database db) {
  CULPRIT_TRY(resolved, resolve(db, false));
  analyze::JobSteps steps = pace_of(db, resolved.facts).steps;
  analyze::IncidentMetrics metrics = metrics_of(db, resolved.facts);
  std::vector<MetricSeries> unknown = unknown_metrics(db, resolved.facts);
  CULPRIT_CHECK(db.read_to_the_end());
  std::vector<std::string> sources = readable_sources(db);
  LoadedRun run{std::move(db),
                std::move(resolved),
                std::move(steps),
                std::move(metrics),
                std::move(unknown),
                std::move(sources),
                {}};
  run.text_kinds = text_kinds_of(run.resolved.facts);
  return run;
}

Result<> mine_lines(const LoadedRun& run, std::size_t index, const bundle::Limits& limits,
                    analyze::TemplateMiner& miner) {
  return mine_lines(run.resolved.facts, run.sources, index, limits, miner);
}

Result<> mine_lines(const analyze::Facts& facts, const std::vector<std::string>& sources,
                    std::size_t index, const bundle::Limits& limits,
                    analyze::TemplateMiner& miner) {
  std::unordered_map<std::string, const MemberRow*> wanted;
  for (const MemberRow& m : facts.members)
    if (has_log_lines(m) && facts.counts(&m)) wanted.emplace(m.stored_path, &m);
  for (const ingest::Source& source : ingest::label_sources(sources)) {
    LineVisitor visitor(index, source.label, wanted, miner);
    CULPRIT_CHECK(bundle::walk(source.path, limits, visitor));
  }
  return {};
}

void mine_exceptions(const LoadedRun& run, std::size_t index, analyze::TemplateMiner& miner) {
  const analyze::Facts& facts = run.resolved.facts;
  MemberId last = 0;
  const auto at = [&](MemberId id) {
    const MemberRow* m = facts.member(id);
    if (!facts.counts(m)) return false;
    if (id != last) miner.begin_file(index, m->path, m->text_kind);
    last = id;
    return true;
  };
  for (const TracebackRow& t : facts.tracebacks)
    if (at(t.place.member)) miner.line(t.type + ": " + t.message, t.place.line);
}

}  // namespace culprit::diagnose
