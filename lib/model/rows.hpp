// One struct per fact table of schemas/store.sql: the same names, the same order. Optional means
// NULL. Strings are UTF-8 only when they leave the program: rows keep the bytes as they were read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/host.hpp"
#include "model/rank.hpp"
#include "model/time.hpp"
#include "model/trait.hpp"

namespace culprit {

using MemberId = std::int64_t;

enum class Severity { info, warning, distributed, critical };
// recovery: a line that takes an alert back, or says that the job ended well.
enum class Role { advice, recovery, teardown, confirmation, cascade, root };
// Who prints such a line. A kernel's line inside a program's output is hearsay: a program prints
// whatever it likes.
enum class Origin { any, kernel, bmc, scheduler };
enum class Scope { host_local, shared, user_code, job_wide };
// What kind of cause a fault would be, in the order in which kinds are preferred when time cannot
// tell. none: no cause.
enum class CauseKind {
  none,
  machine,
  network,
  shared,
  environment,
  resource,
  program,
  crash,
  device_or_program,
  numerics,
  outside
};

std::string_view name(Severity severity);
std::string_view name(Role role);
std::string_view name(Scope scope);
std::string_view name(CauseKind cause);
std::string_view name(Origin origin);
std::optional<Severity> severity_named(std::string_view text);
std::optional<Role> role_named(std::string_view text);
std::optional<Scope> scope_named(std::string_view text);
std::optional<CauseKind> cause_named(std::string_view text);
std::optional<Origin> origin_named(std::string_view text);

// Where a fact stands in the bundle. line is 1-based and counts '\n' only, as an editor does;
// offset and length are bytes of the member as it was read (decompressed).
struct Place {
  MemberId member = 0;
  std::uint64_t line = 0;
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
};

// One file, archive entry or section of the bundle.
// Whose story a file tells: the job's own, a machine's or a service's (whose lines are placed by
// host and time), that of another job or program, or nobody can say.
enum class Belonging : std::uint8_t { job, machine, unplaced, another };

struct MemberRow {
  MemberId id = 0;
  std::string path;         // as shown: without a folder that an archive wraps around everything
  std::string stored_path;  // as read
  bool in_archive = false;  // of an archive or a stream that may wrap one folder around everything
  std::string kind = "file";  // file link device other
  std::string format;         // what `culprit formats` calls it
  std::string
      text_kind;  // kernel training nccl scheduler ... data stack process source; "" = not known
  std::string container;  // enclosing archive or file
  std::uint64_t origin_offset = 0;
  std::uint64_t origin_line = 0;
  std::string link_target;
  std::uint64_t size = 0;
  std::string digest;  // XXH3-128 of the bytes, hexadecimal, as xxh128sum prints it
  std::int64_t mtime_s = 0;
  bool complete = true;
  bool tail_truncated = false;  // the last line has no line end
  std::uint64_t lines = 0;      // lines = used + skipped + rejected
  std::uint64_t used = 0;
  std::uint64_t skipped = 0;
  std::uint64_t rejected = 0;
  // Filled by the attribution (analyze/identity.hpp).
  Belonging belonging = Belonging::job;
  std::optional<Host> host;
  std::optional<Rank> rank;
  std::optional<LocalRank> local_rank;
  std::optional<std::int64_t> attempt;
  std::string attribution;  // why: "path", "content", "manifest" ...
  std::int64_t order =
      0;  // of its path among all: the order of reading is the container's and says nothing
  MemberId duplicate_of = 0;  // the same bytes, the same owner: counted there; 0 = none
};

struct EventRow {
  std::int64_t id = 0;
  Place place;
  Timestamp time;                      // as printed
  std::optional<Timestamp> boot;       // a second, boot-relative time on the same line
  std::optional<Nanoseconds> time_ns;  // UTC; filled by the clock map
  Nanoseconds uncertainty = 0;
  std::string rule;
  std::string event_class;
  Severity severity = Severity::info;
  Role role = Role::advice;
  Scope scope = Scope::host_local;
  std::optional<Host> host;  // printed on the line or, later, from the member
  std::optional<Rank> rank;
  std::optional<LocalRank> local_rank;
  std::optional<std::int64_t> pid;
  std::optional<std::int64_t> task;  // srun -l label: a rank with one task a GPU, else a node
  std::optional<std::string> gpu;    // PCI address 0000:3b:00 or an index, as printed
  std::optional<std::string> nic;
  std::optional<std::string> peer;   // as printed: name, address, "rank 3"
  std::optional<Host> peer_host;     // resolved
  std::optional<std::int64_t> code;  // Xid, completion status, exit code ...
  std::string detail;                // other captures, "name=value" joined by '\n', sorted
  std::uint64_t count = 1;  // lines of one storm, with the repeats that the logger left out
  std::uint64_t last_line = 0;
  Timestamp last_time;
  std::optional<Nanoseconds> last_time_ns;
  std::string message;     // without prefixes, at most 1,024 bytes
  bool elsewhere = false;  // nothing ties it to the job; filled by place_members()
  Traits traits;           // of its class; not stored, filled where facts are loaded
};

// A Python exception with its stack, from a log, an error.json or a torchrun report.
struct TracebackRow {
  std::int64_t id = 0;
  Place place;
  Timestamp time;
  std::optional<Nanoseconds> time_ns;
  Nanoseconds uncertainty = 0;
  bool elsewhere = false;  // nothing ties it to the job; filled by place_members()
  std::string source;      // log, error.json, torchrun
  std::string type;        // TypeError
  std::string message;
  std::string file;  // innermost frame that is not in a library; else the innermost
  std::int64_t file_line = 0;
  std::string function;
  std::string event_class;  // what the rules say of "type: message"; "" = nothing
  std::string rule;
  std::optional<Host> host;
  std::optional<Rank> rank;
  std::optional<LocalRank> local_rank;
  std::optional<std::int64_t> task;
  std::optional<std::int64_t> pid;
  std::uint64_t last_line = 0;
};

// A process that ended, as its parent reported it.
struct ExitRow {
  std::int64_t id = 0;
  Place place;
  Timestamp time;
  std::optional<Nanoseconds> time_ns;
  std::string source;     // torchrun, srun, shell, kubernetes
  std::int64_t code = 0;  // negative: the signal
  std::optional<Host> host;
  std::optional<Rank> rank;
  std::optional<LocalRank> local_rank;
  std::optional<std::int64_t> pid;
  bool blamed = false;  // the parent calls it the root cause: a claim, not a fact
};

// A training-progress line: a completed step.
struct ProgressRow {
  Place place;
  Timestamp time;
  std::optional<Nanoseconds> time_ns;
  std::string framework;  // megatron deepspeed nemo torchtitan huggingface jsonl
  std::optional<std::int64_t> iteration;
  std::optional<std::int64_t> total;
  std::optional<double> iteration_ms;
  std::optional<double> loss;  // NULL with loss_nan = 1: not a number; NULL with 0: not printed
  bool loss_nan = false;
  std::optional<double> grad_norm;
  bool grad_norm_nan = false;
};

// What a line says about a checkpoint.
enum class CheckpointEvent { saving, saved, loading, loaded };
std::string_view name(CheckpointEvent event);
std::optional<CheckpointEvent> checkpoint_event_named(std::string_view text);

// A checkpoint that was written or read.
struct CheckpointRow {
  Place place;
  Timestamp time;
  std::optional<Nanoseconds> time_ns;
  CheckpointEvent event = CheckpointEvent::saved;
  std::optional<std::int64_t> iteration;  // whose state it is
};

// A line that bounds a part of a start, or prints how long it was
// (rules/tables/restart_parts.json).
struct StartMarkRow {
  Place place;
  Timestamp time;
  std::string part, edge;         // as the table has them
  std::string who;                // host:pid:task of the line's prefix, as far as it has one
  std::string about;              // job, pod or communicator that the message names; "": none
  std::optional<double> seconds;  // of the edge "took"
};

// One of the last lines that a log holds before a trouble of it, or before its end.
struct LastLineRow {
  Place place;
  std::uint64_t before = 0;  // the line of the trouble; 0: the end of the log
  std::string text;          // as read, at most 240 bytes
};

// How a check, a test of links or a group of a replay came out (culprit plan checks, links,
// isolate; culprit replay).
struct OutcomeRow {
  Place place;
  std::string task;   // the same word is the same test
  std::string hosts;  // as a list: n1,n[3-4]
  bool passed = false;
};

// The progress that one member reports, summed up: first and last step, and the first that was not
// a number.
struct ProgressSpan {
  MemberId member = 0;
  std::string framework;
  std::uint64_t rows = 0;
  std::optional<double> mean_ms;  // of the steps that tell how long they took
  ProgressRow first, last;
  std::optional<ProgressRow> first_nan;
  std::optional<ProgressRow> last_good;  // the last before first_nan

  void each_row(auto visit) {
    visit(first);
    visit(last);
    if (first_nan) visit(*first_nan);
    if (last_good) visit(*last_good);
  }
};

// What to add to a member's own clock to get UTC.
struct MemberClock {
  MemberId member = 0;
  Clock clock = Clock::none;
  Nanoseconds offset = 0;
};

// One observation that ties names together. The identity table is made from all of them.
struct IdentityRow {
  Place place;
  std::string source;  // nccl-init, torchrun, environment, ps, prefix, manifest ...
  std::optional<Host> host;
  std::optional<std::string> address;  // IP
  std::optional<std::int64_t> pid;
  std::optional<std::int64_t> task;  // srun -l label of the line
  std::optional<LocalRank> local_rank;
  // In the job; in `communicator` when that is set: no Rank before somebody looked at that.
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> world_size;  // of the job, or of the communicator
  std::optional<std::int64_t> node_rank;
  std::optional<std::string> gpu;      // PCI address
  std::optional<std::int64_t> device;  // CUDA ordinal
  std::optional<std::string> nic;
  std::optional<std::string> communicator;  // NCCL commId
};

// A configuration fact: driver version, NCCL version, environment setting.
struct ConfigRow {
  Place place;
  std::string name;  // driver_version nccl_version env.NCCL_IB_HCA job.lr change.lr ...
  std::string value;
  std::optional<Host> host = {};
  std::optional<Rank> rank = {};
  std::optional<std::string> before = {};  // of a change: what it was, "" where it was not set
};

// The same moment on two clocks, or a text that another member may carry with the other clock.
struct ClockRow {
  Place place;
  Timestamp time;
  std::optional<Timestamp> boot;  // set when the line has both
  std::uint64_t text_hash = 0;    // of the message; joins twins such as dmesg and dmesg -T
  std::optional<Host> host;
  std::string kind;  // kernel, collected, boot_time, zone
};

// Input that could not be turned into a fact.
struct RejectRow {
  Place place;
  std::string reason;   // stable code
  std::string excerpt;  // first 200 bytes, as read
};

// Something of the bundle that could not be read.
struct ProblemRow {
  std::string path, code, reason;
};

// A host that the bundle names.
struct HostRow {
  Host host;
  std::optional<std::int64_t> node_rank;
  std::vector<std::string> addresses;
  std::optional<Nanoseconds> boot_ns;
  std::string boot_source;
  Nanoseconds boot_uncertainty = 0;
  std::string driver;
  bool has_log = false;
};

// A global rank that the bundle names.
struct RankRow {
  Rank rank{};
  std::optional<Host> host;
  std::optional<LocalRank> local_rank;
  std::optional<std::int64_t> pid;
  std::optional<std::string> gpu;
  std::string source;
};

// The facts of a job.json.
struct ManifestAttempt {
  std::int64_t id = 0;
  std::string start, end, code_version, action_before;
  std::optional<std::int64_t> exit_code;
  std::vector<Host> hosts;
};
struct Manifest {
  std::string document;  // as it stands in the bundle
  std::string job, job_id;
  std::optional<std::int64_t> world_size, gpus_per_node;
  std::vector<Host> hosts;
  std::vector<std::pair<std::string, std::vector<std::string>>> addresses;  // host -> its IPs
  std::string timezone;  // of times that print none
  std::vector<std::pair<std::string, std::string>>
      timezones;  // host, path or kind of text -> its own zone
  std::optional<std::int64_t> year;
  std::string parallelism;  // as JSON; read by the analyses that need it
  std::vector<std::pair<std::string, std::vector<std::string>>> tor, pod;
  std::vector<ManifestAttempt> attempts;
  std::vector<std::pair<std::string, std::string>> boot_times;
  std::vector<RankRow> ranks;  // with their hosts
};

}  // namespace culprit
