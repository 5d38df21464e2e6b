// Answers held against what is true: how many are right, how many accuse an innocent machine, and
// what a stated confidence is worth. Of any analyser; it knows nothing of how an answer was found.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/finding.hpp"
#include "model/json.hpp"
#include "model/result.hpp"

namespace culprit::simulate {

// schemas/truth-v1.json
struct Truth {
  std::string bundle;  // the name of its folder
  std::string kind;
  std::vector<Action> right;
  std::vector<std::string> guilty, innocent;                // machines
  std::vector<std::int64_t> ranks;                          // that are guilty
  std::map<std::string, std::string, std::less<>> aliases;  // other names of machines
};

// One thing that could have happened, and whom it blames: machines, or ranks as "rank 5".
struct Hypothesis {
  Action action = Action::investigate;
  std::vector<std::string> blamed;
};

struct Answer {
  std::string bundle;
  bool given = false;  // there is a verdict
  Hypothesis verdict;
  std::vector<Hypothesis> differential;  // best first; may be empty
  std::optional<double> confidence;      // as stated, 0 to 1
  std::string sureness;                  // a word, as stated; "" = none
};

// exact: a right action that names the guilty machines and no other; open: another answer that
// accuses nobody; accused: an innocent machine is isolated or repaired; wrong: the rest; none: no
// answer. Each answer is one of them.
enum class Score { exact, open, wrong, accused, none };
inline constexpr Score kScores[] = {Score::exact, Score::open, Score::wrong, Score::accused,
                                    Score::none};
std::string_view name(Score score);

struct Scored {
  std::string bundle, kind;
  Score score = Score::none;
  bool among_three = false;  // exact, or one of the first three of the differential would be
  Answer answer;
};

struct Tally {
  std::int64_t all = 0, among_three = 0;
  std::array<std::int64_t, 5> of{};  // each Score; their sum is `all`
  std::int64_t count(Score score) const { return of[static_cast<std::size_t>(score)]; }
};

// Answers with about the same stated confidence.
struct Bin {
  std::string label;
  std::int64_t all = 0, exact = 0;
  double stated = 0;  // the mean; of words 0
};

struct Scores {
  std::vector<Scored> answers;  // by bundle
  Tally total;
  std::map<std::string, Tally> kinds;
  std::vector<Bin> confidence, sureness;  // of the answers that state one
};

Result<Truth> truth_of(const std::string& text, const std::string& file, std::string bundle);
// Of a diagnosis (schemas/diagnosis-v1.json).
Answer answer_of(const nlohmann::json& diagnosis, std::string bundle);
// Rows "bundle,action,blamed[,confidence]", several machines with ";" or blanks between them.
// Errors: a row that has no action or another than ours, a bundle twice.
Result<std::vector<Answer>> answers_of_csv(const std::string& text, const std::string& file);

Scores score(const std::vector<Truth>& truths, const std::vector<Answer>& answers);

nlohmann::ordered_json to_document(const Scores& scores);  // schemas/score-v1.json
std::string to_csv(const Scores& scores);                  // a row a bundle
std::string to_text(const Scores& scores);

}  // namespace culprit::simulate
