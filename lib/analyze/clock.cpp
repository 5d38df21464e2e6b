#include "analyze/clock.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>

namespace culprit::analyze {

namespace {

constexpr Nanoseconds kDay = 86'400 * kSecond;
constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::min();

std::optional<Nanoseconds> zone_offset(const std::string& text) {
  if (text == "UTC" || text == "Z") return 0;
  if (text.size() < 5 || (text[0] != '+' && text[0] != '-')) return std::nullopt;
  const auto digit = [&](std::size_t i) { return text[i] - '0'; };
  const std::size_t m = text.size() == 6 ? 4 : 3;
  const Nanoseconds value = ((digit(1) * 10 + digit(2)) * 3600LL + (digit(m) * 10 + digit(m + 1)) * 60LL) * kSecond;
  return text[0] == '-' ? -value : value;
}

// "2026-11-21T03:19:19Z" as the manifest writes it; seconds, optional fraction ignored.
std::optional<Nanoseconds> iso(const std::string& text) {
  int y = 0, mo = 0, d = 0, h = 0, mi = 0, s = 0;
  if (std::sscanf(text.c_str(), "%4d-%2d-%2d%*1[T ]%2d:%2d:%2d", &y, &mo, &d, &h, &mi, &s) < 6 || mo < 1 || mo > 12 || d < 1 || d > 31 || y < 1970 || y > 2200) return std::nullopt;
  return (days_from_civil(y, static_cast<unsigned>(mo), static_cast<unsigned>(d)) * 86400 + h * 3600 + mi * 60 + s) * kSecond;
}

class ClockMap {
 public:
  explicit ClockMap(Facts& facts) : facts_(facts) {
    choose_zone();
    choose_reference();
    choose_boot_times();
  }

  // UTC of a stamp, with what it may be off by; nullopt when nothing ties the clock to UTC.
  std::optional<Nanoseconds> utc(const Timestamp& stamp, const std::optional<std::string>& host, MemberId member, Nanoseconds& uncertainty) const {
    uncertainty = kHostSkew + stamp.precision;
    switch (stamp.clock) {
      case Clock::utc: return stamp.ns;
      case Clock::local:
        uncertainty += zone_uncertainty_;
        return stamp.ns - zone_;
      case Clock::local_no_year: {
        const auto year = year_for(stamp.ns, member);
        if (!year) return std::nullopt;
        uncertainty += zone_uncertainty_;
        return with_year(stamp.ns, *year) - zone_;
      }
      case Clock::boot: {
        const auto it = boot_.find(host.value_or(""));
        if (it == boot_.end()) return std::nullopt;
        // Crystals drift by tens of parts in a million; dmesg's clock also stands still in suspend.
        uncertainty += it->second.uncertainty + stamp.ns / 20'000;
        return it->second.ns + stamp.ns;
      }
      case Clock::local_no_date:
      case Clock::none: return std::nullopt;
    }
    return std::nullopt;
  }

  std::optional<Nanoseconds> offset(Clock clock, Nanoseconds raw, MemberId member) const {
    if (clock == Clock::utc) return 0;
    if (clock == Clock::local) return -zone_;
    if (clock == Clock::local_no_year)
      if (const auto year = year_for(raw, member)) return with_year(raw, *year) - raw - zone_;
    return std::nullopt;
  }

  struct Boot { Nanoseconds ns = 0; Nanoseconds uncertainty = 0; std::string source; };
  const std::map<std::string, Boot>& boots() const { return boot_; }

 private:
  static Nanoseconds with_year(Nanoseconds in_2000, std::int64_t year) {
    const std::int64_t days = in_2000 / kDay;
    const CivilDate date = civil_from_days(days);
    // 29 February of a year that has none is 1 March.
    return days_from_civil(year, date.month, date.day) * kDay + in_2000 % kDay;
  }

  void choose_zone() {
    if (facts_.manifest && !facts_.manifest->timezone.empty())
      if (const auto offset = zone_offset(facts_.manifest->timezone)) { zone_ = *offset; return; }
    // The same failure of one rank on two clocks: error.json counts from the epoch, torchrun's report is local.
    std::map<std::int64_t, Nanoseconds> epoch;
    std::map<Nanoseconds, int> votes;
    for (const auto& t : facts_.tracebacks)
      if (t.rank && t.source == "error.json" && t.time.clock == Clock::utc) epoch.emplace(*t.rank, t.time.ns);
    for (const auto& t : facts_.tracebacks) {
      if (!t.rank || t.time.clock != Clock::local) continue;
      const auto it = epoch.find(*t.rank);
      if (it == epoch.end()) continue;
      const Nanoseconds quarter = 900 * kSecond;
      const Nanoseconds difference = t.time.ns - it->second;
      const Nanoseconds rounded = static_cast<Nanoseconds>(std::llround(static_cast<double>(difference) / static_cast<double>(quarter))) * quarter;
      if (std::abs(difference - rounded) < 120 * kSecond && std::abs(rounded) <= 14 * 3600 * kSecond) ++votes[rounded];
    }
    if (!votes.empty()) {
      const auto best = std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
      zone_ = best->first;
      if (zone_ != 0) facts_.notes.push_back("times without a zone are taken as UTC" + std::string(zone_ > 0 ? "+" : "-") + std::to_string(std::abs(zone_) / (3600 * kSecond)) + ", from failures that are recorded on both clocks");
      return;
    }
    bool has_utc = false;
    bool has_local = false;
    const auto see = [&](Clock clock) {
      has_utc = has_utc || clock == Clock::utc;
      has_local = has_local || clock == Clock::local || clock == Clock::local_no_year;
    };
    for (const auto& e : facts_.events) see(e.time.clock);
    for (const auto& t : facts_.tracebacks) see(t.time.clock);
    for (const auto& p : facts_.progress) see(p.first.time.clock);
    for (const auto& c : facts_.clocks) if (c.kind != "kernel") see(c.time.clock);
    if (has_local) facts_.zone_known = false;
    if (has_local && has_utc) guess_zone();
  }

  // Two families of stamps, one with a zone: if they overlap as UTC, they are UTC; else the shift that makes the
  // failure the same moment, which stays a guess and is not good for ordering within minutes.
  void guess_zone() {
    Nanoseconds utc_low = 0, utc_high = kNever, local_low = 0, local_high = kNever;
    const auto widen = [](Nanoseconds t, Nanoseconds& low, Nanoseconds& high) {
      low = high == kNever ? t : std::min(low, t);
      high = std::max(high, t);
    };
    const auto see = [&](const Timestamp& stamp) {
      if (stamp.clock == Clock::utc) widen(stamp.ns, utc_low, utc_high);
      else if (stamp.clock == Clock::local) widen(stamp.ns, local_low, local_high);
    };
    for (const auto& e : facts_.events) if (e.role != Role::root) see(e.time);
    for (const auto& t : facts_.tracebacks) see(t.time);
    for (const auto& c : facts_.clocks) if (c.kind != "kernel") see(c.time);
    if (utc_high == kNever || local_high == kNever) return;
    // Two logs of one job need not overlap; no zone is nearer to UTC than an hour.
    if (utc_low <= local_high + 2700 * kSecond && local_low <= utc_high + 2700 * kSecond) return;
    const Nanoseconds half = 1800 * kSecond;
    Nanoseconds shift = static_cast<Nanoseconds>(std::llround(static_cast<double>(local_high - utc_high) / static_cast<double>(half))) * half;
    if (std::abs(shift) < 3 * 3600 * kSecond) shift = static_cast<Nanoseconds>(std::llround(static_cast<double>(shift) / static_cast<double>(2 * half))) * 2 * half;
    if (std::abs(shift) > 14 * 3600 * kSecond) { zone_uncertainty_ = 14 * 3600 * kSecond; return; }
    zone_ = shift;
    zone_uncertainty_ = 600 * kSecond;
    facts_.notes.push_back("times without a zone do not meet those with one; they were moved so that both end together, which is good to ten minutes only");
  }

  void choose_reference() {
    std::vector<Nanoseconds> all;
    const auto see = [&](const Timestamp& stamp, MemberId member) {
      if (stamp.clock != Clock::utc && stamp.clock != Clock::local) return;
      const Nanoseconds t = stamp.clock == Clock::local ? stamp.ns - zone_ : stamp.ns;
      all.push_back(t);
      auto& best = of_member_[member];
      best = std::max(best, t);
    };
    for (const auto& e : facts_.events) see(e.time, e.place.member);
    for (const auto& t : facts_.tracebacks) see(t.time, t.place.member);
    for (const auto& c : facts_.clocks) see(c.time, c.place.member);
    for (const auto& p : facts_.progress) { see(p.first.time, p.member); see(p.last.time, p.member); }
    if (!all.empty()) reference_ = *std::max_element(all.begin(), all.end());
  }

  std::optional<std::int64_t> year_for(Nanoseconds in_2000, MemberId member) const {
    if (facts_.manifest && facts_.manifest->year) return *facts_.manifest->year;
    Nanoseconds near = kNever;
    if (const auto it = of_member_.find(member); it != of_member_.end()) near = it->second;
    else if (reference_) near = *reference_;
    else if (const MemberRow* m = facts_.member(member); m != nullptr && m->mtime_s > 86400) near = m->mtime_s * kSecond;
    if (near == kNever) return std::nullopt;
    const std::int64_t year = civil_from_days(near / kDay).year;
    std::int64_t best = year;
    Nanoseconds best_distance = std::numeric_limits<Nanoseconds>::max();
    for (const std::int64_t y : {year - 1, year, year + 1}) {  // December next to January
      const Nanoseconds distance = std::abs(with_year(in_2000, y) - near);
      if (distance < best_distance) { best_distance = distance; best = y; }
    }
    return best;
  }

  void choose_boot_times() {
    std::map<std::string, std::vector<std::pair<Nanoseconds, Nanoseconds>>> samples;  // host -> (boot time, precision)
    std::map<std::string, std::string> source;
    const auto wall = [&](const Timestamp& stamp, MemberId member) -> std::optional<Nanoseconds> {
      Nanoseconds ignored = 0;
      return stamp.clock == Clock::boot ? std::nullopt : utc(stamp, {}, member, ignored);
    };
    // Lines that print both clocks.
    const auto inline_pair = [&](const Timestamp& time, const std::optional<Timestamp>& boot, const std::optional<std::string>& host, const Place& place) {
      if (!boot) return;
      const MemberRow* m = facts_.member(place.member);
      const std::string name = host ? short_host(*host) : m != nullptr && m->host ? *m->host : "";
      if (const auto t = wall(time, place.member)) { samples[name].emplace_back(*t - boot->ns, std::max<Nanoseconds>(time.precision, kSecond)); source[name] = "inline"; }
    };
    for (const auto& c : facts_.clocks) inline_pair(c.time, c.boot, c.host, c.place);
    for (const auto& e : facts_.events) inline_pair(e.time, e.boot, e.host, e.place);
    // Twins: the same text in one host's dmesg and dmesg -T. Texts that repeat in a file tie nothing.
    struct Twin { const ClockRow* boot = nullptr; const ClockRow* wall = nullptr; bool torn = false; };
    std::map<std::pair<std::string, std::uint64_t>, Twin> twins;
    for (const auto& c : facts_.clocks) {
      if (c.kind != "kernel" || c.boot) continue;
      const MemberRow* m = facts_.member(c.place.member);
      Twin& twin = twins[{m != nullptr && m->host ? *m->host : "", c.text_hash}];
      const ClockRow*& slot = c.time.clock == Clock::boot ? twin.boot : twin.wall;
      if (slot != nullptr && slot->time.ns != c.time.ns && slot->place.member == c.place.member) twin.torn = true;
      slot = &c;
    }
    for (const auto& [key, twin] : twins) {
      if (twin.torn || twin.boot == nullptr || twin.wall == nullptr || (samples.count(key.first) > 0 && source[key.first] == "inline")) continue;
      if (const auto t = wall(twin.wall->time, twin.wall->place.member)) { samples[key.first].emplace_back(*t - twin.boot->time.ns, std::max<Nanoseconds>(twin.wall->time.precision, kSecond)); source[key.first] = "twin"; }
    }
    for (auto& [host, pairs] : samples) {
      std::sort(pairs.begin(), pairs.end());
      const auto& middle = pairs[pairs.size() / 2];
      boot_[host] = {middle.first, middle.second, source[host]};
    }
    if (facts_.manifest)
      for (const auto& [host, text] : facts_.manifest->boot_times)
        if (const auto t = iso(text)) boot_[short_host(host)] = {*t, kSecond, "manifest"};
  }

  Facts& facts_;
  Nanoseconds zone_ = 0;
  Nanoseconds zone_uncertainty_ = 0;
  std::optional<Nanoseconds> reference_;
  std::map<MemberId, Nanoseconds> of_member_;
  std::map<std::string, Boot> boot_;
};

}  // namespace

namespace {

// A host whose clock is set to another zone or was never set shows the common end of the job whole hours away from
// all others. Its times are moved; a difference that is no whole half hour means something else.
void mend_host_clocks(Facts& facts) {
  std::map<std::string, Nanoseconds> last;
  for (const auto& e : facts.events)
    if (e.host && e.time_ns && (e.role == Role::cascade || e.role == Role::teardown) && (e.severity == Severity::distributed)) {
      const auto [it, fresh] = last.emplace(*e.host, *e.time_ns);
      if (!fresh) it->second = std::max(it->second, *e.time_ns);
    }
  if (last.size() < 4) return;
  std::vector<Nanoseconds> all;
  for (const auto& [host, t] : last) all.push_back(t);
  std::sort(all.begin(), all.end());
  const Nanoseconds middle = all[all.size() / 2];
  const auto near = static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [&](Nanoseconds t) { return std::abs(t - middle) < 300 * kSecond; }));
  if (near * 5 < all.size() * 3) return;  // no common moment to compare with
  for (const auto& [host, t] : last) {
    const Nanoseconds away = t - middle;
    if (std::abs(away) < 1500 * kSecond) continue;
    const Nanoseconds half = 1800 * kSecond;
    const Nanoseconds step = static_cast<Nanoseconds>(std::llround(static_cast<double>(away) / static_cast<double>(half))) * half;
    if (std::abs(away - step) > 240 * kSecond || std::abs(step) < 2 * half) continue;  // it joined later, or ended earlier
    facts.notes.push_back("the clock of " + host + " is " + human_duration(step) + " away from the others' and was corrected by that");
    const auto move = [&](std::optional<Nanoseconds>& time) { if (time) *time -= step; };
    for (auto& e : facts.events) if (e.host == host) { move(e.time_ns); move(e.last_time_ns); e.uncertainty += 300 * kSecond; }
    for (auto& x : facts.tracebacks) if (x.host == host) { move(x.time_ns); x.uncertainty += 300 * kSecond; }
    for (auto& x : facts.exits) if (x.host == host) move(x.time_ns);
  }
}

}  // namespace

void resolve_clocks(Facts& facts) {
  const ClockMap map(facts);
  Nanoseconds ignored = 0;
  for (auto& e : facts.events) {
    e.time_ns = map.utc(e.time, e.host, e.place.member, e.uncertainty);
    e.last_time_ns = map.utc(e.last_time, e.host, e.place.member, ignored);
  }
  for (auto& t : facts.tracebacks) t.time_ns = map.utc(t.time, t.host, t.place.member, t.uncertainty);
  for (auto& x : facts.exits) x.time_ns = map.utc(x.time, x.host, x.place.member, ignored);
  for (auto& p : facts.progress) {
    for (ProgressRow* row : {&p.first, &p.last}) row->time_ns = map.utc(row->time, {}, p.member, ignored);
    if (p.first_nan) p.first_nan->time_ns = map.utc(p.first_nan->time, {}, p.member, ignored);
    if (p.last_good) p.last_good->time_ns = map.utc(p.last_good->time, {}, p.member, ignored);
    if (const auto offset = map.offset(p.first.time.clock, p.first.time.ns, p.member)) facts.member_clocks.push_back({p.member, p.first.time.clock, *offset});
  }
  for (const auto& s : facts.series) {
    if (s.clock == Clock::utc || facts.clock_offset(s.member, s.clock)) continue;
    if (const auto offset = map.offset(s.clock, 0, s.member); offset && s.clock == Clock::local) facts.member_clocks.push_back({s.member, s.clock, *offset});
  }
  mend_host_clocks(facts);
  for (HostRow& host : facts.hosts)
    if (const auto it = map.boots().find(host.host); it != map.boots().end()) {
      host.boot_ns = it->second.ns;
      host.boot_source = it->second.source;
      host.boot_uncertainty = it->second.uncertainty;
    }

  // The frame of the job: what its own output covers.
  std::set<MemberId> training;
  for (const auto& p : facts.progress) training.insert(p.member);
  for (const auto& t : facts.tracebacks) training.insert(t.place.member);
  for (const auto& i : facts.identities) if (i.source.rfind("nccl", 0) == 0 || i.source == "torchrun") training.insert(i.place.member);
  for (const auto& e : facts.events) {
    const MemberRow* m = facts.member(e.place.member);
    if (e.role != Role::root && m != nullptr && m->text_kind != "kernel" && m->text_kind != "bmc" && m->text_kind != "fabric-manager") training.insert(e.place.member);
  }
  const auto frame = [&](std::optional<Nanoseconds> t) {
    if (!t) return;
    facts.job_start = std::min(facts.job_start.value_or(*t), *t);
    facts.job_end = std::max(facts.job_end.value_or(*t), *t);
  };
  for (auto it = training.begin(); it != training.end();) {
    const MemberRow* m = facts.member(*it);
    it = m != nullptr && facts.foreign(*m) ? training.erase(it) : std::next(it);
  }
  // A collective that ran for half an hour before it timed out had begun half an hour before.
  for (const auto& e : facts.events) {
    const std::size_t at = e.message.find("ran for ");
    if (e.event_class == "nccl_watchdog_timeout" && e.time_ns && at != std::string::npos)
      if (const long long ms = std::strtoll(e.message.c_str() + at + 8, nullptr, 10); ms > 0 && ms < 86'400'000) frame(*e.time_ns - ms * 1'000'000);
  }
  for (const auto& c : facts.clocks)
    if (c.kind != "kernel" && training.count(c.place.member) > 0) frame(map.utc(c.time, {}, c.place.member, ignored));
  for (const auto& p : facts.progress) { frame(p.first.time_ns); frame(p.last.time_ns); }
  for (const auto& t : facts.tracebacks) frame(t.time_ns);
  // The manifest knows better: the last attempt is the one in question.
  if (facts.manifest && !facts.manifest->attempts.empty()) {
    const ManifestAttempt& last = facts.manifest->attempts.back();
    if (const auto t = iso(last.start)) { facts.job_start = t; facts.start_is_known = true; }
    if (const auto t = iso(last.end)) facts.job_end = std::max(facts.job_end.value_or(*t), *t);
  }
}

}  // namespace culprit::analyze
