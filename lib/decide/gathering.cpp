// Puts findings together that are of one cause.
#include "decide/gathering.hpp"

#include <algorithm>
#include <tuple>

#include "decide/candidate.hpp"
#include "model/confidence.hpp"
#include "model/sort.hpp"

namespace culprit::decide {

void Gathering::add(CauseKind kind, const Finding& f) {
  std::size_t i = home(kind, f);
  const bool fresh = i == causes_.size();
  if (fresh) i = open(kind, f);
  Cause& c = causes_[i];
  c.findings.push_back(&f);
  known_[i].classes.insert(f.event_class);
  for (const auto& host : places_of(kind, f)) {
    if (fresh || known_[i].hosts.count(host) == 0) c.hosts.push_back(host);
    known_[i].hosts.insert(host);
    kinds_[kind].by_host.emplace(host, i);  // keeps the first
  }
  c.confidence = std::max(c.confidence, f.confidence);
}

// A cause that has this finding alone, by its place.
std::size_t Gathering::open(CauseKind kind, const Finding& f) {
  const std::size_t i = causes_.size();
  Cause c;
  c.kind = kind;
  c.start = f.start;
  c.uncertainty = f.uncertainty;
  c.confidence = f.confidence;
  causes_.push_back(std::move(c));
  known_.emplace_back();
  Kind& of = kinds_[kind];
  of.first = std::min(of.first, i);
  if (f.start)
    of.by_start.emplace(*f.start, i);
  else
    of.undated = std::min(of.undated, i);
  of.most_uncertain = std::max(of.most_uncertain, f.uncertainty);
  return i;
}

// The first cause that the finding belongs to, or the number of causes.
std::size_t Gathering::home(CauseKind kind, const Finding& f) const {
  const auto at = kinds_.find(kind);
  if (at == kinds_.end()) return causes_.size();
  const Kind& of = at->second;
  std::size_t best = std::min(of.undated, f.start ? kNone : of.first);
  const bool machine = kind == CauseKind::machine || kind == CauseKind::network;
  if (machine && f.host)
    if (const auto own = of.by_host.find(*f.host); own != of.by_host.end())
      best = std::min(best, own->second);
  if (f.start) {
    const Nanoseconds reach =
        std::max(params_.same_moment, of.most_uncertain + f.uncertainty + params_.order_slack);
    for (auto it = of.by_start.lower_bound(*f.start - reach);
         it != of.by_start.end() && it->first <= *f.start + reach; ++it) {
      const Cause& c = causes_[it->second];
      const Nanoseconds apart = std::abs(*f.start - *c.start);
      const bool together = apart <= (machine ? c.uncertainty + f.uncertainty + params_.order_slack
                                              : params_.same_moment);
      const bool alike =
          apart <= params_.same_moment && known_[it->second].classes.count(f.event_class) != 0;
      if (together || alike) best = std::min(best, it->second);
    }
  }
  return std::min(best, causes_.size());
}

std::vector<Cause> Gathering::take() {
  for (Cause& c : causes_) sort_rows(c.hosts);
  sort_by(causes_, [](const Cause& c) {
    return std::tuple(c.confidence < confidence::kLeastToIsolate, static_cast<int>(c.kind),
                      !c.start.has_value(), c.start.value_or(0));
  });
  return std::move(causes_);
}

}  // namespace culprit::decide
