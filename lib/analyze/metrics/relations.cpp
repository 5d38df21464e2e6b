#include "analyze/metrics/relations.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "analyze/metrics/crowd.hpp"
#include "analyze/metrics/outlier_bins.hpp"
#include "analyze/metrics/outlier_scan.hpp"
#include "analyze/metrics/robust_covariance.hpp"
#include "model/contains.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

using rules::MetricSide;

constexpr std::int64_t kQuarters = 4;  // of T
constexpr int kQuartersPresent = 3;
constexpr double kPresentShare = 0.8;  // of a crowd must have a metric for it to take part
constexpr double kHoldsThrough = 0.5;  // of the threshold, in each quarter, on the same side
constexpr std::size_t kWindowsBefore =
    2;  // that share no quarter with a stretch, to tell that it came
constexpr std::size_t kSelectEvery = 8, kSelectAgain = 2;  // windows
constexpr std::size_t kMostTold = 3;                       // metrics that one does not fit

// Mean of the middle half: as steady as a mean, and a wild sample does not move it.
double middle_mean(std::vector<double>& values) {
  sort_rows(values);
  const std::size_t cut = values.size() / 4;
  double sum = 0;
  for (std::size_t i = cut; i < values.size() - cut; ++i) sum += values[i];
  return sum / static_cast<double>(values.size() - 2 * cut);
}

Nanoseconds quarter_of(const OutlierParams& params) {
  return std::clamp<Nanoseconds>(params.window, 1000, Nanoseconds{1} << 55) / kQuarters;
}

// Student's t with the same tail as a normal deviate z (Gaver & Kafadar 1984).
double student(double z, double degrees) {
  const double v = std::max(2.0, degrees), g = (v - 1.5) / ((v - 1) * (v - 1));
  return std::sqrt(v * std::expm1(z * z * g));
}

using Line = RelationSearch::Line;
using CrowdName = std::pair<std::string, std::string>;  // group, kind

std::string_view kind_of(std::string_view entity) {
  if (entity.starts_with("rank ")) return "rank";
  if (contains(entity, "/gpu")) return "gpu";
  return contains(entity, '/') ? "nic" : "host";
}

std::span<const Line> lines_of(const RelationSearch::Column& column, const CrowdName& name) {
  const auto [first, last] = std::equal_range(
      column.lines.begin(), column.lines.end(), name, [](const auto& a, const auto& b) {
        const auto key = [](const auto& x) {
          if constexpr (requires { x.kind; })
            return std::pair<const std::string&, const std::string&>(x.group, x.kind);
          else
            return std::pair<const std::string&, const std::string&>(x.first, x.second);
        };
        return key(a) < key(b);
      });
  return {first, last};
}

struct Hit {
  std::size_t row = 0, metric = 0;  // row of the crowd
  bool high = false;
  double value = 0, expected = 0, score = 0, threshold = 0;
  std::vector<std::size_t> others;
};

// The entities of one role, and what they show in the four quarters that make T.
class Crowds {
 public:
  Crowds(const std::vector<RelationSearch::Column>& columns, const CrowdName& name,
         const RelationParams& relation, double false_alarm)
      : columns_(columns), group_(name.first), relation_(relation), alarm_(false_alarm) {
    std::map<std::string, std::size_t> at;
    for (const auto& column : columns_)
      for (const Line& line : lines_of(column, name)) at.emplace(line.entity, 0);
    for (auto& [entity, index] : at) {
      index = names_.size();
      names_.push_back(entity);
    }
    if (names_.size() < relation_.least) return;
    lines_.resize(columns_.size());
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      lines_[c].assign(names_.size(), nullptr);
      for (const Line& line : lines_of(columns_[c], name))
        if (auto& slot = lines_[c][at.at(line.entity)]; slot == nullptr) slot = &line;
    }
    cursor_.assign(columns_.size(), std::vector<std::size_t>(names_.size(), 0));
    judged_.assign(names_.size(), false);
    open_.assign(names_.size(), {});
    tracks_.resize(names_.size() * columns_.size());
    for (auto& quarter : quarters_) quarter.assign(names_.size() * columns_.size(), kNoFigure);
  }

  std::vector<RelationOutlier> run(Nanoseconds quarter) {
    if (names_.size() < relation_.least) return {};
    std::vector<std::int64_t> instants;
    for (const auto& column : lines_)
      for (const auto* line : column)
        if (line != nullptr)
          for (const auto& cell : line->cells) instants.push_back(cell.at);
    sort_unique(instants);
    for (const std::int64_t last : instants) {
      load(last);
      judge(last, quarter);
    }
    for (std::size_t e = 0; e < names_.size(); ++e)
      for (auto& stretch : open_[e]) close(stretch, e, quarter);
    return std::move(out_);
  }

  std::size_t judged() const { return static_cast<std::size_t>(std::ranges::count(judged_, true)); }

 private:
  struct Stretch {
    RelationOutlier told;
    std::vector<double> values, expected, scores, thresholds;
  };

  std::vector<double>& quarter(std::int64_t at) {
    return quarters_[static_cast<std::size_t>(((at % kQuarters) + kQuarters) % kQuarters)];
  }

  // The quarter `at` takes the place of the oldest; those in between that nobody has are empty.
  void load(std::int64_t at) {
    const std::int64_t from = loaded_ ? std::max(last_ + 1, at - kQuarters + 1) : at;
    for (std::int64_t q = from; q <= at; ++q) {
      std::vector<double>& now = quarter(q);
      std::ranges::fill(now, kNoFigure);
    }
    std::vector<double>& now = quarter(at);
    for (std::size_t c = 0; c < columns_.size(); ++c)
      for (std::size_t e = 0; e < names_.size(); ++e) {
        const auto* line = lines_[c][e];
        if (line == nullptr) continue;
        std::size_t& i = cursor_[c][e];
        while (i < line->cells.size() && line->cells[i].at < at) ++i;
        if (i < line->cells.size() && line->cells[i].at == at)
          now[e * columns_.size() + c] = line->cells[i].mean;
      }
    loaded_ = true;
    last_ = at;
  }

  double over_window(std::size_t row, std::size_t column) const {
    double sum = 0;
    int present = 0;
    for (const auto& q : quarters_)
      if (const double v = q[row * columns_.size() + column]; v == v) sum += v, ++present;
    return present >= kQuartersPresent ? sum / present : kNoFigure;
  }

  // Metrics that most have and of which not most are equal; then those tied to one another.
  bool select() {
    chosen_.clear();
    rows_.clear();
    std::vector<double> values;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      values.clear();
      for (std::size_t e = 0; e < names_.size(); ++e)
        if (const double v = over_window(e, c); v == v) values.push_back(v);
      if (static_cast<double>(values.size()) < kPresentShare * static_cast<double>(names_.size()))
        continue;
      const double middle = median_in_place(values);
      for (double& v : values) v = std::fabs(v - middle);
      if (median_in_place(values) > 1e-9 * std::fabs(middle)) chosen_.push_back(c);
    }
    if (chosen_.size() < 2) return false;
    gather();
    if (rows_.size() < relation_.least) return false;
    const std::vector<double> matrix = rank_correlation(points_, relation_.sample);
    std::vector<std::pair<double, std::size_t>> tied;
    for (std::size_t a = 0; a < chosen_.size(); ++a) {
      double most = 0;
      for (std::size_t b = 0; b < chosen_.size(); ++b)
        if (a != b) most = std::max(most, std::fabs(matrix[a * chosen_.size() + b]));
      if (most >= relation_.tied) tied.emplace_back(-most, chosen_[a]);
    }
    sort_rows(tied);
    const std::size_t room =
        std::min(relation_.most_metrics, rows_.size() / relation_.rows_a_metric);
    if (tied.size() > room) tied.resize(room);
    if (tied.size() < 2) return false;
    chosen_.clear();
    for (const auto& [strength, column] : tied) chosen_.push_back(column);
    sort_rows(chosen_);
    gather();
    return rows_.size() >= relation_.least;
  }

  bool again() {
    gather();
    return rows_.size() >= relation_.least &&
           static_cast<double>(rows_.size()) >= kPresentShare * static_cast<double>(names_.size());
  }

  // Rows that have all that was chosen.
  void gather() {
    rows_.clear();
    points_ = {};
    points_.columns = chosen_.size();
    for (std::size_t e = 0; e < names_.size(); ++e) {
      const std::size_t begin = points_.values.size();
      for (const std::size_t c : chosen_) points_.values.push_back(over_window(e, c));
      if (std::all_of(points_.values.begin() + static_cast<std::ptrdiff_t>(begin),
                      points_.values.end(), [](double v) { return std::isfinite(v); }))
        rows_.push_back(e);
      else
        points_.values.resize(begin);
    }
    points_.rows = rows_.size();
  }

  void judge(std::int64_t last, Nanoseconds length) {
    // What metrics are tied to one another does not change from one T to the next.
    const bool due = windows_ >= next_select_;
    ++windows_;
    if (due || (tied_ && !again())) {
      tied_ = select();
      next_select_ = windows_ + (tied_ ? kSelectEvery : kSelectAgain);
    }
    if (!tied_) return;
    const RobustFit fit = robust_fit(points_, relation_.sample);
    if (!fit.valid) return;
    for (const std::size_t e : rows_) judged_[e] = true;
    const std::size_t d = chosen_.size();
    const double threshold =
        student(outlier_threshold(rows_.size(), d, relation_.threshold, alarm_),
                static_cast<double>(fit.core) - static_cast<double>(d));
    std::vector<RobustFit::Residual> residuals(d);
    std::vector<Hit> hits;
    std::size_t away = 0;  // on whichever side
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      const std::span<const double> point(points_.values.data() + r * d, d);
      fit.residuals(point, residuals);
      for (std::size_t c = 0; c < d; ++c)
        tracks_[rows_[r] * columns_.size() + chosen_[c]].push_back(
            {last, static_cast<float>(residuals[c].value)});
      std::size_t worst = d;
      for (std::size_t c = 0; c < d; ++c)
        if (fit.explained[c] >= relation_.explained && residuals[c].score >= threshold &&
            (worst == d || residuals[c].score > residuals[worst].score))
          worst = c;
      if (worst == d) continue;
      ++away;
      const auto& column = columns_[chosen_[worst]];
      const bool high = residuals[worst].value > 0;
      const double expected = point[worst] - residuals[worst].value;
      if (!column.accuses || column.metric.bad == MetricSide::none ||
          column.metric.bad == (high ? MetricSide::low : MetricSide::high) ||
          std::fabs(residuals[worst].value) < least_effect(column.metric, expected))
        continue;
      hits.push_back(
          {r, worst, high, point[worst], expected, residuals[worst].score, threshold, {}});
    }
    if (hits.empty() || static_cast<double>(away) >
                            std::max(1.0, relation_.most * static_cast<double>(rows_.size())))
      return;
    lasting(fit, hits);
    for (Hit& hit : hits) {
      const std::vector<double> weight = fit.weights(hit.metric);
      std::vector<std::pair<double, std::size_t>> by;
      for (std::size_t c = 0; c < d; ++c)
        if (c != hit.metric) by.emplace_back(-weight[c], chosen_[c]);
      sort_rows(by);
      for (std::size_t i = 0; i < std::min(kMostTold, by.size()); ++i)
        hit.others.push_back(by[i].second);
      note(hit, last, length);
    }
  }

  // In every quarter of T, against what all others show in it, on the same side.
  void lasting(const RobustFit& fit, std::vector<Hit>& hits) {
    const std::size_t d = chosen_.size();
    std::vector<RobustFit::Residual> residuals(d);
    std::vector<double> point(d);
    for (const auto& q : quarters_) {
      std::vector<std::vector<double>> all(d);
      std::vector<std::vector<double>> own(hits.size());
      std::size_t next = 0;
      for (std::size_t r = 0; r < rows_.size(); ++r) {
        bool whole = true;
        for (std::size_t c = 0; c < d; ++c) {
          point[c] = q[rows_[r] * columns_.size() + chosen_[c]];
          whole = whole && std::isfinite(point[c]);
        }
        const bool mine = next < hits.size() && hits[next].row == r;
        if (whole) {
          fit.residuals(point, residuals);
          for (std::size_t c = 0; c < d; ++c) all[c].push_back(residuals[c].value);
          if (mine) own[next] = {residuals[hits[next].metric].value};
        }
        if (mine) ++next;
      }
      std::vector<double> middle(d, 0);
      for (std::size_t c = 0; c < d; ++c)
        if (!all[c].empty()) middle[c] = median_in_place(all[c]);
      std::vector<Hit> kept;
      for (std::size_t h = 0; h < hits.size(); ++h) {
        if (!own[h].empty()) {
          const double deviation =
              std::fabs(hits[h].value - hits[h].expected) / std::max(1e-9, hits[h].score);
          const double now = (own[h][0] - middle[hits[h].metric]) * (hits[h].high ? 1 : -1);
          if (now < kHoldsThrough * hits[h].threshold * deviation) continue;
        }
        kept.push_back(std::move(hits[h]));
      }
      hits = std::move(kept);
    }
  }

  void note(const Hit& hit, std::int64_t last, Nanoseconds length) {
    const std::size_t entity = rows_[hit.row], metric = chosen_[hit.metric];
    const Nanoseconds start = (last - kQuarters + 1) * length, end = (last + 1) * length;
    auto& stretches = open_[entity];
    const MetricSide side = hit.high ? MetricSide::high : MetricSide::low;
    auto same = std::ranges::find_if(stretches, [&](const Stretch& s) {
      return s.told.metric == metric && s.told.side == side && s.told.end >= start;
    });
    if (same == stretches.end()) {
      Stretch fresh;
      fresh.told.entity = names_[entity];
      fresh.told.group = group_;
      fresh.told.metric = metric;
      fresh.told.side = side;
      fresh.told.start = start;
      fresh.told.others = hit.others;
      stretches.push_back(std::move(fresh));
      same = stretches.end() - 1;
    }
    same->told.end = end;
    same->told.size = std::max(same->told.size, rows_.size());
    same->values.push_back(hit.value);
    same->expected.push_back(hit.expected);
    same->scores.push_back(hit.score);
    same->thresholds.push_back(hit.threshold);
  }

  void close(Stretch& stretch, std::size_t entity, Nanoseconds length) {
    const std::int64_t first = stretch.told.start / length, end = stretch.told.end / length;
    std::vector<double> outside;
    for (const Residual& r : tracks_[entity * columns_.size() + stretch.told.metric])
      if (r.last < first || r.last - kQuarters + 1 >= end)
        outside.push_back(static_cast<double>(r.value));
    stretch.told.value = median_in_place(stretch.values);
    stretch.told.expected = median_in_place(stretch.expected);
    stretch.told.score = median_in_place(stretch.scores);
    stretch.told.threshold = median_in_place(stretch.thresholds);
    const double off = stretch.told.value - stretch.told.expected;
    const bool came =
        outside.size() >= kWindowsBefore &&
        median_in_place(outside) * (off > 0 ? 1 : -1) <= relation_.before * std::fabs(off);
    if (!came) stretch.told.threshold *= relation_.always;
    if (stretch.told.score < stretch.told.threshold) return;
    out_.push_back(std::move(stretch.told));
  }

  const std::vector<RelationSearch::Column>& columns_;
  std::string group_;
  const RelationParams& relation_;
  double alarm_;
  std::vector<std::string> names_;
  std::vector<std::vector<const Line*>> lines_;
  std::vector<std::vector<std::size_t>> cursor_;
  std::array<std::vector<double>, kQuarters> quarters_;
  bool loaded_ = false;
  std::int64_t last_ = 0;
  std::size_t windows_ = 0, next_select_ = 0;
  bool tied_ = false;
  std::vector<std::size_t> chosen_, rows_;
  PointTable points_;
  std::vector<bool> judged_;
  std::vector<std::vector<Stretch>> open_;
  struct Residual {
    std::int64_t last = 0;
    float value = 0;
  };
  std::vector<std::vector<Residual>> tracks_;  // of each entity and metric, window by window
  std::vector<RelationOutlier> out_;
};

}  // namespace

std::size_t RelationSearch::add(std::span<const OutlierSeries> series, const OutlierMetric& metric,
                                bool accuses) {
  Column column{metric, accuses, {}};
  const Nanoseconds quarter = quarter_of(params_);
  std::vector<std::pair<std::int64_t, double>> samples;
  std::vector<double> values;
  for (const OutlierSeries& s : series) {
    samples.clear();
    for (std::size_t i = 0; i < std::min(s.times.size(), s.values.size()); ++i)
      if (std::isfinite(s.values[i]) && s.times[i] > -kFarthest && s.times[i] < kFarthest)
        samples.emplace_back(bin_of(s.times[i], quarter), s.values[i]);
    if (!std::ranges::is_sorted(samples,
                                [](const auto& a, const auto& b) { return a.first < b.first; }))
      sort_rows(samples);
    Line line{s.entity, s.group, std::string(kind_of(s.entity)), {}};
    for (std::size_t first = 0, last = 0; first < samples.size(); first = last) {
      values.clear();
      for (; last < samples.size() && samples[last].first == samples[first].first; ++last)
        values.push_back(samples[last].second);
      line.cells.push_back({samples[first].first, middle_mean(values)});
    }
    column.lines.push_back(std::move(line));
  }
  sort_by(column.lines, [](const Line& a) { return std::tie(a.group, a.kind, a.entity); });
  columns_.push_back(std::move(column));
  return columns_.size() - 1;
}

std::vector<RelationOutlier> RelationSearch::run(std::size_t* judged) const {
  std::vector<RelationOutlier> out;
  if (judged != nullptr) *judged = 0;
  if (columns_.size() < 2) return out;
  std::set<CrowdName> crowds;
  for (const Column& column : columns_)
    for (const Line& line : column.lines) crowds.emplace(line.group, line.kind);
  for (const CrowdName& name : crowds) {
    Crowds crowd(columns_, name, relation_, params_.false_alarm);
    for (RelationOutlier& one : crowd.run(quarter_of(params_))) out.push_back(std::move(one));
    if (judged != nullptr) *judged += crowd.judged();
  }
  sort_by(out, [](const RelationOutlier& a) { return std::tie(a.entity, a.start); });
  return out;
}

}  // namespace culprit::analyze
