#include "ingest/engine/rate_factors.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace culprit::ingest {

namespace {

constexpr double kFarBelow = 0.8;  // of a usual rate; tests repeat themselves within a few percent
constexpr double kGap = 1.1;       // between the best of the slow rows and the worst of the others
constexpr std::size_t kFewestUsual = 2, kFewestRows = 4;
constexpr std::size_t kMostAlike = 16;  // parts that no measurement tells apart

// In half of a bisection the slow machine takes part: nine tenths is usual where the middle is not.
double usual_of(std::vector<double> rates) {
  const std::size_t at = (rates.size() - 1) * 9 / 10;
  std::nth_element(rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(at), rates.end());
  return rates[at];
}

std::vector<double> shares_of(const std::vector<RateRow>& rows,
                              std::map<std::string, double>& usual) {
  std::map<std::string, std::vector<double>> by_condition;
  for (const RateRow& row : rows) by_condition[row.condition].push_back(row.rate);
  for (auto& [condition, rates] : by_condition)
    if (rates.size() >= kFewestUsual) usual[condition] = usual_of(std::move(rates));
  std::vector<double> out;
  for (const RateRow& row : rows) {
    const auto at = usual.find(row.condition);
    out.push_back(at == usual.end() || at->second <= 0 ? std::nan("") : row.rate / at->second);
  }
  return out;
}

struct Count {
  std::size_t slow = 0, usual = 0;
};

// Of what the slow rows have in common the narrowest kind: a port before its machine, where the
// machine's other ports are measured and are not slow, else the machine, which stands first.
std::vector<RatePart> narrowest(const std::map<RatePart, Count>& counts, std::size_t slow) {
  std::map<RatePart::Kind, std::vector<RatePart>> in_all;
  for (const auto& [part, count] : counts)
    if (count.slow == slow && count.usual == 0) in_all[part.kind].push_back(part);
  return in_all.empty() ? std::vector<RatePart>() : in_all.begin()->second;
}

// Machines of which no measurement is usual, so many of them that every slow one has one; those in
// most slow ones first. Empty where that is no small part of all machines, or leaves a slow one.
std::vector<RatePart> hosts_of_all(const std::vector<RateRow>& rows,
                                   const std::vector<double>& shares,
                                   const std::map<RatePart, Count>& counts) {
  constexpr std::size_t kFewestSlow = 2, kLargestShare = 3;  // a third of all
  std::vector<std::pair<std::size_t, RatePart>> never_usual;
  std::size_t hosts = 0;
  for (const auto& [part, count] : counts)
    if (part.kind == RatePart::Kind::host) {
      ++hosts;
      if (count.usual == 0 && count.slow > 0) never_usual.emplace_back(count.slow, part);
    }
  std::ranges::stable_sort(never_usual,
                           [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<bool> open(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) open[i] = shares[i] < kFarBelow;
  std::vector<RatePart> out;
  for (const auto& entry : never_usual) {
    const RatePart& part = entry.second;
    std::size_t covers = 0;
    bool sure = entry.first >= kFewestSlow;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!open[i] || std::ranges::find(rows[i].parts, part) == rows[i].parts.end()) continue;
      open[i] = false;
      ++covers;
      // Of one row the machine that is nowhere usual, if the others are.
      sure = sure || std::ranges::all_of(rows[i].parts, [&](const RatePart& other) {
               return other == part || other.kind != RatePart::Kind::host ||
                      counts.at(other).usual > 0;
             });
    }
    if (covers > 0 && !sure) return {};
    if (covers > 0) out.push_back(part);
  }
  const bool left = std::ranges::any_of(open, [](bool one) { return one; });
  if (left || out.size() < 2 || out.size() * kLargestShare > hosts) return {};
  std::ranges::sort(out);
  return out;
}

// The two machines between which all slow rows were measured, while each is usual with others. One
// row by itself may have met other traffic, unless little of the rate was left.
std::vector<RatePart> ends_of_one_way(const std::vector<RateRow>& rows,
                                      const std::vector<double>& shares,
                                      const std::map<RatePart, Count>& counts) {
  constexpr double kLittle = 0.5;
  std::set<RatePart> out;
  std::size_t slow = 0;
  double highest = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!(shares[i] < kFarBelow)) continue;
    ++slow;
    highest = std::max(highest, shares[i]);
    std::set<RatePart> ends;
    for (const RatePart& part : rows[i].parts)
      if (part.kind == RatePart::Kind::host) ends.insert(part);
    if (ends.size() != 2 || (!out.empty() && ends != out)) return {};
    out = std::move(ends);
  }
  const bool known = std::ranges::all_of(
      out, [&](const RatePart& part) { return counts.at(part).usual >= kFewestUsual; });
  return known && (slow > 1 || highest < kLittle) ? std::vector<RatePart>(out.begin(), out.end())
                                                  : std::vector<RatePart>();
}

}  // namespace

std::optional<SlowFactor> slow_factor(const std::vector<RateRow>& rows) {
  if (rows.size() < kFewestRows) return std::nullopt;
  std::map<std::string, double> usual;
  const std::vector<double> shares = shares_of(rows, usual);
  SlowFactor out;
  double best_slow = 0, worst_usual = 0, least = 0;
  std::vector<double> slow_shares;
  std::map<RatePart, Count> counts;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (std::isnan(shares[i])) continue;
    const bool slow = shares[i] < kFarBelow;
    if (slow) {
      best_slow = std::max(best_slow, shares[i]);
      if (slow_shares.empty() || shares[i] < least) least = shares[i], out.slowest = i;
      slow_shares.push_back(shares[i]);
    } else {
      worst_usual = out.usual == 0 ? shares[i] : std::min(worst_usual, shares[i]);
      ++out.usual;
    }
    const std::set<RatePart> parts(rows[i].parts.begin(), rows[i].parts.end());
    for (const RatePart& part : parts) {
      Count& count = counts[part];
      // What does not leave a group or a switch says nothing of the way out.
      const bool inside = !slow && std::ranges::count(rows[i].parts, part) > 1;
      if (!inside) ++(slow ? count.slow : count.usual);
    }
  }
  out.slow = slow_shares.size();
  if (out.slow == 0 || out.usual < kFewestUsual || best_slow * kGap > worst_usual)
    return std::nullopt;
  out.parts = narrowest(counts, out.slow);
  if (out.parts.empty()) out.parts = hosts_of_all(rows, shares, counts);
  if (out.parts.empty()) {
    out.parts = ends_of_one_way(rows, shares, counts);
    out.between = !out.parts.empty();
  }
  if (out.parts.empty() || out.parts.size() > kMostAlike) return std::nullopt;
  std::nth_element(slow_shares.begin(), slow_shares.begin() + slow_shares.size() / 2,
                   slow_shares.end());
  out.share = slow_shares[slow_shares.size() / 2];
  out.rate = rows[out.slowest].rate;
  out.usual_rate = usual[rows[out.slowest].condition];
  return out;
}

}  // namespace culprit::ingest
