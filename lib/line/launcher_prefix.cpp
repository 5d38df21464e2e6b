// Prefixes of launchers, of Ray, and of who collects the output of many processes.
#include "line/prefix_forms.hpp"

#include <algorithm>

#include "line/header_layout.hpp"
#include "line/loose_time.hpp"
#include "line/timestamp.hpp"
#include "model/number.hpp"

namespace culprit::line {

// [rank3]: · [rank  3] · [default3]: · [1,3]<stdout>: · [prterun-n7-812@1,3]<stdout>: ·
// [trainer85612|12]:
bool peel_launcher_bracket(Cursor& p, Prefix& prefix) {
  if (!p.take("[")) return false;
  if (p.peek() == 'p' && p.rest().starts_with("prterun-")) {
    Cursor q = p;
    q.word(host_char);
    if (q.take("@")) p = q;
  }
  if (const auto job = p.number()) {
    if (!p.take(",")) return false;
    const auto rank = p.number();
    if (!rank || !p.take("]<") || p.word(alpha).empty() || !p.take(">:")) return false;
    prefix.rank = Rank(*rank);
    p.take(" ");
    return true;
  }
  const std::string_view role = p.word([](char ch) { return alpha(ch) || ch == '_' || ch == '-'; });
  if (role.empty()) return false;
  if (p.peek() == ']') {  // "[titan] 2025-06-10 21:58:27,008 - root - INFO - ..."
    Timestamp stamp;
    return p.take("] ") && parse_iso(p.rest(), stamp) > 0;
  }
  if (role == "rank") p.spaces();
  const auto number = p.number();
  if (!number) return false;
  if (p.take("|")) {
    const auto rank = p.number();
    if (!rank || !p.take("]:")) return false;
    prefix.rank = Rank(*rank);
    return true;
  }
  if (!p.take("]")) return false;
  const bool colon = p.take(":");
  if (role == "rank") {
    if (!colon && p.peek() != ' ') return false;
    prefix.rank = Rank(*number);
  } else {
    if (!colon) return false;
    prefix.local_rank = LocalRank(*number);
  }
  p.take(" ");
  return true;
}

// [gpu-a07][rank 12]: some launchers' own. A word without a digit is a logger's name or a level.
bool peel_host_and_rank(Cursor& p, Prefix& prefix) {
  if (!p.take("[")) return false;
  const std::string_view host = p.word(host_char);
  if (std::ranges::none_of(host, digit) || std::ranges::none_of(host, alpha) ||
      !may_name_machine(host) || !p.take("]"))
    return false;
  p.take(" ");
  if (!p.rest().starts_with("[rank") || !peel_launcher_bracket(p, prefix)) return false;
  prefix.host = Host(host);
  return true;
}

// gpu-a07 [rank12]: message, of launchers that put a machine before what its ranks print. Whether
// the word is one, somebody else must know.
bool peel_word_before_rank(Cursor& p, Prefix& prefix) {
  const std::string_view host = p.word(host_char);
  if (prefix.rank || prefix.host || std::ranges::none_of(host, digit) || !alpha(host.front()) ||
      !may_name_machine(host) || !p.take(" ") || !p.rest().starts_with("[rank") ||
      !peel_launcher_bracket(p, prefix))
    return false;
  prefix.claimed_host = Host(host);
  return true;
}

// [rank130] 12/Mar/2026:05:07:55 +0000 [gpu-a07] message: the same word behind rank and time.
bool peel_word_behind_rank(Cursor& p, Prefix& prefix) {
  if (!prefix.rank || prefix.time.clock == Clock::none || prefix.host || prefix.claimed_host ||
      !p.take("["))
    return false;
  const std::string_view host = p.word(host_char);
  if (std::ranges::none_of(host, digit) || !alpha(host.front()) || !may_name_machine(host) ||
      !p.take("] "))
    return false;
  prefix.claimed_host = Host(host);
  return true;
}

// [pod/ddp-worker-0/trainer] of kubectl logs --prefix. Inside a pod its name is the host's name.
bool peel_pod(Cursor& p, Prefix& prefix) {
  if (!p.take("[pod/")) return false;
  const std::string_view pod = p.word(host_char);
  if (pod.empty() || !p.take("/")) return false;
  const std::string_view container = p.word(host_char);
  if (container.empty() || !(p.take("] ") || (p.take("]") && p.done()))) return false;
  prefix.host = Host(pod);
  prefix.stream = std::string(pod) + "/" + std::string(container);
  return true;
}

// "stderr: " · "  3: " (srun -l) · "retraining/0 " (torchx) · "kernel: "
bool peel_words(Cursor& p, Prefix& prefix) {
  if (p.take("stderr: ") || p.take("stdout: ")) return true;
  if (p.take("kernel: ")) {
    prefix.kernel = true;
    prefix.unit = "kernel";
    return true;
  }
  if (const auto label = p.number()) {
    if (*label >= 1'000'000 || !p.take(": ")) return false;
    prefix.task = *label;
    return true;
  }
  if (!alpha(p.peek())) return false;
  p.word(host_char);
  return p.take("/") && p.number() && p.take(" ") && p.peek() == '[';
}

namespace {

// ", ip=10.72.7.6"; some clusters give machines' names there.
void take_ip(Cursor& p, Prefix& prefix) {
  if (!p.take(", ip=")) return;
  const std::string_view ip = p.word([](char ch) {
    return digit(ch) || alpha(ch) || ch == '.' || ch == ':' || ch == '-' || ch == '_';
  });
  const bool name = ip.find_first_of("ghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ-_") != ip.npos;
  if (name)
    prefix.host = Host(ip);
  else
    prefix.address = std::string(ip);
}

// (raylet) · (raylet, ip=10.72.7.6) · (autoscaler +1m2s): Ray's own processes
bool peel_ray_daemon(Cursor& p, Prefix& prefix) {
  if (p.take("(raylet")) {
    take_ip(p, prefix);
  } else if (p.take("(autoscaler +")) {
    p.word([](char ch) { return digit(ch) || alpha(ch); });
  } else {
    return false;
  }
  if (!p.take(") ")) return false;
  return true;
}

// What follows begins with a time.
bool before_time(std::string_view rest) {
  Timestamp stamp;
  if (rest.starts_with("[")) rest.remove_prefix(1);
  return parse_iso(rest, stamp) > 0 || parse_calendar(rest, stamp) > 0 ||
         parse_loose(rest, stamp).used > 0;
}

// pdsh, only where the whole file has it: a word with a colon means too many other things.
bool peel_host(Cursor& p, Prefix& prefix) {
  const std::string_view host = p.word(host_char);
  if (host.empty() || !(p.take(": ") || (p.take(":") && p.done()))) return false;
  prefix.stream = std::string(host);
  prefix.host = Host(host);
  // "gx-09.3: " of a machine's fourth process, as launchers label it; an address is all digits.
  if (const std::size_t dot = host.rfind('.');
      dot != std::string_view::npos && host.size() - dot <= 3 && host.size() - dot > 1 &&
      std::ranges::all_of(host.substr(dot + 1), digit) && alpha(host.front())) {
    std::int64_t number = 0;
    parse_whole(host.substr(dot + 1), number);
    prefix.host = Host(host.substr(0, dot));
    prefix.local_rank = LocalRank(number);
  }
  return true;
}

// "worker-1  | message": docker compose. A numbered service is a machine of its own.
bool peel_compose(Cursor& p, Prefix& prefix) {
  const std::string_view service = p.word(host_char);
  p.spaces();
  if (service.empty() || !(p.take("| ") || (p.take("|") && p.done()))) return false;
  if (std::ranges::any_of(service, digit)) prefix.host = Host(service);
  prefix.stream = std::string(service);
  return true;
}

// "ddp-worker-0 trainer message": stern
bool peel_stern(Cursor& p, Prefix& prefix) {
  const std::string_view pod = p.word(host_char);
  if (pod.empty() || !p.take(" ")) return false;
  const std::string_view container = p.word(host_char);
  if (container.empty() || !(p.take(" ") || p.done())) return false;
  p.take("\xE2\x80\xBA ");  // an older layout draws a mark
  prefix.host = Host(pod);
  prefix.stream = std::string(pod) + "/" + std::string(container);
  return true;
}

}  // namespace

// (RayTrainWorker pid=615, ip=10.72.7.6) · (pid=615) · (EngineCore_DP0 pid=81) · (VllmWorker rank=3
// pid=84) of vLLM
bool peel_ray(Cursor& p, Prefix& prefix) {
  if (take_first(p, prefix, peel_ray_daemon)) return true;
  if (!p.take("(")) return false;
  std::string_view actor = p.word([](char ch) { return ch != ')' && ch != '=' && ch != ','; });
  std::optional<Rank> rank;
  if (actor.ends_with(" rank") && p.take("=")) {
    rank = maybe<Rank>(p.number());
    if (!rank || !p.take(" pid")) return false;
    actor = "pid";
  }
  if ((actor != "pid" && !actor.ends_with(" pid")) || !p.take("=")) return false;
  const auto pid = p.number();
  if (!pid) return false;
  if (rank) prefix.rank = rank;
  take_ip(p, prefix);
  if (!p.take(")")) return false;
  prefix.pid = *pid;
  p.take(" ");
  return true;
}

// Who speaks, where it says so in a word of ranks beside a time.
bool peel_rank_label(Cursor& p, Prefix& prefix) {
  if (prefix.rank) return false;
  const RankLabel label = parse_rank_label(p.rest());
  if (label.used == 0) return false;
  if (label.host.empty() && prefix.time.clock == Clock::none &&
      !before_time(p.rest().substr(label.used)))
    return false;
  prefix.rank = Rank(label.rank);
  if (!label.host.empty() && !prefix.host) prefix.claimed_host = Host(label.host);
  if (prefix.stream.empty()) prefix.stream = std::string(p.rest().substr(0, label.used));
  p.at += label.used;
  return true;
}

bool peel_habit(Cursor& c, const Habit& habit, Prefix& prefix) {
  return (habit.host_prefix && take_first(c, prefix, peel_host)) ||
         (habit.compose_prefix && take_first(c, prefix, peel_compose)) ||
         (habit.stern_prefix && take_first(c, prefix, peel_stern));
}

}  // namespace culprit::line
