// Results in and out: whose rows are, findings, the verdict.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "model/figure.hpp"
#include "model/finding_ids.hpp"
#include "model/json.hpp"
#include "store/database_impl.hpp"
#include "store/select.hpp"
#include "store/utf8.hpp"

namespace culprit::store {

namespace {

std::optional<std::string> clean(const std::optional<std::string>& text) {
  return text ? std::optional(valid_utf8(*text)) : std::nullopt;
}

}  // namespace

Result<> Database::save_resolution(const Resolution& resolution) {
  sqlite3* db = impl_->db.get();
  return impl_->transaction("cannot store whose files these are", [&] {
    bool good = impl_->execute("DELETE FROM host; DELETE FROM rank");
    Statement m(db,
                "UPDATE member SET path=?, container=?, host=?, rank=?, local_rank=?, attempt=?, "
                "attribution=?, duplicate_of=? WHERE member_id=?");
    for (const MemberRow& r : resolution.members)
      good =
          good &&
          m.run(r.path, r.container, clean(r.host), r.rank, r.local_rank, r.attempt, r.attribution,
                r.duplicate_of == 0 ? std::nullopt : std::optional(r.duplicate_of), r.id);
    Statement e(db,
                "UPDATE event SET time_ns=?, uncertainty_ns=?, severity=?, role=?, host=?, rank=?, "
                "gpu=?, peer_host=?, last_ns=? WHERE event_id=?");
    for (const EventRow& r : resolution.events)
      good = good && e.run(r.time_ns, r.uncertainty, name(r.severity), name(r.role), clean(r.host),
                           r.rank, clean(r.gpu), clean(r.peer_host), r.last_time_ns, r.id);
    Statement t(
        db,
        "UPDATE traceback SET time_ns=?, uncertainty_ns=?, host=?, rank=? WHERE traceback_id=?");
    for (const TracebackRow& r : resolution.tracebacks)
      good = good && t.run(r.time_ns, r.uncertainty, clean(r.host), r.rank, r.id);
    Statement x(db, "UPDATE exit_status SET time_ns=?, host=?, rank=? WHERE rowid=?");
    for (const ExitRow& r : resolution.exits)
      good = good && x.run(r.time_ns, clean(r.host), r.rank, r.id);
    Statement p(db, "UPDATE process SET role=? WHERE rowid=? AND role IS NOT ?1");
    for (const ProcessRow& r : resolution.processes) good = good && p.run(r.role, r.id);
    std::map<MemberId, const MemberClock*> clock_of;
    for (const MemberClock& c : resolution.clocks) clock_of[c.member] = &c;
    for (const char* table : {"iteration", "checkpoint"}) {
      // Rows are millions: those that have their time already are not written again.
      Statement i(db, fmt::format("UPDATE {} SET time_ns=CASE WHEN clock=?3 THEN time_raw+?4 END "
                                  "WHERE rowid BETWEEN ?1 AND ?2 AND time_ns IS NOT CASE WHEN "
                                  "clock=?3 THEN time_raw+?4 END",
                                  table));
      for (const Range& range : ranges(db, table)) {
        const auto clock = clock_of.find(range.member);
        good = good &&
               (clock != clock_of.end() ? i.run(range.first, range.last, name(clock->second->clock),
                                                clock->second->offset)
                                        : i.run(range.first, range.last, "", 0));
      }
    }
    Statement h(db, "INSERT INTO host VALUES (?,?,?,?,?,?,?,?)");
    for (const HostRow& r : resolution.hosts)
      good = good &&
             h.run(valid_utf8(r.host), r.node_rank, fmt::format("{}", fmt::join(r.addresses, ",")),
                   r.boot_ns, r.boot_source, r.boot_uncertainty, r.driver, r.has_log);
    Statement k(db, insertion<RankRow>());
    RowBinder rank;
    for (const RankRow& r : resolution.ranks) good = good && rank.run(k, r);
    good = good && impl_->execute(
                       "DELETE FROM meta WHERE key IN ('job', 'job_id', 'world_size', "
                       "'job_start_ns', 'job_end_ns')");
    Statement j(db, "INSERT INTO meta VALUES (?,?)");
    for (const auto& [key, value] : resolution.job) good = good && j.run(key, valid_utf8(value));
    return good;
  });
}

Result<> Database::save_findings(Analysis analysis, std::vector<Finding>& findings, Wording words) {
  make_ids_unique(findings);
  sqlite3* db = impl_->db.get();
  return impl_->transaction("cannot store the findings", [&] {
    Statement forget(db,
                     "DELETE FROM evidence WHERE finding_id IN (SELECT finding_id FROM finding "
                     "WHERE analysis=?)");
    Statement forget2(db, "DELETE FROM finding WHERE analysis=?");
    bool good = forget.run(name(analysis)) && forget2.run(name(analysis));
    if (findings.empty())
      return good;  // of most analyses; the statements below take longer to make
    Statement f(db, "INSERT INTO finding VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
    Statement v(db, "INSERT INTO evidence VALUES (?,?,?,?,?,?,?,?,?)");
    // In a damaged database a row of this id may belong to anybody.
    Statement clear(db, "DELETE FROM finding WHERE finding_id=?"),
        clear2(db, "DELETE FROM evidence WHERE finding_id=?");
    std::int64_t position = 0;
    for (const Finding& r : findings) {
      good = good && clear.run(r.id) && clear2.run(r.id);
      nlohmann::json numbers = nlohmann::json::object();
      for (const auto& [key, value] : numbers_of(r, words))
        numbers[key] = figure(r.analysis, key, value);
      good =
          good && f.run(r.id, ++position, name(r.analysis), name(r.outcome), name(r.subject.kind),
                        r.subject.id, r.event_class, name(r.symptom), name(r.severity),
                        name(r.role), name(r.scope), r.confidence, words(r.why), words(r.title),
                        words(r.advice), r.remedy, r.start, r.end, r.uncertainty, r.count,
                        numbers.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
      std::int64_t n = 0;
      for (const Evidence& one : r.evidence)
        good = good && v.run(r.id, ++n, one.member, valid_utf8(one.path), one.line, one.offset,
                             one.length, valid_utf8(one.excerpt), valid_utf8(one.reading));
    }
    return good;
  });
}

Result<> Database::save_verdict(Action action, const std::string& summary,
                                const std::string& document) {
  return impl_->transaction("cannot store the verdict", [&] {
    Statement s(impl_->db.get(), "INSERT OR REPLACE INTO verdict VALUES (1,?,?,?)");
    // Nobody opens a temporary database again: the document, which grows with the bundle, would be
    // there twice.
    return s.run(name(action), valid_utf8(summary), impl_->path.empty() ? std::string() : document);
  });
}

std::vector<Finding> Database::findings() const {
  std::vector<Finding> out;
  sqlite3* db = impl_->db.get();
  Statement s(db,
              "SELECT finding_id, analysis, outcome, subject_kind, subject, class, symptom, "
              "severity, role, scope, confidence, why, title, advice, action, start_ns, end_ns, "
              "uncertainty_ns, count, numbers FROM finding ORDER BY position");
  Statement v(
      db,
      "SELECT member_id, path, line, byte_offset, length, excerpt, reading FROM evidence WHERE "
      "finding_id=? ORDER BY position");
  while (s.next()) {
    Finding f;
    f.id = s.text();
    f.analysis = term_named<Analysis>(s.text()).value_or(Analysis::none);
    const std::string outcome = s.text();
    f.outcome = outcome == name(Outcome::fired)       ? Outcome::fired
                : outcome == name(Outcome::ruled_out) ? Outcome::ruled_out
                                                      : Outcome::not_enough_evidence;
    f.subject.kind = term_named<SubjectKind>(s.text()).value_or(SubjectKind::job);
    s.read(f.subject.id, f.event_class);
    f.symptom = term_named<Symptom>(s.text()).value_or(Symptom::none);
    f.severity = severity_named(s.text()).value_or(Severity::info);
    f.role = role_named(s.text()).value_or(Role::advice);
    f.scope = scope_named(s.text()).value_or(Scope::host_local);
    s.read(f.confidence, f.why, f.title, f.advice, f.remedy, f.start, f.end, f.uncertainty,
           f.count);
    std::map<std::string, std::string> words;
    const auto numbers = parse_json(s.text());
    if (numbers.is_object())
      for (const auto& [key, value] : numbers.items())
        words.emplace(key, value.is_string() ? value.get<std::string>() : value.dump());
    f.facts = facts_named(f.analysis, words);
    f.figures.assign(words.begin(), words.end());
    v.bind(f.id);
    while (v.next()) {
      Evidence& e = f.evidence.emplace_back();
      v.read(e.member, e.path, e.line, e.offset, e.length, e.excerpt, e.reading);
    }
    v.reset();
    out.push_back(std::move(f));
  }
  return out;
}

std::optional<Action> Database::verdict_action() const {
  Statement s(impl_->db.get(), "SELECT action FROM verdict");
  return s.next() ? term_named<Action>(s.text()) : std::nullopt;
}

std::optional<std::string> Database::verdict() const {
  Statement s(impl_->db.get(), "SELECT document FROM verdict");
  return s.next() ? std::optional(s.text()) : std::nullopt;
}

}  // namespace culprit::store
