#include "analyze/facts/boot_times.hpp"

#include <algorithm>
#include <vector>

#include "line/timestamp.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

struct Sample {
  Nanoseconds boot = 0;
  Nanoseconds precision = 0;
};

constexpr Nanoseconds kCollectedWithin = 14 * kDay;

class Anchors {
 public:
  Anchors(const Facts& facts, const WallClock& wall) : facts_(facts), wall_(wall) {}

  std::map<std::string, BootTime> find() {
    look_at_kernel_lines();
    // From the best to the poorest; a host that has one keeps it.
    from_manifest();
    from_lines_with_both();
    from_twins();
    from_own_words();
    from_uptime();
    return std::move(out_);
  }

 private:
  Host host_of(const std::optional<Host>& host, const Place& place) const {
    if (host && !nameless_host(*host)) return short_host(*host);
    const MemberRow* m = facts_.member(place.member);
    return m != nullptr ? m->host.value_or(Host()) : Host();
  }

  // How long each kernel had run at its last line.
  void look_at_kernel_lines() {
    const auto see = [&](const Timestamp& stamp, const Host& host) {
      if (stamp.clock != Clock::boot) return;
      auto& most = longest_[host];
      most = std::max(most, stamp.ns);
    };
    for (const auto& e : facts_.events)
      see(e.last_time.clock == Clock::boot ? e.last_time : e.time, host_of(e.host, e.place));
    for (const auto& c : facts_.clocks)
      if (c.kind == "kernel") see(c.time, host_of(c.host, c.place));
  }

  // The middle one of many: of lines, one may have been written late.
  void settle(std::map<std::string, std::vector<Sample>>& samples, const char* source) {
    for (auto& [host, list] : samples) {
      if (list.empty() || out_.count(host) > 0) continue;
      sort_by(list, [](const Sample& a) { return std::pair(a.boot, a.precision); });
      const Sample& middle = list[list.size() / 2];
      out_[host] = {middle.boot, middle.precision, source};
    }
  }

  void from_manifest() {
    if (!facts_.manifest) return;
    for (const auto& [host, text] : facts_.manifest->boot_times) {
      Timestamp stamp;
      if (line::parse_iso(text, stamp) == 0) continue;
      if (const auto t = wall_(stamp, 0)) out_[short_host(host)] = {*t, kSecond, "manifest"};
    }
  }

  void from_lines_with_both() {
    std::map<std::string, std::vector<Sample>> samples;
    const auto pair = [&](const Timestamp& time, const std::optional<Timestamp>& boot,
                          const std::optional<Host>& host, const Place& place) {
      if (!boot || time.clock == Clock::boot) return;
      if (const auto t = wall_(time, place.member))
        samples[host_of(host, place)].push_back(
            {*t - boot->ns, std::max<Nanoseconds>(time.precision, kSecond)});
    };
    for (const auto& c : facts_.clocks)
      if (c.kind == "kernel") pair(c.time, c.boot, c.host, c.place);
    for (const auto& e : facts_.events) pair(e.time, e.boot, e.host, e.place);
    settle(samples, "inline");
  }

  // The same text in one host's dmesg and in its dmesg -T, journal or syslog. Texts that repeat in
  // a file tie nothing.
  void from_twins() {
    struct Twin {
      const ClockRow* boot = nullptr;
      const ClockRow* wall = nullptr;
      bool torn = false;
    };
    std::map<std::pair<std::string, std::uint64_t>, Twin> twins;
    for (const auto& c : facts_.clocks) {
      if (c.kind != "kernel" || c.boot) continue;
      Twin& twin = twins[{host_of(c.host, c.place), c.text_hash}];
      const ClockRow*& slot = c.time.clock == Clock::boot ? twin.boot : twin.wall;
      if (slot != nullptr && slot->time.ns != c.time.ns && slot->place.member == c.place.member)
        twin.torn = true;
      slot = &c;
    }
    std::map<std::string, std::vector<Sample>> samples;
    for (const auto& [key, twin] : twins) {
      if (twin.torn || twin.boot == nullptr || twin.wall == nullptr) continue;
      if (const auto t = wall_(twin.wall->time, twin.wall->place.member))
        samples[key.first].push_back(
            {*t - twin.boot->time.ns, std::max<Nanoseconds>(twin.wall->time.precision, kSecond)});
    }
    settle(samples, "twin");
  }

  // A machine that was restarted tells several starts: the last one is that of its kernel's present
  // log.
  void from_own_words() {
    std::map<std::string, std::vector<Sample>> samples;
    for (const auto& c : facts_.clocks) {
      if (c.kind != "boot_time") continue;
      const auto t = wall_(c.time, c.place.member);
      if (!t) continue;
      auto& one = samples[host_of(c.host, c.place)];
      const Sample sample{*t, std::max<Nanoseconds>(c.time.precision, kSecond)};
      if (one.empty()) one.push_back(sample);
      // "2026-11-19 08:12" and "08:12:33" are one start.
      else if (const Nanoseconds apart = sample.boot - one[0].boot; std::abs(apart) < 2 * kMinute)
        one[0] = sample.precision < one[0].precision ? sample : one[0];
      else if (apart > 0)
        one[0] = sample;
    }
    settle(samples, "boot_time");
  }

  // When a member's host was looked at: a date in the same file, in the same folder, of the same
  // host, of the whole bundle.
  struct Collected {
    Nanoseconds time = 0, uncertainty = 0;
  };
  std::optional<Collected> collected(const ClockRow& uptime, const Host& host) const {
    const MemberRow* own = facts_.member(uptime.place.member);
    std::optional<Collected> best;
    int best_worth = 0;
    for (const ClockRow* c : collections_) {
      const MemberRow* m = facts_.member(c->place.member);
      const std::string its_host = host_of(c->host, c->place);
      int worth = 0;
      Nanoseconds uncertainty = 5 * kSecond;
      if (m == own)
        worth = 4;
      else if (m != nullptr && own != nullptr && folder(*m) == folder(*own) && its_host == host)
        worth = 3;
      else if (!host.empty() && its_host == host)
        worth = 2;
      // Collectors go from host to host.
      else if (its_host.empty()) {
        worth = 1;
        uncertainty = 10 * kMinute;
      }
      const auto t = worth > best_worth ? wall_(c->time, c->place.member) : std::nullopt;
      if (!t) continue;
      best_worth = worth;
      best = Collected{*t, uncertainty + c->time.precision};
    }
    // The archive remembers when the file was written; a folder may have been copied since. Weeks
    // after everything else it was copied as well, before it was packed.
    if (const Nanoseconds written = own == nullptr ? 0 : own->mtime_s * kSecond;
        best_worth < 2 && written > 0 && own->in_archive && written >= last_dated_ - kMinute &&
        (last_dated_ == 0 || written - last_dated_ <= kCollectedWithin) &&
        own_time_of_day(uptime, written))
      best = Collected{written, kMinute};
    return best;
  }

  // A time of day that the line prints is that moment's, in some zone: those are quarters of hours
  // apart.
  static bool own_time_of_day(const ClockRow& uptime, Nanoseconds written) {
    constexpr Nanoseconds quarter = 15 * kMinute;
    if (uptime.time.clock != Clock::local_no_date) return true;
    const Nanoseconds apart = (((written - uptime.time.ns) % quarter) + quarter) % quarter;
    return std::min(apart, quarter - apart) <= 2 * kMinute;
  }

  static std::string folder(const MemberRow& m) {
    return m.path.substr(0, m.path.rfind('/') == std::string::npos ? 0 : m.path.rfind('/'));
  }

  void from_uptime() {
    std::vector<const ClockRow*> uptimes;
    for (const auto& c : facts_.clocks) {
      if (c.kind == "collected")
        collections_.push_back(&c);
      else if (c.kind == "uptime" && c.boot)
        uptimes.push_back(&c);
      if (c.kind == "last" || c.kind == "first")
        if (const auto t = wall_(c.time, c.place.member)) last_dated_ = std::max(last_dated_, *t);
    }
    std::map<std::string, std::vector<Sample>> samples;
    for (const ClockRow* u : uptimes) {
      const Host host = host_of(u->host, u->place);
      // A line of the kernel's log that is much younger than this uptime belongs to an earlier
      // start.
      if (const auto it = longest_.find(host);
          it != longest_.end() &&
          it->second > u->boot->ns + std::max(10 * kMinute, u->boot->ns / 10))
        continue;
      auto at = collected(*u, host);
      if (!at) continue;
      // "03:26:24 up 12 days": the collection's date, the line's own time of day.
      if (u->time.clock == Clock::local_no_date)
        if (const auto t = nearest_day(*u, at->time)) at = Collected{*t, u->time.precision};
      samples[host].push_back({at->time - u->boot->ns, at->uncertainty + u->boot->precision});
    }
    settle(samples, "uptime");
  }

  // The moment within a quarter of an hour of `near` at which the host's clock showed that time of
  // day.
  std::optional<Nanoseconds> nearest_day(const ClockRow& row, Nanoseconds near) const {
    for (Nanoseconds day = near / kDay - 2; day <= near / kDay + 2; ++day) {
      const auto t =
          wall_({Clock::local, day * kDay + row.time.ns, row.time.precision}, row.place.member);
      if (t && std::abs(*t - near) < 15 * kMinute) return t;
    }
    return std::nullopt;
  }

  const Facts& facts_;
  const WallClock& wall_;
  std::map<std::string, BootTime> out_;
  std::map<std::string, Nanoseconds> longest_;
  std::vector<const ClockRow*> collections_;
  Nanoseconds last_dated_ = 0;
};

}  // namespace

std::map<std::string, BootTime> boot_times(const Facts& facts, const WallClock& wall) {
  return Anchors(facts, wall).find();
}

}  // namespace culprit::analyze
