// What a file can be known to be from its head. A kind narrows which rules apply ("Pending : Yes" means something in
// nvidia-smi's output only); texts in which a rule's words mean nothing at all (stack dumps, metrics, source code)
// are recognised so that nobody is accused by a function name.
#include <algorithm>
#include <array>
#include <cassert>

#include <re2/re2.h>

#include "ingest/document.hpp"
#include "line/line.hpp"

namespace culprit::ingest {

namespace {

bool has(const Head& head, std::string_view text) { return head.bytes.find(text) != std::string_view::npos; }

bool ends(std::string_view text, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view e) { return text.size() >= e.size() && text.ends_with(e); });
}

bool starts(std::string_view text, std::string_view with) { return text.rfind(with, 0) == 0; }

std::string_view first_text(const Head& head) {
  const std::size_t at = head.bytes.find_first_not_of(" \r\n\t\xEF\xBB\xBF");
  return at == std::string_view::npos ? std::string_view{} : head.bytes.substr(at);
}

template <class Accept>
int share_of_lines(const Head& head, Accept accept, int at_most = 64) {
  int lines = 0;
  int good = 0;
  std::string_view rest = head.bytes;
  while (!rest.empty() && lines < at_most) {
    const std::size_t end = rest.find('\n');
    const std::string_view text = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    if (text.find_first_not_of(" \r\t") == std::string_view::npos) continue;
    ++lines;
    good += accept(text);
  }
  return lines == 0 ? 0 : good * 100 / lines;
}

bool kernel_log(const Head& head) {
  return share_of_lines(head, [](std::string_view text) {
    const line::Line line = line::peel(text.substr(0, 512));
    return line.prefix.kernel || line.prefix.unit == "kernel";
  }) >= 60 || (starts(head.base(), "dmesg") && share_of_lines(head, [](std::string_view text) { return line::peel(text.substr(0, 512)).prefix.time.clock != Clock::none; }) >= 60);
}

bool fabric_manager(const Head& head) {
  static const re2::RE2 kLine(R"(\[[A-Z][a-z]{2} \d\d \d{4} \d\d:\d\d:\d\d\] \[(?:INFO|ERROR|WARNING|DEBUG|CRITICAL)\] \[tid \d+\])");
  return head.base().find("fabricmanager") != std::string_view::npos || re2::RE2::PartialMatch(re2::StringPiece(head.bytes.data(), std::min<std::size_t>(head.bytes.size(), 8192)), kLine);
}

bool ipmi_sel(const Head& head) {
  static const re2::RE2 kLine(R"(^\s*[0-9a-f]+\s*\|\s*(?:\d\d/\d\d/\d{2,4}|[A-Z][a-z]{2}-\d\d-\d{4}|Pre-Init)\s*\|)");
  return share_of_lines(head, [](std::string_view text) { return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), kLine); }) >= 60;
}

bool smi_query(const Head& head) { return has(head, "==============NVSMI LOG=============="); }
bool dcgm_diag(const Head& head) { return has(head, "Successfully ran diagnostic") || (has(head, "| Diagnostic ") && has(head, "| Result ")); }
bool rdma_devices(const Head& head) { return has(head, "hca_id:") || (has(head, "CA type:") && has(head, "Port 1:")) || has(head, "Infiniband device '"); }
bool kubectl_describe(const Head& head) { return (has(head, "Namespace:") && has(head, "Containers:") && has(head, "Restart Count:")) || starts(first_text(head), "LAST SEEN"); }

bool flight_recorder(const Head& head) {
  return starts(head.bytes, std::string_view("\x80\x02}(", 4)) || (starts(first_text(head), "{") && has(head, "\"pg_config\"")) || (starts(first_text(head), "{") && has(head, "\"profiling_name\""));
}

bool stack_dump(const Head& head) {
  static const re2::RE2 kThread(R"re((?m)^(?:Thread \d+ \((?:Thread 0x|LWP \d+)|Thread (?:0x[0-9A-Fa-f]+|\d+) \((?:active|idle)|TID \d+:|PID \d+ - process|(?:Current thread|Thread) 0x[0-9a-f]{16} .*\(most recent call first\)|Traceback \(most recent call first\))|"os_thread_id":|"owns_gil":)re");
  // A log may hold a faulthandler dump; a stack dump begins with one.
  const std::string_view top = head.bytes.substr(0, 4096);
  return !has(head, "(most recent call last)") && re2::RE2::PartialMatch(re2::StringPiece(top.data(), top.size()), kThread) &&
         (head.path.find("stack") != std::string_view::npos || starts(first_text(head), "Thread ") || starts(first_text(head), "Process ") || starts(first_text(head), "PID ") ||
          starts(first_text(head), "TID ") || starts(first_text(head), "[{") || starts(first_text(head), "[\n") || starts(first_text(head), "Current thread") || starts(first_text(head), "Traceback") ||
          starts(first_text(head), "[New LWP") || starts(first_text(head), "[Thread debugging") || starts(first_text(head), "Timeout (") || starts(first_text(head), "Fatal Python error"));
}

bool process_tree(const Head& head) {
  return starts(first_text(head), "USER ") || starts(first_text(head), "UID ") || (starts(first_text(head), "PID ") && has(head, "PPID")) || head.base().find("pstree") != std::string_view::npos;
}

bool inspector(const Head& head) {
  return starts(first_text(head), "{") && (has(head, "\"coll_perf\"") || has(head, "\"p2p_perf\""));
}

bool metrics(const Head& head) {
  const std::string_view top = first_text(head);
  if (starts(top, "# HELP ") || starts(top, "# TYPE ") || (starts(top, "{\"status\":") && has(head, "\"resultType\"")) || starts(top, "# gpu ")) return true;
  if (ends(head.base(), {".prom", ".csv", ".tsv"})) return true;
  // JSON lines without a message: numbers for another analysis.
  return starts(top, "{") && share_of_lines(head, [](std::string_view text) {
           return starts(text, "{") && text.find("\"MESSAGE\"") == std::string_view::npos && text.find("\"log\"") == std::string_view::npos && text.find("\"message\"") == std::string_view::npos &&
                  text.find("\"msg\"") == std::string_view::npos && text.find("\"error\"") == std::string_view::npos && text.find("\":") != std::string_view::npos;
         }, 16) >= 90;
}

bool source_code(const Head& head) {
  return ends(head.base(), {".py", ".pyx", ".cc", ".cpp", ".cu", ".cuh", ".c", ".h", ".hpp", ".sh", ".bash", ".md", ".rst", ".ipynb", ".html", ".js", ".ts", ".go", ".rs", ".java", ".patch", ".diff", ".sbatch", ".slurm"});
}

bool configuration(const Head& head) {
  if (ends(head.base(), {".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".xml", ".env", ".properties", ".lock", ".repo", ".service"})) return true;
  // A JSON document over several lines that nobody else claims.
  return ends(head.base(), {".json"}) && (starts(first_text(head), "{\n") || starts(first_text(head), "{\r") || starts(first_text(head), "[\n") || starts(first_text(head), "[{"));
}

bool nccl_log(const Head& head) {
  return share_of_lines(head, [](std::string_view text) { return text.find(" NCCL ") != std::string_view::npos; }) >= 80;
}

bool xorg_log(const Head& head) { return has(head, "X.Org X Server") || starts(head.base(), "Xorg."); }

// The first that fits names the file; the order is from the surest to the least sure.
constexpr TextKind kKinds[] = {
    {"flight-recorder", "PyTorch flight-recorder dumps (recognised; their reader is another analysis)", "data", flight_recorder},
    {"stack-dump", "py-spy, gdb, eu-stack, faulthandler dumps (recognised; not log text)", "stack", stack_dump},
    {"process-tree", "ps, pstree (recognised; not log text)", "data", process_tree},
    {"nvidia-smi-q", "nvidia-smi -q", "nvidia-smi", smi_query},
    {"dcgm-diag", "dcgmi diag", "dcgm", dcgm_diag},
    {"fabric-manager", "NVIDIA fabric manager log", "fabric-manager", fabric_manager},
    {"rdma-devices", "ibstat, ibv_devinfo, ibstatus", "rdma", rdma_devices},
    {"kubectl-describe", "kubectl describe pod, kubectl get events", "kubernetes", kubectl_describe},
    {"ipmi-sel", "ipmitool sel list and elist", "bmc", ipmi_sel},
    {"xorg", "X server log (its bracketed seconds are no boot time)", "source", xorg_log},
    {"source", "programs, scripts and prose: no log", "source", source_code},
    {"nccl-inspector", "NCCL Inspector records, one JSON object a line", "data", inspector},
    {"metrics", "metric exports (recognised; their reader is another analysis)", "data", metrics},
    {"configuration", "configuration files: no log", "source", configuration},
    {"kernel-log", "kernel log", "kernel", kernel_log},
    {"nccl-log", "NCCL_DEBUG output by itself", "nccl", nccl_log},
};

bool binary(std::string_view bytes) {
  const std::string_view top = bytes.substr(0, 8192);
  std::size_t control = 0;
  std::size_t counted = 0;
  std::size_t nul_run = 0;
  for (const char c : top) {
    const auto u = static_cast<unsigned char>(c);
    if (u == 0) { ++nul_run; continue; }  // a log cut by a crash and continued holds runs of NULs
    ++counted;
    control += u < 32 && c != '\t' && c != '\r' && c != '\n' && c != '\x1b';
  }
  if (counted == 0) return !top.empty() && bytes.find_first_not_of('\0') == std::string_view::npos;
  if (top.size() >= 4) {
    static constexpr std::string_view kMagic[] = {std::string_view("\x7f" "ELF", 4), std::string_view("\x80\x02", 2), std::string_view("\x80\x04", 2), "SQLite format 3", "%PDF-", "\x89PNG"};
    for (const std::string_view magic : kMagic)
      if (top.rfind(magic, 0) == 0) return true;
  }
  return control * 100 > counted * 10 || (nul_run * 100 > top.size() * 20 && control * 100 > counted * 2);
}

}  // namespace

extern const Document kRasJson;
extern const Document kErrorJson, kManifest, kProcessDump, kKubernetesJson;

namespace {
constexpr const Document* kDocuments[] = {&kManifest, &kErrorJson, &kProcessDump, &kKubernetesJson, &kRasJson};
}

std::span<const Document* const> documents() { return kDocuments; }
std::span<const TextKind> text_kinds() { return kKinds; }

Detected detect(const Head& head) {
  Detected out;
  if (head.bytes.empty()) { out.format = "empty"; return out; }
  for (const Document* document : documents())
    if (document->sniff(head)) {
      out.document = document;
      out.format = document->name;
      return out;
    }
  for (const TextKind& kind : text_kinds())
    if (kind.sniff(head)) {
      out.format = kind.name;
      out.kind = kind.kind;
      break;
    }
  out.text = !binary(head.bytes);
  if (out.format.empty()) out.format = out.text ? "text" : "binary";
  out.rules_apply = out.text && out.kind != "data" && out.kind != "stack" && out.kind != "source";
  return out;
}

}  // namespace culprit::ingest
