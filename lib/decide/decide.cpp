#include "decide/decide.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "decide/causes.hpp"

namespace culprit::decide {

namespace {

// The walk down the ladder: the case, what is known so far, and the verdict in the making.
struct Walk {
  const Case& incident;
  const DecideParams& params;
  FirstFailure first;
  Verdict verdict;

  const Cause* best() const { return first.causes.empty() ? nullptr : &first.causes.front(); }
  const Cause* best(CauseKind kind) const { return best() != nullptr && best()->kind == kind ? best() : nullptr; }
};

struct Answer {
  std::string outcome;  // taken, ruled_out, not_enough_evidence
  std::string why;
};

Answer ruled_out(std::string why) { return {"ruled_out", std::move(why)}; }
Answer taken(std::string why) { return {"taken", std::move(why)}; }
Answer not_enough(std::string why) { return {"not_enough_evidence", std::move(why)}; }

std::string list(std::vector<std::string> words, std::size_t most = 4) {
  if (words.empty()) return "nobody";
  const std::size_t n = words.size();
  if (n > most) {
    words.resize(most);
    return fmt::format("{} and {} more", fmt::join(words, ", "), n - most);
  }
  if (n == 1) return words[0];
  const std::string last = words.back();
  words.pop_back();
  return fmt::format("{} and {}", fmt::join(words, ", "), last);
}

std::vector<std::string> ids(const std::vector<const Finding*>& findings) {
  std::vector<std::string> out;
  for (const Finding* f : findings)
    if (out.size() < 6) out.push_back(f->id);
  return out;
}

void target(Verdict& v, Subject subject, double confidence, std::vector<std::string> because) {
  for (Target& t : v.targets)
    if (t.subject == subject) { t.confidence = std::max(t.confidence, confidence); return; }
  v.targets.push_back({std::move(subject), confidence, std::move(because)});
}

void next(Verdict& v, std::string kind, std::string text) {
  for (const NextStep& n : v.next)
    if (n.text == text) return;
  v.next.push_back({std::move(kind), std::move(text)});
}

std::string number(const Finding& f, std::string_view key) {
  for (const auto& [name, value] : f.numbers)
    if (name == key) return value;
  return {};
}

std::string at(const std::optional<Nanoseconds>& t) { return t ? " at " + iso_utc(*t / kSecond * kSecond) : ""; }

void advise(Verdict& v, const Cause& cause) {
  std::set<std::string> said;
  for (const Finding* f : cause.findings)
    if (!f->advice.empty() && said.size() < 4 && said.insert(f->advice).second) next(v, "plan", f->advice);
}

std::string lower_first(std::string text) {
  // "GPU fell off" and "InfiniBand" keep their capitals, "Out of memory" loses one.
  const std::string first = text.substr(0, text.find(' '));
  if (std::count_if(first.begin(), first.end(), [](unsigned char c) { return isupper(c); }) == 1 && isupper(static_cast<unsigned char>(first[0])) && first.size() > 1) text[0] = static_cast<char>(tolower(text[0]));
  return text;
}

bool shared_by(const Walk& w, std::size_t hosts, std::size_t all) {
  return hosts >= w.params.many_hosts || (hosts >= 3 && static_cast<double>(hosts) > w.params.shared_hosts * static_cast<double>(all));
}

// The switch that (nearly) all of these hosts hang on, and few others do.
std::string switch_of(const Walk& w, const std::set<std::string>& hosts) {
  std::string best;
  std::size_t best_size = 0;
  for (const auto& [name, members] : w.incident.switches) {
    std::size_t inside = 0;
    for (const auto& member : members) inside += hosts.count(member.substr(0, member.find('.'))) + (member.find('.') != std::string::npos ? hosts.count(member) : 0);
    if (inside * 10 < hosts.size() * 9 || (best_size > 0 && members.size() >= best_size)) continue;
    best = name;
    best_size = members.size();
  }
  return best_size < w.incident.hosts ? best : "";
}

bool after_effects(const Walk& w) {
  return std::any_of(w.incident.findings.begin(), w.incident.findings.end(), [](const Finding& f) { return f.outcome == Outcome::fired && f.role == Role::cascade; });
}

// --- the steps ------------------------------------------------------------------------------------------------------

Answer something_collected(Walk& w) {
  if (!w.incident.findings.empty() || !w.incident.exits.empty() || w.incident.any_training_output) return ruled_out("the bundle holds logs that can be read");
  w.verdict.action = "investigate";
  w.verdict.precision = "candidates";
  w.verdict.summary = "Not enough evidence: the bundle holds nothing that says how the job went.";
  next(w.verdict, "collect", "stderr and stdout of every rank (torchrun --log-dir DIR -r 3 -t 3), the scheduler's output");
  next(w.verdict, "collect", "kernel log of every host: dmesg -T, or journalctl -k -o short-iso-precise");
  return taken("no line of the bundle tells of a job, a fault or a machine");
}

Answer job_finished(Walk& w) {
  std::int64_t worst = 0;
  bool zero = false;
  for (const ExitFact& x : w.incident.exits) {
    if (x.code != 0) worst = x.code;
    else zero = true;
  }
  const bool trouble = std::any_of(w.incident.findings.begin(), w.incident.findings.end(), [](const Finding& f) {
    return f.outcome == Outcome::fired && f.severity >= Severity::distributed && f.analysis == "classify" && f.role != Role::confirmation && f.symptom != "NaN value";
  });
  if (worst != 0) return ruled_out(fmt::format("a process of the job ended with code {}", worst));
  if (trouble && !zero) return ruled_out("the logs tell of a failure");
  const bool machine = w.best(CauseKind::machine) != nullptr && w.best()->confidence >= 0.9;
  const bool nan = w.best(CauseKind::numerics) != nullptr;
  if (machine) return ruled_out("a machine of the job reports a critical error");
  if (nan) return ruled_out("the loss stopped being a number");
  if (trouble && after_effects(w)) return ruled_out("ranks report failed communication although the job's exit code is 0");
  w.verdict.action = "none";
  w.verdict.symptom = "None";
  w.verdict.summary = zero ? "No failure: the job finished with exit code 0." : "No failure that the logs show: no failed process, no failed communication, no fault of a machine.";
  std::size_t remarks = 0;
  for (const Finding& f : w.incident.findings)
    if (f.outcome == Outcome::fired && f.severity == Severity::warning && f.host && remarks++ < 3) next(w.verdict, "plan", fmt::format("When {} is idle: {} ({}).", *f.host, f.advice.empty() ? lower_first(f.title) : f.advice, f.event_class));
  return taken(zero ? "the job's exit code is 0 and no rank reports trouble" : "no sign of a failure");
}

// A job that lives, and a GPU that its own hardware holds back: in synchronous training one slows all.
Answer held_back(Walk& w) {
  std::set<std::string> hosts;
  std::vector<const Finding*> from;
  for (const Finding& f : w.incident.findings)
    if (f.outcome == Outcome::fired && f.subject.kind == "gpu" && f.severity == Severity::warning && f.role == Role::root && (f.symptom == "MFU Decline" || f.symptom == "Thermal") && f.host) {
      hosts.insert(*f.host);
      from.push_back(&f);
    }
  if (from.empty()) return ruled_out("no GPU reports that its hardware slows it down");
  if (w.best() != nullptr && w.best()->kind != CauseKind::network) return ruled_out("something ended the job");
  if (after_effects(w)) return ruled_out("the job failed; a slow GPU does not explain that");
  for (const ExitFact& x : w.incident.exits) if (x.code != 0) return ruled_out("the job failed; a slow GPU does not explain that");
  if (shared_by(w, hosts.size(), w.incident.hosts)) return ruled_out(fmt::format("{} of {} hosts report it: no host stands out", hosts.size(), w.incident.hosts));
  Verdict& v = w.verdict;
  v.action = "mitigate";
  v.symptom = from.front()->symptom;
  v.precision = "candidates";
  for (const std::string& host : hosts) target(v, {"host", host}, 0.6, ids(from));
  v.summary = fmt::format("The job lives, but GPUs of {} are held back by heat or power, and in synchronous training one slows all.", list({hosts.begin(), hosts.end()}));
  for (const Finding* f : from) if (!f->advice.empty()) next(v, "plan", f->advice);
  next(v, "collect", "nvidia-smi -q of all hosts under load, and the iteration times: do they rise when the slow-down begins?");
  return taken(fmt::format("{} on {}", from.front()->event_class, list({hosts.begin(), hosts.end()})));
}

Answer user_request(Walk& w) {
  const Finding* stop = nullptr;
  for (const Finding& f : w.incident.findings)
    if (f.outcome == Outcome::fired && (f.event_class == "scheduler_time_limit" || f.event_class == "scheduler_teardown" || f.event_class == "k8s_teardown"))
      if (stop == nullptr || (f.event_class == "scheduler_time_limit" && stop->event_class != f.event_class) || (f.start && stop->start && *f.start < *stop->start && stop->event_class != "scheduler_time_limit")) stop = &f;
  if (stop == nullptr) return ruled_out("no word of the scheduler ended the job");
  // What fails shortly after the word is clean-up; what fails much later failed in a run that went on or came after.
  const bool cause_after = w.best() != nullptr && w.best()->start && stop->start && *w.best()->start - w.best()->uncertainty > *stop->start + 5 * kSecond &&
                           *w.best()->start < *stop->start + w.params.cleanup;
  if (w.best() != nullptr && !cause_after && w.best()->kind != CauseKind::network && w.best()->kind != CauseKind::device_or_code) return ruled_out("an error came before the scheduler's word, or cannot be placed after it");
  for (const Finding& f : w.incident.findings) {
    if (f.outcome == Outcome::fired && f.event_class.rfind("cuda_", 0) == 0 && !(f.start && stop->start && *f.start > *stop->start)) return ruled_out("a rank reports a CUDA error");
    if (f.outcome != Outcome::fired || f.role != Role::cascade || !f.start) continue;
    if (stop->start && *f.start + f.uncertainty + 2 * kSecond < *stop->start) return ruled_out("ranks reported failed communication before the scheduler ended the job");
    if (!stop->start && f.symptom == "Job Hang") return ruled_out("ranks timed out; the scheduler's word cannot be placed in time");
  }
  if (stop->event_class == "scheduler_teardown" && std::any_of(w.incident.findings.begin(), w.incident.findings.end(), [](const Finding& f) { return f.outcome == Outcome::fired && f.role == Role::confirmation && f.event_class == "proc_exit_nonzero"; }) && !stop->start)
    return ruled_out("a process failed, and the scheduler's word cannot be placed before it");
  w.verdict.action = "none";
  w.verdict.symptom = "None";
  w.verdict.start = stop->start;
  w.verdict.summary = stop->event_class == "scheduler_time_limit" ? fmt::format("Nobody is at fault: the job reached its time limit{}.", at(stop->start)) : fmt::format("Nobody is at fault: the scheduler ended the job{} and nothing failed before.", at(stop->start));
  target(w.verdict, {"job", "job"}, 0.8, {stop->id});
  return taken(fmt::format("{} and no error before it", stop->event_class));
}

Answer critical_errors(Walk& w) {
  const Cause* c = w.best(CauseKind::machine);
  if (c == nullptr) {
    const bool any = std::any_of(w.incident.findings.begin(), w.incident.findings.end(), [](const Finding& f) { return kind_of(f) == CauseKind::machine; });
    return ruled_out(any ? "the critical errors of machines came after the failure, or the job went on after them" : "no machine reports a critical error");
  }
  // The same kind of fault on many machines at once is one cause that they share.
  std::map<std::string, std::set<std::string>> by_class;
  for (const Finding* f : c->findings) by_class[f->event_class].insert(f->hosts.begin(), f->hosts.end());
  const std::size_t all = std::max<std::size_t>(w.incident.hosts, c->hosts.size());
  for (const auto& [event_class, hosts] : by_class)
    if (shared_by(w, hosts.size(), all)) return ruled_out(fmt::format("{} shows on {} of {} hosts at once: a shared cause, not {} bad hosts", event_class, hosts.size(), all, hosts.size()));
  const Finding& f = *c->findings.front();
  Verdict& v = w.verdict;
  v.symptom = f.symptom;
  v.start = c->start;
  if (c->hosts.empty() && f.subject.kind == "job") {
    v.action = "investigate";
    v.precision = "candidates";
    target(v, f.subject, 0.5, ids(c->findings));
    v.summary = fmt::format("A machine of the job reports a fault and nothing says which one: {}{}.", lower_first(f.title), at(c->start));
    next(v, "collect", "the same file again with the host's name in its path: hosts/NAME/...");
    advise(v, *c);
    return taken(fmt::format("{} without a host", f.event_class));
  }
  v.action = "isolate";
  std::vector<std::string> who = c->hosts;
  if (!who.empty()) {
    for (const std::string& host : who) {
      std::vector<std::string> because;
      double confidence = 0;
      for (const Finding* one : c->findings)
        if (std::find(one->hosts.begin(), one->hosts.end(), host) != one->hosts.end()) { if (because.size() < 6) because.push_back(one->id); confidence = std::max(confidence, one->confidence); }
      target(v, {"host", host}, confidence, because);
    }
    for (const Finding* one : c->findings)
      if (one->subject.kind == "gpu" || one->subject.kind == "nic") target(v, one->subject, one->confidence, {one->id});
  } else {
    who = {f.subject.kind + " " + f.subject.id};
    target(v, f.subject, f.confidence * 0.9, ids(c->findings));
    next(v, "collect", "a job.json with hosts and gpus_per_node, or NCCL_DEBUG=INFO: nothing in the bundle ties this to a host name");
  }
  v.precision = "exact";
  v.summary = fmt::format("{}: {} on {}{}{}.", who.size() == 1 ? "One machine broke the job" : fmt::format("{} machines broke the job", who.size()), lower_first(f.title), list(who), at(c->start),
                          after_effects(w) ? "; what the other ranks report are consequences" : "");
  for (const std::string& host : c->hosts) next(v, "command", fmt::format("scontrol update nodename={} state=drain reason=\"{}\"", host, f.event_class));
  advise(v, *c);
  return taken(fmt::format("{} on {}{}, and nothing came before it", f.event_class, list(who), at(c->start)));
}

Answer shared_cause(Walk& w) {
  const Cause* c = w.best(CauseKind::shared);
  const Cause* machine = w.best(CauseKind::machine);
  if (c == nullptr && machine == nullptr) return ruled_out("no error of a shared service or storage came first");
  Verdict& v = w.verdict;
  if (c == nullptr) {
    const Finding& f = *machine->findings.front();
    std::map<std::string, std::set<std::string>> by_class;
    for (const Finding* one : machine->findings) by_class[one->event_class].insert(one->hosts.begin(), one->hosts.end());
    const auto widest = std::max_element(by_class.begin(), by_class.end(), [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    v.action = "repair";
    v.symptom = f.symptom;
    v.start = machine->start;
    v.precision = "group";
    const bool net = f.symptom == "Infiniband Error";
    const std::string named = switch_of(w, widest->second);
    if (net && !named.empty()) target(v, {"switch", named}, 0.85, ids(machine->findings));
    else target(v, {net ? "switch" : "group", net ? "network of " + list({widest->second.begin(), widest->second.end()}, 3) : widest->first}, 0.6, ids(machine->findings));
    v.summary = fmt::format("{} hosts show the same fault at the same moment ({}): look for what they share{}, not for {} bad hosts.", widest->second.size(), lower_first(f.title), net ? ", a switch first" : " (power, cooling, a driver roll-out)", widest->second.size());
    advise(v, *machine);
    return taken(fmt::format("{} on {} hosts within minutes", widest->first, widest->second.size()));
  }
  const Finding& f = *c->findings.front();
  v.symptom = f.symptom;
  v.start = c->start;
  v.action = "repair";
  for (const Finding* one : c->findings) {
    Subject s = one->subject;
    if (s.kind == "host" || s.kind == "gpu" || s.kind == "rank") s = {"storage", one->title};
    target(v, s, c->hosts.size() == 1 && w.incident.hosts > 2 ? 0.5 : 0.8, {one->id});
  }
  if (c->hosts.size() == 1 && w.incident.hosts_with_output > 2) {
    v.precision = "candidates";
    v.summary = fmt::format("{} on {} alone{}: its own mount or network path is as likely at fault as the service.", f.title, c->hosts[0], at(c->start));
    next(v, "plan", fmt::format("Check the mount and the NIC of {} first: no other host reports it.", c->hosts[0]));
  } else {
    v.precision = "exact";
    v.summary = fmt::format("A shared service failed, no machine of the job: {}{}{}.", lower_first(f.title), c->hosts.size() > 1 ? fmt::format(", seen by {} hosts", c->hosts.size()) : "", at(c->start));
  }
  advise(v, *c);
  return taken(fmt::format("{} on {} host(s) before anything else", f.event_class, c->hosts.size()));
}

// The mount point of a path on a file system that clusters share, by the names such mounts go by; "" otherwise.
std::string shared_path(const std::string& text) {
  for (std::size_t at = text.find('/'); at != std::string::npos; at = text.find('/', at + 1)) {
    const std::size_t end = std::min(text.find_first_of(" '\":,)", at), text.size());
    const std::string path = text.substr(at, end - at);
    for (const std::string_view name : {"lustre", "gpfs", "nfs", "weka", "beegfs", "vast", "fsx", "efs", "ceph", "juicefs", "s3", "gcs", "oss", "shared", "home", "filestore", "panfs", "daos"}) {
      const std::size_t found = path.find("/" + std::string(name));
      if (found == std::string::npos) continue;
      const std::size_t after = found + 1 + name.size();
      if (after < path.size() && path[after] != '/' && !isdigit(static_cast<unsigned char>(path[after])) && path[after] != '-' && path[after] != '_') continue;
      return path.substr(0, std::min(path.find('/', after), path.size()));
    }
    at = end;
    if (at == text.size()) break;
  }
  return {};
}

Answer resources(Walk& w) {
  const Cause* c = w.best(CauseKind::resource);
  if (c == nullptr) return ruled_out("no process ran out of memory, disk or shared memory first");
  const Finding& f = *c->findings.front();
  Verdict& v = w.verdict;
  v.action = "repair";
  v.symptom = f.symptom;
  v.start = c->start;
  // A full file system that several hosts see, or whose path is a shared one, is no host's.
  const std::string path = shared_path(number(f, "message"));
  if (f.symptom == "Insufficient Disk Space" && (!path.empty() || c->hosts.size() >= 2)) {
    target(v, {"storage", path.empty() ? "shared file system" : path}, 0.85, ids(c->findings));
    v.summary = fmt::format("The shared file system {} is full{}; no machine is at fault.", path.empty() ? "of the job" : path, at(c->start));
    advise(v, *c);
    return taken(fmt::format("{} on {}", f.event_class, path.empty() ? fmt::format("{} hosts", c->hosts.size()) : path));
  }
  const bool limit = f.action == "raise_limit" || f.action == "enlarge_shm" || f.action == "fix_launch" || f.action == "fix_path";
  if (limit) target(v, {"config", f.action == "enlarge_shm" ? "size of /dev/shm" : f.action == "raise_limit" ? "memory limit of the job" : f.action}, 0.8, ids(c->findings));
  else target(v, f.subject, f.confidence * 0.9, ids(c->findings));
  std::vector<std::string> who = c->hosts;
  if (who.empty() && f.subject.kind != "job") who = {f.subject.kind + " " + f.subject.id};
  v.summary = fmt::format("The job ran out of something, no part is broken: {}{}{}.", lower_first(f.title), who.empty() ? "" : " on " + list(who), at(c->start));
  advise(v, *c);
  return taken(fmt::format("{}{}", f.event_class, who.empty() ? "" : " on " + list(who)));
}

Answer user_code(Walk& w) {
  const Cause* c = w.best(CauseKind::user_code);
  if (c == nullptr) return ruled_out("no exception of the program came first");
  Verdict& v = w.verdict;
  const Finding* f = c->findings.front();
  for (const Finding* one : c->findings)  // a place in the code says more than a line without one
    if (one->subject.kind == "code" && f->subject.kind != "code") f = one;
  std::set<std::int64_t> ranks;
  for (const Finding* one : c->findings)
    if (one->event_class == f->event_class) ranks.insert(one->ranks.begin(), one->ranks.end());
  const bool memory = f->event_class == "cuda_oom";
  const std::string what = number(*f, "exception").empty() ? f->title : number(*f, "exception");
  v.symptom = f->symptom;
  v.start = c->start;
  const std::vector<std::string> rank_names = [&] { std::vector<std::string> out; for (const auto r : ranks) out.push_back(std::to_string(r)); return out; }();
  if (memory && ranks.size() == 1 && w.incident.ranks > 1) {
    v.action = "investigate";
    v.precision = "candidates";
    target(v, {"rank", rank_names[0]}, 0.6, ids(c->findings));
    v.summary = fmt::format("Only rank {} ran out of GPU memory{}: a leftover process on its GPU, or more work than the other ranks have.", rank_names[0], at(c->start));
    next(v, "command", "nvidia-smi --query-compute-apps=gpu_bus_id,pid,used_memory --format=csv   # on that host, before the next start");
    advise(v, *c);
    return taken("cuda_oom on one rank alone");
  }
  v.action = "rollback";
  if (f->subject.kind == "code") target(v, f->subject, f->event_class == "py_exception" ? 0.7 : 0.95, ids(c->findings));
  if (ranks.size() == 1) target(v, {"rank", rank_names[0]}, 0.9, ids(c->findings));
  if (v.targets.empty()) target(v, {"code", "the program"}, 0.6, ids(c->findings));
  const std::string place = f->subject.kind == "code" ? " at " + f->subject.id + (number(*f, "function").empty() ? "" : " (" + number(*f, "function") + ")") : "";
  const std::string message = number(*f, "message");
  const std::string said = message.size() > 140 ? message.substr(0, 137) + "..." : message;
  if (ranks.size() == 1) v.summary = fmt::format("The program failed, no machine did: rank {} alone raised {}{}.", rank_names[0], said.empty() ? what : said, place);
  else if (ranks.empty()) v.summary = fmt::format("The program failed, no machine did: {}{}.", said.empty() ? what : said, place);
  else v.summary = fmt::format("The program failed on {} ranks alike, no machine did: {}{}.", ranks.size(), said.empty() ? what : said, place);
  if (ranks.size() == 1 && w.incident.ranks > 1) next(v, "plan", fmt::format("Only rank {} met it: look at what that rank alone has (its data, its pipeline stage, its configuration).", rank_names[0]));
  next(v, "plan", memory ? "Reduce the micro-batch, sequence length or activation memory, or go back to the last settings that fitted." : fmt::format("Go back to the last code and configuration that ran past this point, or fix {}; a restart alone meets it again.", f->subject.kind == "code" ? f->subject.id : "the program"));
  return taken(fmt::format("{}{} on {}", what, place, ranks.empty() ? "unnamed ranks" : ranks.size() == 1 ? "rank " + rank_names[0] : fmt::format("{} ranks", ranks.size())));
}

// Illegal memory access, Xid 13 and 31: the program on many GPUs, the device on one.
Answer device_or_code(Walk& w) {
  const Cause* c = w.best(CauseKind::device_or_code);
  if (c == nullptr) return ruled_out("no illegal memory access or Xid 13/31 came first");
  std::set<std::string> devices;
  std::set<std::int64_t> ranks;
  std::optional<Nanoseconds> low, high;
  const Finding* place = nullptr;
  for (const Finding* f : c->findings) {
    if (f->subject.kind == "gpu") devices.insert(f->subject.id);
    ranks.insert(f->ranks.begin(), f->ranks.end());
    if (f->subject.kind == "code" && place == nullptr) place = f;
  }
  // All runs into the fault, also those of earlier attempts and runs.
  std::map<std::string, std::vector<const Finding*>> on;
  for (const Finding& f : w.incident.findings)
    if (f.analysis == "classify" && (f.event_class == "gpu_xid/13" || f.event_class == "gpu_xid/31") && f.subject.kind == "gpu") {
      on[f.subject.id].push_back(&f);
      if (f.start && (!low || *f.start < *low)) low = f.start;
      if (f.end && (!high || *f.end > *high)) high = f.end;
    }
  Verdict& v = w.verdict;
  v.symptom = "CUDA Error";
  v.start = c->start;
  if (devices.size() > 1 || (devices.empty() && ranks.size() > 1)) {
    v.action = "rollback";
    target(v, place != nullptr ? place->subject : Subject{"code", "the program"}, 0.75, ids(c->findings));
    v.summary = fmt::format("The program reads or writes memory it does not own: the same fault on {}{}.", devices.empty() ? fmt::format("{} ranks", ranks.size()) : fmt::format("{} GPUs", devices.size()), at(c->start));
    next(v, "plan", "Run once with CUDA_LAUNCH_BLOCKING=1 or compute-sanitizer to find the kernel; go back to the last code that ran past this point.");
    return taken("the same fault on several GPUs is the program's");
  }
  const bool repeated = devices.size() == 1 && low && high && *high - *low > 180 * kSecond;
  if (repeated) {
    const std::string gpu = *devices.begin();
    v.action = "isolate";
    target(v, {"host", gpu.substr(0, gpu.find('/'))}, 0.7, ids(c->findings));
    target(v, {"gpu", gpu}, 0.7, ids(c->findings));
    v.summary = fmt::format("One GPU runs into illegal accesses again and again over {} while the others do not: {}.", human_duration(*high - *low), gpu);
    next(v, "plan", "Run the field diagnostic (dcgmi diag -r 4) on that GPU before it comes back.");
    return taken("the same fault on one GPU at moments far apart is the device's");
  }
  v.action = "checks";
  v.precision = "candidates";
  for (const std::string& gpu : devices) target(v, {"gpu", gpu}, 0.4, ids(c->findings));
  if (devices.empty() && ranks.size() == 1) target(v, {"rank", std::to_string(*ranks.begin())}, 0.4, ids(c->findings));
  v.summary = fmt::format("An illegal memory access on one GPU{}: program or device, one occurrence cannot tell.", at(c->start));
  next(v, "plan", "Stop-time checks on that GPU (dcgmi diag -r 3, a memory test); if they pass, reattempt with CUDA_LAUNCH_BLOCKING=1.");
  return taken("one occurrence on one device");
}

Answer process_crash(Walk& w) {
  const Cause* c = w.best(CauseKind::crash);
  if (c == nullptr) return ruled_out("no process crashed first");
  const Finding& f = *c->findings.front();
  Verdict& v = w.verdict;
  v.action = "reattempt";
  v.symptom = f.symptom;
  v.start = c->start;
  v.precision = "candidates";
  std::set<std::int64_t> ranks;
  for (const Finding* one : c->findings) ranks.insert(one->ranks.begin(), one->ranks.end());
  for (const std::int64_t r : ranks) if (v.targets.size() < 4) target(v, {"rank", std::to_string(r)}, 0.5, ids(c->findings));
  v.summary = fmt::format("A process crashed{}: {}. Once is no proof against a machine; keep the core and try again.", at(c->start), lower_first(f.title));
  next(v, "plan", "Keep the core dump (ulimit -c unlimited); a second crash on the same host calls for a memory test of that host.");
  advise(v, *c);
  return taken(fmt::format("{} once", f.event_class));
}

Answer network_alerts(Walk& w) {
  const Cause* c = w.best(CauseKind::network);
  if (c == nullptr) return ruled_out("no network alert passed its tolerance (two within five minutes)");
  const Finding& f = *c->findings.front();
  if (!after_effects(w)) return ruled_out(fmt::format("{} on {}, but no rank reports failed communication", f.event_class, list(c->hosts)));
  const Finding* diag = nullptr;
  for (const Finding& one : w.incident.findings) if (one.analysis == "root_diag" && one.outcome == Outcome::fired) diag = &one;
  if (diag != nullptr && diag->subject.kind == "host" && std::find(c->hosts.begin(), c->hosts.end(), diag->subject.id) == c->hosts.end())
    return ruled_out(fmt::format("the broken connections point at {}, not at {}", diag->subject.id, list(c->hosts)));
  Verdict& v = w.verdict;
  v.symptom = f.symptom;
  v.start = c->start;
  if (shared_by(w, c->hosts.size(), w.incident.hosts)) {
    v.action = "repair";
    v.precision = "group";
    const std::string named = switch_of(w, {c->hosts.begin(), c->hosts.end()});
    target(v, {"switch", named.empty() ? "network of " + list(c->hosts, 3) : named}, named.empty() ? 0.6 : 0.85, ids(c->findings));
    v.summary = fmt::format("Links of {} hosts failed together{}: a switch or its power, not {} bad hosts.", c->hosts.size(), at(c->start), c->hosts.size());
    advise(v, *c);
    return taken("link alerts on many hosts at once");
  }
  v.action = "isolate";
  const double confidence = diag != nullptr ? 0.9 : 0.7;
  for (const std::string& host : c->hosts) target(v, {"host", host}, confidence, ids(c->findings));
  for (const Finding* one : c->findings) if (one->subject.kind == "nic") target(v, one->subject, confidence, {one->id});
  v.summary = fmt::format("The network link of {} failed more than once{}, then communication broke: {}.", list(c->hosts), at(c->start), lower_first(f.title));
  for (const std::string& host : c->hosts) next(v, "command", fmt::format("scontrol update nodename={} state=drain reason=\"{}\"", host, f.event_class));
  advise(v, *c);
  return taken(fmt::format("{} {} times on {} before the first broken connection", f.event_class, f.count, list(c->hosts)));
}

Answer numerics(Walk& w) {
  const Cause* c = w.best(CauseKind::numerics);
  if (c == nullptr) return ruled_out("loss and gradients are numbers as far as the logs say");
  const Finding* named = nullptr;
  for (const Finding* f : c->findings) if (f->event_class == "train_nan_abort") { named = f; break; }
  Verdict& v = w.verdict;
  v.action = "checks";
  v.symptom = "NaN value";
  v.start = c->start;
  v.precision = "candidates";
  if (named != nullptr) {
    for (const std::int64_t r : named->ranks) if (v.targets.size() < 4) target(v, {"rank", std::to_string(r)}, 0.55, {named->id});
    v.summary = fmt::format("The gradients stopped being numbers{}{}: bit-wise checks decide between silent corruption and the data or code.", named->ranks.empty() ? "" : fmt::format(", first on rank {}", named->ranks.front()), at(c->start));
  } else {
    target(v, {"job", "job"}, 0.5, ids(c->findings));
    v.summary = fmt::format("The loss stopped being a number{} and nothing says on which rank first.", at(c->start));
    next(v, "collect", "--check-for-nan-in-loss-and-grad (Megatron), or torch.autograd.set_detect_anomaly, names the first rank next time");
  }
  next(v, "plan", "Bit-wise alignment on the machines of the job (the same step twice, outputs compared); evict what differs; if nothing differs, go back to the checkpoint before and skip the data of that step.");
  return taken("no fault of a machine explains it");
}

Answer root_diag_step(Walk& w) {
  const Finding* diag = nullptr;
  for (const Finding& f : w.incident.findings) if (f.analysis == "root_diag") diag = &f;
  if (diag == nullptr) return not_enough("no connection error names its peer");
  if (diag->outcome == Outcome::not_enough_evidence && diag->hosts.size() == 2 && w.incident.hosts > 2) {
    // One connection broke before all others: one of its two ends, which checks can tell apart.
    Verdict& v = w.verdict;
    v.action = "checks";
    v.symptom = diag->symptom;
    v.start = diag->start;
    v.precision = "candidates";
    for (const std::string& host : diag->hosts) target(v, {"host", host}, 0.45, {diag->id});
    v.summary = fmt::format("The connection between {} broke first{}: one of the two is at fault, and the logs cannot say which.", list(diag->hosts), at(diag->start));
    next(v, "plan", fmt::format("All-gather between {} and a machine that is known to be good, one after the other; evict the one that fails.", list(diag->hosts)));
    next(v, "collect", "kernel log and ibstat of both hosts");
    return taken(diag->why);
  }
  if (diag->outcome != Outcome::fired) return {diag->outcome == Outcome::ruled_out ? "ruled_out" : "not_enough_evidence", diag->why};
  Verdict& v = w.verdict;
  v.symptom = diag->symptom;
  v.start = diag->start;
  v.action = diag->subject.kind == "switch" ? "repair" : "isolate";
  v.precision = "exact";
  target(v, diag->subject, diag->confidence, {diag->id});
  v.summary = diag->subject.kind == "switch" ? fmt::format("All connections that broke first cross {}: the switch, not the hosts.", diag->subject.id)
                                              : fmt::format("The connections of {} broke first{}; everything else follows from that.", diag->subject.id, at(diag->start));
  if (diag->subject.kind == "host") next(v, "command", fmt::format("scontrol update nodename={} state=drain reason=\"connections broke first\"", diag->subject.id));
  next(v, "plan", diag->advice);
  if (diag->subject.kind == "host") next(v, "collect", fmt::format("kernel log, ibstat and nvidia-smi -q of {}: they say which part broke", diag->subject.id));
  return taken(diag->why);
}

Answer silent_rank(Walk& w) {
  std::vector<const Finding*> silent;
  const Finding* none = nullptr;
  for (const Finding& f : w.incident.findings)
    if (f.analysis == "silence") (f.outcome == Outcome::fired ? (void)silent.push_back(&f) : (void)(none = &f));
  if (silent.empty()) return none == nullptr ? ruled_out("no rank timed out") : Answer{"not_enough_evidence", none->why};
  Verdict& v = w.verdict;
  v.action = "investigate";
  v.symptom = "Job Hang";
  v.start = silent.front()->start;
  v.precision = silent.size() == 1 ? "exact" : "candidates";
  std::vector<std::string> names;
  for (const Finding* f : silent) {
    target(v, f->subject, f->confidence, {f->id});
    names.push_back(f->host ? fmt::format("{} (on {})", f->subject.id, *f->host) : f->subject.id);
  }
  v.summary = fmt::format("The job hung: all others timed out waiting, rank {} never did, so they probably waited for it.", list(names));
  next(v, "collect", "stacks of that rank while it hangs: py-spy dump --native --pid PID, or a loop over all ranks");
  next(v, "collect", "TORCH_FR_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1: the flight recorder says which collective it never entered");
  return taken(silent.front()->why);
}

Answer few_reporters(Walk& w) {
  std::set<std::string> hosts, peers;
  std::vector<const Finding*> from;
  bool nameless = false;
  for (const Finding& f : w.incident.findings) {
    if (f.analysis != "classify" || f.outcome != Outcome::fired || f.severity != Severity::distributed || f.role != Role::cascade) continue;
    from.push_back(&f);
    hosts.insert(f.hosts.begin(), f.hosts.end());
    nameless = nameless || f.hosts.empty();
    if (const std::string peer = number(f, "peer"); !peer.empty()) peers.insert(peer);
  }
  if (from.empty()) return ruled_out("no rank reports a distributed error");  // the paper's "at most two" also holds for none: it is no evidence
  if (nameless || hosts.empty()) return not_enough("the reports cannot be tied to hosts: no rank-to-host map");
  if (hosts.size() > w.params.few_reporters) return ruled_out(fmt::format("{} hosts report distributed errors", hosts.size()));
  if (w.incident.hosts_with_output < 3 || w.incident.hosts_with_output <= hosts.size())
    return not_enough(fmt::format("{} of {} hosts of which there is output report them: nobody to compare with", hosts.size(), w.incident.hosts_with_output));
  Verdict& v = w.verdict;
  v.action = "isolate";
  v.precision = hosts.size() == 1 && peers.empty() ? "exact" : "candidates";
  v.symptom = from.front()->symptom == "None" ? "Infiniband Error" : from.front()->symptom;
  v.start = from.front()->start;
  for (const std::string& host : hosts) target(v, {"host", host}, 0.55, ids(from));
  v.summary = fmt::format("Only {} of {} hosts report broken communication: {}. Isolating them may take one too many and ends the question.", hosts.size(), w.incident.hosts_with_output, list({hosts.begin(), hosts.end()}));
  for (const std::string& host : hosts) next(v, "command", fmt::format("scontrol update nodename={} state=drain reason=\"distributed errors\"", host));
  return taken(fmt::format("at most {} hosts report (Aegis section 4.1.1)", w.params.few_reporters));
}

Answer config_check(Walk&) { return not_enough("comparing versions and settings across hosts is `culprit drift`, which this verdict does not include"); }

Answer leftover(Walk& w) {
  Verdict& v = w.verdict;
  const bool hang = std::any_of(w.incident.findings.begin(), w.incident.findings.end(), [](const Finding& f) { return f.outcome == Outcome::fired && f.role == Role::cascade && f.symptom == "Job Hang"; });
  const bool crash = after_effects(w) || std::any_of(w.incident.exits.begin(), w.incident.exits.end(), [](const ExitFact& x) { return x.code != 0; });
  v.precision = "candidates";
  if (hang) {
    v.action = "investigate";
    v.symptom = "Job Hang";
    v.summary = "Not enough evidence: the job hung, every rank that speaks is a victim, and nothing says whom they waited for.";
    next(v, "collect", "stacks of all ranks while it hangs: for p in $(pgrep -f train); do py-spy dump --native --pid $p; done");
    next(v, "collect", "TORCH_FR_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1 for the flight recorder; ncclras -v while it hangs");
  } else if (crash) {
    v.action = "checks";
    v.symptom = "None";
    for (const Finding& f : w.incident.findings)
      if (f.outcome == Outcome::fired && f.role == Role::cascade && f.symptom != "None") v.symptom = f.symptom;
    v.summary = "Not enough evidence: the job crashed and no log names a culprit; run stop-time checks before the next start.";
    next(v, "plan", "Stop-time checks on all machines of the job: dcgmi diag -r 3, all-to-all within each machine, all-gather between neighbours; evict what fails, else reattempt.");
  } else {
    v.action = "investigate";
    v.summary = "Not enough evidence: the logs tell of trouble, and not of its cause.";
  }
  for (const Finding& f : w.incident.findings)
    if (f.outcome == Outcome::fired && f.role == Role::cascade && f.start && (!v.start || *f.start < *v.start)) v.start = f.start;
  next(v, "collect", "kernel log of every host (dmesg -T, or journalctl -k -o short-iso-precise), nvidia-smi -q, ibstat");
  next(v, "collect", "NCCL_DEBUG=WARN at least, NCCL_DEBUG=INFO for the first minutes: it ties ranks to hosts, GPUs and addresses");
  if (!w.incident.has_rank_map) next(v, "collect", "a job.json with hosts in node-rank order and gpus_per_node (`culprit schema job-v1.json`)");
  return taken("nothing above applies");
}

// The ladder.
struct Rung {
  const char* step;
  Answer (*walk)(Walk&);
};
constexpr Rung kLadder[] = {
    {"something_collected", something_collected},  // an empty bundle proves nothing
    {"held_back", held_back},                      // no failure, but a GPU slowed by its own hardware -> mitigate
    {"job_finished", job_finished},                // no failure, no culprit
    {"user_request", user_request},                // time limit, scancel, preemption: nobody's fault
    {"critical_errors", critical_errors},          // Aegis CriticalError: a machine's own fault, first in time -> isolate
    {"shared_cause", shared_cause},                // one storage, service, switch seen by many -> repair that
    {"resources", resources},                      // memory, disk, shared memory, limits -> repair
    {"user_code", user_code},                      // ByteRobust: user-space error with a module -> rollback
    {"device_or_code", device_or_code},            // illegal access: many GPUs the program, one GPU again and again the device
    {"process_crash", process_crash},              // a segfault once -> reattempt
    {"network_alerts", network_alerts},            // flaps beyond their tolerance before the first broken connection
    {"numerics", numerics},                        // NaN without a culprit -> bit-wise checks
    {"root_diag", root_diag_step},                 // Aegis RootDiag, NetDiag
    {"config_check", config_check},                // Aegis ConfigCheck
    {"silent_rank", silent_rank},                  // everybody waits, one does not
    {"distributed_errors", few_reporters},         // Aegis DistError: at most two hosts report -> isolate those
    {"not_enough_evidence", leftover},             // ByteRobust: crash without a culprit -> stop-time checks; hang -> collect
};

void tell_chain(Walk& w) {
  std::vector<const Finding*> told;
  if (w.best() != nullptr && w.verdict.action != "none")
    for (const Finding* f : w.best()->findings)  // a fault that shows in three ways on one machine is one link
      if (told.size() < 4 && std::none_of(told.begin(), told.end(), [&](const Finding* other) { return f->host && other->host == f->host; })) told.push_back(f);
  std::vector<const Finding*> effects;
  for (const Finding& f : w.incident.findings)
    if (f.analysis == "classify" && f.outcome == Outcome::fired && (f.role == Role::cascade || f.role == Role::teardown)) effects.push_back(&f);
  std::stable_sort(effects.begin(), effects.end(), [](const Finding* a, const Finding* b) { return std::tuple(!a->start.has_value(), a->start.value_or(0), a->role == Role::teardown) < std::tuple(!b->start.has_value(), b->start.value_or(0), b->role == Role::teardown); });
  // One line a kind: the same clean-up on eight GPUs is told once. What is over before the cause is another story.
  std::optional<Nanoseconds> from;
  if (!told.empty()) from = told.front()->start;
  std::set<std::string> kinds;
  for (const Finding* f : effects) {
    if (from && f->end && *f->end + f->uncertainty + 5 * kSecond < *from) continue;
    if (told.size() < 10 && kinds.insert(f->event_class).second) told.push_back(f);
  }
  if (told.size() < 2) return;
  for (const Finding* f : told) {
    std::string who = f->subject.kind == "job" ? (f->ranks.size() > 1 ? fmt::format("{} ranks", f->ranks.size()) : f->ranks.size() == 1 ? fmt::format("rank {}", f->ranks[0]) : f->hosts.size() > 1 ? fmt::format("{} hosts", f->hosts.size()) : f->hosts.size() == 1 ? f->hosts[0] : "the job")
                      : f->subject.kind == "code" && f->ranks.size() == 1 ? fmt::format("rank {}", f->ranks[0]) : f->subject.kind == "code" && f->ranks.size() > 1 ? fmt::format("{} ranks", f->ranks.size()) : f->subject.id;
    w.verdict.chain.push_back({f->start, std::move(who), f->title, f->id});
  }
}

}  // namespace

Verdict decide(const Case& incident, const DecideParams& params) {
  Walk w{incident, params, first_failure(incident, params), {}};
  for (const Rung& rung : kLadder) {
    const Answer answer = rung.walk(w);
    w.verdict.steps.push_back({rung.step, answer.outcome, answer.why});
    if (answer.outcome == "taken") break;
  }
  std::set<std::string> remarked;
  for (const auto& [finding, why] : w.first.excluded) {
    w.verdict.steps.push_back({"excluded", "ruled_out", fmt::format("{} on {}: {}", finding->event_class, finding->subject.id, why)});
    if (kind_of(*finding) == CauseKind::machine && finding->host && w.verdict.next.size() < 8 && why.find(" leads to it") == std::string::npos && remarked.insert(*finding->host).second)
      next(w.verdict, "plan", fmt::format("{} also showed {}, which is not what ended the job ({}): check it before the next start.", *finding->host, finding->event_class, why));
  }
  w.verdict.end = incident.job_end;
  if (!w.verdict.start) w.verdict.start = w.first.first_consequence;
  tell_chain(w);
  return w.verdict;
}

}  // namespace culprit::decide
