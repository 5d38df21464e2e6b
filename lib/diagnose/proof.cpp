#include "diagnose/proof.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <unistd.h>

#include "bundle/bundle.hpp"
#include "bundle/tar_writer.hpp"
#include "diagnose/analyse.hpp"
#include "diagnose/conclude.hpp"
#include "diagnose/minimal.hpp"
#include "diagnose/redaction.hpp"
#include "model/contains.hpp"
#include "model/json.hpp"
#include "redact/pseudonyms.hpp"

namespace culprit::diagnose {

struct ProofMember {
  std::string path;  // as stored; sections of a file are the file again
  std::int64_t mtime_s = 0;
  std::string bytes;
  std::size_t first = 0, units = 0;
};

// A line with its end, or a whole file.
struct ProofUnit {
  std::size_t member = 0, begin = 0, end = 0;
  std::uint64_t line = 0;
};

// A folder of ours, gone with this object.
class ProofScratch {
 public:
  static Result<ProofScratch> make() {
    std::error_code error;
    const std::filesystem::path base = std::filesystem::temp_directory_path(error);
    std::string pattern = (base / "culprit-prove-XXXXXX").string();
    if (error || mkdtemp(pattern.data()) == nullptr)
      return fail("cannot make a temporary folder").hint("name a folder with room in TMPDIR");
    return ProofScratch(pattern);
  }
  ProofScratch(ProofScratch&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ProofScratch& operator=(ProofScratch&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~ProofScratch() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  explicit ProofScratch(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

namespace {

using Kept = std::vector<std::size_t>;  // units, sorted

constexpr std::size_t kMostLinedBytes = 16u << 20;  // of a file that is taken apart
constexpr std::size_t kMostCached = 4096;           // units of a set whose verdict is kept

// Lines can be taken out of it, and what is left is of the same format: no JSON that is one
// document, and no binary, unless it is a log: a machine that dies leaves zeros in its files.
bool has_lines(const std::string& bytes, bool log) {
  return bytes.size() <= kMostLinedBytes && (log || !contains(bytes, '\0')) &&
         !nlohmann::json::accept(bytes);
}

// The members of a bundle, in memory.
class Holder : public bundle::Visitor {
 public:
  Holder(std::vector<ProofMember>& members, std::uint64_t most) : members_(members), left_(most) {}
  bool begin(const bundle::MemberHead& head) override {
    const std::string& path = head.section ? head.container : head.path;
    if (!head.section || members_.empty() || members_.back().path != path)
      members_.push_back({path, head.mtime_s, {}, 0, 0});
    return true;
  }
  void data(std::string_view bytes) override {
    too_large_ = too_large_ || bytes.size() > left_;
    if (too_large_) return;
    left_ -= bytes.size();
    members_.back().bytes.append(bytes);
  }
  void end(const bundle::MemberEnd&) override {}
  void note(const bundle::MemberHead&) override {}
  void problem(const bundle::Problem&) override {}
  bool stop() override { return too_large_; }
  bool too_large() const { return too_large_; }

 private:
  std::vector<ProofMember>& members_;
  std::uint64_t left_;
  bool too_large_ = false;
};

struct Run {
  store::Database db;
  Resolved resolved;
  Verdict verdict;
  std::vector<Finding> findings;
};

}  // namespace

ProvedVerdict proved(const Verdict& verdict) {
  ProvedVerdict out{verdict.action, {}, verdict.precision, {}};
  const auto taken = std::ranges::find_if(
      verdict.steps, [](const Step& s) { return s.outcome == StepOutcome::taken; });
  if (taken != verdict.steps.end()) out.cause = taken->step;  // the history may be another
  for (const Target& t : verdict.targets) out.targets.push_back(t.subject);
  std::ranges::sort(out.targets);
  return out;
}

struct Prover::Impl {
  ProofRequest request;
  const rules::RulePack* pack = nullptr;
  ProofScratch scratch;
  std::vector<ProofMember> members;
  std::vector<ProofUnit> units;
  std::map<std::string, std::string> shown;  // stored path -> as the report names it
  ProvedVerdict wanted;
  std::vector<Kept> seeds;  // what findings rest on, and what was read at all
  std::map<Kept, ProvedVerdict> known;
  Kept kept;
  redact::Pseudonyms names;  // those of the whole bundle: a part may quote what it does not name
  std::size_t runs = 0;
  std::chrono::steady_clock::time_point until{};

  Impl(ProofRequest asked, const rules::RulePack& rules, ProofScratch folder)
      : request(std::move(asked)), pack(&rules), scratch(std::move(folder)) {}

  Result<Run> run(const std::vector<std::string>& sources) const {
    CULPRIT_TRY(db, open_new(sources, ""));
    ReadRequest read = request.read;
    read.sources = sources;
    CULPRIT_CHECK(read_bundles(read, *pack, db));
    CULPRIT_TRY(resolved, resolve(db, true));
    CULPRIT_TRY(findings, analyse(db, resolved, *pack));
    CULPRIT_TRY(conclusion, conclude(db, resolved, std::move(findings)));
    return Run{std::move(db), std::move(resolved), std::move(conclusion.verdict),
               std::move(conclusion.findings)};
  }

  Result<> pack_units(const Kept& some, const std::string& path) const {
    CULPRIT_TRY(tar, bundle::TarWriter::create(path));
    for (std::size_t at = 0; at < some.size();) {
      const std::size_t member = units[some[at]].member;
      std::string bytes;
      for (; at < some.size() && units[some[at]].member == member; ++at)
        bytes.append(members[member].bytes, units[some[at]].begin,
                     units[some[at]].end - units[some[at]].begin);
      CULPRIT_CHECK(tar.add(members[member].path, members[member].mtime_s, bytes.size()));
      CULPRIT_CHECK(tar.data(bytes));
    }
    return tar.finish();
  }

  Result<Run> run(const Kept& some) const {
    const std::string path = scratch.file("part.tar");
    CULPRIT_CHECK(pack_units(some, path));
    return run(std::vector<std::string>{path});
  }

  Result<ProvedVerdict> verdict_of(const Kept& some) {
    if (const auto found = known.find(some); found != known.end()) return found->second;
    ++runs;
    CULPRIT_TRY(made, run(some));
    ProvedVerdict verdict = proved(made.verdict);
    if (some.size() <= kMostCached) known.emplace(some, verdict);
    return verdict;
  }

  // logs: members whose lines the rules apply to.
  void take_apart(const std::set<std::string>& logs) {
    for (std::size_t m = 0; m < members.size(); ++m) {
      ProofMember& member = members[m];
      member.first = units.size();
      if (!has_lines(member.bytes, logs.count(member.path) != 0)) {
        units.push_back({m, 0, member.bytes.size(), 0});
      } else {
        std::uint64_t line = 0;
        for (std::size_t at = 0; at < member.bytes.size();) {
          const std::size_t end =
              std::min(member.bytes.find('\n', at), member.bytes.size() - 1) + 1;
          units.push_back({m, at, end, ++line});
          at = end;
        }
      }
      member.units = units.size() - member.first;
    }
  }

  // Lines that findings of the verdict rest on; those of all findings; those that gave a row; all.
  void choose_seeds(const Run& whole) {
    std::map<std::string, std::size_t> by_path;
    for (std::size_t m = 0; m < members.size(); ++m) by_path[members[m].path] = m;
    std::set<std::size_t> chosen;
    const auto take = [&](MemberId id, std::uint64_t offset, std::uint64_t length) {
      const MemberRow* row = whole.resolved.facts.member(id);
      if (row == nullptr) return;
      auto found = by_path.find(row->stored_path);
      const bool section = found == by_path.end();
      if (section) found = by_path.find(row->container);
      if (found == by_path.end()) return;
      const ProofMember& member = members[found->second];
      const std::uint64_t begin = offset + (section ? row->origin_offset : 0);
      const std::uint64_t end = begin + std::max<std::uint64_t>(1, length);
      const auto first = units.begin() + static_cast<std::ptrdiff_t>(member.first);
      const auto last = first + static_cast<std::ptrdiff_t>(member.units);
      for (auto u = std::upper_bound(
               first, last, begin,
               [](std::uint64_t at, const ProofUnit&unit) { return at < unit.end; });
           u != last && u->begin < end; ++u)
        chosen.insert(static_cast<std::size_t>(u - units.begin()));
    };
    const auto keep = [&] { seeds.emplace_back(chosen.begin(), chosen.end()); };
    std::set<std::string> because;
    for (const Target& t : whole.verdict.targets)
      because.insert(t.because.begin(), t.because.end());
    for (const bool all : {false, true}) {
      for (const Finding& f : whole.findings)
        if (all ? f.fired() : because.count(f.id) != 0)
          for (const Evidence& e : f.evidence) take(e.member, e.offset, e.length);
      keep();
    }
    const analyze::Facts& facts = whole.resolved.facts;
    for (const EventRow& e : facts.events) take(e.place.member, e.place.offset, e.place.length);
    for (const TracebackRow& t : facts.tracebacks)
      take(t.place.member, t.place.offset, t.place.length);
    for (const ExitRow& e : facts.exits) take(e.place.member, e.place.offset, e.place.length);
    for (const IdentityRow& i : facts.identities)
      take(i.place.member, i.place.offset, i.place.length);
    for (const ClockRow& c : facts.clocks) take(c.place.member, c.place.offset, 1);
    keep();
    Kept all(units.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    seeds.push_back(std::move(all));
  }
};

Prover::Prover(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Prover::Prover(Prover&&) noexcept = default;
Prover& Prover::operator=(Prover&&) noexcept = default;
Prover::~Prover() = default;
const ProvedVerdict& Prover::verdict() const { return impl_->wanted; }

Result<Prover> Prover::read(const ProofRequest& request, const rules::RulePack& pack) {
  CULPRIT_TRY(scratch, ProofScratch::make());
  auto impl = std::make_unique<Impl>(request, pack, std::move(scratch));
  for (const ingest::Source& source : ingest::label_sources(request.read.sources)) {
    if (source.path == "-")
      return usage_error("a proof reads its bundle many times, and standard input only once")
          .hint("culprit prove job.tar.gz");
    std::vector<ProofMember> members;
    Holder holder(members, request.most_bytes);
    CULPRIT_CHECK(bundle::walk(source.path, request.read.options.limits, holder));
    if (holder.too_large())
      return fail("this bundle is too large to be held in memory")
          .at({source.path, 0})
          .hint("prove the files that the verdict quotes, in a folder of their own");
    for (ProofMember& m : members) {
      if (!source.label.empty()) m.path = source.label + "/" + m.path;
      impl->members.push_back(std::move(m));
    }
  }
  // The order of an archive says nothing.
  std::ranges::stable_sort(
      impl->members, [](const ProofMember& a, const ProofMember& b) { return a.path < b.path; });
  CULPRIT_TRY(whole, impl->run(request.read.sources));
  impl->wanted = proved(whole.verdict);
  name_known(whole.resolved.facts, impl->names);
  std::set<std::string> logs;
  for (const MemberRow& m : whole.resolved.facts.members) {
    const bool section = m.stored_path != m.container && m.origin_offset + m.origin_line > 0;
    if (m.format == "text" || !m.text_kind.empty())
      logs.insert(section ? m.container : m.stored_path);
    impl->shown[m.stored_path] = m.path;
  }
  impl->take_apart(logs);
  impl->choose_seeds(whole);
  return Prover(std::move(impl));
}

Result<Proof> Prover::prove() {
  Impl& p = *impl_;
  p.until = std::chrono::steady_clock::now() + p.request.time;
  std::optional<Error> broken;
  const auto holds = [&](const Kept& some) {
    if (broken || p.runs >= p.request.most_runs || std::chrono::steady_clock::now() > p.until)
      return Holds::stop;
    auto verdict = p.verdict_of(some);
    if (!verdict) broken = std::move(verdict).error();
    return broken ? Holds::stop : *verdict == p.wanted ? Holds::yes : Holds::no;
  };
  Holds found = Holds::no;
  for (const Kept& seed : p.seeds) {
    found = holds(seed);
    p.kept = seed;
    if (found != Holds::no) break;
  }
  if (broken) return std::move(*broken);
  if (found == Holds::no)
    return fail("this verdict is another when its files are packed anew: it cannot be proved")
        .hint("unpack the bundle into a folder, and prove that");
  Proof out{.of_files = p.members.size(), .of_lines = p.units.size()};
  // Files first: most of a bundle goes in a few questions.
  std::map<std::size_t, Kept> files;
  for (const std::size_t u : p.kept) files[p.units[u].member].push_back(u);
  std::vector<std::size_t> names;
  for (const auto& [member, mine] : files) names.push_back(member);
  const auto lines_of = [&](const std::vector<std::size_t>& some) {
    Kept units;
    for (const std::size_t member : some)
      units.insert(units.end(), files[member].begin(), files[member].end());
    return units;
  };
  const Minimal whole_files =
      minimal(names, [&](const std::vector<std::size_t>& some) { return holds(lines_of(some)); });
  const Minimal lines = minimal(lines_of(whole_files.kept), holds);
  if (broken) return std::move(*broken);
  p.kept = lines.kept;
  out.minimal = lines.complete;
  for (std::size_t i = 0; i < p.kept.size(); ++i) {
    const ProofUnit& u = p.units[p.kept[i]];
    const ProofMember& m = p.members[u.member];
    const auto shown = p.shown.find(m.path);
    ProofLine line{shown == p.shown.end() ? m.path : shown->second, u.line, {}, {}};
    if (u.line != 0) line.words = m.bytes.substr(u.begin, u.end - u.begin);
    while (line.words.ends_with('\n') || line.words.ends_with('\r')) line.words.pop_back();
    if (lines.complete) {
      Kept others = p.kept;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      CULPRIT_TRY(verdict, p.verdict_of(others));
      line.without = std::move(verdict);
    }
    out.lines.push_back(std::move(line));
  }
  out.runs = p.runs;
  return out;
}

Result<Prover::Written> Prover::write(const std::string& path) {
  const std::string plain = impl_->scratch.file("proof.tar");
  CULPRIT_CHECK(impl_->pack_units(impl_->kept, plain));
  redact::Pseudonyms names = impl_->names;
  CULPRIT_TRY(redacted, redact_bundle(plain, path, impl_->request.read.options.limits, names));
  CULPRIT_TRY(again, impl_->run(std::vector<std::string>{path}));
  Written out{redacted.members, proved(again.verdict), impl_->wanted};
  for (Subject& s : out.wanted.targets) s.id = names.text(s.id);
  std::ranges::sort(out.wanted.targets);
  return out;
}

}  // namespace culprit::diagnose
