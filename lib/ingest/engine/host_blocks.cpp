// Output of many machines in one text: the lines below a heading are one machine's. dshbak and
// clush -b write the name between two rules, Ansible before the state of the task.
#include <re2/re2.h>

#include "ingest/engine/recogniser.hpp"
#include "line/trimmed.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kLongestBlockHost = 253;

bool rule(std::string_view text) {
  return text.size() >= 15 && text.size() <= 16 &&
         text.find_first_not_of('-') == std::string_view::npos;
}

// "epoch-3" and "rank0" head blocks, too, and are no machines.
bool machine(std::string_view name) {
  static const re2::RE2 kName(R"([A-Za-z][A-Za-z0-9.-]*\d[A-Za-z0-9.-]*)");
  static const re2::RE2 kOther(
      R"((?i)(?:epoch|step|iter(?:ation)?|rank|local|gpu|cuda|device|layer|stage|phase|round|test|part|section|attempt|run|trial|job|task|pid|thread|frame|page|slide|v)[-_]?\d.*)");
  const re2::StringPiece text(name.data(), name.size());
  return name.size() <= kLongestBlockHost && re2::RE2::FullMatch(text, kName) &&
         !re2::RE2::FullMatch(text, kOther);
}

// After the first rule: the name, and the second rule.
class Heading : public Assembler {
 public:
  Step feed(const TextLine& line, Reading& reading) override {
    const std::string_view text = line::trimmed(line.raw);
    if (named_) {
      if (!rule(text)) return Step::not_mine;
      reading.current_host = name_;
      return Step::finished;
    }
    named_ = true;
    // Several machines that printed the same: "cx-[7-8]". Whose a line is, is not known then.
    const bool list =
        !text.empty() && text.find(' ') == std::string_view::npos &&
        (text.find('[') != std::string_view::npos || text.find(',') != std::string_view::npos);
    if (!list && !machine(text)) return Step::not_mine;
    name_ = list ? "" : std::string(text);
    return Step::watching;
  }
  void finish(Reading&) override {}
  std::uint64_t most_lines() const override { return 3; }

 private:
  bool named_ = false;
  std::string name_;
};

Outcome read_host_blocks(const TextLine& line, Reading& reading) {
  static const re2::RE2 kAnsible(
      R"(^([A-Za-z][A-Za-z0-9.-]*) \| (?:CHANGED|SUCCESS|FAILED) \| rc=\d+ >>$)");
  const std::string_view text = line::trimmed(line.raw.substr(0, 512));
  if (rule(text)) return {false, std::make_unique<Heading>(), {}};
  std::string name;
  const re2::StringPiece piece(text.data(), text.size());
  if (!re2::RE2::FullMatch(piece, kAnsible, &name) || !machine(name)) return {};
  reading.current_host = name;
  return {true, nullptr, {}};
}

constexpr std::string_view kHostBlocksWords[] = {"---------------",
                                                 "CHANGED | rc=", "SUCCESS | rc=", "FAILED | rc="};

}  // namespace

extern const Recogniser kHostBlocks;
constinit const Recogniser kHostBlocks{
    "host-blocks", "dshbak, clush -b, Ansible: whose the lines below a heading are",
    kHostBlocksWords, read_host_blocks};

}  // namespace culprit::ingest
