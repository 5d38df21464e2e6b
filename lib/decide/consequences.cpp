// Which candidates are known consequences of others.
#include "decide/consequences.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <tuple>

#include "decide/candidate.hpp"
#include "model/phrases.hpp"

namespace culprit::decide {

namespace {

// Candidates of one class that lead to the same, in order, and the earliest moment among the first
// so many.
struct Parents {
  std::vector<std::pair<std::size_t, const Finding*>> list;  // with their place among all
  std::vector<Nanoseconds> earliest;  // running minimum; without a time: the least there is

  void add(std::size_t place, const Finding& f) {
    const Nanoseconds moment =
        f.start ? *f.start - f.uncertainty : std::numeric_limits<Nanoseconds>::min();
    list.emplace_back(place, &f);
    earliest.push_back(earliest.empty() ? moment : std::min(moment, earliest.back()));
  }
};
using Families = std::map<std::tuple<std::string, std::vector<std::string>, bool>, Parents>;
using Parent = std::pair<std::size_t, const Finding*>;

bool is_parent(const Finding& other, const Finding& f) {
  if (&other == &f || other.event_class == f.event_class) return false;
  const bool before =
      !f.start || !other.start || *other.start <= *f.start + other.uncertainty + f.uncertainty;
  if (!before || came_before(f, other)) return false;
  // Of two that lead to each other the earlier is the parent, or the first by name.
  const bool mutual = leads_to(f, other.event_class);
  const bool first =
      mutual && (f.start && other.start && *f.start != *other.start ? *f.start < *other.start
                                                                    : f.id < other.id);
  if (leads_to(other, f.event_class) && !first) return true;
  // A device's fault reaches the program as a CUDA error or an exception on the same host.
  return gpu_fault(other) && told_of_gpu(f) && f.host == other.host;
}

// The first of them that is a parent of `f`, if it stands before the best so far.
void look(const Families& families, const Finding& f, Parent& best) {
  const Nanoseconds latest =
      f.start ? *f.start + f.uncertainty : std::numeric_limits<Nanoseconds>::max();
  for (const auto& [key, parents] : families) {
    const Finding& any = *parents.list[0].second;
    if (any.event_class == f.event_class ||
        !(leads_to(any, f.event_class) || (gpu_fault(any) && told_of_gpu(f))))
      continue;
    const auto too_late = [&](Nanoseconds moment) { return moment > latest; };
    const auto from = std::ranges::partition_point(parents.earliest, too_late);
    for (auto at = parents.list.begin() + (from - parents.earliest.begin());
         at != parents.list.end(); ++at) {
      if (best.second != nullptr && at->first >= best.first) break;
      if (is_parent(*at->second, f)) {
        best = *at;
        break;
      }
    }
  }
}

// What an exception of any kind was raised for: the line with a reason that stands just above it in
// the same log, of the same rank. Programs catch an error and raise their own, which says where.
class Reasons {
 public:
  explicit Reasons(const std::vector<const Finding*>& candidates) {
    for (const Finding* f : candidates)
      if (f->role == Role::root && f->severity == Severity::critical && !of_any(*f))
        for (const Evidence& e : f->evidence) lines_.emplace(std::pair(e.member, e.line), f);
  }

  const Finding* of(const Finding& f) const {
    const Finding* out = nullptr;
    if (!of_any(f)) return out;
    for (const Evidence& e : f.evidence) {
      const auto behind = lines_.lower_bound(std::pair(e.member, e.line));
      if (behind == lines_.begin()) return nullptr;
      const auto& [place, reason] = *std::prev(behind);
      if (place.first != e.member || e.line - place.second > kAbove || reason->ranks != f.ranks)
        return nullptr;
      out = reason;
    }
    return out;
  }

 private:
  static constexpr std::uint64_t kAbove = 12;  // lines of a traceback between the two

  static bool of_any(const Finding& f) { return f.traits.has(Trait::any_exception); }

  std::map<std::pair<MemberId, std::uint64_t>, const Finding*> lines_;
};

// Those that lead to something, by host; "": of no host.
class Ancestry {
 public:
  explicit Ancestry(const std::vector<const Finding*>& candidates) {
    std::map<Host, std::vector<const Finding*>> by_host;
    for (const Finding* f : candidates) {
      if (f->leads_to.empty() && !gpu_fault(*f)) continue;
      by_host[f->host.value_or(Host())].push_back(f);
      for (const Host& host : f->hosts)  // one line each tells of several
        if (f->host && host != *f->host) by_host[host].push_back(f);
    }
    std::size_t place = 0;
    for (const auto& [host, list] : by_host)
      for (const Finding* f : list) {
        of_host_[host][std::tuple(f->event_class, f->leads_to, gpu_fault(*f))].add(place, *f);
        if (!f->leads_to.empty())
          anywhere_[std::tuple(f->event_class, f->leads_to, false)].add(place, *f);
        ++place;
      }
  }

  const Finding* parent_of(const Finding& f) const {
    Parent parent{0, nullptr};
    if (f.host) look_on(*f.host, f, parent);
    if (!f.host || f.hosts.empty())
      look(anywhere_, f, parent);
    else if (parent.second == nullptr)
      look_on(Host(), f, parent);
    return parent.second;
  }

 private:
  void look_on(const Host& host, const Finding& f, Parent& parent) const {
    if (const auto own = of_host_.find(host); own != of_host_.end()) look(own->second, f, parent);
  }

  std::map<Host, Families> of_host_;
  // That lead to something on other hosts, too: a GPU's fault reaches programs of its own host.
  Families anywhere_;
};

}  // namespace

std::vector<const Finding*> without_consequences(const std::vector<const Finding*>& candidates,
                                                 std::vector<Excluded>& excluded) {
  const Ancestry ancestry(candidates);
  const Reasons reasons(candidates);
  std::vector<const Finding*> own;
  for (const Finding* f : candidates) {
    const Finding* parent = ancestry.parent_of(*f);
    if (parent == nullptr) parent = reasons.of(*f);
    if (parent != nullptr)
      excluded.push_back({f, Exclusion::led_to,
                          say(Phrase::known_consequence, parent->event_class, parent->subject.id)});
    else
      own.push_back(f);
  }
  return own;
}

}  // namespace culprit::decide
