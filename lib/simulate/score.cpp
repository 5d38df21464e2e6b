// Scores answers.
#include "simulate/score.hpp"

#include <algorithm>
#include <set>

#include "model/contains.hpp"
#include "model/csv_cursor.hpp"
#include "model/number.hpp"
#include "model/sort.hpp"
#include "schema/schema.hpp"

namespace culprit::simulate {

namespace {

using nlohmann::json;

constexpr std::string_view kScoreNames[] = {"exact", "open", "wrong", "accused", "none"};
constexpr std::size_t kMostCompared = 3;  // of a differential

std::string first_label(const std::string& host) { return host.substr(0, host.find('.')); }

// The machines that a hypothesis blames, as the truth names them. A rank stands for its machine
// where the truth tells which that is; of others it is not known, and nobody is blamed.
std::set<std::string> machines_of(const Hypothesis& hypothesis, const Truth& truth) {
  std::set<std::string> out;
  for (const std::string& name : hypothesis.blamed) {
    if (name.starts_with("rank ")) {
      const auto rank = whole_number<std::int64_t>(std::string_view(name).substr(5));
      if (rank && contains(truth.ranks, *rank))
        out.insert(truth.guilty.begin(), truth.guilty.end());
      continue;
    }
    const auto alias = truth.aliases.find(name);
    const std::string host = alias == truth.aliases.end() ? name : alias->second;
    const auto known = [&](const std::string& one) {
      return one == host || first_label(one) == first_label(host);
    };
    const auto guilty = std::ranges::find_if(truth.guilty, known);
    out.insert(guilty == truth.guilty.end() ? host : *guilty);
  }
  return out;
}

Score score_of(const Hypothesis& hypothesis, const Truth& truth) {
  const std::set<std::string> named = machines_of(hypothesis, truth);
  const bool accuses = hypothesis.action == Action::isolate || hypothesis.action == Action::repair;
  const auto innocent = [&](const std::string& host) {
    return std::ranges::any_of(truth.innocent, [&](const std::string& one) {
      return one == host || first_label(one) == first_label(host);
    });
  };
  if (accuses && std::ranges::any_of(named, innocent)) return Score::accused;
  const bool right = contains(truth.right, hypothesis.action);
  if (right && (truth.guilty.empty()
                    ? !accuses || named.empty()
                    : named == std::set<std::string>(truth.guilty.begin(), truth.guilty.end())))
    return Score::exact;
  return accuses ? Score::wrong : Score::open;
}

void count(Tally& tally, const Scored& one) {
  ++tally.all;
  ++tally.of[static_cast<std::size_t>(one.score)];
  tally.among_three += one.among_three ? 1 : 0;
}

void count(Bin& bin, const Scored& one) {
  ++bin.all;
  bin.exact += one.score == Score::exact ? 1 : 0;
  bin.stated += one.answer.confidence.value_or(0);
}

void calibrate(Scores& scores) {
  constexpr std::pair<double, const char*> kBins[] = {{0.5, "below 0.50"},   {0.6, "0.50 to 0.59"},
                                                      {0.7, "0.60 to 0.69"}, {0.8, "0.70 to 0.79"},
                                                      {0.9, "0.80 to 0.89"}, {2, "0.90 to 1"}};
  for (const auto& [end, label] : kBins) scores.confidence.push_back({label});
  for (const char* word : {"certain", "likely", "possible", "open"})
    scores.sureness.push_back({word});
  for (const Scored& one : scores.answers) {
    if (one.answer.confidence) {
      std::size_t bin = 0;
      while (*one.answer.confidence >= kBins[bin].first) ++bin;
      count(scores.confidence[bin], one);
    }
    for (Bin& bin : scores.sureness)
      if (bin.label == one.answer.sureness) count(bin, one), bin.stated = 0;
  }
  for (auto* bins : {&scores.confidence, &scores.sureness}) {
    std::erase_if(*bins, [](const Bin& bin) { return bin.all == 0; });
    for (Bin& bin : *bins) bin.stated /= static_cast<double>(bin.all);
  }
}

Error bad_row(std::string what, const std::string& file, std::uint64_t line) {
  return usage_error(std::move(what))
      .at({file, line})
      .hint("each row is bundle,action,blamed[,confidence]: see culprit-score(1)");
}

std::vector<std::string> words_of(std::string_view cell) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < cell.size();) {
    const auto end = std::min(cell.find_first_of("; \t", at), cell.size());
    if (end > at) out.emplace_back(cell.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// A setting is that of a machine where the machine's name stands before it: "node-07/nccl".
Hypothesis hypothesis_of(const json& one, const json& hosts) {
  Hypothesis out;
  out.action = term_named<Action>(one["action"].get<std::string>()).value_or(Action::investigate);
  for (const json& target : one["targets"]) {
    const auto kind = term_named<SubjectKind>(target["kind"].get<std::string>());
    const std::string id = target["id"].get<std::string>();
    const std::string host = id.substr(0, id.find_first_of("/:"));
    const bool machine = kind == SubjectKind::host || kind == SubjectKind::gpu ||
                         kind == SubjectKind::nic ||
                         (kind == SubjectKind::config && contains(hosts, json(host)));
    if (kind != SubjectKind::rank && !machine) continue;
    const std::string name = machine ? host : "rank " + id;
    if (!contains(out.blamed, name)) out.blamed.push_back(name);
  }
  return out;
}

}  // namespace

std::string_view name(Score score) { return kScoreNames[static_cast<std::size_t>(score)]; }

Result<Truth> truth_of(const std::string& text, const std::string& file, std::string bundle) {
  CULPRIT_TRY(document, schema::parse_checked(text, file, "truth-v1.json", "a truth holds"));
  Truth out{.bundle = std::move(bundle), .kind = document["kind"].get<std::string>()};
  for (const json& action : document["right"])
    out.right.push_back(*term_named<Action>(action.get<std::string>()));
  for (const json& host : document["guilty"]["hosts"])
    out.guilty.push_back(host.get<std::string>());
  if (document["guilty"].contains("ranks"))
    for (const json& rank : document["guilty"]["ranks"])
      out.ranks.push_back(rank.get<std::int64_t>());
  for (const json& host : document["innocent"]) out.innocent.push_back(host.get<std::string>());
  if (document.contains("aliases"))
    for (const auto& [alias, host] : document["aliases"].items())
      out.aliases[alias] = host.get<std::string>();
  return out;
}

Answer answer_of(const json& diagnosis, std::string bundle) {
  const json &verdict = diagnosis["verdict"], &hosts = diagnosis["bundle"]["hosts"];
  Answer out{.bundle = std::move(bundle), .given = true, .verdict = hypothesis_of(verdict, hosts)};
  for (const json& one : verdict["differential"])
    out.differential.push_back(hypothesis_of(one, hosts));
  if (!verdict["targets"].empty())
    out.confidence = verdict["targets"][0]["confidence"].get<double>();
  out.sureness = verdict["sureness"]["word"].get<std::string>();
  return out;
}

Result<std::vector<Answer>> answers_of_csv(const std::string& text, const std::string& file) {
  std::vector<Answer> out;
  std::set<std::string> seen;
  CsvCursor cursor(text, ',');
  for (std::uint64_t line = 1; !cursor.done();) {
    std::vector<std::string> cells;
    const std::uint64_t here = line++;
    for (cursor.next_record(); cursor.more();) {
      CsvCell cell;
      if (!cursor.next(cell)) return bad_row("this row has a quote that does not end", file, here);
      line += cell.lines;
      std::string_view bare = cell.text;
      while (!bare.empty() && (bare.back() == '\r' || bare.back() == ' ')) bare.remove_suffix(1);
      cells.emplace_back(bare);
    }
    if (cells.size() == 1 && cells[0].empty()) continue;
    if (here == 1 && cells[0] == "bundle") continue;
    if (cells.size() < 2) return bad_row("this row has no action", file, here);
    const auto action = term_named<Action>(cells[1]);
    if (!action) return bad_row("'" + cells[1] + "' is no action", file, here);
    if (!seen.insert(cells[0]).second)
      return bad_row("'" + cells[0] + "' has an answer already", file, here);
    Answer answer{.bundle = cells[0],
                  .given = true,
                  .verdict = {*action, words_of(cells.size() > 2 ? cells[2] : "")}};
    if (cells.size() > 3 && !cells[3].empty()) {
      answer.confidence = whole_number<double>(cells[3]);
      if (!answer.confidence || !(*answer.confidence >= 0 && *answer.confidence <= 1))
        return bad_row("'" + cells[3] + "' is no confidence from 0 to 1", file, here);
    }
    out.push_back(std::move(answer));
  }
  return out;
}

Scores score(const std::vector<Truth>& truths, const std::vector<Answer>& answers) {
  std::map<std::string_view, const Answer*> by_bundle;
  for (const Answer& answer : answers) by_bundle[answer.bundle] = &answer;
  Scores out;
  for (const Truth& truth : truths) {
    Scored one{.bundle = truth.bundle, .kind = truth.kind};
    if (const auto it = by_bundle.find(truth.bundle); it != by_bundle.end() && it->second->given) {
      one.answer = *it->second;
      one.score = score_of(one.answer.verdict, truth);
      const auto& others = one.answer.differential;
      one.among_three =
          one.score == Score::exact ||
          std::any_of(
              others.begin(),
              others.begin() + static_cast<std::ptrdiff_t>(std::min(kMostCompared, others.size())),
              [&](const Hypothesis& other) { return score_of(other, truth) == Score::exact; });
    }
    out.answers.push_back(std::move(one));
  }
  sort_by(out.answers, &Scored::bundle);
  for (const Scored& one : out.answers) count(out.total, one), count(out.kinds[one.kind], one);
  calibrate(out);
  return out;
}

}  // namespace culprit::simulate
