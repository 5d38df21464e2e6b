#include "store/fleet.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "model/sort.hpp"
#include "schema/schema.hpp"
#include "store/statement.hpp"
#include "store/utf8.hpp"

namespace culprit::store {

namespace {

constexpr std::int64_t kFleetApplicationId = 1129662028;
constexpr std::int64_t kFleetUserVersion = 1;

struct Close {
  void operator()(sqlite3* db) const noexcept { sqlite3_close_v2(db); }
};
using Handle = std::unique_ptr<sqlite3, Close>;

Error trouble(const char* what, const std::string& path) {
  return fail(fmt::format("{}: {}", what, last_failure.text)).at({path, 0});
}

Result<Handle> connect(const std::string& path, int flags) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  Handle handle(raw);
  if (code != SQLITE_OK)
    return fail(fmt::format("cannot open the fleet database: {}", sqlite3_errstr(code)))
        .at({path, 0})
        .hint("`culprit batch DIR -o OUT` makes OUT/fleet.db");
  return handle;
}

std::optional<std::int64_t> number(sqlite3* db, const char* sql) {
  Statement s(db, sql);
  return s && s.next() ? std::optional(s.integer()) : std::nullopt;
}

void read_incident(Statement& s, FleetIncident& i) {
  s.read(i.id, i.name, i.source, i.job, i.job_id, i.start, i.end, i.ran_s, i.symptom, i.action,
         i.precision, i.restart, i.event_class, i.component, i.confidence, i.gpus, i.complete,
         i.summary, i.report);
}

bool read_parts(sqlite3* db, std::vector<FleetIncident>& incidents) {
  std::map<std::string, FleetIncident*, std::less<>> by_id;
  for (FleetIncident& i : incidents) by_id.emplace(i.id, &i);
  const auto of = [&](const std::string& id) {
    const auto it = by_id.find(id);
    return it == by_id.end() ? nullptr : it->second;
  };
  Statement target(db,
                   "SELECT incident_id, kind, id, host, confidence, blamed FROM target"
                   " ORDER BY incident_id, position");
  while (target.next())
    if (FleetIncident* i = of(target.text())) {
      FleetTarget t;
      target.read(t.kind, t.id, t.host, t.confidence, t.blamed);
      i->targets.push_back(std::move(t));
    }
  Statement host(db, "SELECT incident_id, host FROM incident_host ORDER BY incident_id, host");
  while (host.next())
    if (FleetIncident* i = of(host.text())) i->hosts.push_back(host.text());
  Statement attribute(db,
                      "SELECT incident_id, host, device, name, value FROM attribute"
                      " ORDER BY incident_id, host, device, name, value");
  while (attribute.next())
    if (FleetIncident* i = of(attribute.text()))
      i->attributes.push_back(
          {attribute.text(), attribute.text(), attribute.text(), attribute.text()});
  Statement part(db, "SELECT incident_id, part, seconds FROM time_part ORDER BY incident_id, part");
  while (part.next())
    if (FleetIncident* i = of(part.text())) i->time.push_back({part.text(), part.real()});
  return target && host && attribute && part;
}

bool read_events(sqlite3* db, FleetRecord& record) {
  Statement event(db,
                  "SELECT event_id, system, kind, host, device, level, class, description,"
                  " start_ns, end_ns, place FROM event ORDER BY event_id");
  while (event.next()) {
    FleetEvent e;
    event.read(e.id, e.system, e.kind, e.host, e.device, e.level, e.event_class, e.description,
               e.start, e.end, e.place);
    record.events.push_back(std::move(e));
  }
  Statement scope(db,
                  "SELECT system, from_ns, to_ns, hosts, gpus_per_host FROM scope ORDER BY system");
  while (scope.next()) {
    FleetScope s;
    scope.read(s.system, s.from, s.to, s.hosts, s.gpus_per_host);
    record.scopes.push_back(std::move(s));
  }
  return event && scope;
}

void sort_record(FleetRecord& record) {
  sort_by(record.incidents, &FleetIncident::id);
  sort_by(record.events, &FleetEvent::key);
  sort_by(record.scopes, &FleetScope::system);
}

bool write_incidents(sqlite3* db, const std::vector<FleetIncident>& incidents) {
  Statement incident(db, "INSERT INTO incident VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  Statement target(db, "INSERT INTO target VALUES (?,?,?,?,?,?,?)");
  Statement host(db, "INSERT OR IGNORE INTO incident_host VALUES (?,?)");
  Statement attribute(db, "INSERT OR IGNORE INTO attribute VALUES (?,?,?,?,?)");
  Statement part(db, "INSERT OR REPLACE INTO time_part VALUES (?,?,?)");
  if (!incident || !target || !host || !attribute || !part) return false;
  for (const FleetIncident& i : incidents) {
    if (!incident.run(valid_utf8(i.id), valid_utf8(i.name), valid_utf8(i.source), valid_utf8(i.job),
                      valid_utf8(i.job_id), i.start, i.end, i.ran_s, i.symptom, i.action,
                      i.precision, i.restart, valid_utf8(i.event_class), valid_utf8(i.component),
                      i.confidence, i.gpus, i.complete, valid_utf8(i.summary),
                      valid_utf8(i.report)))
      return false;
    std::int64_t position = 0;
    for (const FleetTarget& t : i.targets)
      if (!target.run(i.id, position++, t.kind, valid_utf8(t.id), valid_utf8(t.host), t.confidence,
                      t.blamed))
        return false;
    for (const std::string& h : i.hosts)
      if (!host.run(i.id, valid_utf8(h))) return false;
    for (const FleetAttribute& a : i.attributes)
      if (!attribute.run(i.id, valid_utf8(a.host), valid_utf8(a.device), valid_utf8(a.name),
                         valid_utf8(a.value)))
        return false;
    for (const FleetTime& t : i.time)
      if (!part.run(i.id, t.part, t.seconds)) return false;
  }
  return true;
}

bool write_events(sqlite3* db, const FleetRecord& record) {
  Statement event(db, "INSERT INTO event VALUES (?,?,?,?,?,?,?,?,?,?,?)");
  Statement scope(db, "INSERT INTO scope VALUES (?,?,?,?,?)");
  if (!event || !scope) return false;
  for (const FleetEvent& e : record.events)
    if (!event.run(e.id, valid_utf8(e.system), e.kind, valid_utf8(e.host), valid_utf8(e.device),
                   valid_utf8(e.level), valid_utf8(e.event_class), valid_utf8(e.description),
                   e.start, e.end, valid_utf8(e.place)))
      return false;
  for (const FleetScope& s : record.scopes)
    if (!scope.run(valid_utf8(s.system), s.from, s.to, s.hosts, s.gpus_per_host)) return false;
  return true;
}

bool execute(sqlite3* db, const std::string& sql) {
  const int code = sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) last_failure = {code, sqlite3_errmsg(db)};
  return code == SQLITE_OK;
}

// On the disk before it is given its name: a fleet.db is there whole or not at all.
void flush(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

}  // namespace

bool is_fleet_database(const std::string& path) {
  char head[72] = {};
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return false;
  const std::size_t got = std::fread(head, 1, sizeof head, file);
  std::fclose(file);
  return got == sizeof head && std::string_view(head, 15) == "SQLite format 3" &&
         std::string_view(head + 68, 4) == "CUFL";
}

Result<FleetRecord> read_fleet(const std::string& path) {
  std::error_code none;
  if (!std::filesystem::exists(path, none))
    return fail("there is no such fleet database")
        .at({path, 0})
        .hint(
            "`culprit batch DIR -o OUT` makes OUT/fleet.db, `culprit fleet import FILE -d FILE` "
            "one of events");
  CULPRIT_TRY(handle, connect(path, SQLITE_OPEN_READONLY));
  sqlite3* db = handle.get();
  last_failure = {};
  const auto application = number(db, "PRAGMA application_id");
  const auto version = number(db, "PRAGMA user_version");
  if (!application || !version || *application != kFleetApplicationId)
    return fail("this is not a fleet database")
        .at({path, 0})
        .hint("-d takes the fleet.db that `culprit batch` or `culprit fleet import` made");
  if (*version != kFleetUserVersion)
    return fail(fmt::format("this fleet database has layout {}, this program reads layout {}",
                            *version, kFleetUserVersion))
        .at({path, 0})
        .hint("run `culprit batch` again with the same folder");
  FleetRecord record;
  last_failure = {};
  Statement incident(db,
                     "SELECT incident_id, name, source, job, job_id, start_ns, end_ns, ran_s,"
                     " symptom, action, precision, restart, class, component, confidence, gpus,"
                     " complete, summary, report FROM incident ORDER BY incident_id");
  while (incident.next()) {
    FleetIncident i;
    read_incident(incident, i);
    record.incidents.push_back(std::move(i));
  }
  const bool whole = read_parts(db, record.incidents) && read_events(db, record) && incident;
  if (!whole || last_failure.code != SQLITE_OK) {
    Error error = trouble("this fleet database is damaged", path);
    error.help = "restore it, or run `culprit batch` again with the same folder";
    return error;
  }
  sort_record(record);
  return record;
}

Result<> write_fleet(const std::string& path, FleetRecord& record) {
  sort_record(record);
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored) && !is_fleet_database(path))
    return usage_error("this file is not a fleet database and is left as it is")
        .at({path, 0})
        .hint("name another file");
  const std::string part = path + ".part";
  std::filesystem::remove(part, ignored);
  {
    CULPRIT_TRY(handle, connect(part, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
    sqlite3* db = handle.get();
    last_failure = {};
    const std::string sql(schema::text("fleet.sql"));
    const bool written = execute(db, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF") &&
                         execute(db, "BEGIN;" + sql) && write_incidents(db, record.incidents) &&
                         write_events(db, record) && execute(db, "COMMIT");
    if (!written) {
      Error error = trouble("cannot write the fleet database", path);
      error.help = "is the disk full, the folder writable?";
      handle.reset();
      std::filesystem::remove(part, ignored);
      return error;
    }
  }
  flush(part);
  if (std::rename(part.c_str(), path.c_str()) != 0)
    return fail("cannot write the fleet database: " + std::generic_category().message(errno))
        .at({path, 0});
  return {};
}

namespace {

template <class Row, class Key>
void merge_rows(std::vector<Row>& rows, std::vector<Row>&& more, Key key) {
  std::map<std::string, Row> all;
  for (auto* list : {&rows, &more})
    for (Row& row : *list) {
      std::string name = key(row);
      all.insert_or_assign(std::move(name), std::move(row));
    }
  rows.clear();
  for (auto& [name, row] : all) rows.push_back(std::move(row));
}

}  // namespace

void merge_fleet(FleetRecord& record, FleetRecord&& more) {
  merge_rows(record.incidents, std::move(more.incidents),
             [](const FleetIncident& i) { return i.id; });
  merge_rows(record.events, std::move(more.events), [](const FleetEvent& e) { return e.id; });
  merge_rows(record.scopes, std::move(more.scopes), [](const FleetScope& s) { return s.system; });
}

}  // namespace culprit::store
