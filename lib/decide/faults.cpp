// Steps for faults that say so: of machines, services, resources, the program, the network.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "decide/walk.hpp"
#include "model/confidence.hpp"

namespace culprit::decide {

Answer critical_errors(Walk& w) {
  const Cause* c = w.best(CauseKind::machine);
  if (c == nullptr) {
    const bool any = std::any_of(w.incident.findings.begin(), w.incident.findings.end(),
                                 [](const Finding& f) { return kind_of(f) == CauseKind::machine; });
    return ruled_out(any ? "the critical errors of machines came after the failure, or the job "
                           "went on after them"
                         : "no machine reports a critical error");
  }
  // The same kind of fault on many machines at once is one cause that they share.
  std::map<std::string, std::set<std::string>> by_class;
  for (const Finding* f : c->findings)
    by_class[f->event_class].insert(f->hosts.begin(), f->hosts.end());
  const std::size_t all = std::max<std::size_t>(w.incident.hosts, c->hosts.size());
  for (const auto& [event_class, hosts] : by_class)
    if (c->findings.front()->symptom == Symptom::infiniband_error &&
        !switch_below_which_all(w, hosts).empty())
      return ruled_out(
          fmt::format("{} shows on all hosts of {} at once: the switch, not {} bad hosts",
                      event_class, switch_below_which_all(w, hosts), hosts.size()));
  for (const auto& [event_class, hosts] : by_class)
    if (shared_by(w, hosts.size(), all))
      return ruled_out(
          fmt::format("{} shows on {} of {} hosts at once: a shared cause, not {} bad hosts",
                      event_class, hosts.size(), all, hosts.size()));
  const Finding& f = *c->findings.front();
  Verdict& v = w.verdict;
  v.symptom = f.symptom;
  v.start = c->start;
  if (c->hosts.empty() && f.subject.kind == SubjectKind::job) {
    v.action = Action::investigate;
    v.precision = Precision::candidates;
    target(v, f.subject, 0.5, ids(c->findings));
    v.summary =
        fmt::format("A machine of the job reports a fault and nothing says which one: {}{}.",
                    lower_first(f.title), at(c->start));
    next(v, NextKind::collect,
         "the same file again with the host's name in its path: hosts/NAME/...");
    advise(v, *c);
    return taken(fmt::format("{} without a host", f.event_class));
  }
  v.action = Action::isolate;
  std::vector<std::string> who = c->hosts;
  if (!who.empty()) {
    for (const std::string& host : who) {
      std::vector<std::string> because;
      double confidence = 0;
      for (const Finding* one : c->findings)
        if (std::find(one->hosts.begin(), one->hosts.end(), host) != one->hosts.end()) {
          if (because.size() < 6) because.push_back(one->id);
          confidence = std::max(confidence, one->confidence);
        }
      target(v, {SubjectKind::host, host}, confidence, because);
    }
    for (const Finding* one : c->findings)
      if (one->subject.kind == SubjectKind::gpu || one->subject.kind == SubjectKind::nic)
        target(v, one->subject, one->confidence, {one->id});
  } else {
    who = {fmt::format("{} {}", name(f.subject.kind), f.subject.id)};
    target(v, f.subject, f.confidence * 0.9, ids(c->findings));
    next(v, NextKind::collect,
         "a job.json with hosts and gpus_per_node, or NCCL_DEBUG=INFO: nothing in the bundle ties "
         "this to a host name");
  }
  v.precision = Precision::exact;
  v.summary = fmt::format("{}: {} on {}{}{}.",
                          who.size() == 1 ? "One machine broke the job"
                                          : fmt::format("{} machines broke the job", who.size()),
                          lower_first(f.title), list(who), at(c->start),
                          after_effects(w) ? "; what the other ranks report are consequences" : "");
  for (const std::string& host : c->hosts) drain(v, host, f.event_class);
  advise(v, *c);
  return taken(fmt::format("{} on {}{}, and nothing came before it", f.event_class, list(who),
                           at(c->start)));
}

Answer shared_cause(Walk& w) {
  const Cause* c = w.best(CauseKind::shared);
  const Cause* machine = w.best(CauseKind::machine);
  if (c == nullptr && machine == nullptr)
    return ruled_out("no error of a shared service or storage came first");
  Verdict& v = w.verdict;
  if (c == nullptr) {
    const Finding& f = *machine->findings.front();
    std::map<std::string, std::set<std::string>> by_class;
    for (const Finding* one : machine->findings)
      by_class[one->event_class].insert(one->hosts.begin(), one->hosts.end());
    const auto widest = std::max_element(
        by_class.begin(), by_class.end(),
        [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    v.action = Action::repair;
    v.symptom = f.symptom;
    v.start = machine->start;
    v.precision = Precision::group;
    const bool net = f.symptom == Symptom::infiniband_error;
    const std::string named = switch_of(w, widest->second);
    if (net && !named.empty())
      target(v, {SubjectKind::network_switch, named}, 0.85, ids(machine->findings));
    else
      target(v,
             {net ? SubjectKind::network_switch : SubjectKind::group,
              net ? "network of " + list({widest->second.begin(), widest->second.end()}, 3)
                  : widest->first},
             0.6, ids(machine->findings));
    v.summary = fmt::format(
        "{} hosts show the same fault at the same moment ({}): look for what they share{}, not for "
        "{} bad hosts.",
        widest->second.size(), lower_first(f.title),
        net ? ", a switch first" : " (power, cooling, a driver roll-out)", widest->second.size());
    if (!net)
      advise(v, *machine);  // else it is to look at single cables
    else
      next(v, NextKind::plan,
           fmt::format("Look at {} first: its own log, its power, firmware and uplinks.",
                       named.empty() ? "the switch that these hosts share" : named));
    return taken(
        fmt::format("{} on {} hosts within minutes", widest->first, widest->second.size()));
  }
  const Finding& f = *c->findings.front();
  v.symptom = f.symptom;
  v.start = c->start;
  v.action = Action::repair;
  for (const Finding* one : c->findings) {
    Subject s = one->subject;
    if (s.kind == SubjectKind::host || s.kind == SubjectKind::gpu || s.kind == SubjectKind::rank)
      s = {SubjectKind::storage, one->title};
    target(v, s, c->hosts.size() == 1 && w.incident.hosts > 2 ? 0.5 : 0.8, {one->id});
  }
  if (c->hosts.size() == 1 && w.incident.hosts_with_output > 2) {
    v.precision = Precision::candidates;
    v.summary = fmt::format(
        "{} on {} alone{}: its own mount or network path is as likely at fault as the service.",
        f.title, c->hosts[0], at(c->start));
    next(v, NextKind::plan,
         fmt::format("Check the mount and the NIC of {} first: no other host reports it.",
                     c->hosts[0]));
  } else {
    v.precision = Precision::exact;
    v.summary =
        fmt::format("A shared service failed, no machine of the job: {}{}{}.", lower_first(f.title),
                    c->hosts.size() > 1 ? fmt::format(", seen by {} hosts", c->hosts.size()) : "",
                    at(c->start));
  }
  advise(v, *c);
  return taken(
      fmt::format("{} on {} host(s) before anything else", f.event_class, c->hosts.size()));
}

namespace {

std::string shared_path(const std::string& text) {
  for (std::size_t at = text.find('/'); at != std::string::npos; at = text.find('/', at + 1)) {
    const std::size_t end = std::min(text.find_first_of(" '\":,)", at), text.size());
    const std::string path = text.substr(at, end - at);
    for (const std::string_view name :
         {"lustre", "gpfs", "nfs", "weka", "beegfs", "vast", "fsx", "efs", "ceph", "juicefs", "s3",
          "gcs", "oss", "shared", "home", "filestore", "panfs", "daos"}) {
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

}  // namespace

Answer resources(Walk& w) {
  const Cause* c = w.best(CauseKind::resource);
  if (c == nullptr) return ruled_out("no process ran out of memory, disk or shared memory first");
  const Finding& f = *c->findings.front();
  Verdict& v = w.verdict;
  v.action = Action::repair;
  v.symptom = f.symptom;
  v.start = c->start;
  // A full file system that several hosts see, or whose path is a shared one, is no host's.
  const std::string path = shared_path(message_of(f));
  if (f.symptom == Symptom::insufficient_disk_space && (!path.empty() || c->hosts.size() >= 2)) {
    target(v, {SubjectKind::storage, path.empty() ? "shared file system" : path}, 0.85,
           ids(c->findings));
    v.summary = fmt::format("The shared file system {} is full{}; no machine is at fault.",
                            path.empty() ? "of the job" : path, at(c->start));
    advise(v, *c);
    return taken(fmt::format("{} on {}", f.event_class,
                             path.empty() ? fmt::format("{} hosts", c->hosts.size()) : path));
  }
  const bool limit = f.remedy == "raise_limit" || f.remedy == "enlarge_shm" ||
                     f.remedy == "fix_launch" || f.remedy == "fix_path";
  if (limit)
    target(v,
           {SubjectKind::config, f.remedy == "enlarge_shm"   ? "size of /dev/shm"
                                 : f.remedy == "raise_limit" ? "memory limit of the job"
                                                             : f.remedy},
           0.8, ids(c->findings));
  else
    target(v, f.subject, f.confidence * 0.9, ids(c->findings));
  std::vector<std::string> who = c->hosts;
  if (who.empty() && f.subject.kind != SubjectKind::job)
    who = {fmt::format("{} {}", name(f.subject.kind), f.subject.id)};
  v.summary =
      fmt::format("The job ran out of something, no part is broken: {}{}{}.", lower_first(f.title),
                  who.empty() ? "" : " on " + list(who), at(c->start));
  advise(v, *c);
  return taken(fmt::format("{}{}", f.event_class, who.empty() ? "" : " on " + list(who)));
}

Answer user_code(Walk& w) {
  const Cause* c = w.best(CauseKind::program);
  if (c == nullptr) return ruled_out("no exception of the program came first");
  Verdict& v = w.verdict;
  const Finding* f = c->findings.front();
  for (const Finding* one : c->findings)  // a place in the code says more than a line without one
    if (one->subject.kind == SubjectKind::code && f->subject.kind != SubjectKind::code) f = one;
  std::set<std::int64_t> ranks;
  for (const Finding* one : c->findings)
    if (one->event_class == f->event_class) ranks.insert(one->ranks.begin(), one->ranks.end());
  const bool memory = f->event_class == "cuda_oom";
  const std::string what = line_of(*f).exception.empty() ? f->title : line_of(*f).exception;
  v.symptom = f->symptom;
  v.start = c->start;
  const std::vector<std::string> rank_names = [&] {
    std::vector<std::string> out;
    for (const auto r : ranks) out.push_back(std::to_string(r));
    return out;
  }();
  if (memory && ranks.size() == 1 && w.incident.ranks > 1) {
    v.action = Action::investigate;
    v.precision = Precision::candidates;
    target(v, {SubjectKind::rank, rank_names[0]}, 0.6, ids(c->findings));
    v.summary = fmt::format(
        "Only rank {} ran out of GPU memory{}: a leftover process on its GPU, or more work than "
        "the other ranks have.",
        rank_names[0], at(c->start));
    next(v, NextKind::command,
         "nvidia-smi --query-compute-apps=gpu_bus_id,pid,used_memory --format=csv   # on that "
         "host, before the next start");
    advise(v, *c);
    return taken("cuda_oom on one rank alone");
  }
  v.action = Action::rollback;
  if (f->subject.kind == SubjectKind::code)
    target(v, f->subject, f->event_class == "py_exception" ? 0.7 : 0.95, ids(c->findings));
  if (ranks.size() == 1) target(v, {SubjectKind::rank, rank_names[0]}, 0.9, ids(c->findings));
  if (v.targets.empty()) target(v, {SubjectKind::code, "the program"}, 0.6, ids(c->findings));
  const std::string place =
      f->subject.kind == SubjectKind::code
          ? " at " + f->subject.id +
                (line_of(*f).function.empty() ? "" : " (" + line_of(*f).function + ")")
          : "";
  const std::string message = message_of(*f);
  const std::string said = message.size() > 140 ? message.substr(0, 137) + "..." : message;
  if (ranks.size() == 1)
    v.summary = fmt::format("The program failed, no machine did: rank {} alone raised {}{}.",
                            rank_names[0], said.empty() ? what : said, place);
  else if (ranks.empty())
    v.summary =
        fmt::format("The program failed, no machine did: {}{}.", said.empty() ? what : said, place);
  else
    v.summary = fmt::format("The program failed on {} ranks alike, no machine did: {}{}.",
                            ranks.size(), said.empty() ? what : said, place);
  if (ranks.size() == 1 && w.incident.ranks > 1)
    next(v, NextKind::plan,
         fmt::format("Only rank {} failed this way: look at what only that rank has (its data, its "
                     "pipeline stage, its configuration).",
                     rank_names[0]));
  next(v, NextKind::plan,
       memory ? "Reduce the micro-batch, sequence length or activation memory, or go back to the "
                "last settings that fitted."
              : fmt::format("Go back to the last code and configuration that ran past this point, "
                            "or fix {}; a restart without a fix will fail again.",
                            f->subject.kind == SubjectKind::code ? f->subject.id : "the program"));
  return taken(fmt::format("{}{} on {}", what, place,
                           ranks.empty()       ? "unnamed ranks"
                           : ranks.size() == 1 ? "rank " + rank_names[0]
                                               : fmt::format("{} ranks", ranks.size())));
}

Answer illegal_access(Walk& w) {
  const Cause* c = w.best(CauseKind::device_or_program);
  if (c == nullptr) return ruled_out("no illegal memory access or Xid 13/31 came first");
  std::set<std::string> devices;
  std::set<std::int64_t> ranks;
  std::optional<Nanoseconds> low, high;
  const Finding* place = nullptr;
  for (const Finding* f : c->findings) {
    if (f->subject.kind == SubjectKind::gpu) devices.insert(f->subject.id);
    ranks.insert(f->ranks.begin(), f->ranks.end());
    if (f->subject.kind == SubjectKind::code && place == nullptr) place = f;
  }
  // All runs into the fault, also those of earlier attempts and runs.
  std::map<std::string, std::vector<const Finding*>> on;
  for (const Finding& f : w.incident.findings)
    if (f.analysis == Analysis::classify &&
        (f.event_class == "gpu_xid/13" || f.event_class == "gpu_xid/31") &&
        f.subject.kind == SubjectKind::gpu) {
      on[f.subject.id].push_back(&f);
      if (f.start && (!low || *f.start < *low)) low = f.start;
      if (f.end && (!high || *f.end > *high)) high = f.end;
    }
  Verdict& v = w.verdict;
  v.symptom = Symptom::cuda_error;
  v.start = c->start;
  if (devices.size() > 1 || (devices.empty() && ranks.size() > 1)) {
    v.action = Action::rollback;
    target(v, place != nullptr ? place->subject : Subject{SubjectKind::code, "the program"}, 0.75,
           ids(c->findings));
    v.summary =
        fmt::format("The program reads or writes memory it does not own: the same fault on {}{}.",
                    devices.empty() ? fmt::format("{} ranks", ranks.size())
                                    : fmt::format("{} GPUs", devices.size()),
                    at(c->start));
    next(v, NextKind::plan,
         "Run once with CUDA_LAUNCH_BLOCKING=1 or compute-sanitizer to find the kernel; go back to "
         "the last code that ran past this point.");
    return taken("the same fault on several GPUs is the program's");
  }
  const bool repeated = devices.size() == 1 && low && high && *high - *low > w.params.same_burst;
  if (repeated) {
    const std::string gpu = *devices.begin();
    v.action = Action::isolate;
    target(v, {SubjectKind::host, gpu.substr(0, gpu.find('/'))}, 0.7, ids(c->findings));
    target(v, {SubjectKind::gpu, gpu}, 0.7, ids(c->findings));
    v.summary = fmt::format(
        "One GPU runs into illegal accesses again and again over {} while the others do not: {}.",
        human_duration(*high - *low), gpu);
    next(v, NextKind::plan,
         "Run the field diagnostic (dcgmi diag -r 4) on that GPU before it comes back.");
    return taken("the same fault on one GPU at moments far apart is the device's");
  }
  v.action = Action::checks;
  v.precision = Precision::candidates;
  for (const std::string& gpu : devices) target(v, {SubjectKind::gpu, gpu}, 0.4, ids(c->findings));
  if (devices.empty() && ranks.size() == 1)
    target(v, {SubjectKind::rank, std::to_string(*ranks.begin())}, 0.4, ids(c->findings));
  v.summary = fmt::format(
      "An illegal memory access on one GPU{}: program or device, one occurrence cannot tell.",
      at(c->start));
  next(v, NextKind::plan,
       "Stop-time checks on that GPU (dcgmi diag -r 3, a memory test); if they pass, reattempt "
       "with CUDA_LAUNCH_BLOCKING=1.");
  return taken("one occurrence on one device");
}

Answer process_crash(Walk& w) {
  const Cause* c = w.best(CauseKind::crash);
  if (c == nullptr) return ruled_out("no process crashed first");
  const Finding& f = *c->findings.front();
  Verdict& v = w.verdict;
  v.action = Action::reattempt;
  v.symptom = f.symptom;
  v.start = c->start;
  v.precision = Precision::candidates;
  std::set<std::int64_t> ranks;
  for (const Finding* one : c->findings) ranks.insert(one->ranks.begin(), one->ranks.end());
  for (const std::int64_t r : ranks)
    if (v.targets.size() < 4)
      target(v, {SubjectKind::rank, std::to_string(r)}, 0.5, ids(c->findings));
  v.summary = fmt::format(
      "A process crashed{}: {}. Once is no proof against a machine; keep the core and try again.",
      at(c->start), lower_first(f.title));
  next(v, NextKind::plan,
       "Keep the core dump (ulimit -c unlimited); a second crash on the same host calls for a "
       "memory test of that host.");
  advise(v, *c);
  return taken(fmt::format("{} once", f.event_class));
}

Answer network_alerts(Walk& w) {
  const Cause* c = w.best(CauseKind::network);
  if (c == nullptr)
    return ruled_out("no network alert passed its tolerance (two within five minutes)");
  const Finding& f = *c->findings.front();
  if (!after_effects(w))
    return ruled_out(fmt::format("{} on {}, but no rank reports failed communication",
                                 f.event_class, list(c->hosts)));
  const Finding* diag = nullptr;
  for (const Finding& one : w.incident.findings)
    if (one.analysis == Analysis::root_diag && one.outcome == Outcome::fired) diag = &one;
  // Its own alert and connections of its own that broke are two sources; the others' connections
  // are a third opinion.
  const bool touched =
      std::any_of(w.incident.findings.begin(), w.incident.findings.end(), [&](const Finding& one) {
        return one.outcome == Outcome::fired && one.analysis == Analysis::classify &&
               one.role == Role::cascade && one.symptom == Symptom::infiniband_error &&
               std::any_of(one.hosts.begin(), one.hosts.end(), [&](const std::string& host) {
                 return std::find(c->hosts.begin(), c->hosts.end(), host) != c->hosts.end();
               });
      });
  if (diag != nullptr && !touched && diag->subject.kind == SubjectKind::host &&
      std::find(c->hosts.begin(), c->hosts.end(), diag->subject.id) == c->hosts.end())
    return ruled_out(fmt::format("the broken connections point at {}, not at {}", diag->subject.id,
                                 list(c->hosts)));
  Verdict& v = w.verdict;
  v.symptom = f.symptom;
  v.start = c->start;
  // Links that went down in the same moment count here although a clock is too uncertain to accuse
  // a host by.
  std::set<std::string> hosts(c->hosts.begin(), c->hosts.end());
  for (const Finding& other : w.incident.findings)
    if (other.outcome == Outcome::fired && other.event_class == f.event_class && other.start &&
        c->start && std::abs(*other.start - *c->start) <= 30 * kSecond)
      hosts.insert(other.hosts.begin(), other.hosts.end());
  if (shared_by(w, c->hosts.size(), w.incident.hosts) ||
      !switch_below_which_all(w, hosts).empty()) {
    v.action = Action::repair;
    v.precision = Precision::group;
    const std::string below = switch_below_which_all(w, hosts);
    const std::string named = below.empty() ? switch_of(w, hosts) : below;
    target(v,
           {SubjectKind::network_switch, named.empty() ? "network of " + list(c->hosts, 3) : named},
           named.empty() ? 0.6 : 0.85, ids(c->findings));
    v.summary =
        fmt::format("Links of {} hosts failed together{}: a switch or its power, not {} bad hosts.",
                    c->hosts.size(), at(c->start), c->hosts.size());
    // The findings' own advice is to look at single cables.
    next(v, NextKind::plan,
         fmt::format("Look at {} first: its own log, its power, firmware and uplinks at {}; then "
                     "at the cables of {}.",
                     named.empty() ? "the switch that these hosts share" : named,
                     c->start ? iso_utc(*c->start / kSecond * kSecond) : "that moment",
                     list(c->hosts, 3)));
    return taken("link alerts on many hosts at once");
  }
  v.action = Action::isolate;
  const double confidence = diag != nullptr || f.severity == Severity::critical
                                ? confidence::kLinkAndPeers
                                : confidence::kLinkAlone;
  for (const std::string& host : c->hosts)
    target(v, {SubjectKind::host, host}, confidence, ids(c->findings));
  for (const Finding* one : c->findings)
    if (one->subject.kind == SubjectKind::nic) target(v, one->subject, confidence, {one->id});
  const bool open = std::any_of(c->findings.begin(), c->findings.end(), [](const Finding* one) {
    return !one->alerts.empty() && !one->alerts.back().closed;
  });
  v.summary =
      fmt::format("The network link of {} {}{}, then communication broke: {}.", list(c->hosts),
                  open ? "went down and did not come back" : "failed more than once", at(c->start),
                  lower_first(f.title));
  for (const std::string& host : c->hosts) drain(v, host, f.event_class);
  advise(v, *c);
  return taken(fmt::format("{} {} times on {} before the first broken connection", f.event_class,
                           f.count, list(c->hosts)));
}

Answer numerics(Walk& w) {
  const Cause* c = w.best(CauseKind::numerics);
  if (c == nullptr) return ruled_out("loss and gradients are numbers as far as the logs say");
  const Finding* named = nullptr;
  for (const Finding* f : c->findings)
    if (f->event_class == "train_nan_abort") {
      named = f;
      break;
    }
  Verdict& v = w.verdict;
  v.action = Action::checks;
  v.symptom = Symptom::nan_value;
  v.start = c->start;
  v.precision = Precision::candidates;
  if (named != nullptr) {
    for (const std::int64_t r : named->ranks)
      if (v.targets.size() < 4)
        target(v, {SubjectKind::rank, std::to_string(r)}, 0.55, {named->id});
    v.summary = fmt::format(
        "The gradients stopped being numbers{}{}: bit-wise checks decide between silent corruption "
        "and the data or code.",
        named->ranks.empty() ? "" : fmt::format(", first on rank {}", named->ranks.front()),
        at(c->start));
  } else {
    target(v, {SubjectKind::job, "job"}, 0.5, ids(c->findings));
    v.summary = fmt::format(
        "The loss stopped being a number{} and nothing says on which rank first.", at(c->start));
    next(v, NextKind::collect,
         "--check-for-nan-in-loss-and-grad (Megatron), or torch.autograd.set_detect_anomaly, names "
         "the first rank next time");
  }
  next(v, NextKind::plan,
       "Bit-wise alignment on the machines of the job (the same step twice, outputs compared); "
       "evict what differs; if nothing differs, go back to the checkpoint before and skip the data "
       "of that step.");
  return taken("no fault of a machine explains it");
}

}  // namespace culprit::decide
