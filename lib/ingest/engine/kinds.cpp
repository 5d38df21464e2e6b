// What a file can be known to be from its head. A kind narrows which rules apply ("Pending : Yes"
// means something in nvidia-smi's output only); texts in which a rule's words mean nothing at all
// (stack dumps, metrics, source code) are recognised so that nobody is accused by a function name.
#include <algorithm>
#include <array>
#include <cassert>
#include <cctype>
#include <optional>
#include <set>

#include <re2/re2.h>

#include "bundle/own_files.hpp"
#include "ingest/engine/document.hpp"
#include "ingest/engine/host_blocks.hpp"
#include "ingest/engine/network_rows.hpp"
#include "ingest/engine/record_text.hpp"
#include "ingest/engine/scan.hpp"
#include "line/line.hpp"
#include "line/wrapper.hpp"

namespace culprit::ingest {

bool labelled_rows(const Head& head);               // ingest/training/labelled_rows.cpp
bool clock_readings(const Head& head);              // ingest/logs/clock_readings.cpp
bool machine_table(const Head& head);               // ingest/settings/machine_table.cpp
bool lists_processes(std::string_view first_line);  // ingest/stacks/process_list.cpp
bool machine_answers(const Head& head);             // ingest/settings/machine_answers.cpp

namespace {

bool ends(std::string_view text, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view e) {
    return text.size() >= e.size() && text.ends_with(e);
  });
}

bool starts(std::string_view text, std::string_view with) { return text.rfind(with, 0) == 0; }

std::string_view first_text_of(const Head& head) {
  const std::size_t at = head.bytes.find_first_not_of(" \r\n\t\xEF\xBB\xBF");
  return at == std::string_view::npos ? std::string_view{} : head.bytes.substr(at);
}

template <class Accept>
bool share_of_lines(const Head& head, int percent, Accept accept, int at_most = 64) {
  ShareOfLines share(head, percent, at_most);
  std::string_view rest = head.bytes;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string_view text = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    if (text.find_first_not_of(" \r\t") == std::string_view::npos) continue;
    if (!share.take(accept(text))) break;
  }
  return share.reached();
}

bool own_report(const Head& head) { return bundle::is_own_report(head.bytes, head.whole); }

bool kernel_log(const Head& head) {
  return share_of_lines(head, 60,
                        [](std::string_view text) {
                          const line::Line line = line::peel(text.substr(0, 512));
                          return line.prefix.kernel || line.prefix.unit == "kernel";
                        }) ||
         (starts(head.base(), "dmesg") && share_of_lines(head, 60, [](std::string_view text) {
            return line::peel(text.substr(0, 512)).prefix.time.clock != Clock::none;
          }));
}

bool fabric_manager(const Head& head) {
  static const re2::RE2 kLine(
      R"(\[[A-Z][a-z]{2} \d\d \d{4} \d\d:\d\d:\d\d\] \[(?:INFO|ERROR|WARNING|DEBUG|CRITICAL)\] \[tid \d+\])");
  return head.base().find("fabricmanager") != std::string_view::npos ||
         (head.has("] [tid ") &&
          re2::RE2::PartialMatch(
              re2::StringPiece(head.bytes.data(), std::min<std::size_t>(head.bytes.size(), 8192)),
              kLine));
}

bool ipmi_sel(const Head& head) {
  static const re2::RE2 kLine(
      R"(^\s*[0-9a-f]+\s*\|\s*(?:\d\d/\d\d/\d{2,4}|[A-Z][a-z]{2}-\d\d-\d{4}|Pre-Init)\s*\|)");
  return head.has("|") && share_of_lines(head, 60, [](std::string_view text) {
           return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), kLine);
         });
}

// The whole of `nvidia-smi -q`, or what somebody cut out of it.
bool smi_query(const Head& head) {
  static const re2::RE2 kDevice(
      R"((?m)^GPU [0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9]\r?\n {2,}[A-Z][\w ]+ *(?::|\r?\n))");
  return head.has("==============NVSMI LOG==============") ||
         (head.has("\nGPU 0") &&
          re2::RE2::PartialMatch(re2::StringPiece(head.bytes.data(), head.bytes.size()), kDevice));
}
bool smi_table(const Head& head) { return head.has("\n| NVIDIA-SMI "); }

bool dcgm_diag(const Head& head) {
  return head.has("Successfully ran diagnostic") ||
         (head.has("| Diagnostic ") && head.has("| Result "));
}
bool rdma_devices(const Head& head) {
  return head.has("hca_id:") || head.has("Infiniband device '") ||
         (head.has("CA '") && (head.has("Port 1:") || head.has("Rate:")));
}
// kubectl get events, with whatever columns are asked for.
bool events_table(const Head& head) {
  const std::string_view top = first_text_of(head);
  const std::string_view line = top.substr(0, top.find('\n'));
  return line.find("REASON ") != std::string_view::npos &&
         line.find("OBJECT ") != std::string_view::npos &&
         line.find("MESSAGE") != std::string_view::npos;
}

bool kubectl_describe(const Head& head) {
  return (head.has("Namespace:") && head.has("Containers:") &&
          (head.has("Restart Count:") || starts(first_text_of(head), "Name:"))) ||
         (starts(first_text_of(head), "Name:") && head.has("\nNode:") &&
          head.has("\nContainers:")) ||
         starts(first_text_of(head), "LAST SEEN") || events_table(head);
}

// Most lines of dumps are frames, "    wait (threading.py:320)" and "#3  0x00007f41 in ...": told
// without the pattern.
bool plain_frame(std::string_view text) {
  constexpr std::size_t kIndent = 4, kFewestDigits = 8;
  if (text.starts_with('#')) {
    const std::size_t number = text.find_first_not_of("0123456789", 1);
    const std::size_t address = text.find_first_not_of(' ', number);
    return number != std::string_view::npos && number > 1 && address != std::string_view::npos &&
           address > number && text.substr(address).starts_with("0x") &&
           text.substr(address + 2, kFewestDigits).size() == kFewestDigits &&
           text.find_first_not_of("0123456789abcdef", address + 2) >= address + 2 + kFewestDigits;
  }
  if (!text.starts_with("    ") || !text.ends_with(')')) return false;
  const std::size_t name = text.find_first_not_of(' '), open = text.rfind(" (");
  return open != std::string_view::npos && open > name && name >= kIndent && text[name] > ' ' &&
         text.find(')', open) + 1 == text.size() && text.find('(', open + 2) == text.npos &&
         std::ranges::all_of(text, [](char c) { return c > 0; });
}

// A line of a stack dump, be it a head, a frame, or what a debugger says before the first.
bool stack_line(std::string_view text) {
  text = text.substr(0, 4096);
  // What each of the forms below begins with.
  if (text.empty() || std::string_view("TCSPe# [UAB=*F").find(text[0]) == text.npos) return false;
  if (plain_frame(text)) return true;
  static const re2::RE2 kLine(
      R"re(^(?:)re"
      R"re(Thread (?:\d+(?:\.\d+)? \((?:Thread 0x|LWP \d+|process \d+)|(?:0x[0-9A-Fa-f]+|\d+) \((?:idle|active)))re"
      R"re(|(?:Current thread|Thread) 0x[0-9a-f]{8,16} .*\(most recent call first\):|Current thread's C stack trace|Traceback \(most recent call first\):|Stack \(most recent call first\):)re"
      R"re(|(?:Parent )?Process \d+: \S|Python v\d+\.\d+|PID \d+ - process|TID \d+:|eu-stack: )re"
      R"re(|#\d+ +(?:0x[0-9a-f]{8,}|[^ ].*\(.*\) at \S+:\d+$)|   +(?:from|at) /|    +\S.* \([^()]*(?:\([^()]*\))?[^()]*\)$|  File "[^"]*", line (?:\d+ in |[\d?]+, in )|  Binary file "| +<built-in method )re"
      R"re(|\[New (?:LWP|Thread) |\[Thread debugging using|\[Inferior \d+ |Using host libthread_db|Attaching to (?:process|program)|Unable to locate python frame|Backtrace stopped:)re"
      R"re(|=== Rank \d+: http|  <no Python frame>$)re"
      R"re(|[* ] thread #\d+|  [* ] frame #\d+: 0x|        (?:Arguments|Locals):|Fatal Python error: |Timeout \(\d+:\d\d:\d\d)re"
      R"re())re");
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), kLine);
}

// Folders and files that people name after the tool whose output they hold.
bool stack_name(std::string_view path) {
  for (const std::string_view word :
       {"pyspy", "py-spy", "py_spy", "gdb", "pstack", "gstack", "eu-stack", "eustack",
        "faulthandler", "stacks/", "stack_", "stacks_", "stacktrace", "backtrace", "lldb",
        "pystack", "threads"})
    if (path.find(word) != std::string_view::npos) return true;
  return false;
}

// A log may hold a dump: there the lines of the dump are read, and the rules read the others.
bool stack_dump(const Head& head) {
  if (head.has("(most recent call last)") || head.has("Fatal Python error: ")) return false;
  if (share_of_lines(head, stack_name(head.path) ? 30 : 70, stack_line)) return true;
  // A dumper that was refused, in place of its dump.
  const std::string_view top = first_text_of(head);
  return stack_name(head.path) &&
         (starts(top, "Error: ") || starts(top, "ptrace: ") ||
          starts(top, "Could not attach to process") || starts(top, "warning: process ") ||
          starts(top, "eu-stack: ")) &&
         std::count(head.bytes.begin(), head.bytes.end(), '\n') <= 8;
}

bool tree_line(std::string_view text) {
  const std::size_t name = text.find_first_not_of(" |`-");
  if (name == std::string_view::npos) return false;
  const std::string_view body = text.substr(name);
  // "2026-02-10T11:27:41,683000+00:00 ..." of dmesg has such a comma, too.
  if (body.size() > 10 && body[4] == '-' && body[7] == '-' && body[10] == 'T') return false;
  const std::size_t comma = body.substr(0, 64).find(',');
  return comma != std::string_view::npos && comma > 0 && comma + 1 < body.size() &&
         body[comma + 1] >= '0' && body[comma + 1] <= '9' &&
         (name > 0 ? text.find_first_of("|`") < name || body[0] == '{' || body.find("\xE2\x94") == 0
                   : true);
}

bool process_tree(const Head& head) {
  const std::string_view top = first_text_of(head);
  const std::string_view line = top.substr(0, top.find('\n'));
  const auto column = [&](std::string_view name) {
    for (std::size_t at = line.find(name); at != std::string_view::npos;
         at = line.find(name, at + 1))
      if ((at == 0 || line[at - 1] == ' ') &&
          (at + name.size() == line.size() || line[at + name.size()] == ' ' ||
           line[at + name.size()] == '\r'))
        return true;
    return false;
  };
  if (column("PID") && (column("COMMAND") || column("CMD") || column("ARGS") || column("COMM")))
    return true;
  if (head.base().find("pstree") != std::string_view::npos || lists_processes(line)) return true;
  return (head.has("|-") || head.has("\xE2\x94\x9C\xE2\x94\x80")) &&
         share_of_lines(head, 80, tree_line);
}

bool inspector(const Head& head) {
  return starts(first_text_of(head), "{") &&
         (head.has("\"coll_perf\"") || head.has("\"p2p_perf\""));
}

// sacct's table, exported as CSV: jobs, and no numbers to compare.
bool slurm_accounting(const Head& head) {
  const std::string_view top = first_text_of(head);
  const std::string heading = lower(top.substr(0, std::min<std::size_t>(top.find('\n'), 4096)));
  return heading.find("jobid") != std::string::npos &&
         heading.find("exitcode") != std::string::npos &&
         heading.find("state") != std::string::npos;
}

// More of its values are text than numbers, by far: a record of what happened.
bool mostly_text(std::string_view object) {
  std::size_t texts = 0, numbers = 0;
  for (std::size_t at = object.find("\":"); at != std::string_view::npos;
       at = object.find("\":", at + 2)) {
    const std::size_t value = object.find_first_not_of(' ', at + 2);
    if (value == std::string_view::npos) break;
    texts += object[value] == '"';
    numbers += object[value] == '-' || (object[value] >= '0' && object[value] <= '9');
  }
  return texts >= 5 * std::max<std::size_t>(numbers, 1);
}

// At least half of the cells of its rows are numbers or times, and none is a sentence.
bool rows_of_numbers(const Head& head) {
  constexpr int kMostRows = 64;
  constexpr std::size_t kWords = 3;
  const char separator = contains(head.bytes.substr(0, head.bytes.find('\n')), '\t') ? '\t' : ',';
  std::size_t cells = 0, numbers = 0;
  bool sentence = false;
  int rows = 0;
  std::string_view rest = head.bytes;
  while (!rest.empty() && rows < kMostRows) {
    const std::size_t end = rest.find('\n');
    const std::string_view row = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    if (rows++ == 0 && !rest.empty()) continue;  // its heading
    for (std::size_t at = 0; at <= row.size();) {
      const std::size_t stop = std::min(row.find(separator, at), row.size());
      const std::string_view cell = trimmed(row.substr(at, stop - at));
      at = stop + 1;
      ++cells;
      numbers += cell.empty() || std::isdigit(static_cast<unsigned char>(cell[0])) != 0 ||
                 cell[0] == '-' || cell[0] == '.';
      sentence =
          sentence || (static_cast<std::size_t>(std::ranges::count(cell, ' ')) + 1 > kWords &&
                       std::isalpha(static_cast<unsigned char>(cell[0])) != 0);
    }
  }
  return !sentence && 2 * numbers >= cells;
}

bool metrics(const Head& head) {
  const std::string_view top = first_text_of(head);
  if (starts(top, "# HELP ") || starts(top, "# TYPE ") ||
      (starts(top, "{\"status\":") && head.has("\"resultType\"")) || starts(top, "# gpu "))
    return true;
  return ends(head.base(), {".prom"}) ||
         (ends(head.base(), {".csv", ".tsv"}) && rows_of_numbers(head));
}

// What people wrote for each other beside the logs.
bool notes(const Head& head) {
  static const re2::RE2 kNotes(
      R"((?i)^(?:read[-_]?me|notes?|ticket|info|hinweise?|bemerkung(?:en)?|remarks?|comments?|)"
      R"(on[-_]?call|hand[-_]?over|thread|slack|chat|mail|msg|message|request|question|collected|)"
      R"(context|summary|about|situation)(?:[-_. ][^/]*)?$|(?i)^[^/]*[-_]notes?\.(?:txt|md)$)");
  const std::string_view base = head.base();
  return head.whole && head.bytes.size() <= 16'384 &&
         re2::RE2::PartialMatch({base.data(), base.size()}, kNotes) &&
         !ends(base, {".json", ".jsonl", ".csv", ".log", ".yaml", ".yml"});
}

bool word_table(const Head& head) { return ends(head.base(), {".csv", ".tsv"}); }

// JSON lines without a message; what speaks among them is heard.
bool json_rows(const Head& head) {
  return starts(first_text_of(head), "{") &&
         share_of_lines(
             head, 90,
             [](std::string_view text) {
               line::Prefix of_record;
               return starts(text, "{") && !line::unwrap(text, of_record) &&
                      text.find("\"MESSAGE\"") == std::string_view::npos &&
                      text.find("\"log\"") == std::string_view::npos &&
                      text.find("\"message\"") == std::string_view::npos &&
                      text.find("\"msg\"") == std::string_view::npos &&
                      text.find("\"error\"") == std::string_view::npos && !mostly_text(text) &&
                      text.find("\":") != std::string_view::npos;
             },
             16) &&
         only_objects(head);
}

// It speaks of all jobs and nodes of the site, and is the log of none of them.
bool slurm_controller(const Head& head) {
  return (head.has("JobId=") || head.has("update_node: node")) &&
         (head.has("_job_complete: ") || head.has("_slurm_rpc_") || head.has("sched: ") ||
          head.has("sched/backfill: ")) &&
         share_of_lines(head, 90, [](std::string_view text) {
           return starts(text, "[20") && text.find("] ") != std::string_view::npos;
         });
}

// "./slurm-140022.out:[rank46]: ...": lines that a search found in files of that name.
bool search_result(const Head& head) {
  static const re2::RE2 kHit(
      R"(^(?:\.{0,2}/)?[\w.+-]+(?:/[\w.+-]+)*\.(?:out|err|log|txt|journal)(?:\.\d+)?:(?:\d+:)?)");
  return share_of_lines(head, 80, [](std::string_view text) {
    return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), kHit);
  });
}

bool source_code(const Head& head) {
  // Of a switch's configuration, too, people keep what changed: its ports are read.
  if (ends(head.base(), {".patch", ".diff"})) return !head.has(" mtu ");
  return ends(head.base(), {".py",  ".pyx", ".cc",   ".cpp",  ".cu",     ".cuh",   ".c",    ".h",
                            ".hpp", ".sh",  ".bash", ".md",   ".rst",    ".ipynb", ".html", ".js",
                            ".ts",  ".go",  ".rs",   ".java", ".sbatch", ".slurm"});
}

// What tools print of a machine: below bare names of machines there is nothing else.
bool output_of_tools(const Head& head) {
  return dcgm_diag(head) || smi_query(head) || smi_table(head) || rdma_devices(head) ||
         head.has("\nFilesystem ") || head.has(" mtu ") || head.has("NVRM: ");
}

// What several commands printed, each below a heading with the machine.
bool commands(const Head& head) {
  constexpr int kFirst = 16;                  // lines in which the first heading stands
  constexpr std::size_t kFewestSections = 3;  // of machines, where no tool is known by its output
  int headings = 0, lines = 0;
  bool bare = false;
  std::set<std::string> sections;
  std::optional<bool> tools;  // asked where a bare name may be a heading
  const auto believed = [&](const CommandHeading& heading) {
    if (heading.host.empty() || (heading.bare && !heading.section)) return false;
    if (heading.bare && !tools) tools = output_of_tools(head);
    return !heading.bare || *tools;
  };
  each_text_line(head.bytes, [&](std::string_view text, std::uint64_t, std::size_t) {
    if (trimmed(text).empty()) return true;
    const CommandHeading heading = command_heading(text);
    headings += (bare && prompted(text)) || believed(heading);
    bare = heading.bare;
    if (heading.section) sections.insert(heading.host);
    return headings < 2 && sections.size() < kFewestSections &&
           (headings > 0 || !sections.empty() || ++lines < kFirst);
  });
  return (headings > 1 || sections.size() >= kFewestSections) && !source_code(head);
}

bool configuration(const Head& head) {
  if (ends(head.base(), {".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".xml", ".env",
                         ".properties", ".lock", ".repo", ".service"}))
    return true;
  // A JSON document over several lines that nobody else claims.
  return ends(head.base(), {".json"}) &&
         (starts(first_text_of(head), "{\n") || starts(first_text_of(head), "{\r") ||
          starts(first_text_of(head), "[\n") || starts(first_text_of(head), "[{"));
}

// Lines begin with names and times: the N is met later and less often than a space.
bool nccl_line(std::string_view text) {
  constexpr std::string_view kName = "NCCL ";
  for (std::size_t at = text.find(kName); at != std::string_view::npos;
       at = text.find(kName, at + 1))
    if (at > 0 && text[at - 1] == ' ')
      for (const std::string_view level : {"INFO ", "WARN ", "TRACE "})
        if (text.substr(at + kName.size()).starts_with(level)) return true;
  return false;
}

bool nccl_log(const Head& head) { return share_of_lines(head, 80, nccl_line); }

bool xorg_log(const Head& head) {
  return head.has("X.Org X Server") || starts(head.base(), "Xorg.");
}

// The first that fits names the file; the order is from the surest to the least sure.
constexpr TextKind kKinds[] = {
    {"culprit-report", "reports of this program: no evidence", "source", own_report},
    {"stack-dump", "py-spy, gdb, eu-stack, lldb, faulthandler dumps by themselves", "stack",
     stack_dump},
    {"process-tree", "ps, pstree by themselves", "process", process_tree},
    {"commands", "what commands printed, below headings with the machine", "commands", commands},
    {"nvidia-smi-q", "nvidia-smi -q", "nvidia-smi", smi_query, true},
    {"nvidia-smi-table", "nvidia-smi by itself", "nvidia-smi", smi_table, true},
    {"fabric-manager", "NVIDIA fabric manager log", "fabric-manager", fabric_manager},
    {"rdma-devices", "ibstat, ibv_devinfo, ibstatus", "rdma", rdma_devices, true},
    {"kubectl-describe", "kubectl describe pod, kubectl get events", "kubernetes",
     kubectl_describe},
    {"dcgm-diag", "dcgmi diag", "dcgm", dcgm_diag},
    {"ipmi-sel", "ipmitool sel list and elist", "bmc", ipmi_sel},
    {"xorg", "X server log (its bracketed seconds are no boot time)", "source", xorg_log},
    {"notes", "what people wrote beside the logs", "notes", notes},
    {"source", "programs, scripts and prose: no log", "source", source_code},
    {"nccl-inspector", "NCCL Inspector records, one JSON object a line", "data", inspector},
    {"slurm-accounting", "sacct by itself", "slurm", slurm_accounting},
    {"search-result", "lines that grep found in logs", "", search_result},
    {"slurm-controller", "slurmctld.log", "scheduler", slurm_controller},
    {"labelled-rows", "rows of values behind their names, of machines or devices", "rows",
     labelled_rows},
    {"clock-readings", "clocks of several machines, asked at one moment", "clocks", clock_readings},
    {"machine-table", "tables with a row for each machine", "machines", machine_table},
    {"metrics", "other tables of numbers: recognised, and not read", "data", metrics},
    {"word-table", "other tables: words, which are heard", "words", word_table},
    {"json-rows", "other JSON lines of numbers, and what is said among them", "", json_rows},
    {"configuration", "configuration files: no log", "source", configuration},
    {"kernel-log", "kernel log", "kernel", kernel_log},
    {"nccl-log", "NCCL_DEBUG output by itself", "nccl", nccl_log},
    {"machine-answers", "what several machines answered to a command", "answers", machine_answers},
};

bool binary(std::string_view bytes) {
  const std::string_view top = bytes.substr(0, 8192);
  static constexpr std::array kControl = [] {
    std::array<bool, 256> out{};
    for (std::size_t c = 0; c < 32; ++c)
      out[c] = c != '\t' && c != '\r' && c != '\n' && c != '\x1b';
    return out;
  }();
  std::size_t control = 0;
  for (const char c : top) control += kControl[static_cast<unsigned char>(c)];
  // A log cut by a crash and continued holds runs of NULs.
  const auto nul_run = static_cast<std::size_t>(control == 0 ? 0 : std::ranges::count(top, '\0'));
  control -= nul_run;
  const std::size_t counted = top.size() - nul_run;
  if (counted == 0) return !top.empty() && bytes.find_first_not_of('\0') == std::string_view::npos;
  if (top.size() >= 4) {
    static constexpr std::string_view kMagic[] = {std::string_view("\x7f"
                                                                   "ELF",
                                                                   4),
                                                  std::string_view("\x80\x02", 2),
                                                  std::string_view("\x80\x04", 2),
                                                  "SQLite format 3",
                                                  "%PDF-",
                                                  "\x89PNG"};
    for (const std::string_view magic : kMagic)
      if (top.rfind(magic, 0) == 0) return true;
  }
  return control * 100 > counted * 10 ||
         (nul_run * 100 > top.size() * 20 && control * 100 > counted * 2);
}

}  // namespace

extern const Document kErrorJson, kFlightRecorder, kFlightRecorderJson, kRecorderPage,
    kKubernetesJson, kLogExport, kLogExportCsv, kManifest, kProcessDump, kProcessFile, kPyspyJson,
    kRasJson, kRecorderTables, kStatDot;
extern const Document kCloudwatchJson, kPrometheusJson, kRdmaStatisticJson, kSysCounterFile;
extern const RecordText kPrometheusText, kSmiCsv, kSmiPmon, kSmiDmon, kRdmaStatistic, kSysCounters,
    kEthtoolStatistics;
extern const Document kGoldenValues, kNsysExport, kNsysLog, kNumberDocument, kTensorboard,
    kTorchTrace, kWandbSummary;
extern const RecordText kStepJsonl, kStepTable, kWorkRequests;
extern const Document kSlurmTopology, kSlurmTopologyYaml, kEtcHosts, kInventory, kRankTable,
    kRankRanges, kHostfile, kNetworkCsv, kNetworkJson, kGpuTopology;
extern const Document kDcgmDiagJson, kDigestTable, kTestedDevices, kEnvironment, kLsmod, kModinfo,
    kMeasuredRates, kPackages, kSysctl, kHostWords, kBootList, kOutcomes, kPodsYaml, kJobConfig,
    kJobConfigJson, kLaunchScript, kTextDiff, kVersions, kWiring;

namespace {
constexpr const RecordText* kRecordTexts[] = {
    &kPrometheusText,    &kSmiCsv,       &kSmiPmon,   &kSmiDmon,  &kRdmaStatistic, &kSysCounters,
    &kEthtoolStatistics, &kWorkRequests, &kStepJsonl, &kStepTable};
constexpr const Document* kDocuments[] = {
    &kManifest,      &kErrorJson,      &kProcessDump,        &kProcessFile,       &kKubernetesJson,
    &kRecorderPage,  &kFlightRecorder, &kFlightRecorderJson, &kPyspyJson,         &kStatDot,
    &kRasJson,       &kRecorderTables, &kSlurmTopology,      &kSlurmTopologyYaml, &kTestedDevices,
    &kDigestTable,   &kEtcHosts,       &kInventory,          &kRankTable,         &kRankRanges,
    &kDcgmDiagJson,  &kOutcomes,       &kHostfile,           &kNetworkCsv,        &kWiring,
    &kNetworkJson,   &kGpuTopology,    &kGoldenValues,       &kTensorboard,       &kTorchTrace,
    &kWandbSummary,  &kPrometheusJson, &kRdmaStatisticJson,  &kSysCounterFile,    &kEnvironment,
    &kModinfo,       &kLsmod,          &kPackages,           &kVersions,          &kSysctl,
    &kHostWords,     &kBootList,       &kPodsYaml,           &kLogExport,         &kLogExportCsv,
    &kMeasuredRates, &kTextDiff,       &kCloudwatchJson,     &kJobConfig,         &kNsysLog,
    &kNsysExport,    &kNumberDocument, &kJobConfigJson,      &kLaunchScript};
}  // namespace

// Of each byte one of 64 classes: letters whatever their case, digits and marks.
static constexpr std::array kClasses = [] {
  std::array<std::uint16_t, 256> out{};
  for (unsigned c = 0; c < 256; ++c)
    out[c] = static_cast<std::uint16_t>((c & 0x1f) | (c & 0x40) >> 1);
  return out;
}();
static unsigned class_of(char c) { return kClasses[static_cast<unsigned char>(c)]; }

HeadIndex::HeadIndex(std::string_view text)
    : newlines_(static_cast<std::int64_t>(count_newlines(text))) {
  if (text.empty()) return;
  unsigned before = class_of(text[0]) << 6;
  const auto see = [&](char c) {
    const unsigned here = class_of(c);
    pairs_[before + here] = true;
    before = here << 6;
  };
  std::size_t at = 1;
  for (; at + 4 <= text.size(); at += 4)
    see(text[at]), see(text[at + 1]), see(text[at + 2]), see(text[at + 3]);
  for (; at < text.size(); ++at) see(text[at]);
}

bool HeadIndex::may_have(std::string_view word) const {
  for (std::size_t i = 1; i < word.size(); ++i)
    if (!pairs_[class_of(word[i - 1]) << 6 | class_of(word[i])]) return false;
  return true;
}

const HeadIndex& Head::index() const {
  if (!known) known = std::make_shared<const HeadIndex>(bytes);
  return *known;
}
bool Head::has(std::string_view word) const {
  return index().may_have(word) && bytes.find(word) != std::string_view::npos;
}
bool Head::mentions(std::string_view word) const {
  return index().may_have(word) && ingest::mentions(bytes, word);
}
bool Head::has_any(std::initializer_list<std::string_view> words) const {
  return std::ranges::any_of(words, [&](std::string_view word) { return has(word); });
}

std::span<const Document* const> documents() { return kDocuments; }
std::span<const RecordText* const> record_texts() { return kRecordTexts; }
std::span<const TextKind> text_kinds() { return kKinds; }

ShareOfLines::ShareOfLines(std::string_view bytes, int percent, std::int64_t at_most)
    : percent_(percent), most_(at_most) {
  std::int64_t newlines = 0;
  for (std::size_t at = 0; newlines < at_most && (at = bytes.find('\n', at)) != bytes.npos; ++at)
    ++newlines;
  most_ = std::min(at_most, newlines + 1);
}

Detected detect(const Head& head) {
  Detected out;
  if (head.bytes.empty()) {
    out.format = "empty";
    return out;
  }
  for (const Document* document : documents())
    if (document->sniff(head)) {
      out.document = document;
      out.format = document->name;
      return out;
    }
  out.text = !binary(head.bytes);
  if (out.text)
    for (const RecordText* records : record_texts())
      if (records->sniff(head)) {
        out.records = records;
        out.format = records->name;
        out.kind = "data";
        return out;
      }
  for (const TextKind& kind : text_kinds())
    if (kind.sniff(head)) {
      out.format = kind.name;
      out.kind = kind.kind;
      break;
    }
  if (out.format.empty()) out.format = out.text ? "text" : "binary";
  out.rules_apply = out.text && out.kind != "data" && out.kind != "stack" &&
                    out.kind != "process" && out.kind != "source";
  return out;
}

}  // namespace culprit::ingest
