// What reads log text. A file mixes formats (a Slurm output holds tracebacks, NCCL lines and
// progress bars), so there is no parser per file: every recogniser looks at every line that holds
// one of its words, wherever it stands.
//
// Adding one is one new file: a constinit Recogniser at its end, named in recognisers.cpp and in
// CMake.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "line/line.hpp"
#include "model/rows.hpp"
#include "model/sink.hpp"
#include "rules/grammar.hpp"
#include "rules/pack.hpp"

namespace culprit::ingest {

// One record of a text: a line, or a part of one where processes tore into each other's lines.
struct TextLine {
  Place place;
  std::string_view raw;    // valid during the call
  const line::Line& line;  // peeled
};

struct Reading;

// What a recogniser keeps while it reads one member, because only the last of many lines matters (a
// counter) or because a line further down names what an earlier one speaks of. Puts its rows at the
// end of the member.
class Kept {
 public:
  virtual ~Kept() = default;
  virtual void finish(Reading&) {}
};

// What a recogniser may know and do while a member is read.
struct Reading {
  Sink& sink;
  const rules::RulePack& pack;
  std::string text_kind;
  std::string current_gpu;  // nvidia-smi -q and lspci blocks: the lines below belong to this device
  std::string current_nic;  // ibstat, ibv_devinfo blocks
  std::string path = {};  // of the member: dumps of a process often name it in the file's name only
  std::vector<std::unique_ptr<Kept>> kept = {};
  bool cut = false;  // a document that breaks off or is damaged: what stands before that was read
  bool steps_told =
      false;  // a framework's own step lines were read: progress bars beside them tell nothing new
  std::optional<std::int64_t> last_step = {};  // that a line told of
  std::string_view above = {};  // what stands before the line that is read, as far as it is at hand
  std::string current_host =
      {};  // output of many machines in one text: whose the lines below a heading or a prompt are
  std::string current_cluster = {};  // of the machine, as the heading of an export labels it

  // Whose a line is, as far as the text says it.
  std::optional<Host> host_of(const line::Prefix& prefix) const {
    return prefix.host || current_host.empty() ? prefix.host : std::optional(Host(current_host));
  }

  // The one object of its type that this member has.
  template <class T>
  T& keep() {
    for (const auto& one : kept)
      if (const Kept& held = *one; typeid(held) == typeid(T)) return static_cast<T&>(*one);
    kept.push_back(std::make_unique<T>());
    return static_cast<T&>(*kept.back());
  }
};

// Reads the lines that follow a head: a traceback, a failure report.
class Assembler {
 public:
  virtual ~Assembler() = default;
  // finished: the line was taken and nothing more is wanted; watching: not mine, and the next one
  // may be.
  enum class Step { took, not_mine, finished, watching };
  virtual Step feed(const TextLine& line, Reading& reading) = 0;
  virtual void finish(Reading&) {}  // always called once, at the latest at the end of the member
  virtual std::uint64_t most_lines() const {
    return 4'000;
  }  // after so many it is finished: a bound on what one head can swallow
};

struct Outcome {
  bool used = false;                     // the line went into a row
  std::unique_ptr<Assembler> assembler;  // wants the lines that follow
  std::string_view reject;               // stable code: the line is of this format and broken
  bool judge = false;  // the rules should see the line although none of their rarer words is in it
  bool speaks_of_error = false;  // kept for the leads when no rule knows the line
  bool begins_exception = false;
};

struct Recogniser {
  std::string_view name;  // stable, for `culprit formats`
  std::string_view summary;
  std::span<const std::string_view> words;  // at least 5 characters each; letters in any case
  Outcome (*read)(const TextLine& line, Reading& reading);
  std::string_view whole_kind =
      {};  // in a text of this kind it sees every line that no assembler took
  std::span<const std::string_view> also =
      {};               // folded: without one of these in it read() has nothing to say to a line
  bool beside = false;  // reads lines that others assemble, too: what an exception says
  std::span<const std::string> (*table_words)() = nullptr;  // further words, which a table has
};

std::span<const Recogniser* const> recognisers();

// The row of a line that speaks of an error and that no rule knows: no rule, and the class that the
// grammar gives it, with its title; else error_line/TEMPLATE. Nothing when the member has too many
// kinds of them. error_line.cpp
std::optional<EventRow> error_line(const TextLine& line, const std::optional<rules::Said>& named,
                                   Reading& reading);

}  // namespace culprit::ingest
