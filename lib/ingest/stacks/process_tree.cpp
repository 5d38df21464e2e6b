// pstree -aplt: the tree as glyphs, "name,pid arguments", threads in braces.
#include <algorithm>
#include <vector>

#include "ingest/stacks/stack_text.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kTreeCommandBytes = 4'096;

struct ProcessTreeEntry {
  std::size_t indent = 0;  // columns before the name
  std::int64_t pid = 0;
  std::string_view name, arguments;
  bool thread = false;
};

std::optional<ProcessTreeEntry> tree_entry(std::string_view text) {
  ProcessTreeEntry entry;
  std::size_t at = 0;
  bool branch = false;
  while (at < text.size()) {
    const std::string_view rest = text.substr(at);
    if (rest[0] == ' ' || rest[0] == '|' || rest[0] == '`') {
      branch = branch || rest[0] != ' ';
      ++at;
      ++entry.indent;
      continue;
    }
    if (rest[0] == '-' && branch && at > 0 && (text[at - 1] == '|' || text[at - 1] == '`')) {
      ++at;
      ++entry.indent;
      continue;
    }
    if (rest.substr(0, 2) == "\xE2\x94" && rest.size() > 2) {
      branch = true;
      at += 3;
      ++entry.indent;
      continue;
    }  // box drawing
    if (rest.substr(0, 2) == "\xC2\xA0") {
      at += 2;
      ++entry.indent;
      continue;
    }  // its blanks
    break;
  }
  const std::string_view body = text.substr(at);
  // The name may hold commas and blanks; the first ",digits" that ends the word is the pid.
  for (std::size_t comma = body.find(','); comma != std::string_view::npos && comma < 64;
       comma = body.find(',', comma + 1)) {
    std::string_view rest = body.substr(comma + 1);
    const auto pid = take_number(rest);
    if (!pid || (!rest.empty() && rest[0] != ' ' && rest[0] != ',')) continue;
    if (comma == 0) return std::nullopt;
    entry.pid = *pid;
    entry.name = body.substr(0, comma);
    entry.thread = entry.name.front() == '{' && entry.name.back() == '}';
    entry.arguments = trim(rest.substr(std::min(rest.find(' '), rest.size())));
    return entry;
  }
  return std::nullopt;
}

class PstreeAssembler final : public Assembler {
 public:
  std::uint64_t most_lines() const override { return 4'000'000; }

  Step feed(const TextLine& line, Reading& reading) override {
    const auto entry = tree_entry(line.line.message);
    if (!entry) return Step::not_mine;
    if (above_.size() > 0 && entry->indent == 0) flush(reading);  // the next tree
    while (!above_.empty() && above_.back().first >= entry->indent) above_.pop_back();
    if (entry->thread) {
      if (!above_.empty()) ++rows_[above_.back().second].threads;
      return Step::took;
    }
    ProcessRow row = process_row(line, "pstree");
    row.pid = entry->pid;
    row.name = std::string(entry->name);
    row.command = std::string(entry->name);
    if (!entry->arguments.empty())
      row.command += " " + std::string(entry->arguments.substr(0, kTreeCommandBytes));
    row.threads = 1;
    if (!above_.empty()) row.parent = rows_[above_.back().second].pid;
    above_.push_back({entry->indent, rows_.size()});
    rows_.push_back(std::move(row));
    return Step::took;
  }

  void finish(Reading& reading) override { flush(reading); }

 private:
  void flush(Reading& reading) {
    for (const ProcessRow& row : rows_) reading.sink.put(row);
    rows_.clear();
    above_.clear();
  }

  std::vector<ProcessRow> rows_;
  std::vector<std::pair<std::size_t, std::size_t>> above_;  // indent, row
};

Outcome read_process_tree(const TextLine& line, Reading& reading) {
  if (reading.text_kind != "process" || !tree_entry(line.line.message)) return {};
  Outcome outcome;
  outcome.assembler = std::make_unique<PstreeAssembler>();
  outcome.assembler->feed(line, reading);
  return outcome;
}

}  // namespace

extern constinit const Recogniser kPstree{
    "pstree",
    "pstree -aplt: processes, their parents, how many threads",
    {},
    read_process_tree,
    "process"};

}  // namespace culprit::ingest
