// When, and on which machine: a lane a host, a mark a finding, from its first line to its last.
// Times in which nothing happens are drawn short. Below it the chain from cause to consequence,
// with the numbers of the marks.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "model/hostlist.hpp"
#include "model/sort.hpp"
#include "report/html.hpp"

namespace culprit::report {

namespace {

using nlohmann::json;

constexpr int kLaneWidth = 960, kLaneLeft = 190, kLaneRight = 925, kLaneTop = 34, kRow = 22,
              kAlone = 60;
constexpr std::size_t kMostLanes = 16;  // in the picture; the others stand in the lists below
constexpr std::size_t kMostHosts = 3;   // what more hosts report is the job's
constexpr std::size_t kMostMarks = 300;
constexpr std::size_t kMostSpells = 24;  // alerts of one finding
constexpr std::size_t kMostRows = 8;     // of one lane, for marks at the same time
constexpr std::size_t kMostLists = 40, kMostLines = 40;
constexpr double kMinute = 60, kDay = 86400;

// Seconds of an ISO 8601 time in UTC.
std::optional<double> seconds(const std::string& iso) {
  if (iso.size() < 20 || iso[10] != 'T') return std::nullopt;
  const auto digits = [&](std::size_t at, std::size_t n) {
    int value = 0;
    for (std::size_t i = at; i < at + n; ++i)
      value = iso[i] >= '0' && iso[i] <= '9' ? value * 10 + (iso[i] - '0') : -100000;
    return value;
  };
  int year = digits(0, 4);
  const int month = digits(5, 2), day = digits(8, 2), hour = digits(11, 2), minute = digits(14, 2),
            second = digits(17, 2);
  if (year < 0 || month < 1 || month > 12 || day < 1 || hour < 0 || minute < 0 || second < 0)
    return std::nullopt;
  year -= month <= 2;
  const int era = year / 400, of_era = year - era * 400;
  const int of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  double value =
      (era * 146097.0 + of_era * 365.0 + of_era / 4 - of_era / 100 + of_year - 719468.0) * kDay +
      hour * 3600.0 + minute * kMinute + second;
  double unit = 0.1;
  for (std::size_t i = 20; iso[19] == '.' && i < iso.size() && iso[i] >= '0' && iso[i] <= '9';
       ++i, unit /= 10)
    value += unit * (iso[i] - '0');
  return value;
}

// From the line that reports a trouble to the one that takes it back.
struct Spell {
  double begin = 0, end = 0;
  bool cleared = false;
};

struct Mark {
  const json* finding = nullptr;
  std::string lane;
  double begin = 0, end = 0, doubt = 0;
  bool ground = false;
  std::size_t number = 0;  // in the chain; 0: not in it
  std::vector<Spell> spells = {};
  bool too_late = false;               // it came after the first failure: no cause of it
  std::vector<const Mark*> same = {};  // of the same kind at the same time, drawn with it
};

// Where a moment stands: gaps count by their logarithm.
class Axis {
 public:
  explicit Axis(std::set<double> moments) : at_(moments.begin(), moments.end()) {
    double sum = 0;
    for (std::size_t i = 0; i < at_.size(); ++i) {
      if (i > 0) sum += std::log1p(at_[i] - at_[i - 1]);
      x_.push_back(sum);
    }
    for (double& x : x_)
      x = sum > 0 ? kLaneLeft + x / sum * (kLaneRight - kLaneLeft)
                  : kLaneLeft + kAlone;  // one moment: in sight on a narrow page, too
  }
  double operator()(double t) const {
    const auto it = std::ranges::lower_bound(at_, t);
    if (it == at_.end()) return x_.back();
    const auto i = static_cast<std::size_t>(it - at_.begin());
    if (i == 0 || *it == t) return x_[i];
    return x_[i - 1] + (x_[i] - x_[i - 1]) * (t - at_[i - 1]) / (at_[i] - at_[i - 1]);
  }
  const std::vector<double>& moments() const { return at_; }
  bool days() const { return at_.back() - at_.front() > kDay; }

 private:
  std::vector<double> at_, x_;
};

struct Lane {
  std::string name;
  bool target = false;
  double first = 0;
  std::vector<const Mark*> marks;
};

const char* mark_colour(const std::string& role, bool too_late = false) {
  if (role == "root") return too_late ? "blue" : "red";
  if (role == "cascade") return "orange";
  if (role == "confirmation") return "violet";
  return role == "teardown" ? "grey" : "blue";
}

std::vector<std::string> lanes_of(const json& f) {
  const json& subject = member(f, "subject");
  const std::string kind = text(subject, "kind");
  if (kind == "switch" || kind == "storage") return {kind + " " + text(subject, "id")};
  const Hostlist hosts = expand_hostlist(text(f, "hosts"), kMostHosts + 1);
  if (!hosts.broken && !hosts.hosts.empty() && hosts.hosts.size() <= kMostHosts) return hosts.hosts;
  if (kind == "host") return {text(subject, "id")};
  return {"the job"};
}

// An alert that nobody took back lasts to the end of what is drawn (end < begin).
std::vector<Spell> spells_of(const json& f) {
  std::vector<Spell> out;
  for (const json& a : list(f, "alerts")) {
    if (out.size() >= kMostSpells) break;
    const auto begin = seconds(exact_time(a, "start"));
    if (!begin) continue;
    const bool cleared = member(a, "cleared") == true;
    const auto end = seconds(exact_time(a, "end"));
    out.push_back({*begin, cleared ? std::max(*begin, end.value_or(*begin)) : *begin - 1, cleared});
  }
  return out;
}

std::vector<Mark> marks_of(const json& d) {
  const auto failure = seconds(exact_time(member(d, "incident"), "start"));
  std::map<std::string, std::size_t> chain;
  std::size_t n = 0;
  for (const json& link : list(member(d, "verdict"), "chain")) {
    ++n;
    if (member(link, "finding").is_string()) chain.emplace(link["finding"].get<std::string>(), n);
  }
  const auto because = grounds(d);
  const std::set<std::string> sure(because.begin(), because.end());
  std::vector<Mark> out;
  for (const json& f : list(d, "findings")) {
    const auto begin = seconds(exact_time(member(f, "interval"), "start"));
    if (text(f, "outcome") != "fired" || !begin || !member(f, "id").is_string()) continue;
    const std::string id = f["id"].get<std::string>();
    const auto link = chain.find(id);
    const auto end = seconds(exact_time(member(f, "interval"), "end"));
    for (const std::string& lane : lanes_of(f))
      out.push_back({&f, lane, *begin, std::max(*begin, end.value_or(*begin)),
                     number(member(f, "interval"), "uncertainty_ns") / 1e9, sure.count(id) != 0,
                     link == chain.end() ? 0 : link->second, spells_of(f)});
    if (failure && sure.count(id) == 0)
      for (Mark& m : out)
        if (m.finding == &f) m.too_late = m.begin - m.doubt > *failure;
  }
  // What matters most comes first, should there be too many.
  sort_by(out, [](const Mark& a) { return std::tuple(!a.ground, a.number == 0, a.begin); });
  if (out.size() > kMostMarks) out.resize(kMostMarks);
  sort_by(out, &Mark::begin);
  return out;
}

std::vector<Lane> lanes(const json& d, const std::vector<Mark>& marks) {
  std::set<std::string> targets;
  for (const json& t : list(member(d, "verdict"), "targets")) {
    targets.insert(text(t, "id"));
    targets.insert(text(t, "kind") + " " + text(t, "id"));
  }
  std::map<std::string, Lane> by_name;
  for (const Mark& m : marks) {
    Lane& lane = by_name[m.lane];
    if (lane.marks.empty()) lane = {m.lane, targets.count(m.lane) != 0, m.begin, {}};
    lane.marks.push_back(&m);
  }
  std::vector<Lane> out;
  for (auto& [name, lane] : by_name) out.push_back(std::move(lane));
  sort_rows(out, [](const Lane& a, const Lane& b) {
    return std::tie(b.target, a.first, a.name) < std::tie(a.target, b.first, b.name);
  });
  return out;
}

std::string tooltip(const Mark& m) {
  const json& f = *m.finding;
  return html_clock(exact_time(member(f, "interval"), "start"), true) + " " +
         html_text(member(f, "subject"), "id") +
         (m.same.empty() ? "" : fmt::format(" and {} more", m.same.size())) + ": " +
         html_text(f, "title") + (m.doubt > 0 ? fmt::format(" (to within {:.3g} s)", m.doubt) : "");
}

// Lines of how well times are known lie below all marks.
struct Layers {
  std::string doubts, spells, marks;
};

// One mark: a bar, at least a disc, with its number in the chain.
void draw_mark(const Mark& m, const Axis& axis, double y, Layers& layers) {
  const double r = m.number != 0 ? 9 : m.ground ? 7 : 5;
  const double a = axis(m.begin), b = std::max(a, axis(m.end));
  const double low = axis(m.begin - m.doubt), high = axis(m.end + m.doubt);
  if (m.doubt >= 1 && high - low > 2 * r)
    layers.doubts += fmt::format("M{:.1f} {:.1f}H{:.1f}", low, y, high);
  for (const Spell& s : m.spells) {
    const double from = axis(s.begin), to = s.cleared ? axis(s.end) : kLaneRight + 25.0;
    layers.spells +=
        fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}H{:.1f}{}\"/>",
                    s.cleared ? "cleared" : "open", from, y, to, s.cleared ? "m0 -6v12" : "");
  }
  std::string& out = layers.marks;
  out += "<g><title>" + tooltip(m) + "</title>";
  out += fmt::format(
      "<rect class=\"f-{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.0f}\" "
      "rx=\"{:.0f}\"/>",
      mark_colour(text(*m.finding, "role"), m.too_late), a - r, y - r, b - a + 2 * r, 2 * r, r);
  if (m.number != 0)
    out +=
        fmt::format("<text class=\"on\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", a, y + 4, m.number);
  out += "</g>\n";
}

// Of the mark and its alerts; one that is open leaves room to the right edge.
double end_of(const Mark& m) {
  double out = m.end;
  for (const Spell& s : m.spells) out = s.cleared ? std::max(out, s.end) : HUGE_VAL;
  return out;
}

// What the GPUs of a machine report alike is one mark: the kind of thing and when it was, not one
// row a GPU.
std::vector<Mark> joined(const std::vector<const Mark*>& marks) {
  std::vector<Mark> out;
  std::map<std::tuple<std::string, std::string, bool>, std::size_t> last;  // index in out
  for (const Mark* m : marks) {
    const auto key = std::tuple(text(*m->finding, "class"), text(*m->finding, "role"), m->too_late);
    const auto at = last.find(key);
    if (at != last.end() && m->spells.empty() && out[at->second].spells.empty() && !m->ground &&
        !out[at->second].ground && m->begin <= out[at->second].end + kMinute) {
      Mark& one = out[at->second];
      one.end = std::max(one.end, m->end);
      one.doubt = std::max(one.doubt, m->doubt);
      if (one.number == 0 || (m->number != 0 && m->number < one.number)) one.number = m->number;
      one.same.push_back(m);
      continue;
    }
    last[key] = out.size();
    out.push_back(*m);
  }
  return out;
}

// Marks at the same time stand below each other. Returns the lane's rows.
std::size_t draw_lane(const Lane& lane, const Axis& axis, double top, Layers& out) {
  std::vector<double> taken;
  const std::vector<Mark> marks = joined(lane.marks);
  for (const Mark& mark : marks) {
    const Mark* m = &mark;
    const double a = axis(m->begin) - 10, b = std::max(a, axis(end_of(*m))) + 11;
    auto row = std::ranges::find_if(taken, [&](double end) { return end <= a; });
    if (row == taken.end()) {
      if (taken.size() >= kMostRows) continue;
      row = taken.insert(taken.end(), 0);
    }
    *row = b;
    draw_mark(*m, axis, top + kRow * (static_cast<double>(row - taken.begin()) + 0.5), out);
  }
  return std::max<std::size_t>(1, taken.size());
}

std::string ticks(const Axis& axis, double bottom) {
  std::string out;
  double last = -1e9;
  const double apart = axis.days() ? 104 : 66;
  for (const double t : axis.moments()) {
    const double x = axis(t);
    if (x - last < apart) continue;
    last = x;
    const auto day = static_cast<Nanoseconds>(std::floor(t)) * kSecond;
    const std::string iso = iso_utc(day);
    out += fmt::format(
        "<path class=\"rule\" d=\"M{0:.1f} {1}V{2:.1f}\"/><text class=\"dim mid\" x=\"{0:.1f}\" "
        "y=\"{3:.1f}\">{4}</text>\n",
        x, kLaneTop, bottom, bottom + 15,
        axis.days() ? iso.substr(5, 5) + " " + iso.substr(11, 8) : iso.substr(11, 8));
  }
  return out;
}

std::string picture(const json& d, const std::vector<Mark>& marks, const std::vector<Lane>& all) {
  if (marks.empty()) return "";
  std::set<double> moments;
  for (const Mark& m : marks) {
    moments.insert(m.begin);
    moments.insert(m.end);
    for (const Spell& s : m.spells) {
      moments.insert(s.begin);
      if (s.cleared) moments.insert(s.end);
    }
  }
  const auto failure = seconds(exact_time(member(d, "incident"), "start"));
  if (failure) moments.insert(*failure);
  // One moment on one machine: the table says all of it.
  if (moments.size() < 2 && all.size() < 2) return "";
  const Axis axis(std::move(moments));
  Layers body;
  std::string labels;
  double y = kLaneTop;
  for (std::size_t i = 0; i < all.size() && i < kMostLanes; ++i) {
    const std::size_t rows = draw_lane(all[i], axis, y, body);
    const double height = static_cast<double>(rows) * kRow;
    labels += fmt::format("<text x=\"0\" y=\"{:.1f}\"{}>{}<title>{}</title></text>\n",
                          y + kRow / 2.0 + 4, all[i].target ? " font-weight=\"700\"" : "",
                          html_label(all[i].name, 26), escaped(all[i].name));
    y += height + 4;
    labels += fmt::format("<path class=\"rule\" d=\"M0 {0:.1f}H{1}\"/>\n", y - 2, kLaneWidth);
  }
  std::string first;
  if (failure) {
    const double x = axis(*failure);
    const std::string action = text(member(d, "verdict"), "action");
    first = fmt::format(
        "<path class=\"first\" d=\"M{0:.1f} 20V{1:.1f}\"/><text class=\"{2}\" x=\"{0:.1f}\" "
        "y=\"14\">{3}</text>\n",
        x, y, x > kLaneRight - 40 ? "end" : "mid",
        action == "mitigate" ? "slow from here"
        : action == "none"   ? "the job ends"
                             : "first sign of failure");
  }
  const std::string doubts =
      body.doubts.empty() ? "" : "<path class=\"doubt\" d=\"" + body.doubts + "\"/>\n";
  const std::size_t lanes = all.size();
  return html_picture("timeline-picture", kLaneWidth, static_cast<int>(y) + 24,
                      "Timeline of the incident",
                      fmt::format("{} in {} from {}. The events are listed below.",
                                  counted(marks.size(), "mark"), counted(lanes, "lane"),
                                  text(member(*marks.front().finding, "interval"), "start")),
                      ticks(axis, y) + labels + first + doubts + body.spells + body.marks);
}

std::string legend() {
  std::string out;
  for (const char* role : {"root", "cascade", "confirmation", "teardown", "advice"}) {
    const std::string word = role == std::string("root")           ? "possible cause"
                             : role == std::string("cascade")      ? "consequence"
                             : role == std::string("confirmation") ? "confirmation"
                             : role == std::string("teardown")     ? "shutdown"
                                                                   : "other";
    out += fmt::format("<span class=\"key\"><span class=\"swatch f-{}\"></span>{}</span> ",
                       mark_colour(role), word);
  }
  return "<p class=\"soft\">" + out + "</p>\n";
}

std::string chain_table(const json& d) {
  std::string rows;
  std::size_t n = 0;
  const auto anchors = html_anchors(d);
  for (const json& c : list(member(d, "verdict"), "chain"))
    rows += fmt::format(
        "<tr><td class=\"n\">{}</td><td class=\"keep\">{}</td><th "
        "scope=\"row\">{}</th><td>{}</td></tr>\n",
        ++n, text(c, "time").empty() ? "not known" : html_clock(exact_time(c, "time")),
        escaped(chain_who(d, c)), html_link(anchors, text(c, "finding"), html_text(c, "what")));
  if (rows.empty()) return "";
  return "<table class=\"stack\">\n<caption>From cause to consequence</caption>\n<thead><tr><th "
         "scope=\"col\" class=\"n\">No.</th>"
         "<th scope=\"col\">Time (UTC)</th><th scope=\"col\">Who</th><th "
         "scope=\"col\">What</th></tr></thead>\n<tbody>\n" +
         rows + "</tbody></table>\n";
}

std::string lane_lists(const std::vector<Lane>& all) {
  std::string out;
  for (std::size_t i = 0; i < all.size() && i < kMostLists; ++i) {
    out += fmt::format("<details><summary>{}: {}</summary>\n<ul class=\"next\">\n",
                       escaped(all[i].name), counted(all[i].marks.size(), "event"));
    for (std::size_t k = 0; k < all[i].marks.size() && k < kMostLines; ++k)
      out += "<li>" + tooltip(*all[i].marks[k]) + "</li>\n";
    if (all[i].marks.size() > kMostLines)
      out += fmt::format("<li>and {} more</li>\n", all[i].marks.size() - kMostLines);
    out += "</ul></details>\n";
  }
  if (all.size() > kMostLists)
    out += fmt::format("<p class=\"soft\">and {} more hosts</p>\n", all.size() - kMostLists);
  return out;
}

}  // namespace

std::string html_timeline(const json& d) {
  const std::vector<Mark> marks = marks_of(d);
  const std::vector<Lane> all = lanes(d, marks);
  const std::string drawn_marks = picture(d, marks, all);
  const std::string chain = chain_table(d);
  const std::string rest =
      all.size() > kMostLanes
          ? fmt::format(" {} more lanes are only in the lists.", all.size() - kMostLanes)
          : "";
  const bool numbered = std::ranges::any_of(marks, [](const Mark& m) { return m.number != 0; });
  const bool alerts = std::ranges::any_of(marks, [](const Mark& m) { return !m.spells.empty(); });
  const std::string lead =
      drawn_marks.empty()
          ? ""
          : (numbered ? std::string("Numbers are those of the chain below. ") : "") +
                "Stretches without events are drawn short; thin lines: how well a time is known." +
                (alerts ? " Green: an alert until it was taken back; red, dashed: one that stayed "
                          "open."
                        : "") +
                rest;
  return html_section("timeline", "What happened", lead,
                      drawn_marks.empty() ? chain + lane_lists(all)
                                          : drawn_marks + legend() + chain + lane_lists(all));
}

}  // namespace culprit::report
