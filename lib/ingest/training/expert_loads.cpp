// What a router of a mixture of experts gives to each of them, as trainings log it: one list of
// tokens by expert, again and again. Where one expert takes many times what is usual, its ranks
// work while all others wait, on whatever machine they run.
#include <charconv>
#include <vector>

#include <fmt/format.h>

#include "ingest/engine/events.hpp"
#include "ingest/engine/recogniser.hpp"
#include "model/median.hpp"

namespace culprit::ingest {

namespace {

using std::string_view;

constexpr std::size_t kFewestExperts = 8, kMostExperts = 4096;
constexpr double kManyTimes = 5;  // what is usual
constexpr std::size_t kFewestLists = 2;

// The numbers between the first brackets; empty where something else stands there.
std::vector<double> numbers_in(string_view text) {
  std::vector<double> out;
  const std::size_t open = text.find('[');
  const std::size_t close = text.find(']', open == string_view::npos ? 0 : open);
  if (open == string_view::npos || close == string_view::npos) return out;
  string_view rest = text.substr(open + 1, close - open - 1);
  while (!rest.empty() && out.size() <= kMostExperts) {
    const std::size_t begin = rest.find_first_not_of(" ,");
    if (begin == string_view::npos) break;
    rest.remove_prefix(begin);
    double value = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc{} || !(value >= 0)) return {};
    out.push_back(value);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  }
  return out;
}

// Of the lists of a member: the one in which an expert takes most, and how many have such a one.
class ExpertLoads final : public Kept {
 public:
  void add(const std::vector<double>& tokens, const TextLine& line) {
    ++lists_;
    const auto most = std::ranges::max_element(tokens);
    const double usual = median_of(tokens);
    if (!(usual > 0) || *most < kManyTimes * usual) return;
    ++uneven_;
    if (*most / usual <= times_) return;
    times_ = *most / usual;
    double all = 0;
    for (const double one : tokens) all += one;
    line_ = line.line;
    line_.message = fmt::format(
        "expert load: expert {} of {} takes {:.0f} % of the tokens, {:.1f} "
        "times the usual",
        most - tokens.begin(), tokens.size(), 100 * *most / all, times_);
    place_ = line.place;
  }

  // It stays so: one list in many is a batch.
  void finish(Reading& reading) override {
    if (uneven_ < kFewestLists || 2 * uneven_ < lists_) return;
    put_said(place_, line_, reading.text_kind, reading);
  }

 private:
  std::size_t lists_ = 0, uneven_ = 0;
  double times_ = 0;
  Place place_;
  line::Line line_;
};

Outcome read_expert_load(const TextLine& line, Reading& reading) {
  const std::vector<double> tokens = numbers_in(line.line.message);
  if (tokens.size() < kFewestExperts || tokens.size() > kMostExperts) return {};
  reading.keep<ExpertLoads>().add(tokens, line);
  return {true};
}

constexpr string_view kExpertWords[] = {"tokens_per_expert", "tokens per expert", "expert_load",
                                        "expert load",       "expert_counts",     "expert counts"};

}  // namespace

extern constinit const Recogniser kExpertLoads{
    "expert-loads", "tokens by expert of a mixture of experts: one that takes many times the usual",
    kExpertWords, read_expert_load};

}  // namespace culprit::ingest
