// Megatron-LM's timers and its straggler detector. Both are printed after the line of the iteration
// they measured.
//
//   (min, max) time across ranks (ms):
//       forward-backward ...............................: (1234.56, 1250.12)
//   max time across ranks (ms):
//       optimizer ......................................: 12.34
//   times across ranks (ms):
//     forward-compute:
//        rank  3: 12.34
//   ... | MnRtt/Rnk: 3453.08ms/8 | MxRtt/Rnk: 3468.20ms/0 | ...
//   ^^^^ Bottom 4 Ranks with lowest  Etpt(TF): 296.02TF/0, 296.21TF/16,
// (megatron/core/timers.py; StragglerDetector in megatron/core/utils.py)

#include "ingest/training/line_figures.hpp"
#include "line/trimmed.hpp"
#include "model/contains.hpp"
#include "model/number.hpp"

namespace culprit::ingest {

namespace {

bool plain_number(std::string_view text, double& value) {
  std::string_view rest;
  return metric_number(line::trimmed(text), value, rest) && rest.empty();
}

class Timers final : public Assembler {
 public:
  enum class Shape { both, most, each };
  explicit Timers(Shape shape) : shape_(shape) {}

  Step feed(const TextLine& line, Reading& reading) override {
    const std::string_view text = line::trimmed(line.line.message);
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos || colon == 0) return Step::not_mine;
    std::string_view name = text.substr(0, colon);
    const std::string_view value = line::trimmed(text.substr(colon + 1));
    LineFigures& figures = reading.keep<LineFigures>();
    if (shape_ == Shape::each) {
      if (value.empty()) {
        if (name.size() > 96) return Step::not_mine;
        name_ = name;
        return Step::took;
      }
      std::int64_t rank = 0;
      double ms = 0;
      if (!name.starts_with("rank ") || name_.empty()) return Step::not_mine;
      name = line::trimmed(name.substr(5));
      if (!parse_whole(name, rank) || rank < 0 || rank > 10'000'000 || !plain_number(value, ms))
        return Step::not_mine;
      figures.begin(line, std::nullopt);
      figures.rank(Rank(rank));
      figures.add(name_, "ms", {}, ms);
      return figures.end(line, reading) ? Step::took : Step::not_mine;
    }
    if (!contains(name, "..") && shape_ == Shape::most)
      return Step::not_mine;  // any "key: number" may follow
    while (!name.empty() && (name.back() == '.' || name.back() == ' ')) name.remove_suffix(1);
    if (name.empty() || name.size() > 96) return Step::not_mine;
    figures.begin(line, std::nullopt);
    double least = 0, most = 0;
    if (shape_ == Shape::both) {
      const std::size_t comma = value.find(',');
      if (value.size() < 5 || value.front() != '(' || value.back() != ')' ||
          comma == std::string_view::npos)
        return Step::not_mine;
      if (!plain_number(value.substr(1, comma - 1), least) ||
          !plain_number(value.substr(comma + 1, value.size() - comma - 2), most))
        return Step::not_mine;
      figures.add(name, "ms", "stat=min", least);
    } else if (!plain_number(value, most)) {
      return Step::not_mine;
    }
    figures.add(name, "ms", "stat=max", most);
    return figures.end(line, reading) ? Step::took : Step::not_mine;
  }

 private:
  Shape shape_;
  std::string name_;
};

Outcome read_timers(const TextLine& line, Reading&) {
  const std::string_view text = line::trimmed(line.line.message);
  if (!text.ends_with("across ranks (ms):")) return {};
  const auto shape = contains(text, "(min, max) time") ? Timers::Shape::both
                     : contains(text, "max time")      ? Timers::Shape::most
                                                       : Timers::Shape::each;
  return {true, std::make_unique<Timers>(shape)};
}

// "3453.08ms/8": a value, its unit, and the rank that had it.
bool value_of_rank(std::string_view text, double& value, std::string_view& unit,
                   std::int64_t& rank) {
  std::string_view rest;
  if (!metric_number(line::trimmed(text), value, rest)) return false;
  const std::size_t slash = rest.rfind('/');
  if (slash == std::string_view::npos || slash > 8) return false;
  unit = rest.substr(0, slash);
  rest.remove_prefix(slash + 1);
  return parse_whole(rest, rank) && rank >= 0 && rank <= 10'000'000;
}

Outcome read_straggler(const TextLine& line, Reading& reading) {
  std::string_view text = line.line.message;
  LineFigures& figures = reading.keep<LineFigures>();
  bool used = false, torn = false;
  double value = 0;
  std::string_view unit;
  std::int64_t rank = 0;
  const auto put = [&](std::string_view name, std::string_view labels) {
    figures.begin(line, std::nullopt);
    figures.rank(Rank(rank));
    figures.add(name, unit, labels, value);
    used = figures.end(line, reading) || used;
  };
  if (const std::size_t list = text.find(" Ranks with "); list != std::string_view::npos) {
    const std::size_t colon = text.find(':', list);
    if (colon == std::string_view::npos || !contains(text, "^^^^")) return {};
    const std::string_view labels =
        contains(text.substr(list), "lowest") ? "list=bottom" : "list=top";
    std::string_view name = line::trimmed(text.substr(list, colon - list));
    name = name.substr(name.rfind(' ') + 1);
    name = name.substr(0, name.find('('));
    for (text.remove_prefix(colon + 1); !text.empty();) {
      const std::size_t comma = std::min(text.find(','), text.size());
      const std::string_view one = line::trimmed(text.substr(0, comma));
      text.remove_prefix(std::min(comma + 1, text.size()));
      if (one.empty()) continue;
      if (value_of_rank(one, value, unit, rank))
        put(name, labels);
      else
        torn = true;
    }
  } else {
    constexpr std::string_view kKey = "/Rnk:";
    for (std::size_t at = text.find(kKey); at != std::string_view::npos;
         at = text.find(kKey, at + 1)) {
      const std::size_t begin = text.substr(0, at).find_last_of(" |");
      const std::string_view name =
          text.substr(begin == std::string_view::npos ? 0 : begin + 1,
                      at - (begin == std::string_view::npos ? 0 : begin + 1));
      const std::string_view rest = text.substr(at + kKey.size());
      if (!name.empty() && name.size() <= 32 &&
          value_of_rank(rest.substr(0, rest.find('|')), value, unit, rank))
        put(name, {});
      else
        torn = true;
    }
  }
  return {used, nullptr, torn && !used ? std::string_view("straggler.torn") : std::string_view{}};
}

constexpr std::string_view kTimerWords[] = {"time across ranks (ms)", "times across ranks (ms)"};
constexpr std::string_view kStragglerWords[] = {"MnRtt/Rnk: ", "Ranks with lowest",
                                                "Ranks with highest"};

}  // namespace

extern constinit const Recogniser kMegatronTimers{
    "megatron-timers", "Megatron-LM's timers across ranks", kTimerWords, read_timers};
extern constinit const Recogniser kMegatronStraggler{
    "megatron-straggler", "Megatron-LM's straggler detector: extremes and the ranks that had them",
    kStragglerWords, read_straggler};

}  // namespace culprit::ingest
