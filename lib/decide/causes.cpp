// From findings to possible causes: candidates are held against a table of reasons, known
// consequences of others are taken out, and what is left is put together.
#include "decide/causes.hpp"

#include <algorithm>

#include "decide/admission.hpp"
#include "decide/consequences.hpp"
#include "decide/gathering.hpp"

namespace culprit::decide {

namespace {

// What was taken back is a cause only when something broke while it lasted, and only what carries
// the traffic that broke: a server's hiccup breaks no connection between ranks.
bool broke_while_it_lasted(const Setting& s, const Finding& f) {
  const auto& noticed = s.moments.noticed;
  if (!noticed || s.moments.went_on(f) || f.scope != Scope::host_local ||
      f.symptom != Symptom::infiniband_error || !s.broken.touched(f))
    return false;
  return std::ranges::any_of(f.alerts, [&](const Alert& a) {
    return a.begin && a.end && *a.begin - f.uncertainty - s.params.order_slack <= *noticed &&
           *noticed <= *a.end + f.uncertainty + s.params.after_alert;
  });
}

// Whether nothing in the table speaks against it; otherwise it is told with all that does.
bool admitted(const Setting& s, std::span<const Objection> table, const Finding& f,
              std::vector<Excluded>& excluded) {
  constexpr std::size_t kMostTold = 256;  // with all reasons: no report lists more
  std::vector<Against> reasons = against(s, table, f, *kind_of(f), excluded.size() < kMostTold);
  if (reasons.empty()) return true;
  Excluded out{&f, reasons.front().reason, std::move(reasons.front().why)};
  out.also.assign(std::make_move_iterator(reasons.begin() + 1),
                  std::make_move_iterator(reasons.end()));
  excluded.push_back(std::move(out));
  return false;
}

// What a pod says of a fault that a node reports, too, is said of that node: a pod runs on one.
void leave_out_pods(const Case& incident, Cause& c) {
  const auto pod = [&](const Host& host) {
    return std::ranges::binary_search(incident.pods, host);
  };
  const bool node = std::ranges::any_of(c.hosts, [&](const Host& host) {
    return std::ranges::binary_search(incident.nodes_of_pods, host);
  });
  if (node) std::erase_if(c.hosts, pod);
}

}  // namespace

FirstFailure first_failure(const Case& incident, const DecideParams& params) {
  FirstFailure out;
  Setting setting(incident, params);
  std::vector<const Finding*> candidates;
  for (const Finding& f : incident.findings) {
    if (f.transient) {
      if (broke_while_it_lasted(setting, f)) out.transients.push_back(&f);
    } else if (kind_of(f) && admitted(setting, objections_to_one(), f, out.excluded)) {
      candidates.push_back(&f);
    }
  }
  candidates = without_consequences(candidates, out.excluded);
  setting.first = setting.moments.first_trouble(candidates);
  Gathering gathering(params);
  for (const Finding* f : candidates)
    if (admitted(setting, objections_to_order(), *f, out.excluded)) gathering.add(*kind_of(*f), *f);
  out.causes = gathering.take();
  for (Cause& c : out.causes) leave_out_pods(incident, c);
  out.first_consequence = setting.moments.first_consequence;
  out.noticed = setting.moments.noticed;
  return out;
}

}  // namespace culprit::decide
