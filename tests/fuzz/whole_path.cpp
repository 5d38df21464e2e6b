#include "whole_path.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include <fmt/format.h>

#include "analyze/facts/facts.hpp"
#include "bundle/bundle.hpp"
#include "model/json.hpp"
#include "diagnose/analyse.hpp"
#include "diagnose/conclude.hpp"
#include "diagnose/read.hpp"
#include "diagnose/resolve.hpp"
#include "report/report.hpp"
#include "store/utf8.hpp"

namespace culprit::test {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const rules::RulePack& pack() {
  static const rules::RulePack the = [] {
    auto loaded = rules::load_rules({});
    auto compiled =
        loaded ? rules::RulePack::compile(std::move(loaded).value()) : std::move(loaded).error();
    if (!compiled) {
      std::fprintf(stderr, "the rule pack does not load: %s\n", compiled.error().what.c_str());
      std::exit(70);
    }
    return std::move(compiled).value();
  }();
  return the;
}

// The members again, as the walk tells them, in the order in which the store counts them.
class Collect final : public bundle::Visitor {
 public:
  bool begin(const bundle::MemberHead& head) override {
    paths.push_back(head.path);
    texts.emplace_back();
    return true;
  }
  void data(std::string_view bytes) override { texts.back().append(bytes); }
  void end(const bundle::MemberEnd&) override {}
  void note(const bundle::MemberHead& head) override {
    paths.push_back(head.path);
    texts.emplace_back();
  }
  void problem(const bundle::Problem&) override {}
  std::vector<std::string> paths, texts;
};

struct Judge {
  Diagnosed& out;
  const std::vector<MemberRow>& members;
  const Collect& read;
  bool whole;  // every member's bytes are at hand

  template <class... Args>
  void say(fmt::format_string<Args...> text, Args&&... args) {
    if (out.broken.size() < 20)
      out.broken.push_back(fmt::format(text, std::forward<Args>(args)...));
  }

  const MemberRow* member(MemberId id) {
    if (id < 1 || static_cast<std::size_t>(id) > members.size()) return nullptr;
    return &members[static_cast<std::size_t>(id) - 1];
  }

  std::vector<std::vector<std::size_t>> ends =
      {};  // of the lines of each member, filled when asked for

  std::uint64_t line_at(MemberId id, std::uint64_t offset) {
    ends.resize(read.texts.size());
    auto& of = ends[static_cast<std::size_t>(id) - 1];
    const std::string& text = read.texts[static_cast<std::size_t>(id) - 1];
    if (of.empty()) {
      for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1))
        of.push_back(at);
      of.push_back(text.size());
    }
    return 1 +
           static_cast<std::uint64_t>(std::lower_bound(of.begin(), of.end(), offset) - of.begin());
  }

  // The place of a fact is inside of its member, and its line is the one on which its offset
  // stands.
  void place(const char* what, const Place& p, bool exact = true) {
    const MemberRow* m = member(p.member);
    if (m == nullptr) return say("{}: there is no member {}", what, p.member);
    if (p.offset > m->size || p.offset + p.length > m->size)
      return say("{} in {}: bytes {} to {}, but it has {}", what, m->path, p.offset,
                 p.offset + p.length, m->size);
    if (m->lines > 1 && p.line > m->lines)
      return say("{} in {}: line {} of {}", what, m->path, p.line, m->lines);
    if (!whole || !exact || p.line == 0) return;
    const std::uint64_t line = line_at(p.member, p.offset);
    if (line != p.line)
      say("{} in {}: byte {} stands on line {}, not {}", what, m->path, p.offset, line, p.line);
  }
};

std::string squeezed(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c != '\r' && c != '\n') out.push_back(c);
  return out;
}

void check_findings(Judge& judge, const std::vector<Finding>& findings, const Check& check) {
  std::set<std::string> ids;
  for (const Finding& f : findings) {
    if (!ids.insert(f.id).second) judge.say("two findings are called {}", f.id);
    if (f.confidence < 0 || f.confidence > 1) judge.say("{}: confidence {}", f.id, f.confidence);
    if (f.start && f.end && *f.end < *f.start) judge.say("{}: ends before it begins", f.id);
    if (f.outcome == Outcome::fired && f.evidence.empty())
      judge.say("{} fired on no evidence", f.id);
    for (const Evidence& e : f.evidence) {
      judge.place(f.id.c_str(), {e.member, e.line, e.offset, e.length});
      const MemberRow* m = judge.member(e.member);
      if (m == nullptr) continue;
      if (m->path != e.path)
        judge.say("{}: evidence of member {} is said to be in {}", f.id, m->path, e.path);
      if (!check.excerpts || !judge.whole) continue;
      const std::string& text = judge.read.texts[static_cast<std::size_t>(e.member) - 1];
      const std::size_t end = e.length > 0 ? e.offset + e.length : text.size();
      std::string excerpt = squeezed(e.excerpt);
      const bool cut = excerpt.ends_with("…") || excerpt.ends_with("...");
      if (cut) excerpt.resize(excerpt.size() - 3);
      const std::string there =
          squeezed(store::valid_utf8(std::string_view(text).substr(e.offset, end - e.offset)));
      if (excerpt.empty() || there.find(excerpt) == std::string::npos)
        judge.say("{}: {}:{} does not say '{}' but '{}'", f.id, e.path, e.line, e.excerpt,
                  there.substr(0, 200));
    }
  }
}

void check_document(Judge& judge, const std::string& text, const std::vector<MemberRow>& rows) {
  const json d = json::parse(text, nullptr, false);
  if (d.is_discarded()) return judge.say("the report is no JSON");
  std::uint64_t lines = 0, used = 0, skipped = 0, rejected = 0;
  for (const json& row : d["ledger"]) {
    const auto n = row["lines"].get<std::uint64_t>();
    const auto u = row["used"].get<std::uint64_t>();
    const auto s = row["skipped"].get<std::uint64_t>();
    const auto r = row["rejected"].get<std::uint64_t>();
    if (n != u + s + r || u > n || s > n || r > n)
      judge.say("ledger of {}: {} lines, {} used, {} skipped, {} rejected",
                row["path"].dump(-1, ' ', false, json::error_handler_t::replace), n, u, s, r);
    lines += n;
    used += u;
    skipped += s;
    rejected += r;
  }
  const json& bundle = d["bundle"];
  if (d["ledger"].size() != rows.size())
    judge.say("the ledger has {} members, the bundle {}", d["ledger"].size(), rows.size());
  if (bundle["lines"] != lines || bundle["used"] != used || bundle["skipped"] != skipped ||
      bundle["rejected"] != rejected)
    judge.say("the ledger's sums are not those of the bundle");
  judge.out.rejected = rejected;
  std::map<std::string, const json*> findings;
  for (const json& f : d["findings"]) findings[f["id"].get<std::string>()] = &f;
  for (const json& target : d["verdict"]["targets"]) {
    if (target["because"].empty())
      judge.say("target {} stands there without a finding", target["id"].dump());
    for (const json& because : target["because"]) {
      const auto it = findings.find(because.get<std::string>());
      if (it == findings.end())
        judge.say("target {}: there is no finding {}", target["id"].dump(), because.dump());
      else if ((*it->second)["evidence"].empty())
        judge.say("target {} rests on {}, which rests on nothing", target["id"].dump(),
                  because.dump());
    }
  }
  for (const json& link : d["verdict"]["chain"])
    if (!link["finding"].get<std::string>().empty() &&
        findings.count(link["finding"].get<std::string>()) == 0)
      judge.say("the chain names {}, which does not exist", link["finding"].dump());
  if (d["verdict"]["steps"].empty()) judge.say("the verdict was reached in no step");
  const std::string kAction = d["verdict"]["action"].get<std::string>();
  static const std::set<std::string> kActions{"none",     "isolate",    "reattempt", "rollback",
                                              "repair",   "checks",     "replay",    "offline",
                                              "mitigate", "investigate"};
  if (kActions.count(kAction) == 0) judge.say("there is no action '{}'", kAction);
}

// What a terminal shows: no control bytes of the bundle may get there.
void check_plain(Judge& judge, const char* what, const std::string& text) {
  if (text.empty()) judge.say("the {} report is empty", what);
  for (const char c : text)
    if ((static_cast<unsigned char>(c) < 32 && c != '\n' && c != '\t') || c == 127)
      return judge.say("the {} report holds control byte {}", what, static_cast<int>(c));
}

Result<> run(const std::string& path, const Check& check, Diagnosed& out) {
  diagnose::ReadRequest request;
  request.sources = {path};
  request.tool = "test";
  request.options.threads = check.threads;
  bundle::Limits& limits = request.options.limits;
  limits.members = 5000;
  limits.member_bytes = 64 << 20;
  limits.total_bytes = 128 << 20;
  CULPRIT_TRY(db, store::Database::open("", store::Access::create));
  if (auto read = diagnose::read_bundles(request, pack(), db); !read)
    return std::move(read).error();
  CULPRIT_CHECK(db.health());
  CULPRIT_TRY(incident, diagnose::resolve(db, true));
  CULPRIT_TRY(findings, diagnose::analyse(db, incident, pack()));
  CULPRIT_TRY(conclusion, diagnose::conclude(db, incident, findings));
  const std::string& document = conclusion.document;
  out.document = document;

  Collect read;
  CULPRIT_CHECK(bundle::walk(path, limits, read));
  const auto rows = db.members();
  Judge judge{out, rows, read, true};
  if (rows.size() != read.texts.size()) {
    judge.say("the store has {} members, the bundle {}", rows.size(), read.texts.size());
    judge.whole = false;
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const MemberRow& m = rows[i];
    if (m.id != static_cast<MemberId>(i) + 1) judge.say("member {} has the number {}", i + 1, m.id);
    if (!judge.whole) continue;
    if (m.stored_path != store::valid_utf8(read.paths[i]))
      judge.say("member {} is called '{}', stored as '{}'", i + 1, read.paths[i], m.stored_path);
    if (m.size != read.texts[i].size())
      judge.say("{} has {} bytes, not {}", m.path, read.texts[i].size(), m.size);
  }
  for (const EventRow& e : db.rows<EventRow>()) {
    judge.place("an event", e.place);
    if (e.last_line < e.place.line)
      judge.say("the storm of line {} ends on line {}", e.place.line, e.last_line);
  }
  for (const TracebackRow& t : db.rows<TracebackRow>()) judge.place("a traceback", t.place);
  for (const ExitRow& x : db.rows<ExitRow>()) judge.place("an exit", x.place);
  for (const IdentityRow& i : db.rows<IdentityRow>()) judge.place("an identity", i.place);
  for (const ConfigRow& c : db.rows<ConfigRow>()) judge.place("a setting", c.place);
  for (const ClockRow& c : db.rows<ClockRow>()) judge.place("a clock", c.place, c.kind != "last");
  for (const ProgressSpan& s : db.progress())
    judge.place("a step", s.first.place), judge.place("a step", s.last.place);
  std::map<MemberId, std::uint64_t> rejects;
  for (const RejectRow& r : db.rows<RejectRow>()) {
    judge.place("a reject", r.place, false);
    ++rejects[r.place.member];
  }
  for (const MemberRow& m : rows)
    if (m.rejected > rejects[m.id])
      judge.say("{}: {} lines rejected, {} reasons", m.path, m.rejected, rejects[m.id]);
  for (const Finding& f : findings) out.fired += f.outcome == Outcome::fired;
  check_findings(judge, findings, check);
  check_findings(judge, db.findings(), {});  // they come back as they went in
  check_document(judge, document, rows);
  for (const report::Format* f : report::formats())
    if (f->name != "json")
      check_plain(judge, std::string(f->name).c_str(),
                  f->render(document, {false, true, true, 100}));
  if (report::find_format("text")->render(document, {true, true, true, 20}).empty())
    judge.say("the narrow report is empty");
  return {};
}

}  // namespace

Diagnosed diagnose(const std::string& path, const Check& check) {
  Diagnosed out;
  if (auto done = run(path, check, out); !done) {
    // A bundle that cannot be opened is an answer; anything that goes wrong later is not.
    if (!out.document.empty() || done.error().what.find("database") != std::string::npos ||
        done.error().kind == ErrorKind::internal)
      out.broken.push_back("failed: " + done.error().what);
  }
  return out;
}

Scratch::Scratch() {
  const char* wished = std::getenv("TMPDIR");
  for (const char* base : {wished, "/dev/shm", "/tmp"}) {
    if (base == nullptr || access(base, W_OK) != 0) continue;
    std::string name = std::string(base) + "/culprit-test-XXXXXX";
    if (mkdtemp(name.data()) != nullptr) {
      path_ = name;
      return;
    }
  }
  std::perror("no folder for scratch files");
  std::exit(70);
}

Scratch::~Scratch() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void Scratch::clear() const {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(path_, ignored))
    fs::remove_all(entry.path(), ignored);
}

void Scratch::write(const std::string& relative, const void* bytes, std::size_t size) const {
  const fs::path file = fs::path(path_) / relative;
  fs::create_directories(file.parent_path());
  std::ofstream stream(file, std::ios::binary | std::ios::trunc);
  stream.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
}

}  // namespace culprit::test
