// Lines of /proc/PID/status behind the command that printed them, in a text of its own or of many:
// "grep State /proc/41/status", "for p in 41 43; do grep ... /proc/$p/status".
#include <algorithm>
#include <vector>

#include "ingest/stacks/stack_text.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

constexpr int kForeignBetween = 8;  // what else the loop prints of a process

// Of "/proc/41/status"; else of the list of a loop whose variable stands in their place.
std::vector<std::int64_t> pids_asked_for(std::string_view command) {
  std::vector<std::int64_t> pids;
  constexpr std::string_view kFolder = "/proc/", kList = "for ", kIn = " in ";
  for (std::size_t at = command.find(kFolder); at != std::string_view::npos;
       at = command.find(kFolder, at + 1)) {
    std::string_view rest = command.substr(at + kFolder.size());
    const auto pid = take_number(rest);
    if (pid && rest.starts_with("/status")) pids.push_back(*pid);
  }
  const std::size_t loop = command.find(kList);
  const std::size_t list = loop == std::string_view::npos ? loop : command.find(kIn, loop);
  if (!pids.empty() || list == std::string_view::npos || !contains(command, "/proc/$") ||
      !contains(command, "/status"))
    return pids;
  for (std::string_view rest = command.substr(list + kIn.size());;) {
    while (rest.starts_with(' ')) rest.remove_prefix(1);
    const auto pid = take_number(rest);
    if (!pid) return pids;
    pids.push_back(*pid);
  }
}

class StatusLines final : public Assembler {
 public:
  StatusLines(std::vector<std::int64_t> pids, bool named_first)
      : pids_(std::move(pids)), named_first_(named_first) {}

  Step feed(const TextLine& line, Reading& reading) override {
    std::string_view text = line.line.message;
    if (!pids_asked_for(text).empty()) return Step::not_mine;  // the next command
    if (take(text, "Name:")) {
      if (!begin(line, reading)) return Step::not_mine;
      row_->name = std::string(trim(text).substr(0, 200));
    } else if (take(text, "State:")) {
      if ((!named_first_ && !begin(line, reading)) || !row_) return Step::not_mine;
      row_->state = std::string(trim(text).substr(0, 1));
    } else if (!row_ || !(take(text, "TracerPid:") || take(text, "Threads:"))) {
      return ++foreign_ > kForeignBetween ? Step::not_mine : Step::watching;
    }
    reach(row_->place, line.place);
    return Step::took;
  }

  void finish(Reading& reading) override { put(reading); }

 private:
  bool begin(const TextLine& line, Reading& reading) {
    put(reading);
    if (next_ >= pids_.size()) return false;
    row_ = process_row(line, "proc");
    row_->pid = pids_[next_++];
    row_->host = reading.host_of(line.line.prefix);
    foreign_ = 0;
    return true;
  }

  void put(Reading& reading) {
    if (row_ && !row_->state.empty()) reading.sink.put(*row_);
    row_.reset();
  }

  std::vector<std::int64_t> pids_;
  bool named_first_;  // every block begins with the name of the program
  std::size_t next_ = 0;
  std::optional<ProcessRow> row_;
  int foreign_ = 0;
};

Outcome read_status_command(const TextLine& line, Reading&) {
  const std::string_view text = line.line.message;
  std::vector<std::int64_t> pids = pids_asked_for(text);
  if (pids.empty()) return {};
  const bool grep = contains(text, "grep");
  Outcome outcome;
  outcome.assembler =
      std::make_unique<StatusLines>(std::move(pids), !grep || contains(text, "Name"));
  return outcome;
}

constexpr std::string_view kStatusWords[] = {"/status"};

}  // namespace

extern constinit const Recogniser kStatusLines{
    "proc-status-lines",
    "states of processes behind the command that printed them from /proc/PID/status", kStatusWords,
    read_status_command};

}  // namespace culprit::ingest
