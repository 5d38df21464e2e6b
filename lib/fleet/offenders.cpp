#include "fleet/offenders.hpp"

#include <algorithm>
#include <set>

#include "model/sort.hpp"

namespace culprit::fleet {

namespace {

constexpr double kAlike =
    1e6;  // shape of the prior when the counts differ no more than chance has them differ

void fit(OffenderReport& out, const std::map<std::string, std::int64_t>& counts, double machines,
         double days) {
  double sum = 0, squares = 0;
  for (const auto& [host, count] : counts) {
    sum += static_cast<double>(count);
    squares += static_cast<double>(count) * static_cast<double>(count);
  }
  out.mean = sum / machines;
  if (out.mean <= 0) return;
  const double variance = machines > 1 ? (squares - sum * out.mean) / (machines - 1) : out.mean;
  out.dispersion = variance / out.mean;
  out.shape = variance > out.mean
                  ? std::clamp(out.mean * out.mean / (variance - out.mean), 0.05, kAlike)
                  : kAlike;
  out.rate_days = out.shape * days / out.mean;
}

void histogram(OffenderReport& out, const std::map<std::string, std::int64_t>& counts,
               std::int64_t machines) {
  std::map<std::int64_t, std::int64_t> rows;
  std::int64_t named = 0;
  for (const auto& [host, count] : counts)
    if (count > 0) ++rows[count], ++named;
  rows[0] = machines - named;
  const std::int64_t most = std::min<std::int64_t>(rows.rbegin()->first, 1000);
  for (std::int64_t k = 0; k <= most; ++k) {
    const double expected =
        static_cast<double>(machines) * (poisson_tail(k, out.mean) - poisson_tail(k + 1, out.mean));
    out.counts.push_back({k, rows.count(k) > 0 ? rows[k] : 0, expected});
  }
}

}  // namespace

OffenderReport offenders(const std::map<std::string, std::int64_t>& counts, std::int64_t machines,
                         double days, const OffenderParams& params) {
  OffenderReport out;
  machines = std::max<std::int64_t>(machines, static_cast<std::int64_t>(counts.size()));
  if (machines < 1) return out;
  const double n = static_cast<double>(machines), time = days > 0 ? days : 1;
  fit(out, counts, n, time);
  histogram(out, counts, machines);
  if (out.mean <= 0) return out;
  const double fleet_rate = out.mean / time;
  for (const auto& [host, count] : counts) {
    if (count < params.least) continue;
    const double shape = out.shape + static_cast<double>(count), rate = out.rate_days + time;
    Offender o{host, count, shape / rate, {}, 0, n * poisson_tail(count, out.mean), false};
    o.interval = {gamma_quantile(shape, 0.025) / rate, gamma_quantile(shape, 0.975) / rate};
    o.twice = 1 - gamma_cumulative(shape, 2 * fleet_rate * rate);
    out.machines.push_back(std::move(o));
  }
  sort_rows(out.machines, [](const Offender& a, const Offender& b) {
    return std::tie(b.count, a.host) < std::tie(a.count, b.host);
  });
  // Step up: the largest number of machines at whose count chance gives no more than the allowed
  // share of them.
  for (std::size_t i = 0; i < out.machines.size(); ++i) {
    const bool last =
        i + 1 == out.machines.size() || out.machines[i + 1].count != out.machines[i].count;
    if (last &&
        out.machines[i].by_chance <= params.false_discoveries * static_cast<double>(i + 1)) {
      out.beyond = static_cast<std::int64_t>(i + 1);
      out.expected_beyond = out.machines[i].by_chance;
    }
  }
  for (std::int64_t i = 0; i < out.beyond; ++i)
    out.machines[static_cast<std::size_t>(i)].beyond_chance = true;
  return out;
}

std::vector<Burst> bursts(std::span<const Failure> failures, const Watched& watched,
                          const BurstParams& params) {
  std::vector<Burst> out;
  if (!watched.from || !(watched.days > params.bin_days)) return out;
  const double width = params.bin_days * 86400e9;
  const auto bins = static_cast<std::size_t>(std::min(1e5, watched.days / params.bin_days)) + 1;
  struct Bin {
    std::int64_t count = 0;
    std::set<std::string> hosts;
  };
  std::map<std::string, std::map<std::size_t, Bin>> of_class;
  for (const Failure& f : failures) {
    if (!f.start || *f.start < *watched.from) continue;
    const auto at = static_cast<std::size_t>(static_cast<double>(*f.start - *watched.from) / width);
    if (at >= bins) continue;
    Bin& bin = of_class[f.component][at];
    ++bin.count;
    bin.hosts.insert(f.host);
  }
  const double looks = static_cast<double>(of_class.size()) * static_cast<double>(bins);
  for (const auto& [component, row] : of_class) {
    std::int64_t before = 0;
    for (const auto& [at, bin] : row) {
      const double past = static_cast<double>(at);
      if (at > 0 && bin.count >= params.least) {
        // Jeffreys' prior on the rate; the past weeks are its data.
        const double shape = static_cast<double>(before) + 0.5;
        const double chance = predictive_tail(bin.count, shape, past, 1) * looks;
        if (chance <= params.level)
          out.push_back({component, *watched.from + static_cast<Nanoseconds>(past * width),
                         *watched.from + static_cast<Nanoseconds>((past + 1) * width), bin.count,
                         static_cast<std::int64_t>(bin.hosts.size()),
                         static_cast<double>(before) / past, chance});
      }
      before += bin.count;
    }
  }
  sort_by(out, [](const Burst& a) { return std::tie(a.from, a.component); });
  return out;
}

std::vector<GroupRow> groups(
    const std::map<std::string, std::map<std::string, std::string>>& host_values,
    const std::map<std::string, std::int64_t>& counts) {
  std::vector<GroupRow> out;
  for (const auto& [name, values] : host_values) {
    std::map<std::string, GroupRow> rows;
    std::int64_t hosts = 0, failing = 0;
    for (const auto& [host, value] : values) {
      GroupRow& row = rows[value];
      row.name = name;
      row.value = value;
      ++row.hosts, ++hosts;
      const auto it = counts.find(host);
      if (it == counts.end() || it->second <= 0) continue;
      ++row.failing, ++failing;
      row.failures += it->second;
    }
    if (rows.size() < 2) continue;
    for (auto& [value, row] : rows) {
      const double share = static_cast<double>(row.hosts) / static_cast<double>(hosts);
      row.expected = share * static_cast<double>(failing);
      row.chance = std::min(
          1.0, binomial_tail(row.failing, failing, share) * static_cast<double>(rows.size()));
      out.push_back(row);
    }
  }
  sort_rows(out, [](const GroupRow& a, const GroupRow& b) {
    return std::tie(a.chance, b.failing, a.name, a.value) <
           std::tie(b.chance, a.failing, b.name, b.value);
  });
  return out;
}

std::vector<Returning> returning(std::span<const Failure> failures,
                                 std::span<const FleetEvent> events, const ReturnParams& params) {
  std::map<std::string, std::vector<Nanoseconds>> repairs;
  for (const FleetEvent& e : events)
    if (e.kind == "repair" && e.start) repairs[e.host].push_back(*e.start);
  for (auto& [host, times] : repairs) sort_rows(times);
  std::map<std::pair<std::string, std::string>, Returning> rows;
  std::map<std::pair<std::string, std::string>, Nanoseconds> ended;
  std::vector<Returning> out;
  const auto keep = [&](const Returning& row) {
    if (row.failures >= 2) out.push_back(row);
  };
  for (const Failure& f : failures) {  // in the order of time
    if (!f.start || f.host.empty()) continue;
    const auto key = std::pair(f.host, f.component);
    const auto it = rows.find(key);
    bool goes_on = it != rows.end() && *f.start - ended[key] <= params.within;
    if (goes_on)
      if (const auto r = repairs.find(f.host); r != repairs.end()) {
        const auto next = std::upper_bound(r->second.begin(), r->second.end(), it->second.last);
        goes_on = next == r->second.end() || *next > *f.start;
      }
    if (goes_on) {
      ++it->second.failures;
      it->second.last = *f.start;
    } else {
      if (it != rows.end()) keep(it->second);
      rows[key] = {f.host, f.component, 1, *f.start, *f.start, false};
    }
    ended[key] = std::max(f.end.value_or(*f.start), *f.start);
  }
  for (const auto& [key, row] : rows) keep(row);
  for (Returning& row : out) row.repair = row.failures > params.reboots;
  sort_rows(out, [](const Returning& a, const Returning& b) {
    return std::tie(b.failures, a.host, a.component, a.first) <
           std::tie(a.failures, b.host, b.component, b.first);
  });
  return out;
}

}  // namespace culprit::fleet
