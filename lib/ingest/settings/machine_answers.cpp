// What pdsh, clush and loops over ssh print of a command on several machines: a few lines each,
// behind the machine's name. Below its command, where somebody noted it:
//
//   $ clush -w gx-[40-47] "findmnt -no SOURCE /mnt/data; uname -r"
//   gx-40: backend1/ai
//   gx-40: 5.15.0-1048-custom
#include <map>

#include <re2/re2.h>

#include "ingest/engine/document.hpp"
#include "ingest/engine/network_rows.hpp"
#include "ingest/settings/asked_machines.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

constexpr std::string_view kAnswersKind = "answers";
constexpr std::size_t kMostLinesEach = 16;

struct AnswerLine {
  std::string_view host, text;
};

bool read_answer(std::string_view line, AnswerLine& out) {
  const std::size_t colon = line.find(": ");
  if (colon == std::string_view::npos || colon == 0) return false;
  out = {line.substr(0, colon), trimmed(line.substr(colon + 2))};
  return may_be_asked(out.host);
}

bool command_line(std::string_view text) {
  return text.starts_with("$ ") || text.starts_with("# ");
}

// Which command of how many the lines below are of.
class Answers final : public Kept {
 public:
  void command(std::string_view text) {
    // What the tool was told to run stands in quotes, commands between semicolons.
    static const re2::RE2 kQuoted(R"(['"](.*)['"]\s*$)");
    std::string quoted;
    if (!re2::RE2::PartialMatch({text.data(), text.size()}, kQuoted, &quoted))
      quoted = std::string(text.substr(2));
    commands_.clear();
    for (std::size_t at = 0; at <= quoted.size();) {
      const std::size_t end = std::min(quoted.find(';', at), quoted.size());
      commands_.emplace_back(trimmed(std::string_view(quoted).substr(at, end - at)));
      at = end + 1;
    }
    seen_.clear();
    ++section_;
  }
  void answer(const AnswerLine& line, const Place& place, Reading& reading) {
    const std::size_t nth = seen_[std::string(line.host)]++;
    if (nth >= kMostLinesEach) return;
    std::string question;
    if (nth < commands_.size()) question = commands_[nth];
    if (question.empty())
      question = reading.path.substr(reading.path.rfind('/') + 1) + ", line " +
                 std::to_string(nth + 1) +
                 (section_ > 0 ? " of part " + std::to_string(section_) : "");
    reading.keep<AskedMachines>().add(question, line.host, line.text, place);
  }

 private:
  std::vector<std::string> commands_;
  std::map<std::string, std::size_t> seen_;  // lines of a machine, below this command
  std::size_t section_ = 0;
};

Outcome read_answers(const TextLine& line, Reading& reading) {
  AnswerLine answer;
  if (command_line(line.raw)) {
    reading.keep<Answers>().command(line.raw);
    return {};
  }
  if (!read_answer(line.raw, answer)) return {};
  reading.keep<Answers>().answer(answer, line.place, reading);
  return {true};
}

}  // namespace

// As many lines of each machine, and hardly any others. Declared in engine/kinds.cpp.
bool machine_answers(const Head& head) {
  std::map<std::string_view, std::size_t> lines;
  std::size_t others = 0, answers = 0;
  each_text_line(head.bytes, [&](std::string_view text, std::uint64_t, std::size_t) {
    AnswerLine answer;
    if (trimmed(text).empty() || command_line(text)) return true;
    if (read_answer(text, answer)) {
      ++answers;
      ++lines[answer.host];
    } else {
      ++others;
    }
    return others <= 2 + answers / 4;
  });
  if (!head.whole || lines.size() < kFewestAsked || others * 4 > answers) return false;
  const std::size_t each = lines.begin()->second;
  return each <= kMostLinesEach * 4 &&
         std::ranges::all_of(lines, [&](const auto& one) { return one.second == each; });
}

extern constinit const Recogniser kMachineAnswers{
    .name = "machine-answers",
    .summary = "pdsh, clush, loops over ssh: what several machines answered to a command",
    .words = {},
    .read = read_answers,
    .whole_kind = kAnswersKind};

}  // namespace culprit::ingest
