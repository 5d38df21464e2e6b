#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <unordered_map>

#include <fmt/format.h>

#include "changepoints.hpp"
#include "model/json.hpp"
#include "model/sort.hpp"
#include "pack.hpp"
#include "terminal.hpp"
#include "report/terminal.hpp"
#include "report/phrases.hpp"

namespace culprit::cli {

namespace {

using Json = nlohmann::ordered_json;
using analyze::FailSlow;
using analyze::SlowInterval;

constexpr std::size_t kPictures = 6;  // more series than these: a line each
constexpr std::size_t kLines = 40;

struct Answer {
  std::vector<std::size_t> changes;
  FailSlow slow;
  std::vector<std::string> notes;
};

std::vector<std::string> notes_of(const NamedSeries& series, const FailSlow& slow) {
  std::vector<std::string> out = series.notes;
  if (!series.as_time) return out;
  if (slow.dropped > 0)
    out.push_back(fmt::format("{} values of 0 or less are not iteration times and were dropped",
                              slow.dropped));
  if (slow.missing > 0)
    out.push_back(fmt::format("{} of {} values are missing", slow.missing, series.values.size()));
  if (!slow.enough)
    out.push_back("not enough evidence: " +
                  report::words(slow.reason));  // text has it in its first line
  if (slow.attempts.size() > 1)
    out.push_back(
        fmt::format("{} attempts (the iteration number goes back, or the clock leaps), each judged "
                    "by itself and beside the others",
                    slow.attempts.size()));
  if (std::ranges::any_of(slow.attempts, [](const analyze::AttemptPace& a) { return a.job != 0; }))
    out.push_back(
        "attempts with another number of GPUs or another global batch size are not held against "
        "each other: their pace differs by right");
  for (std::size_t a = 0; a < slow.attempts.size(); ++a)
    if (!slow.attempts[a].judged && slow.attempts.size() > 1)
      out.push_back(fmt::format("attempt {} is too short to be judged", a + 1));
  for (const analyze::AttemptPace& a : slow.attempts)
    if (a.judged && a.required > 0.15)
      out.push_back(
          fmt::format("the machine's speed wanders by {:.0f} %: a difference under {:.0f} % is no "
                      "evidence here",
                      100 * a.wander, 100 * a.required));
  for (const SlowInterval& s : slow.unconfirmed)
    out.push_back(fmt::format("unconfirmed: the last {} iterations are {:.2f} times the baseline",
                              s.end - s.start, s.factor));
  for (const SlowInterval& s : slow.intervals)
    if (s.against_other) {
      out.push_back(
          "an attempt is slow only beside another one: was it the same job on as many machines?");
      break;
    }
  return out;
}

Answer answer_for(const NamedSeries& series, const ChangepointParams& params, bool kernel) {
  Answer out;
  if (kernel) {
    const auto scaled = analyze::standardised(series.values);
    const std::span<const double> one(scaled);
    out.changes = analyze::online_change_points({&one, 1}, params.kernel);
  }
  if (series.as_time)
    out.slow = analyze::find_fail_slow({series.values, series.number, series.clock, series.job},
                                       params.fail_slow);
  out.notes = notes_of(series, out.slow);
  return out;
}

std::uint64_t digest(const NamedSeries& series) {
  std::uint64_t h = 0xcbf29ce484222325ULL + series.as_time;
  for (const auto* values : {&series.values, &series.number, &series.clock}) {
    for (const double x : *values)
      h = (h ^ std::bit_cast<std::uint64_t>(x)) * 0x9E3779B97F4A7C15ULL, h ^= h >> 29;
    h = (h ^ values->size()) * 0x9E3779B97F4A7C15ULL;
  }
  return h;
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  });
}

std::vector<Answer> answers_for(const std::vector<NamedSeries>& series,
                                const ChangepointParams& params, bool kernel) {
  std::vector<Answer> out;
  std::unordered_multimap<std::uint64_t, std::size_t> seen;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const std::uint64_t key = digest(series[i]);
    const auto [from, to] = seen.equal_range(key);
    const auto twin = std::find_if(from, to, [&](const auto& entry) {
      const NamedSeries& other = series[entry.second];
      return other.as_time == series[i].as_time && other.notes == series[i].notes &&
             same_bits(other.values, series[i].values) &&
             same_bits(other.number, series[i].number) && same_bits(other.clock, series[i].clock);
    });
    out.push_back(twin != to ? out[twin->second] : answer_for(series[i], params, kernel));
    if (twin == to) seen.emplace(key, i);
  }
  return out;
}

double rounded(double x, double unit) { return std::isfinite(x) ? std::round(x / unit) * unit : 0; }
Json number(double x) { return parse_json<Json>(fmt::format("{:.6g}", std::isfinite(x) ? x : 0)); }

Json to_json(const analyze::Regime& r) {
  return {{"start", r.start},
          {"end", r.end},
          {"level", number(r.level)},
          {"factor", number(rounded(r.factor, 1e-4))}};
}

Json to_json(const SlowInterval& s) {
  Json out{{"start", s.start},
           {"end", s.end},
           {"factor", number(rounded(s.factor, 1e-4))},
           {"worst", number(rounded(s.worst, 1e-4))},
           {"level", number(s.level)},
           {"baseline", number(s.baseline)},
           {"cost", number(s.cost)},
           {"relieved", s.relieved},
           {"from_start", s.from_start},
           {"against_other_attempt", s.against_other},
           {"shape", analyze::name(s.shape)}};
  out["parts"] = Json::array();
  for (const auto& part : s.parts) out["parts"].push_back(to_json(part));
  return out;
}

Json to_json(const std::string& name, std::size_t n, const Answer& a, bool as_time,
             const std::optional<CallReading>& calls = {}) {
  Json out;
  out["series"] = name;
  out["n"] = n;
  if (calls)
    out["calls"] = {
        {"calls", calls->calls},        {"method", calls->method},
        {"period", calls->period},      {"median_ms", number(calls->median_ms)},
        {"anchor", calls->anchor},      {"confidence", number(rounded(calls->confidence, 1e-4))},
        {"ambiguous", calls->ambiguous}};
  out["changepoints"] = a.changes;
  out["changepoints_verified"] = a.slow.change_points;
  for (const auto& [key, list] :
       {std::pair{"intervals", &a.slow.intervals}, std::pair{"unconfirmed", &a.slow.unconfirmed}}) {
    out[key] = Json::array();
    for (const SlowInterval& s : *list) out[key].push_back(to_json(s));
  }
  for (const auto& [key, list] :
       {std::pair{"regimes", &a.slow.regimes}, std::pair{"warm_up", &a.slow.warm_ups}}) {
    out[key] = Json::array();
    for (const auto& r : *list) out[key].push_back(to_json(r));
  }
  out["pauses"] = Json::array();
  for (const auto& p : a.slow.pauses)
    out["pauses"].push_back({{"period", p.period},
                             {"first", p.first},
                             {"length", p.length},
                             {"count", p.count},
                             {"extra", number(p.extra)}});
  out["attempts"] = Json::array();
  if (as_time)
    for (const auto& t : a.slow.attempts)
      out["attempts"].push_back({{"start", t.start},
                                 {"end", t.end},
                                 {"judged", t.judged},
                                 {"baseline", number(t.baseline)},
                                 {"noise", number(t.noise)},
                                 {"wander", number(t.wander)},
                                 {"required", number(t.required)}});
  out["spikes"] = a.slow.spikes;
  out["stalls"] = a.slow.stalls;
  out["notes"] = a.notes;
  return out;
}

class ChangePointText : report::Ink {
 public:
  explicit ChangePointText(const Arguments& arguments)
      : Ink{use_color(arguments)},
        width_(std::min<std::size_t>(80, std::max<std::size_t>(40, terminal_width()))) {}

  std::string one(const NamedSeries& series, const Answer& a) const {
    std::string out = bold(report::wrapped(verdict(series, a), width_, 2)) + "\n";
    if (!a.slow.intervals.empty()) {
      out += fmt::format("\n  {:>9} {:>9} {:>8} {:>8} {:>8}  {:<9} {}\n",
                         series.number.empty() ? "row" : "iteration", "to", "times", "worst",
                         "lost", "shape", "relief");
      for (const SlowInterval& s : a.slow.intervals) {
        out +=
            fmt::format("  {:>9} {:>9} {:>8.2f} {:>8.2f} {:>8}  {:<9} {}\n", place(series, s.start),
                        place(series, s.end - 1), s.factor, s.worst, amount(series, s.cost),
                        analyze::name(s.shape), s.relieved ? "yes" : "none seen");
        if (s.parts.size() > 1)
          for (const auto& part : s.parts)
            out += dim(fmt::format("  {:>9} {:>9} {:>8.2f}\n", place(series, part.start),
                                   place(series, part.end - 1), part.factor));
      }
    }
    out += "\n" + picture(series, a);
    for (const auto& w : a.slow.warm_ups)
      out += dim(fmt::format("warm-up: the first {} iterations ({:.2f} times the baseline)\n",
                             w.end - w.start, w.factor));
    for (const auto& p : a.slow.pauses)
      out += dim(fmt::format("pause: every {} iterations, {} {}, {} times, {} each\n", p.period,
                             p.length, p.length == 1 ? "iteration" : "iterations", p.count,
                             amount(series, p.extra)));
    if (a.slow.spikes + a.slow.stalls > 0)
      out += dim(fmt::format("single spikes: {}; stalls of 3 and more iterations: {}\n",
                             a.slow.spikes, a.slow.stalls));
    if (!a.changes.empty())
      out += dim(report::paragraph(
          "", fmt::format("statistical changes at {}", listed(series, a.changes)), width_, 2));
    for (const std::string& note : a.notes)
      if (!note.starts_with("not enough evidence"))
        out += dim(report::paragraph("", "note: " + report::visible(note), width_, 2));
    return out;
  }

  std::string many(const std::vector<NamedSeries>& series,
                   const std::vector<Answer>& answers) const {
    std::size_t slow = 0;
    std::size_t judged = 0;
    for (const Answer& a : answers) slow += !a.slow.intervals.empty(), judged += a.slow.enough;
    std::string out =
        bold(fmt::format("{} of {} series slow{}", slow, series.size(),
                         judged < series.size() ? fmt::format(" ({} judged)", judged) : "")) +
        "\n";
    if (series.size() <= kPictures) {
      for (std::size_t i = 0; i < series.size(); ++i) out += "\n" + one(series[i], answers[i]);
      return out;
    }
    std::size_t shown = 0;
    for (std::size_t i = 0; i < series.size(); ++i) {
      if (answers[i].slow.intervals.empty()) continue;
      if (shown++ == kLines) {
        out += fmt::format("  {} more; --format json has all, --column NAME shows one\n",
                           slow - kLines);
        break;
      }
      out += report::paragraph("  ", verdict(series[i], answers[i]), width_ - 2, 4);
    }
    return out;
  }

  std::string dimensions(const std::string& name, const std::vector<NamedSeries>& series,
                         const std::vector<std::size_t>& changes) const {
    std::string out =
        bold(fmt::format("{}: {}", report::visible(name),
                         changes.empty()
                             ? "no change"
                             : fmt::format("{} {}", changes.size(),
                                           changes.size() == 1 ? "change" : "changes"))) +
        "\n";
    if (!changes.empty())
      out +=
          report::paragraph("", fmt::format("at {}", listed(series.front(), changes)), width_, 2);
    Answer bare;
    bare.changes = changes;
    for (const NamedSeries& s : series)
      out += "\n" + report::visible(s.name) + "\n" + picture(s, bare);
    return out;
  }

 private:
  static std::string place(const NamedSeries& series, std::size_t at) {
    if (at < series.number.size() && std::isfinite(series.number[at]))
      return fmt::format("{:.0f}", series.number[at]);
    return std::to_string(at);
  }
  static std::string amount(const NamedSeries& series, double x) {
    return (std::abs(x) < 100 ? fmt::format("{:.3g}", x) : fmt::format("{:.0f}", x)) +
           (series.unit.empty() ? "" : " " + series.unit);
  }

  std::string listed(const NamedSeries& series, const std::vector<std::size_t>& at) const {
    std::string out;
    for (std::size_t i = 0; i < at.size() && i < 30; ++i)
      out += (i ? ", " : "") + place(series, at[i]);
    return at.size() > 30 ? out + fmt::format(" and {} more", at.size() - 30) : out;
  }

  std::string verdict(const NamedSeries& series, const Answer& a) const {
    const std::string name = report::visible(series.name);
    if (!series.as_time)
      return fmt::format("{}: {} statistical {}", name, a.changes.size(),
                         a.changes.size() == 1 ? "change" : "changes");
    if (!a.slow.enough)
      return fmt::format("{}: not enough evidence: {}", name, report::words(a.slow.reason));
    if (a.slow.intervals.empty())
      return fmt::format(
          "{}: nothing slow in {} iterations (baseline {})", name,
          series.values.size() - a.slow.missing - a.slow.dropped,
          amount(series, a.slow.regimes.front().level / a.slow.regimes.front().factor));
    const auto worst = std::ranges::max_element(a.slow.intervals, {}, &SlowInterval::cost);
    return fmt::format("{}: slow from {} {} {}: {:.2f} times {}{}", name,
                       series.number.empty() ? "row" : "iteration", place(series, worst->start),
                       worst->relieved ? "to " + place(series, worst->end - 1) : "to the end",
                       worst->factor, amount(series, worst->baseline),
                       a.slow.intervals.size() > 1
                           ? fmt::format("; {} slow intervals", a.slow.intervals.size())
                           : "");
  }

  // Medians of equal stretches as bars; under them '=' where it is slow, '^' where a change is.
  std::string picture(const NamedSeries& series, const Answer& a) const {
    const std::size_t n = series.values.size();
    const std::size_t columns = std::min(n, width_ - 2);
    if (columns == 0) return {};
    const auto first = [&](std::size_t c) { return c * n / columns; };
    std::vector<double> bars(columns, std::numeric_limits<double>::quiet_NaN());
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (std::size_t c = 0; c < columns; ++c) {
      std::vector<double> in;
      for (std::size_t i = first(c); i < first(c + 1); ++i)
        if (std::isfinite(series.values[i])) in.push_back(series.values[i]);
      if (in.empty()) continue;
      std::nth_element(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(in.size() / 2),
                       in.end());
      bars[c] = in[in.size() / 2];
      low = std::min(low, bars[c]);
      high = std::max(high, bars[c]);
    }
    if (!(low <= high)) return {};
    // A few high stretches must not flatten the rest.
    std::vector<double> sorted;
    for (const double b : bars)
      if (std::isfinite(b)) sorted.push_back(b);
    sort_rows(sorted);
    const double middle = sorted[sorted.size() / 2];
    double top = std::min(high, std::max(sorted[sorted.size() - 1 - sorted.size() / 50],
                                         middle + 3 * (middle - low)));
    double bottom = low;
    if (a.slow.enough && a.slow.intervals.empty()) {  // noise must not look like something
      top = std::max(top, 1.2 * middle);
      bottom = std::min(low, 0.9 * middle);
    }
    static constexpr const char* kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    std::string out = "  ";
    std::string marks(columns, ' ');
    for (std::size_t c = 0; c < columns; ++c) {
      if (!std::isfinite(bars[c])) {
        out += " ";
        continue;
      }
      const double share =
          top > bottom ? std::clamp((bars[c] - bottom) / (top - bottom), 0.0, 1.0) : 0;
      out += kBars[static_cast<std::size_t>(share * 7.0 + 0.5)];
    }
    const auto at = [&](std::size_t i) {
      return std::min(columns - 1, (i * columns + columns - 1) / n);
    };
    for (const SlowInterval& s : a.slow.intervals)
      for (std::size_t c = at(s.start); c <= at(s.end - 1); ++c) marks[c] = '=';
    const auto& changes = series.as_time && a.slow.enough ? a.slow.change_points : a.changes;
    for (const std::size_t i : changes)
      if (i < n) marks[at(i)] = '^';
    out += "\n";
    if (marks.find_first_not_of(' ') != std::string::npos)
      out += "  " + paint("31", marks.substr(0, marks.find_last_not_of(' ') + 1)) + "\n";
    out += dim(fmt::format("  {} to {}{}\n", amount(series, low), amount(series, high),
                           high > top ? " (higher bars are cut)" : ""));
    return out;
  }

  std::size_t width_;
};

Result<double> real_option(const Arguments& arguments, const std::string& name, double otherwise,
                           double least, double most, bool percent) {
  if (!arguments.has(name)) return otherwise;
  std::string text = arguments.get(name);
  bool has_sign = false;
  if (percent && !text.empty() && text.back() == '%') {
    text.pop_back();
    has_sign = true;
  }
  char* end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  if (has_sign) value /= 100;
  if (text.empty() || *end != '\0' || !(value >= least && value <= most))
    return usage_error(fmt::format("--{} takes a number from {} to {}{}, not '{}'", name, least,
                                   most, percent ? ", or a percentage such as 10%" : "",
                                   arguments.get(name)));
  return value;
}

}  // namespace

Result<ChangepointParams> changepoint_params(const Arguments& arguments) {
  ChangepointParams out;
  CULPRIT_TRY(change,
              real_option(arguments, "min-change", out.fail_slow.min_change, 0.001, 10, true));
  CULPRIT_TRY(lambda, real_option(arguments, "lambda", out.kernel.lambda, 2, 1e9, false));
  CULPRIT_TRY(threshold, real_option(arguments, "threshold", out.kernel.threshold, 0.01, 1, true));
  CULPRIT_TRY(regime, arguments.number("min-regime", out.fail_slow.min_regime));
  if (regime < 3 || regime > 100'000)
    return usage_error(fmt::format("--min-regime takes 3 to 100000 iterations, not '{}'",
                                   arguments.get("min-regime")));
  out.fail_slow.min_change = change;
  out.fail_slow.min_regime = regime;
  out.kernel.lambda = lambda;
  out.kernel.threshold = threshold;
  return out;
}

void print_changepoints(const Arguments& arguments, const std::vector<NamedSeries>& series,
                        bool multivariate, const std::string& name, const ChangepointParams& params,
                        const Incident* incident) {
  const bool json = wants_json(arguments);
  const auto dump = [&](const Json& out) {
    std::string text = json_text(out) + "\n";
    print(incident == nullptr ? identified(std::move(text))
                              : identified(std::move(text), *incident));
  };
  if (multivariate) {
    std::vector<std::vector<double>> scaled;
    for (const NamedSeries& s : series) scaled.push_back(analyze::standardised(s.values));
    const std::vector<std::span<const double>> dimensions(scaled.begin(), scaled.end());
    Answer answer;
    answer.changes = analyze::online_change_points(dimensions, params.kernel);
    answer.notes.push_back(fmt::format(
        "{} dimensions looked at together; none is read as iteration times", series.size()));
    if (!json) return print(ChangePointText(arguments).dimensions(name, series, answer.changes));
    Json out{{"schema", "culprit.changepoints/1"}};
    out.update(to_json(name, series.front().values.size(), answer, false));
    out["dimensions"] = Json::array();
    for (const NamedSeries& s : series) out["dimensions"].push_back(s.name);
    return dump(out);
  }
  const auto answers = answers_for(series, params, json || series.size() <= kPictures);
  if (!json)
    return print(series.size() == 1 ? ChangePointText(arguments).one(series[0], answers[0])
                                    : ChangePointText(arguments).many(series, answers));
  Json all = Json::array();
  for (std::size_t i = 0; i < series.size(); ++i) {
    all.push_back(to_json(series[i].name, series[i].values.size(), answers[i], series[i].as_time,
                          series[i].from_calls));
    if (!series[i].unit.empty()) all.back()["unit"] = series[i].unit;
  }
  Json out{{"schema", "culprit.changepoints/1"}};
  if (series.size() == 1) {
    out.update(all[0]);
    return dump(out);
  }
  out["series"] = std::move(all);
  dump(out);
}

}  // namespace culprit::cli
