#include "fleet/durations.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "model/sort.hpp"

namespace culprit::fleet {

namespace {

constexpr Nanoseconds kDay = 86400 * kSecond;

// The least value v with P(X <= v) >= p, of values weighted by time.
std::int64_t quantile(const std::map<std::int64_t, double>& weights, double p) {
  double all = 0, sum = 0;
  for (const auto& [value, weight] : weights) all += weight;
  for (const auto& [value, weight] : weights)
    if ((sum += weight) >= p * all * (1 - 1e-12)) return value;
  return 0;
}

void by_day(const std::vector<Failure>& failures, const Watched& watched, DownSummary& out) {
  std::map<std::int64_t, std::set<std::string>> days;
  for (const Failure& f : failures)
    if (f.start && *f.start >= *watched.from)
      days[(*f.start - *watched.from) / kDay].insert(f.host);
  out.days = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(watched.days)));
  std::map<std::int64_t, double> counts;
  std::int64_t sum = 0;
  for (const auto& [day, hosts] : days) {
    const auto n = static_cast<std::int64_t>(hosts.size());
    counts[n] += 1;
    sum += n;
    out.most_new = std::max(out.most_new, n);
  }
  counts[0] += static_cast<double>(
      std::max<std::int64_t>(0, out.days - static_cast<std::int64_t>(days.size())));
  out.mean_new = static_cast<double>(sum) / static_cast<double>(out.days);
  out.p99_new = quantile(counts, 0.99);
}

}  // namespace

DurationSummary summarise(std::vector<Duration> durations) {
  DurationSummary out;
  out.count = static_cast<std::int64_t>(durations.size());
  // Of equal lengths, ends come before what is still open.
  sort_by(durations, [](const Duration& a) { return std::tie(a.seconds, a.open); });
  double lasting = 1, at_risk = static_cast<double>(out.count), sum = 0;
  for (const Duration& d : durations) {
    if (d.open) {
      ++out.open;
    } else {
      lasting *= 1 - 1 / at_risk;
      sum += d.seconds;
      out.longest = d.seconds;
      if (!out.median && lasting <= 0.5 + 1e-12) out.median = d.seconds;
      if (!out.p90 && lasting <= 0.1 + 1e-12) out.p90 = d.seconds;
    }
    at_risk -= 1;
  }
  if (out.count > out.open) out.mean = sum / static_cast<double>(out.count - out.open);
  return out;
}

DownSummary machines_down(const std::vector<Failure>& failures, const Watched& watched) {
  DownSummary out;
  if (!watched.from || !watched.to || !(watched.days > 0)) return out;
  by_day(failures, watched, out);
  // A machine with two failures at a time is down once: intervals of a machine are joined first.
  std::map<std::string, std::vector<std::pair<Nanoseconds, Nanoseconds>>> of_host;
  for (const Failure& f : failures) {
    if (!f.start || f.system.empty())
      continue;  // a verdict does not tell when the machine came back
    const Nanoseconds begin = std::max(*f.start, *watched.from);
    const Nanoseconds end = std::min(f.end.value_or(*watched.to), *watched.to);
    if (end > begin) of_host[f.host].emplace_back(begin, end);
  }
  std::map<Nanoseconds, std::int64_t> steps{{*watched.from, 0}, {*watched.to, 0}};
  for (auto& [host, spans] : of_host) {
    sort_rows(spans);
    Nanoseconds until = spans.front().first;
    for (const auto& [begin, end] : spans) {
      const Nanoseconds from = std::max(begin, until);
      if (end <= from) continue;
      ++steps[from];
      --steps[end];
      until = end;
    }
  }
  std::map<std::int64_t, double> time;
  std::int64_t down = 0;
  double weighted = 0, all = 0;
  for (auto it = steps.begin(); std::next(it) != steps.end(); ++it) {
    down += it->second;
    const double length = static_cast<double>(std::next(it)->first - it->first);
    time[down] += length;
    weighted += static_cast<double>(down) * length;
    all += length;
    if (length > 0) out.most = std::max(out.most, down);
  }
  out.mean = all > 0 ? weighted / all : 0;
  out.median = quantile(time, 0.5);
  out.p99 = quantile(time, 0.99);
  return out;
}

}  // namespace culprit::fleet
