#include "model/finding.hpp"

#include <cmath>
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/hostlist.hpp"
#include "model/number.hpp"

namespace culprit {

namespace {

using Numbers = std::map<std::string, std::string>;

std::string flag(bool value) { return value ? "1" : "0"; }
std::string milliseconds(double value) {
  return std::abs(value) >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

struct Spell {
  Numbers& out;
  Wording words;

  void operator()(std::monostate) {}
  void operator()(const LineFacts& f) {
    if (!f.exception.empty()) {
      out["exception"] = f.exception;
      out["function"] = f.function;
    }
    out["message"] = f.message;
    if (f.code) out["code"] = std::to_string(*f.code);
    if (f.peer) out["peer"] = *f.peer;
    out["hosts"] = std::to_string(f.hosts);
    out["ranks"] = std::to_string(f.ranks);
    if (f.hosts_at_once > 0) out["hosts_at_once"] = std::to_string(f.hosts_at_once);
  }
  void operator()(const LeadFacts& f) {
    out["message"] = f.message;
    out["score"] = std::to_string(f.score);
  }
  void operator()(const SilenceFacts& f) {
    out["reported"] = std::to_string(f.reported);
    out["silent"] = std::to_string(f.silent);
    out["unheard"] = flag(f.no_output);
    out["world_size"] = std::to_string(f.world_size);
  }
  void operator()(const BreakFacts& f) {
    out["store_only"] = flag(f.store_only);
    if (!f.most.empty()) out["most"] = f.most;
    if (!f.alerted.empty()) out["alerted"] = fold_hostlist(f.alerted);
  }
  void operator()(const HangFacts& f) {
    out = {{"code", f.code},
           {"group", f.group},
           {"kind", std::string(name(f.kind))},
           {"operation", f.operation},
           {"ranks", f.ranks},
           {"reason", words(f.reason)},
           {"role", f.role},
           {"sources", fmt::format("{}", fmt::join(f.sources, ","))},
           {"standing", flag(f.standing)},
           {"state", f.state},
           {"tie", flag(f.tie)},
           {"waiting", std::to_string(f.waiting)},
           {"within", flag(f.within)}};
  }
  void operator()(const UndecidedHangFacts& f) {
    if (!f.lead.empty()) out["lead"] = words(f.lead);
  }
  void operator()(const SlowFacts& f) {
    out["baseline_ms"] = milliseconds(f.baseline_ms);
    out["level_ms"] = milliseconds(f.level_ms);
    out["factor"] = fmt::format("{:.3f}", f.factor);
    out["first_iteration"] = std::to_string(f.first);
    out["last_iteration"] = std::to_string(f.last);
    out["cost_s"] = fmt::format("{:.3f}", f.cost_s);
    out["share"] = fmt::format("{:.4f}", f.share);
    out["relieved"] = flag(f.over);
    out["transient"] = flag(f.transient);
    out["shape"] = f.shape;
    if (f.gpu_hours) out["gpu_hours"] = fmt::format("{:.4f}", *f.gpu_hours);
    if (f.from_start) out["from_start"] = "1";
    if (!f.from_calls.empty()) out["from_calls"] = words(f.from_calls);
    if (!f.reason.empty()) out["reason"] = words(f.reason);
    if (f.hardware) out["hardware"] = flag(*f.hardware);
    if (f.event_only) out["event_only"] = flag(true);
    if (f.of_part) out["of_part"] = flag(true);
    if (f.more_work) out["more_work"] = flag(true);
    if (f.stall) out["stall"] = flag(true);
    if (!f.grown.empty()) out["grown"] = f.grown;
  }
  void operator()(const DivergenceFacts& f) {
    out["lowest_loss"] = fmt::format("{:.6g}", f.lowest);
    out["last_loss"] = fmt::format("{:.6g}", f.last);
    out["lowest_iteration"] = std::to_string(f.from);
    out["last_iteration"] = std::to_string(f.to);
  }
  void operator()(const OddStackFacts& f) {
    out["flags"] = std::to_string(f.flags);
    out["rounds"] = std::to_string(f.rounds);
  }
  void operator()(const OutcomeFacts& f) {
    out["outcome"] = std::string(enum_name(f.word));
    out["tasks"] = f.tasks;
  }
  void operator()(const SettingFacts& f) { out["explains"] = f.explains; }
  void operator()(const AddressFacts& f) { out["address"] = f.address; }
  void operator()(const ChangeFacts& f) {
    out["setting"] = f.name;
    out["before"] = f.before;
    out["after"] = f.after;
  }
};

}  // namespace

std::map<std::string, std::string> numbers_of(const Finding& finding, Wording words) {
  Numbers out;
  std::visit(Spell{out, words}, finding.facts);
  for (const auto& [name, value] : finding.figures) out.emplace(name, value);
  return out;
}

FindingFacts facts_named(Analysis analysis, const std::map<std::string, std::string>& numbers) {
  const auto text = [&](const char* key) {
    const auto it = numbers.find(key);
    return it == numbers.end() ? std::string() : it->second;
  };
  const auto whole = [&](const char* key, std::int64_t& out) {
    return parse_whole(text(key), out);
  };
  const auto real = [&](const char* key) { return std::strtod(text(key).c_str(), nullptr); };
  if (analysis == Analysis::changes)
    return ChangeFacts{.name = text("setting"), .before = text("before"), .after = text("after")};
  SlowFacts out;
  if (analysis != Analysis::slow || !whole("first_iteration", out.first) ||
      !whole("last_iteration", out.last))
    return {};
  out.baseline_ms = real("baseline_ms");
  out.level_ms = real("level_ms");
  out.factor = real("factor");
  out.cost_s = real("cost_s");
  out.share = real("share");
  out.over = text("relieved") == "1";
  out.transient = text("transient") == "1";
  out.from_start = text("from_start") == "1";
  out.shape = text("shape");
  out.from_calls = Text(text("from_calls"));
  out.reason = Text(text("reason"));
  if (!text("gpu_hours").empty()) out.gpu_hours = real("gpu_hours");
  if (!text("hardware").empty()) out.hardware = text("hardware") == "1";
  out.event_only = text("event_only") == "1";
  out.of_part = text("of_part") == "1";
  out.more_work = text("more_work") == "1";
  out.stall = text("stall") == "1";
  out.grown = text("grown");
  return out;
}

}  // namespace culprit
