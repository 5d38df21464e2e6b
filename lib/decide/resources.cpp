// What ran out: memory, disks, limits.
#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>

#include "decide/walk.hpp"
#include "model/confidence.hpp"
#include "model/contains.hpp"
#include "model/phrases.hpp"

namespace culprit::decide {

std::string shared_path(const std::string& text) {
  for (std::size_t at = text.find('/'); at != std::string::npos; at = text.find('/', at + 1)) {
    const std::size_t end = std::min(text.find_first_of(" '\":,)", at), text.size());
    const std::string path = text.substr(at, end - at);
    for (const std::string_view name :
         {"lustre", "lus", "gpfs", "nfs", "weka", "beegfs", "vast", "fsx", "efs", "ceph", "juicefs",
          "s3", "gcs", "oss", "shared", "home", "filestore", "panfs", "daos"}) {
      const std::size_t found = path.find("/" + std::string(name));
      if (found == std::string::npos) continue;
      const std::size_t after = found + 1 + name.size();
      if (after < path.size() && path[after] != '/' &&
          !isdigit(static_cast<unsigned char>(path[after])) && path[after] != '-' &&
          path[after] != '_')
        continue;
      return path.substr(0, std::min(path.find('/', after), path.size()));
    }
    at = end;
    if (at == text.size()) break;
  }
  return {};
}

namespace {

// "/vol/projekte" of "...: '/vol/projekte/run17/step-3000'": where it is mounted, mostly.
std::string top_of_path(const std::string& text) {
  const std::size_t at = text.find("'/");
  if (at == std::string::npos) return {};
  std::string path = text.substr(at + 1, text.find('\'', at + 1) - at - 1);
  path.resize(path.rfind('/'));  // of the file
  const std::size_t second = path.find('/', 1);
  return second == std::string::npos ? path : path.substr(0, path.find('/', second + 1));
}

// The finding that says most of what ran out: of disks that are full, one that names a path on a
// shared file system, before one that names none.
const Finding& most_telling(const Cause& c) {
  const Finding& first = *c.findings.front();
  if (first.symptom != Symptom::insufficient_disk_space ||
      message_of(first).find('/') != std::string::npos)
    return first;
  for (const Finding* f : c.findings)
    if (f->symptom == first.symptom &&
        (f->scope == Scope::shared || !shared_path(message_of(*f)).empty()))
      return *f;
  return first;
}

// The growth of memory that led to this want of it; null: none is known.
const Finding* growth_before(const Case& c, const Cause& cause, const Finding& f) {
  if (f.symptom != Symptom::cpu_oom || f.remedy == "enlarge_shm") return nullptr;
  const auto led_to_it = [&](const Finding& growth) {
    const auto in_growth = [&](const Host& host) { return contains(growth.hosts, host); };
    if (!growth.hosts.empty() && !cause.hosts.empty() &&
        std::ranges::none_of(cause.hosts, in_growth))
      return false;
    return !cause.start || !growth.start ||
           (*growth.start < *cause.start && *cause.start < *growth.end + kHour);
  };
  for (const Finding& one : c.findings)
    if (one.fired(Analysis::growth) && led_to_it(one)) return &one;
  return nullptr;
}

// The same want of memory in an earlier run and on another machine, after so many steps in this one
// that it is none of what the job needs from its start; null: none.
const Finding* again_elsewhere(const Case& c, const Cause& cause, const Finding& f) {
  constexpr std::int64_t kManySteps = 100;
  if (f.symptom != Symptom::cpu_oom || cause.hosts.size() != 1 || !line_of(f).names_trainer ||
      !c.last_iteration || *c.last_iteration - c.history.first.value_or(0) < kManySteps)
    return nullptr;
  for (const Finding& one : c.findings)
    if (one.event_class == f.event_class && one.outcome == Outcome::ruled_out && one.host &&
        *one.host != cause.hosts.front() && line_of(one).names_trainer &&
        before_this_run(c.history, one))
      return &one;
  return nullptr;
}

// Where df shows the file system full on which a rank without a known machine could not write. ""
// where none or several are.
Host where_full(const Walk& w, const Cause& cause, const Finding& lack) {
  if (lack.symptom != Symptom::insufficient_disk_space || !cause.hosts.empty()) return {};
  const std::string message = message_of(lack);
  std::set<Host> hosts;
  for (const Finding& f : w.incident.findings) {
    if (!f.fired() || !f.traits.has(Trait::file_system_full)) continue;
    for (const Evidence& e : f.evidence) {
      const std::size_t at = e.excerpt.rfind(" /");
      if (at == std::string::npos) continue;
      const std::string mount = e.excerpt.substr(at + 1);
      const std::size_t path = message.find(mount + "/");
      // Of the path itself, and no folder in it.
      if (mount.size() > 1 && path != std::string::npos && path > 0 &&
          contains(std::string_view(" '\"`:("), message[path - 1]))
        hosts.insert(f.hosts.begin(), f.hosts.end());
    }
  }
  if (hosts.size() != 1 || w.incident.machines.count(*hosts.begin()) == 0 ||
      !w.incident.of_job(*hosts.begin()))
    return {};
  const auto placed_elsewhere = [&](const auto& place) {
    return std::ranges::find(lack.ranks, place.first) != lack.ranks.end() &&
           place.second != *hosts.begin();
  };
  return std::ranges::any_of(w.incident.places, placed_elsewhere) ? Host() : *hosts.begin();
}

Answer full_on(Walk& w, const Cause& c, const Finding& f, const Host& host) {
  target(w.verdict, {SubjectKind::host, host}, c.confidence * confidence::kPartWithoutHost,
         ids(c.findings));
  w.verdict.summary =
      say(Phrase::ran_out, inside(f.title), say(Phrase::on_place, host), at(c.start)) +
      in_its_words(f);
  advise(w.verdict, c);
  return taken(say(Phrase::class_on_place, f.event_class, host));
}

// The machine that ran out of memory, where it alone has less of it than the others, and no limit
// was reached. What grows on all of them runs out there first.
const Finding* has_less_memory(const Walk& w, const Cause& c, const Finding& f, bool grows) {
  if (f.symptom != Symptom::cpu_oom || f.remedy == "raise_limit" || f.remedy == "enlarge_shm" ||
      c.hosts.size() != 1 || !w.incident.of_job(c.hosts.front()))
    return nullptr;
  for (const Finding& one : w.incident.findings) {
    const auto* setting = std::get_if<SettingFacts>(&one.facts);
    if (one.fired(Analysis::drift) && setting != nullptr && setting->slows && setting->of_part() &&
        (setting->far_below || !grows) && one.subject.id.starts_with("host.memory") &&
        one.hosts == c.hosts)
      return &one;
  }
  return nullptr;
}

Answer short_of_memory(Walk& w, const Cause& c, const Finding& f, const Finding& less) {
  Verdict& v = w.verdict;
  const Host& host = c.hosts.front();
  const auto& setting = std::get<SettingFacts>(less.facts);
  v.action = Action::isolate;
  std::vector<std::string> supports = ids(c.findings);
  supports.insert(supports.begin(), less.id);
  target(v, {SubjectKind::host, host}, confidence::kLimitReached, supports);
  target(v, less.subject, less.confidence, {less.id});
  v.summary = say(Phrase::ran_out, inside(f.title), say(Phrase::on_place, host), at(c.start)) +
              say(Phrase::alone_has, host, setting.label, setting.value) + in_its_words(f);
  drain(w, host, f.event_class);
  next(v, NextKind::plan, less.advice);
  return taken(say(Phrase::class_on_place, f.event_class, host));
}

// What a program fills on most machines at once, or on one after the other, it would fill behind
// any limit.
Answer filled_by_program(Walk& w, const Cause& c, const Finding& growth) {
  const Finding& f = *c.findings.front();
  Verdict& v = w.verdict;
  std::vector<std::string> supports = ids(c.findings);
  supports.push_back(growth.id);
  v.action = Action::rollback;
  target(v, {SubjectKind::code, "the program"}, confidence::kLimitReached, supports);
  const Text place = c.hosts.empty() ? Text() : say(Phrase::on_place, list(c.hosts));
  v.summary = growth.analysis == Analysis::growth
                  ? say(Phrase::program_fills_memory, inside(f.title), place, at(c.start),
                        inside(growth.title))
                  : say(Phrase::program_fills_memory_again, inside(f.title), place, at(c.start),
                        *growth.host);
  v.summary += in_its_words(f);
  next(v, NextKind::plan, say(Phrase::find_what_grows));
  advise(v, c);
  return taken(say(Phrase::two_joined, f.event_class, Text()));
}

std::string limit_of(const Finding& f) {
  return f.symptom == Symptom::insufficient_disk_space ? "disk limit of the job"
                                                       : "memory limit of the job";
}

}  // namespace

Answer resources(Walk& w) {
  const Cause* c = w.best(CauseKind::resource);
  if (c == nullptr) return ruled_out(say(Phrase::no_resource_ran_out_first));
  const Finding& f = most_telling(*c);
  Verdict& v = w.verdict;
  v.action = Action::repair;
  v.symptom = f.symptom;
  v.start = c->start;
  const Finding* growth = growth_before(w.incident, *c, f);
  if (const Finding* less = has_less_memory(w, *c, f, growth != nullptr))
    return short_of_memory(w, *c, f, *less);
  if (growth != nullptr) return filled_by_program(w, *c, *growth);
  if (const Finding* before = again_elsewhere(w.incident, *c, f))
    return filled_by_program(w, *c, *before);
  // A full file system that several hosts see, or whose path is a shared one, is no host's.
  std::string path = shared_path(message_of(f));
  if (path.empty() && f.scope == Scope::shared) path = top_of_path(message_of(f));
  if (f.symptom == Symptom::insufficient_disk_space && (!path.empty() || c->hosts.size() >= 2)) {
    target(v, {SubjectKind::storage, path.empty() ? "shared file system" : path},
           confidence::kSharedSpaceFull, ids(c->findings));
    v.summary = say(Phrase::shared_file_system_full, path.empty() ? say(Phrase::of_the_job) : path,
                    at(c->start), inside(f.title));
    advise(v, *c);
    return taken(say(Phrase::class_on_place, f.event_class,
                     path.empty() ? say(Phrase::hosts_counted, c->hosts.size()) : path));
  }
  if (const Host full = where_full(w, *c, f); !full.empty()) return full_on(w, *c, f, full);
  const bool limit = f.remedy == "raise_limit" || f.remedy == "enlarge_shm" ||
                     f.remedy == "fix_launch" || f.remedy == "fix_path";
  // What ran out for one process after the other is what all of them need.
  std::set<std::string> subjects;
  for (const Finding* one : c->findings)
    if (one->event_class == f.event_class) subjects.insert(one->subject.id);
  // A scheduler's line without the machine says the same of it as the machine's own.
  const Finding* of_host = nullptr;
  if ((f.subject.kind == SubjectKind::job || f.subject.kind == SubjectKind::host) &&
      c->hosts.size() == 1 && subjects.size() <= 2)
    for (const Finding* one : c->findings)
      if (of_host == nullptr && one->subject == Subject{SubjectKind::host, c->hosts.front()})
        of_host = one;
  // What ran out on one machine now and on another before is what the job needs of each.
  const bool elsewhere =
      of_host != nullptr && std::ranges::any_of(w.incident.findings, [&](const Finding& one) {
        return one.event_class == f.event_class && one.fired(Analysis::classify) && !one.hearsay &&
               one.host && *one.host != *of_host->host &&
               (one.origin == Origin::any || line_of(one).names_trainer) &&
               w.incident.of_job(*one.host);
      });
  if (limit)
    target(v,
           {SubjectKind::config, f.remedy == "enlarge_shm"   ? "size of /dev/shm"
                                 : f.remedy == "raise_limit" ? limit_of(f)
                                                             : f.remedy},
           confidence::kLimitReached, ids(c->findings));
  else if (of_host != nullptr && elsewhere)
    target(v, {SubjectKind::config, f.event_class}, confidence::kLimitReached, ids(c->findings));
  else if (of_host != nullptr)
    target(v, of_host->subject, of_host->confidence * confidence::kPartWithoutHost,
           ids(c->findings));
  else if (subjects.size() > 1)
    target(v, {SubjectKind::config, f.event_class}, confidence::kLimitReached, ids(c->findings));
  else if (f.subject.kind == SubjectKind::job)
    target(v, {SubjectKind::config, f.event_class}, confidence::kLimitReached, ids(c->findings));
  else
    target(v, f.subject, f.confidence * confidence::kPartWithoutHost, ids(c->findings));
  std::vector<std::string> who(c->hosts.begin(), c->hosts.end());
  if (who.empty() && subjects.size() > 1)
    who = {fmt::format("{} {}s", subjects.size(), name(f.subject.kind))};
  else if (who.empty() && f.subject.kind != SubjectKind::job)
    who = {fmt::format("{} {}", name(f.subject.kind), f.subject.id)};
  v.summary = say(Phrase::ran_out, inside(f.title),
                  who.empty() ? Text() : say(Phrase::on_place, list(who)), at(c->start));
  v.summary += in_its_words(f);
  advise(v, *c);
  return taken(say(Phrase::two_joined, f.event_class,
                   who.empty() ? Text() : say(Phrase::on_place, list(who))));
}

}  // namespace culprit::decide
