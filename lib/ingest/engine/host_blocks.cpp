// Output of many machines in one text: the lines below a heading are one machine's. dshbak and
// clush -b write the name between two rules, Ansible before the state of the task; people write it
// with the command that they ran there.
//
//   ### gx-07: nvidia-smi -q          == gx-07 (Tue Mar 3 20:12) df -h          $ ssh gx-07 ip a
#include <algorithm>
#include <array>

#include <re2/re2.h>

#include "ingest/engine/host_blocks.hpp"
#include "ingest/engine/recogniser.hpp"
#include "line/header_layout.hpp"
#include "line/trimmed.hpp"
#include "model/contains.hpp"

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
      R"((?i)(?:rtx|cuda|driver|day|week|eth|en[ops]|ib|bond|rail|nvme|mlx|rdma|roce|hsn|sd|md|vlan|bridge|docker|veth|tap|llama|gpt|qwen|epoch|step|iter(?:ation)?|rank|local|gpu|cuda|device|layer|stage|phase|round|test|part|section|attempt|run|trial|job|task|pid|thread|frame|page|slide|sha|md|utf-|base|fp|bf|int|uint|x|amd|arm|v)[-_]?\d.*)");
  static const re2::RE2 kModel(
      R"((?i)(?:a10|a30|a40|a100|a800|h20|h100|h200|h800|b100|b200|b300|l4|l40s?|v100|t4|gb200|gb300|gh200|mi\d{3}x?))");
  const re2::StringPiece text(name.data(), name.size());
  if (re2::RE2::FullMatch(text, kModel)) return false;
  return name.size() <= kLongestBlockHost && re2::RE2::FullMatch(text, kName) &&
         !re2::RE2::FullMatch(text, kOther);
}

// Commands that people run on a machine to see how it is.
bool command(std::string_view text) {
  static constexpr std::array kCommands{
      "arp",         "arping",    "awk",          "cat",        "chronyc",    "conda",
      "cpupower",    "crictl",    "cut",          "date",       "dcgmi",      "df",
      "dmesg",       "dmidecode", "docker",       "du",         "echo",       "egrep",
      "env",         "ethtool",   "findmnt",      "for",        "free",       "grep",
      "head",        "hostname",  "ibdev2netdev", "ibstat",     "ibstatus",   "ibv_devinfo",
      "id",          "iostat",    "ip",           "ipmitool",   "journalctl", "last",
      "ls",          "lsblk",     "lscpu",        "lsmod",      "lspci",      "lstopo",
      "mlnx_qos",    "mlxlink",   "modinfo",      "module",     "mount",      "mpstat",
      "netstat",     "nproc",     "numactl",      "nvidia-smi", "nvme",       "perfquery",
      "ping",        "pip",       "pip3",         "ps",         "py-spy",     "python",
      "python3",     "rdma",      "sar",          "sed",        "sensors",    "show",
      "smartctl",    "ss",        "sudo",         "sysctl",     "systemctl",  "tail",
      "timedatectl", "top",       "turbostat",    "ulimit",     "uname",      "uptime",
      "vmstat",      "w",         "who",          "zcat"};
  while (!text.empty() && (text.front() == '(' || text.front() == ' ')) text.remove_prefix(1);
  const std::string_view word = text.substr(0, text.find_first_of(" ;|'\")"));
  return std::ranges::find(kCommands, word) != kCommands.end();
}

// A part of the machine that the lines below are about: "eth0", "mlx5_2".
bool device(std::string_view text) {
  static const re2::RE2 kDevice(
      R"((?:eth|en[ops]|ib|mlx\d_|bnxt_re|roce|rdma|bond|hsn|rail)[\w.]*\d[\w.]*)");
  return re2::RE2::FullMatch({text.data(), text.size()}, kDevice);
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

// Whose the lines are, as far as headings say: what looks like one and is not understood ends what
// the one before said.
class CommandBlocks final : public Kept {
 public:
  std::string host;   // that lines have by a heading of this kind; "" none
  bool bare = false;  // of a name alone: commands behind prompts follow it
  std::string pending;
};

// Of another machine or another command, in words that are not known.
bool like_heading(std::string_view text) {
  static const re2::RE2 kLike(
      R"((?:#{2,6} ?|={2,} |-{2,} |>{2,} |\*{2,} |\d{1,2}\) |\$ |\[[A-Za-z][\w.-]*\d[\w.-]*\]|[\w.-]+@[\w.-]+[:~ ].*[$#] ).*)");
  return text.size() <= 160 &&
         (prompted(text) || re2::RE2::FullMatch({text.data(), text.size()}, kLike));
}

Outcome read_own_heading(const TextLine& line, Reading& reading) {
  CommandBlocks& blocks = reading.keep<CommandBlocks>();
  const std::string_view text = line::trimmed(line.raw.substr(0, 512));
  const auto belongs_to = [&](const std::string& host, bool bare) {
    reading.current_host = host;
    blocks.host = host;
    blocks.bare = bare;
    blocks.pending.clear();
  };
  if (reading.current_host != blocks.host) blocks.host.clear();  // a prompt's since
  if (const CommandHeading heading = command_heading(line.raw); !heading.host.empty()) {
    const bool waits = heading.bare && !heading.section;  // for a prompt
    belongs_to(waits ? "" : heading.host, heading.section);
    if (waits) blocks.pending = heading.host;
    return {!waits, nullptr, {}};
  }
  if (!blocks.pending.empty() && !text.empty()) {
    if (prompted(line.raw)) {
      belongs_to(blocks.pending, true);
      return {};
    }
    blocks.pending.clear();
  }
  if (!blocks.host.empty() && like_heading(text) && !(blocks.bare && prompted(line.raw)))
    belongs_to("", false);
  return {};
}

constexpr std::string_view kHostBlocksWords[] = {"---------------",
                                                 "CHANGED | rc=", "SUCCESS | rc=", "FAILED | rc="};

// "gx-07", "atlas24" behind three marks or more.
bool heads_section(std::string_view text, std::string_view name) {
  constexpr std::size_t kLeastMark = 3;
  const std::size_t mark = text.find_first_not_of(text[0]);
  const bool numbered = name.find('-') != std::string_view::npos ||
                        (name.size() > 3 && isdigit(static_cast<unsigned char>(name.back())) &&
                         isdigit(static_cast<unsigned char>(name[name.size() - 2])));
  return mark != std::string_view::npos && mark >= kLeastMark && numbered;
}

}  // namespace

CommandHeading command_heading(std::string_view raw) {
  static const re2::RE2 kMarked(
      R"(^(?:#+|={2,}|-{2,}|>{2,}|\*{2,}) *([A-Za-z][A-Za-z0-9.-]*)(?: +(?:\([^()]*\)|(?:20\d\d-\d\d-\d\d[ T])?\d\d?:\d\d(?::\d\d)?(?:Z|[+-]\d\d:?\d\d)?|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} +\d.*20\d\d))? *:? *(.*?) *[=*#-]*$)");
  static const re2::RE2 kSsh(
      R"(^(?:\[?[\w.@-]*[:~ \w/.-]*\]?)[$#>] ?ssh (?:-\w+ (?:\w+=\S+ )?)*(?:\w+@)?([A-Za-z][A-Za-z0-9.-]*) ['"(]?(.*))");
  // The controller of a machine is asked over the network, and named after it: bmc-gx-07.
  static const re2::RE2 kController(
      R"(^[#$=>*-]+ *ipmitool (?:.* )?-H (?:(?:bmc|ipmi|ilo|idrac|mgmt|oob)[-_.])?([A-Za-z][A-Za-z0-9.-]*?)(?:[-_](?:bmc|ipmi|ilo|idrac|mgmt|oob))?(?:\.[\w.-]*)? .*)");
  // "rdma-w10$ mlnx_qos -i ens3", "root@gx-07:~# lspci -vv"
  static const re2::RE2 kPrompt(
      R"(^(?:# *)?(?:\[?[a-z_][\w-]*@)?([A-Za-z][A-Za-z0-9.-]*\d[A-Za-z0-9.-]*)(?:[: ][\w/~.-]*)?\]?[$#] (.*))");
  const std::string_view text = line::trimmed(raw.substr(0, 512));
  const re2::StringPiece piece(text.data(), text.size());
  std::string name, rest;
  if ((contains(text, "$ ") || contains(text, "# ")) &&
      re2::RE2::FullMatch(piece, kPrompt, &name, &rest) && machine(name) && command(rest))
    return {name, false};
  // The first lines of every text are asked.
  const bool may_be_marked = !text.empty() && contains(std::string_view("#=->*$"), text[0]);
  if (may_be_marked && re2::RE2::FullMatch(piece, kController, &name) && machine(name))
    return {name, false};
  const bool marked = may_be_marked && re2::RE2::FullMatch(piece, kMarked, &name, &rest);
  if (!marked && (!contains(text, "ssh ") || !re2::RE2::FullMatch(piece, kSsh, &name, &rest)))
    return {};
  if (!machine(name)) return {};
  if (rest.starts_with("$ ")) rest.erase(0, 2);  // "### gx-07 $ dcgmi diag -r 4"
  if (command(rest) || device(rest)) return {name, false};
  // "-- gx-07 --" is a rule of prose more often than not.
  const bool section = heads_section(text, name);
  if (!rest.empty() || !marked || (text[0] == '-' && !section)) return {};
  return {name, true, section};
}

bool may_be_asked(std::string_view name) {
  const auto part_of_name = [](unsigned char c) {
    return isalnum(c) != 0 || c == '-' || c == '.' || c == '_';
  };
  return !name.empty() && name.size() <= 253 && isalpha(static_cast<unsigned char>(name[0])) != 0 &&
         std::ranges::all_of(name, part_of_name) &&
         std::ranges::any_of(name, [](unsigned char c) { return isdigit(c) != 0; }) &&
         line::may_name_machine(name);
}

bool BlockHeadings::take(std::string_view raw) {
  const std::string_view text = line::trimmed(raw.substr(0, 512));
  if (rule(text)) {
    ruled_ = !std::exchange(named_, false);
    if (ruled_) host_.clear();
    return true;
  }
  if (std::exchange(ruled_, false)) {
    named_ = true;
    bare_ = false;
    host_ = machine(text) ? text : std::string_view();
    return true;
  }
  const CommandHeading heading = command_heading(raw);
  if (heading.host.empty()) {
    if (host_.empty() || !like_heading(text)) return false;
    if (!bare_ || !prompted(raw)) host_.clear();
    return true;
  }
  host_ = heading.host;
  bare_ = heading.bare;
  return true;
}

bool prompted(std::string_view raw) {
  const std::string_view text = line::trimmed(raw.substr(0, 512));
  return (text.starts_with("$ ") || text.starts_with("# ")) && command(text.substr(2));
}

extern constinit const Recogniser kOwnHeadings{
    "command-headings",
    "headings and ssh commands above what was run on a machine",
    {},
    read_own_heading,
    "commands"};
extern constinit const Recogniser kHostBlocks{
    "host-blocks", "dshbak, clush -b, Ansible: whose the lines below a heading are",
    kHostBlocksWords, read_host_blocks};

}  // namespace culprit::ingest
