// torchrun's own lines: which child ended how, and the report that closes a failed run. Format:
// torch.distributed.elastic, multiprocessing/errors (ChildFailedError), all generations since 1.9.
// The "[0]:" of an entry is an index, no rank, and "Root Cause" is the earliest among one agent's
// children: a claim, kept as such.

#include <re2/re2.h>

#include "ingest/engine/events.hpp"
#include "ingest/logs/traceback.hpp"
#include "line/timestamp.hpp"
#include "line/trimmed.hpp"
#include "model/contains.hpp"
#include "model/hostlist.hpp"

namespace culprit::ingest {

namespace {

class ReportAssembler final : public Assembler {
 public:
  explicit ReportAssembler(bool blamed) : blamed_(blamed) {}

  Step feed(const TextLine& line, Reading& reading) override {
    static const re2::RE2 kIndex(R"(^\[\d+\]:$)");
    static const re2::RE2 kRank(R"(^(-?\d+) \(local_rank: (-?\d+)\))");
    static const re2::RE2 kExit(R"(^(-?\d+) \(pid: (\d+)\))");
    const std::string_view text = line.line.message;
    const std::string_view body = line::trimmed(text);
    if (body.rfind("======", 0) == 0) {
      store(reading);
      return Step::finished;
    }
    if (body.rfind("Root Cause (first observed failure)", 0) == 0) {
      store(reading);
      blamed_ = true;
      return Step::took;
    }
    if (body.rfind("------", 0) == 0) {
      store(reading);
      return Step::took;
    }
    if (re2::RE2::FullMatch(re2::StringPiece(body.data(), body.size()), kIndex)) {
      store(reading);
      open_ = true;
      row_ = {};
      row_.place = line.place;
      row_.source = "torchrun";
      return Step::took;
    }
    if (!open_) return body.empty() || body.rfind('<', 0) == 0 ? Step::took : Step::not_mine;
    const std::size_t colon =
        text.find(':');  // "error_file" fills its column: no space before the colon
    const std::string_view key =
        colon == std::string_view::npos ? std::string_view{} : line::trimmed(text.substr(0, colon));
    if (!in_traceback_ && (key == "time" || key == "host" || key == "rank" || key == "exitcode" ||
                           key == "error_file" || key == "traceback")) {
      const std::string_view value = line::trimmed(text.substr(colon + 1));
      const re2::StringPiece piece(value.data(), value.size());
      std::int64_t a = 0;
      std::int64_t b = 0;
      if (key == "time") {
        Timestamp stamp;
        if (line::parse_iso(value, stamp) > 0) row_.time = stamp;
      } else if (key == "host" && !value.empty() && value != "<NULL>")
        row_.host = Host(value);
      else if (key == "rank" && re2::RE2::PartialMatch(piece, kRank, &a, &b)) {
        row_.rank = Rank(a);
        if (b >= 0) row_.local_rank = LocalRank(b);
      } else if (key == "exitcode" && re2::RE2::PartialMatch(piece, kExit, &a, &b)) {
        row_.code = a;
        row_.pid = b;
      } else if (key == "traceback") {
        in_traceback_ = true;
        traceback_place_ = line.place;
        if (value.rfind("Traceback", 0) == 0)
          parser_.feed(value);
        else
          in_traceback_ = false;
      }
      last_line_ = line.place.line;
      return Step::took;
    }
    if (in_traceback_) {
      // The text is indented by two; anything else is another process's, or the report was cut.
      if (!body.empty() && text.substr(0, 2) != "  ") return Step::not_mine;
      parser_.feed(text.size() > 2 && text.substr(0, 2) == "  " ? text.substr(2) : text);
      if (parser_.names_it()) traceback_place_ = line.place;
      last_line_ = line.place.line;
      return Step::took;
    }
    return body.empty() ? Step::took : Step::not_mine;
  }

  void finish(Reading& reading) override { store(reading); }

 private:
  void store(Reading& reading) {
    if (!open_) return;
    row_.blamed = blamed_;
    reading.sink.put(row_);
    if (row_.host || row_.rank) {
      reading.sink.put(IdentityRow{.place = row_.place,
                                   .source = "torchrun",
                                   .host = row_.host,
                                   .pid = row_.pid,
                                   .local_rank = row_.local_rank,
                                   .rank = number_of(row_.rank)});
    }
    TracebackRow trace;
    parser_.fill(trace);
    if (!trace.type.empty()) {
      trace.place = traceback_place_;
      trace.source = "torchrun";
      trace.time = row_.time;
      trace.host = row_.host;
      trace.rank = row_.rank;
      trace.local_rank = row_.local_rank;
      trace.pid = row_.pid;
      trace.last_line = last_line_;
      classify_traceback(trace, reading.pack, parser_.raised_in());
      reading.sink.put(trace);
    }
    parser_ = {};
    in_traceback_ = false;
    open_ = false;
  }

  bool blamed_;
  bool open_ = false;
  bool in_traceback_ = false;
  ExitRow row_;
  TracebackParser parser_;
  Place traceback_place_;
  std::uint64_t last_line_ = 0;
};

Outcome read_report(const TextLine& line, Reading&) {
  const std::string_view body = line::trimmed(line.line.message);
  Outcome outcome;
  if (body.rfind("Failures:", 0) == 0)
    outcome.assembler = std::make_unique<ReportAssembler>(false);
  else if (body.rfind("Root Cause (first observed failure)", 0) == 0)
    outcome.assembler = std::make_unique<ReportAssembler>(true);
  return outcome;
}

Outcome read_exit(const TextLine& line, Reading& reading) {
  static const re2::RE2 kFailed(R"(failed \(exitcode: (-?\d+)\) local_rank: (\d+) \(pid: (\d+)\))"),
      kHost(R"( host: ([A-Za-z][\w.-]*)\s*$)");
  ExitRow row;
  std::int64_t local = 0;
  std::int64_t pid = 0;
  if (!re2::RE2::PartialMatch(line.line.message, kFailed, &row.code, &local, &pid))
    return {false, nullptr, "torchrun.exit_torn"};
  row.place = line.place;
  row.time = line.line.prefix.time;
  row.source = "torchrun";
  row.host = line.line.prefix.host;
  if (std::string host; re2::RE2::PartialMatch(line.line.message, kHost, &host))
    row.host = Host(host);
  row.local_rank = LocalRank(local);
  row.pid = pid;
  row.blamed = true;  // the agent prints this line for the child it saw first
  reading.sink.put(row);
  return {true};
}

// Where the tasks of a list, "1,3-5", ran.
void put_tasks(const Host& host, const std::string& list, const Place& place, Reading& reading) {
  constexpr std::size_t kMostTasks = 256;
  for (const std::string& task : expand_hostlist("[" + list + "]", kMostTasks).hosts)
    if (!task.empty() && task.size() < 9)
      reading.sink.put(IdentityRow{.place = place,
                                   .source = "srun exit",
                                   .host = host,
                                   .task = std::strtoll(task.c_str(), nullptr, 10)});
}

// srun: error: node07: tasks 1,3-5: Exited with exit code 1 · node07: task 4: Killed · Segmentation
// fault (core dumped)
Outcome read_srun(const TextLine& line, Reading& reading) {
  static const re2::RE2 kTask(
      R"(srun: error: (\S+): tasks? ([\d,-]+): (Killed|Terminated|Aborted|Exited with exit code (\d+)|Segmentation fault|Bus error|Out Of Memory|Floating point exception|Illegal instruction))");
  std::string host, tasks, how, code;
  if (!re2::RE2::PartialMatch(line.line.message, kTask, &host, &tasks, &how, &code)) return {};
  ExitRow row{.place = line.place, .time = line.line.prefix.time, .source = "srun"};
  if (!contains(host, '[')) {  // a list names no single one
    row.host = Host(host);
    put_tasks(*row.host, tasks, line.place, reading);
  }
  if (!code.empty())
    row.code = code.size() < 6 ? std::strtoll(code.c_str(), nullptr, 10) : 1;
  else if (how == "Killed" || how == "Out Of Memory")
    row.code = -9;
  else if (how == "Terminated")
    row.code = -15;
  else if (how == "Aborted")
    row.code = -6;
  else if (how.rfind("Segmentation", 0) == 0)
    row.code = -11;
  else if (how == "Bus error")
    row.code = -7;
  else
    row.code = 1;
  reading.sink.put(row);
  return {true};
}

// A shell's or collector's word on the whole job: "torchrun exit code 1", "exit status: 0",
// "EXIT_CODE=1".
Outcome read_exit_code(const TextLine& line, Reading& reading) {
  static const re2::RE2 kCode(
      R"((?i)^[\w ./-]{0,60}\bexit[ _-]?(?:code|status)\s*[:= ]\s*(-?\d{1,3})\s*$)");
  ExitRow row;
  if (!re2::RE2::PartialMatch(line.line.message, kCode, &row.code)) return {};
  // kubectl's word on a command that somebody typed.
  if (line.line.message.starts_with("command terminated with") && row.code < 128) return {};
  row.place = line.place;
  row.time = line.line.prefix.time;
  row.source = "shell";
  if (row.code > 128 && row.code < 160) row.code = -(row.code - 128);
  reading.sink.put(row);
  return {true};
}

// gdb: a process stopped at a signal. In the text of a debugger no rule is asked, so the line is
// told here.
Outcome read_debugger_signal(const TextLine& line, Reading& reading) {
  if (reading.text_kind != "stack") return {};
  const auto match = reading.pack.match(line.line.message);
  if (!match || !reading.pack.is_event(*match)) return {};
  reading.sink.put(make_event(line, *match, reading));
  return {true};
}

// The program's or its agent's own word that the training came to its planned end.
Outcome read_finished(const TextLine& line, Reading& reading) {
  // "... requested exit (EXIT_CODE_RESUME_TO_DISAMBIGUATE = 16)": it did not come to its end.
  static const re2::RE2 kCode(R"(\(EXIT_CODE_\w+ = (\d{1,3})\))");
  int code = 0;
  re2::RE2::PartialMatch({line.raw.data(), line.raw.size()}, kCode, &code);
  reading.sink.put(ExitRow{.place = line.place,
                           .time = line.line.prefix.time,
                           .source = "log",
                           .code = code,
                           .host = line.line.prefix.host,
                           .rank = line.line.prefix.rank});
  return {true};
}

constexpr std::string_view kFinishedWords[] = {"worker group successfully finished",
                                               "'train_runtime'",
                                               "`Trainer.fit` stopped: `max_steps",
                                               "`Trainer.fit` stopped: `max_epochs",
                                               "[exiting program after",
                                               "exiting program at iteration",
                                               "- root - INFO - Training completed"};
constexpr std::string_view kDebuggerWords[] = {"received signal SIG", "terminated with signal SIG",
                                               "stop reason = signal SIG"};
constexpr std::string_view kReportWords[] = {"Failures:", "Root Cause (first observed failure)"};
constexpr std::string_view kExitWords[] = {"failed (exitcode: "};
constexpr std::string_view kSrunWords[] = {"srun: error: "};
constexpr std::string_view kExitCodeWords[] = {"exit code", "exit_code",   "exit status",
                                               "exitcode=", "exit_status", "exit-code"};

}  // namespace

extern constinit const Recogniser kFinished{
    "training-finished", "the training's or the agent's own word that it came to its planned end",
    kFinishedWords, read_finished};
extern constinit const Recogniser kTorchrunReport{
    "torchrun-report",
    "torchrun's failure report (ChildFailedError), with its Root Cause kept as a claim",
    kReportWords, read_report};
extern constinit const Recogniser kTorchrunExit{
    "torchrun-exit", "torchrun: which child ended with which code, three generations", kExitWords,
    read_exit};
extern constinit const Recogniser kSrunExit{
    "srun-exit", "srun: which tasks on which node ended how", kSrunWords, read_srun};
extern constinit const Recogniser kDebuggerSignal{
    "debugger-signal", "gdb and lldb: the signal at which a process stopped", kDebuggerWords,
    read_debugger_signal};
extern constinit const Recogniser kExitCode{
    "exit-code", "the job's exit code as a wrapper script or collector wrote it down",
    kExitCodeWords, read_exit_code};

}  // namespace culprit::ingest
