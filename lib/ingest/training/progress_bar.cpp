// Progress bars of tqdm, as the Hugging Face Trainer and Lightning draw them:
//    12%|█▏        | 123/1000 [01:02<07:15,  2.01it/s]
//   Epoch 3:  45%|████▌     | 450/1000 [00:20<00:24, 22.4it/s, v_num=0]
//   Epoch 3: |          | 450/? [00:20<00:00, 22.4it/s, v_num=0]        (data without a length)
// Their rate is smoothed and their redraws are throttled, so they count only where the same log has
// no step lines of its own. A bar that names something else than training (shards loaded, a
// validation) is none, nor one that is smaller than the largest: evaluations have their own.
#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include <re2/re2.h>

#include "ingest/engine/recogniser.hpp"
#include "model/contains.hpp"
#include "model/number.hpp"

namespace culprit::ingest {

namespace {

constexpr std::int64_t kLeastTotal = 20;          // shorter loops are files, shards, epochs
constexpr std::size_t kMostRowsOfBars = 1 << 20;  // rows of a member

constexpr std::size_t kMostBarSeries = 64;  // bars of a member
constexpr double kClearly =
    0.8;  // of the rows: one bar among several that is surely the training's

// A file may hold the bars of several ranks and of several loops: shards, uploads, evaluations.
// Trainers draw theirs without a name as often as not, so what is nearly all of the drawing is
// taken for the training; where nothing is, no bar is.
class Bars final : public Kept {
 public:
  // false: too many.
  // epoch: the bar names it; it is drawn anew for each, and its last state need not be a full one.
  bool add(ProgressRow row, const line::Prefix& prefix, std::int64_t at, std::int64_t total,
           std::optional<std::int64_t> epoch) {
    Series* one = nullptr;
    for (Series& s : series_)
      if (s.total == total && s.rank == prefix.rank && s.local_rank == prefix.local_rank) one = &s;
    if (one == nullptr) {
      if (series_.size() >= kMostBarSeries) return false;
      one = &series_.emplace_back(Series{prefix.rank, prefix.local_rank, total, -1, 0, {}});
    }
    if (total == 0) {  // not known: an epoch ends where the next begins
      if (at == one->last) return true;
      // Ranks that draw into one log fall back by a few.
      if (at < one->last && 2 * at > one->last) return true;
      if (at < one->last) one->base = one->base < kFarthest ? one->base + one->last : 0;
    } else if (epoch && *epoch < kFarthest / total) {
      if (one->base == *epoch * total && at == one->last) return true;
      one->base = *epoch * total;
    } else if (at == one->last)
      return true;            // drawn again, nothing done
    else if (at < one->last)  // The next epoch: a bar that was full begins again. One that falls
                              // back otherwise is a restart.
      one->base =
          one->last == total && at <= total / 2 && one->base < kFarthest ? one->base + total : 0;
    one->last = at;
    if (at == 0) return true;
    if (rows_ >= kMostRowsOfBars) return false;
    ++rows_;
    row.iteration = one->base + at;
    if (total > 0) row.total = one->base + total;  // of all epochs up to this one
    one->rows.push_back(std::move(row));
    return true;
  }

  void finish(Reading& reading) override {
    if (!reading.steps_told) {
      // Ranks draw the same bar: one of them is enough.
      const Series* best = nullptr;
      std::size_t of_first = 0;
      for (const Series& s : series_) {
        if (s.rank != series_.front().rank || s.local_rank != series_.front().local_rank) continue;
        of_first += s.rows.size();
        if (best == nullptr || s.rows.size() > best->rows.size()) best = &s;
      }
      if (best != nullptr &&
          static_cast<double>(best->rows.size()) >= kClearly * static_cast<double>(of_first))
        for (const ProgressRow& row : best->rows) reading.sink.put(row);
    }
    series_.clear();
  }

 private:
  struct Series {
    std::optional<Rank> rank;
    std::optional<LocalRank> local_rank;
    std::int64_t total = 0, last = -1, base = 0;
    std::vector<ProgressRow> rows;
  };
  static constexpr std::int64_t kFarthest = std::int64_t{1} << 60;
  std::vector<Series> series_;
  std::size_t rows_ = 0;
};

struct Bar {
  std::string_view what;           // before the percentage, without its colon
  std::int64_t at = 0, total = 0;  // 0: not known
  double rate = 0;                 // 0: tqdm printed '?'
  bool per_second = false;         // it/s; else s/it
};

// Takes what it is asked for off the front of a text.
class BarCursor {
 public:
  explicit BarCursor(std::string_view text) : rest_(text) {}
  void spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }
  bool is(std::string_view token) {
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  // As many bytes as belong to `set` (or, with `inverse`, do not), when there are `least` to `most`
  // of them.
  std::optional<std::string_view> run(std::string_view set, std::size_t least, std::size_t most,
                                      bool inverse = false) {
    const std::size_t n =
        std::min(inverse ? rest_.find_first_of(set) : rest_.find_first_not_of(set), rest_.size());
    if (n < least || n > most) return std::nullopt;
    const std::string_view taken = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return taken;
  }

 private:
  std::string_view rest_;
};

template <typename Number>
bool number(std::optional<std::string_view> text, Number& out) {
  return text && parse_whole(*text, out);
}

// By hand: a log may hold a hundred redraws for every line.
std::optional<Bar> parse_bar(std::string_view text) {
  constexpr std::string_view digits = "0123456789";
  Bar bar;
  std::size_t begin = text.find("%|");
  const bool counted = begin != std::string_view::npos;
  if (!counted) {
    const std::size_t colon = text.find(": |");
    if (colon == std::string_view::npos) return std::nullopt;
    begin = colon + 1;
  }
  BarCursor rest(text.substr(begin + 2));
  const std::size_t percent = begin;
  while (counted && begin > 0 && percent - begin < 3 && contains(digits, text[begin - 1])) --begin;
  if (counted && begin == percent) return std::nullopt;
  bar.what = text.substr(0, begin);
  while (!bar.what.empty() && (bar.what.back() == ' ' || bar.what.back() == '\t'))
    bar.what.remove_suffix(1);
  while (!bar.what.empty() && (bar.what.front() == ' ' || bar.what.front() == '\t'))
    bar.what.remove_prefix(1);
  if (!bar.what.empty()) {
    if (bar.what.back() != ':' || bar.what.size() > 81 || contains(bar.what, '|'))
      return std::nullopt;
    bar.what.remove_suffix(1);
  }
  if (counted && (!rest.run("|", 0, 400, true) || !rest.is("|"))) return std::nullopt;
  rest.spaces();
  if (!counted && rest.is("|")) rest.spaces();
  if (!number(rest.run(digits, 1, 12), bar.at) || !rest.is("/")) return std::nullopt;
  if (counted ? !number(rest.run(digits, 1, 12), bar.total) : !rest.is("?")) return std::nullopt;
  if (!rest.is(" [")) return std::nullopt;
  // The times are left out by those who draw bars of their own.
  if (BarCursor times = rest; times.run("0123456789:", 2, 12) && times.is("<")) {
    rest = times;
    if (!rest.run(",]", 1, 24, true) || !rest.is(",")) return std::nullopt;
    rest.spaces();
  } else if (counted) {
    return std::nullopt;
  }
  if (!rest.is("?") && !number(rest.run("0123456789.", 1, 16), bar.rate)) return std::nullopt;
  bar.per_second = rest.is("it/s");
  if (!bar.per_second && !rest.is("s/it")) return std::nullopt;
  return rest.is(",") || rest.is("]") ? std::optional(bar) : std::nullopt;
}

Outcome read_progress_bar(const TextLine& line, Reading& reading) {
  if (reading.steps_told) return {};  // it would not be looked at in the end
  static const re2::RE2 kTraining(R"((?i)^(?:epoch\b.*|train(?:ing)?\b.*|steps?|iterations?)$)");
  // Evaluations within an epoch, and what is prepared for the training.
  static const re2::RE2 kOfPreparation(
      R"((?i)\b(?:val(?:id\w*)?|test\w*|eval\w*|splits?|tokeni[sz]\w*|data\w*|sets?|files?|examples)\b)");
  const auto bar = parse_bar(line.line.message);
  if (!bar || (bar->total > 0 && (bar->total < kLeastTotal || bar->at > bar->total))) return {};
  if (bar->total == 0 && bar->what.empty()) return {};
  if (!bar->what.empty() &&
      (!re2::RE2::FullMatch(re2::StringPiece(bar->what.data(), bar->what.size()), kTraining) ||
       re2::RE2::PartialMatch(re2::StringPiece(bar->what.data(), bar->what.size()),
                              kOfPreparation)))
    return {};
  ProgressRow row{.place = line.place, .time = line.line.prefix.time};
  // A name or a loss says that it is the training's; what has neither may be any loop's.
  const bool named = !bar->what.empty() || contains(line.line.message, "loss");
  row.framework = named ? "progress-bar" : "tqdm";
  if (bar->rate > 0) row.iteration_ms = bar->per_second ? 1e3 / bar->rate : bar->rate * 1e3;
  static const re2::RE2 kEpoch(R"((?i)^epoch[ :=]*(\d{1,9})\b)");
  std::optional<std::int64_t> epoch;
  if (std::int64_t number = 0;
      re2::RE2::PartialMatch(re2::StringPiece(bar->what.data(), bar->what.size()), kEpoch, &number))
    epoch = number;
  if (!reading.keep<Bars>().add(std::move(row), line.line.prefix, bar->at, bar->total, epoch))
    return {false, nullptr, "tqdm.too_many"};
  return {true};
}

// With the digit before it: a word of five letters would make the search look at every second byte
// of every log.
constexpr std::string_view kProgressBarWords[] = {
    "0it/s]", "1it/s]", "2it/s]", "3it/s]", "4it/s]", "5it/s]", "6it/s]", "7it/s]", "8it/s]",
    "9it/s]", "?it/s]", "0s/it]", "1s/it]", "2s/it]", "3s/it]", "4s/it]", "5s/it]", "6s/it]",
    "7s/it]", "8s/it]", "9s/it]", "?s/it]", "0it/s,", "1it/s,", "2it/s,", "3it/s,", "4it/s,",
    "5it/s,", "6it/s,", "7it/s,", "8it/s,", "9it/s,", "?it/s,", "0s/it,", "1s/it,", "2s/it,",
    "3s/it,", "4s/it,", "5s/it,", "6s/it,", "7s/it,", "8s/it,", "9s/it,", "?s/it,",
};

constexpr std::string_view kAlsoOfProgress[] = {"| "};

}  // namespace

extern constinit const Recogniser kProgressBar{
    "tqdm",
    "progress bars of tqdm, where a log has no step lines",
    kProgressBarWords,
    read_progress_bar,
    {},
    kAlsoOfProgress};

}  // namespace culprit::ingest
