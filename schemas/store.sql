-- incident.db: what one incident's bundle holds, as facts, and what was concluded from them. Made by `culprit ingest`
-- and `culprit diagnose`; made for being queried: SQLite keeps these comments, `.schema event` is the manual.
-- Times ending in _ns are nanoseconds since 1970-01-01 UTC; NULL means that no clock ties them to UTC.
-- Readable by SQLite 3.8 and later.

PRAGMA application_id = 1129661516;  -- 'CUDL'
PRAGMA user_version = 9;

-- Facts about the database itself: tool version, rule pack digest, options, state ('ingesting': members are missing, 'ingested', 'done'),
-- own_databases (files of this program that lay in the bundle and were left out); what is known of the job: job, job_id, world_size,
-- job_start_ns, job_end_ns.
CREATE TABLE meta (
  key   TEXT PRIMARY KEY,  -- name
  value TEXT NOT NULL      -- value, as text
) WITHOUT ROWID;

-- One row per file, archive entry or section of the bundle.
CREATE TABLE member (
  member_id      INTEGER PRIMARY KEY,  -- in the order of reading
  path           TEXT NOT NULL,        -- within the bundle; sections as file#section
  stored_path    TEXT NOT NULL,        -- as read, with the folder that an archive may wrap around everything
  in_archive     INTEGER NOT NULL,     -- 1: of an archive or a stream that may wrap one folder around everything
  kind           TEXT NOT NULL,        -- file, link, device, other
  format         TEXT NOT NULL,        -- what `culprit formats` calls it; text, binary, empty
  text_kind      TEXT NOT NULL,        -- kernel, nccl, nvidia-smi ...; '' not known; data, stack, process, source: rules do not apply
  container      TEXT NOT NULL,        -- path of the enclosing archive or file; '' at the top
  origin_offset  INTEGER NOT NULL,     -- sections: first byte within the container
  origin_line    INTEGER NOT NULL,     -- sections: lines before it in the container
  link_target    TEXT NOT NULL,        -- links: as stored; never followed
  size           INTEGER NOT NULL,     -- bytes, decompressed
  digest         TEXT NOT NULL,        -- XXH3-128 of the bytes, as xxh128sum prints it
  mtime_s        INTEGER NOT NULL,     -- seconds since 1970; 0 not known
  complete       INTEGER NOT NULL,     -- 0: the bundle's copy is cut or damaged, see problem
  tail_truncated INTEGER NOT NULL,     -- 1: the last line has no line end
  lines          INTEGER NOT NULL,     -- lines (or records) = used + skipped + rejected
  used           INTEGER NOT NULL,     -- went into rows
  skipped        INTEGER NOT NULL,     -- known to be of no interest here
  rejected       INTEGER NOT NULL,     -- could not be turned into a fact, see reject
  done           INTEGER NOT NULL,     -- 1: read to its end
  host           TEXT,                 -- whose file it is
  rank           INTEGER,              -- global rank whose file it is
  local_rank     INTEGER,              -- rank within the host, from the path
  attempt        INTEGER,              -- restart of the job it belongs to
  attribution    TEXT NOT NULL,        -- why host and rank are believed: manifest, path, content ...
  duplicate_of   INTEGER               -- the same bytes of the same owner stand there; its facts are not counted again
);

-- One row per thing of the bundle that could not be read.
CREATE TABLE problem (
  path   TEXT NOT NULL,  -- member or archive
  code   TEXT NOT NULL,  -- stable, such as bundle.damaged
  reason TEXT NOT NULL,  -- one sentence, with what to do
  PRIMARY KEY (path, code, reason)
) WITHOUT ROWID;

-- One row per line (or storm of equal lines) of which the rule pack says something.
CREATE TABLE event (
  event_id       INTEGER PRIMARY KEY,
  member_id      INTEGER NOT NULL REFERENCES member,
  line           INTEGER NOT NULL,  -- 1-based
  byte_offset    INTEGER NOT NULL,  -- of the line in the member
  length         INTEGER NOT NULL,  -- bytes of the line
  time_raw       INTEGER NOT NULL,  -- as printed, nanoseconds on `clock`
  clock          TEXT NOT NULL,     -- utc, local, local-no-year, local-no-date, boot, none
  precision_ns   INTEGER NOT NULL,  -- what the printed digits tell apart
  boot_raw       INTEGER,           -- a second, boot-relative time on the same line
  time_ns        INTEGER,           -- UTC
  uncertainty_ns INTEGER NOT NULL,  -- of time_ns, against other hosts
  rule           TEXT NOT NULL,     -- id of the rule
  class          TEXT NOT NULL,     -- gpu_xid/79, nccl_watchdog_timeout ...
  severity       TEXT NOT NULL,     -- critical, distributed, warning, info
  role           TEXT NOT NULL,     -- root, cascade, confirmation, teardown
  scope          TEXT NOT NULL,     -- host-local, shared, user-code, job-wide
  host           TEXT,              -- who printed it
  rank           INTEGER,           -- global
  local_rank     INTEGER,
  pid            INTEGER,
  task           INTEGER,           -- srun -l label
  gpu            TEXT,              -- PCI address or index
  nic            TEXT,              -- mlx5_2, eth0 ...
  peer           TEXT,              -- the other end, as printed
  peer_host      TEXT,              -- the other end, resolved
  code           INTEGER,           -- Xid, completion status ...
  detail         TEXT NOT NULL,     -- other captures, name=value a line
  count          INTEGER NOT NULL,  -- lines of the storm, with repeats the logger left out
  last_line      INTEGER NOT NULL,  -- of the storm
  last_raw       INTEGER NOT NULL,  -- time of the last one, on `clock`
  last_ns        INTEGER,           -- UTC
  message        TEXT NOT NULL,     -- without prefixes, at most 1,024 bytes
  printed_host   TEXT,              -- host as the line prints it; `host` is made from it, and can be made again
  printed_rank   INTEGER            -- rank as the line prints it
);

-- One row per Python exception with a stack.
CREATE TABLE traceback (
  traceback_id   INTEGER PRIMARY KEY,
  member_id      INTEGER NOT NULL REFERENCES member,
  line           INTEGER NOT NULL,
  byte_offset    INTEGER NOT NULL,
  length         INTEGER NOT NULL,
  time_raw       INTEGER NOT NULL,
  clock          TEXT NOT NULL,
  precision_ns   INTEGER NOT NULL,
  time_ns        INTEGER,
  uncertainty_ns INTEGER NOT NULL,
  source         TEXT NOT NULL,     -- log, error.json, torchrun
  type           TEXT NOT NULL,     -- TypeError
  message        TEXT NOT NULL,
  file           TEXT NOT NULL,     -- innermost frame outside of libraries
  file_line      INTEGER NOT NULL,
  function       TEXT NOT NULL,
  class          TEXT NOT NULL,     -- what the rules say of "type: message"; '' nothing
  rule           TEXT NOT NULL,
  host           TEXT,
  rank           INTEGER,
  local_rank     INTEGER,
  task           INTEGER,           -- srun -l label
  pid            INTEGER,
  last_line      INTEGER NOT NULL,
  printed_host   TEXT,              -- as printed; `host` is made from it
  printed_rank   INTEGER
);

-- One row per ended process, as its parent reported it.
CREATE TABLE exit_status (
  member_id   INTEGER NOT NULL REFERENCES member,
  line        INTEGER NOT NULL,
  byte_offset INTEGER NOT NULL,
  length      INTEGER NOT NULL,
  time_raw    INTEGER NOT NULL,
  clock       TEXT NOT NULL,
  time_ns     INTEGER,
  source      TEXT NOT NULL,        -- torchrun, srun, shell, kubernetes
  code        INTEGER NOT NULL,     -- negative: killed by that signal
  host        TEXT,
  rank        INTEGER,
  local_rank  INTEGER,
  pid         INTEGER,
  blamed      INTEGER NOT NULL,     -- 1: the parent calls it the root cause; a claim, not a fact
  printed_host TEXT,                -- as printed; `host` is made from it
  printed_rank INTEGER
);

-- One row per completed training step that a log reports.
CREATE TABLE iteration (
  member_id     INTEGER NOT NULL REFERENCES member,
  line          INTEGER NOT NULL,
  byte_offset   INTEGER NOT NULL,
  time_raw      INTEGER NOT NULL,
  clock         TEXT NOT NULL,
  time_ns       INTEGER,
  framework     TEXT NOT NULL,      -- megatron, deepspeed, nemo, torchtitan, huggingface
  iteration     INTEGER,
  total         INTEGER,            -- planned
  iteration_ms  REAL,               -- milliseconds
  loss          REAL,               -- NULL and loss_nan: not a number; NULL alone: not printed
  loss_nan      INTEGER NOT NULL,
  grad_norm     REAL,
  grad_norm_nan INTEGER NOT NULL
);

-- One row per line that says that a checkpoint was written or read; every rank may print its own.
CREATE TABLE checkpoint (
  member_id   INTEGER NOT NULL REFERENCES member,
  line        INTEGER NOT NULL,
  byte_offset INTEGER NOT NULL,
  time_raw    INTEGER NOT NULL,
  clock       TEXT NOT NULL,
  time_ns     INTEGER,
  event       TEXT NOT NULL,        -- saving, saved, loading, loaded
  iteration   INTEGER               -- whose state it is, when the line prints it
);

-- One row per line that bounds a part of a start of the job, or prints how long it was.
CREATE TABLE start_mark (
  member_id   INTEGER NOT NULL REFERENCES member,
  line        INTEGER NOT NULL,
  byte_offset INTEGER NOT NULL,
  time_raw    INTEGER NOT NULL,
  clock       TEXT NOT NULL,
  part        TEXT NOT NULL,        -- allocation, container, rendezvous ...: rules/tables/restart_parts.json
  edge        TEXT NOT NULL,        -- begin, end, took
  who         TEXT NOT NULL,        -- host:pid:task of the line's prefix
  about       TEXT NOT NULL,        -- job, pod or communicator that the line names
  seconds     REAL                  -- of took
);

-- One row per outcome of a check, a test of links or a group of a replay.
CREATE TABLE check_outcome (
  member_id   INTEGER NOT NULL REFERENCES member,
  line        INTEGER NOT NULL,
  byte_offset INTEGER NOT NULL,
  task        TEXT NOT NULL,        -- the same word is the same test
  hosts       TEXT NOT NULL,        -- as a list: n1,n[3-4]
  passed      INTEGER NOT NULL
);

-- What a log said last: up to three lines before its first trouble and before its last, or before its end where it has none.
CREATE TABLE last_line (
  member_id   INTEGER NOT NULL REFERENCES member,
  line        INTEGER NOT NULL,
  byte_offset INTEGER NOT NULL,
  length      INTEGER NOT NULL,
  before_line INTEGER NOT NULL,     -- the line of the trouble; 0: the end of the log
  text        TEXT NOT NULL         -- as read, at most 240 bytes
);

-- One row per observation that ties a host, process, rank, GPU, NIC or communicator together.
CREATE TABLE identity (
  member_id    INTEGER NOT NULL REFERENCES member,
  line         INTEGER NOT NULL,
  byte_offset  INTEGER NOT NULL,
  length       INTEGER NOT NULL,
  source       TEXT NOT NULL,       -- nccl-init, nccl-init-start, nccl-net, torchrun, environment, prefix
  host         TEXT,
  address      TEXT,                -- IP address of the host
  pid          INTEGER,
  task         INTEGER,             -- srun -l label
  local_rank   INTEGER,
  rank         INTEGER,             -- global; within the communicator when one is named
  world_size   INTEGER,             -- of the job; of the communicator when one is named
  node_rank    INTEGER,
  gpu          TEXT,
  device       INTEGER,             -- CUDA ordinal
  nic          TEXT,
  communicator TEXT                 -- NCCL commId
);

-- One row per configuration fact.
CREATE TABLE config_item (
  member_id   INTEGER NOT NULL REFERENCES member,
  line        INTEGER NOT NULL,
  byte_offset INTEGER NOT NULL,
  length      INTEGER NOT NULL,
  name        TEXT NOT NULL,        -- driver_version, nccl_version, kernel_version, env.NCCL_..., gpu.ecc_mode[0000:3b:00] (of a device), job.lr (an argument), change.lr (what changed between two runs)
  value       TEXT NOT NULL,
  host        TEXT,
  rank        INTEGER,
  before      TEXT                  -- of a change: the value that it had, '' where it was not set
);

-- One row per line that may tie two clocks together.
CREATE TABLE clock_anchor (
  member_id    INTEGER NOT NULL REFERENCES member,
  line         INTEGER NOT NULL,
  byte_offset  INTEGER NOT NULL,
  time_raw     INTEGER NOT NULL,
  clock        TEXT NOT NULL,
  precision_ns INTEGER NOT NULL,
  boot_raw     INTEGER,             -- the same line's boot-relative time
  text_hash    INTEGER NOT NULL,    -- equal in twins such as dmesg and dmesg -T
  host         TEXT,
  kind         TEXT NOT NULL
);

-- One row per line or record that no reader could turn into a fact.
CREATE TABLE reject (
  member_id   INTEGER NOT NULL REFERENCES member,
  line        INTEGER NOT NULL,     -- 1-based; 0 when the format has no lines
  byte_offset INTEGER NOT NULL,
  reason      TEXT NOT NULL,        -- stable code, such as nccl.init_torn
  excerpt     TEXT NOT NULL         -- first 200 bytes, as read
);

-- One row per process that ps, pstree, /proc or the head of a stack dump shows.
CREATE TABLE process (
  member_id    INTEGER NOT NULL REFERENCES member,
  line         INTEGER NOT NULL,
  byte_offset  INTEGER NOT NULL,
  length       INTEGER NOT NULL,
  time_raw     INTEGER NOT NULL,    -- when it was looked at, as printed
  clock        TEXT NOT NULL,
  source       TEXT NOT NULL,       -- ps, pstree, proc, stack
  host         TEXT,
  rank         INTEGER,             -- RANK of its environment; children inherit it
  local_rank   INTEGER,
  pid          INTEGER NOT NULL,
  parent       INTEGER,
  state        TEXT NOT NULL,       -- S, D, R, Z ... with the flags of ps
  wait         TEXT NOT NULL,       -- kernel function it sleeps in
  kernel_stack TEXT NOT NULL,       -- innermost first, joined by ';'
  name         TEXT NOT NULL,       -- comm
  command      TEXT NOT NULL,       -- arguments
  threads      INTEGER NOT NULL,    -- 0 not known
  role         TEXT NOT NULL        -- agent, trainer, dataloader, checkpoint, noise; '' not known
);

-- One row per distinct call stack.
CREATE TABLE stack (
  stack_id INTEGER PRIMARY KEY,
  depth    INTEGER NOT NULL,
  digest   TEXT NOT NULL UNIQUE     -- XXH3-128 of its frames, hexadecimal
);

-- One row per distinct frame.
CREATE TABLE frame (
  frame_id INTEGER PRIMARY KEY,
  function TEXT NOT NULL,           -- '?' no symbol
  file     TEXT NOT NULL,           -- as printed
  line     INTEGER NOT NULL,        -- 0 not known
  module   TEXT NOT NULL,           -- shared object or Python module; '' not known
  native   INTEGER NOT NULL,        -- 1: machine code
  UNIQUE (function, file, line, module, native)
);

-- The frames of a stack, innermost at depth 0.
CREATE TABLE stack_frame (
  stack_id INTEGER NOT NULL REFERENCES stack,
  depth    INTEGER NOT NULL,
  frame_id INTEGER NOT NULL REFERENCES frame,
  PRIMARY KEY (stack_id, depth)
) WITHOUT ROWID;

-- One row per thread that a dump shows, or per set of ranks in an aggregate.
CREATE TABLE stack_sample (
  member_id   INTEGER NOT NULL REFERENCES member,
  line        INTEGER NOT NULL,
  byte_offset INTEGER NOT NULL,
  length      INTEGER NOT NULL,
  time_raw    INTEGER NOT NULL,
  clock       TEXT NOT NULL,
  source      TEXT NOT NULL,        -- pyspy, gdb, cuda-gdb, eu-stack, faulthandler, gdb-py, stat
  host        TEXT,
  rank        INTEGER,
  local_rank  INTEGER,
  pid         INTEGER,
  tid         INTEGER,              -- kernel thread id
  thread_id   TEXT NOT NULL,        -- another id, as printed
  thread      TEXT NOT NULL,        -- name
  state       TEXT NOT NULL,        -- idle, active, active+gil
  command     TEXT NOT NULL,
  main        INTEGER NOT NULL,     -- 1: main thread of its process
  ranks       TEXT NOT NULL,        -- aggregates: ranks that stand here, 0-3,6
  problem     TEXT NOT NULL,        -- why there is no stack
  stack_id    INTEGER REFERENCES stack
);

-- One row per process group or communicator: a name with a set of ranks.
CREATE TABLE process_group (
  group_id    INTEGER PRIMARY KEY,
  name        TEXT NOT NULL,        -- of torch, NCCL commId, pointer@pid
  description TEXT NOT NULL,        -- TENSOR_MODEL_PARALLEL_GROUP ...
  ranks       TEXT NOT NULL,        -- global ranks, 0-3,8; '' not known
  size        INTEGER NOT NULL      -- 0 not known
);

-- One row per rank, group and source: how far the rank has come. Sequence numbers compare within a group only; -1 none
-- yet, -2 not known.
CREATE TABLE frontier (
  member_id   INTEGER NOT NULL REFERENCES member,
  line        INTEGER NOT NULL,
  byte_offset INTEGER NOT NULL,
  length      INTEGER NOT NULL,
  time_raw    INTEGER NOT NULL,
  clock       TEXT NOT NULL,
  source      TEXT NOT NULL,        -- fingerprint, recorder, watchdog, desync, barrier, nccl-call, ras, inspector, work-requests
  host        TEXT,
  rank        INTEGER,              -- global
  local_rank  INTEGER,
  pid         INTEGER,
  group_rank  INTEGER NOT NULL,     -- within the group, where the source gives only that
  group_id    INTEGER NOT NULL REFERENCES process_group,
  p2p         INTEGER NOT NULL,     -- 1: counts sends and receives; does not compare between ranks
  enqueued    INTEGER NOT NULL,
  started     INTEGER NOT NULL,
  completed   INTEGER NOT NULL,
  operation   TEXT NOT NULL,        -- what it counts; '' all
  requests    INTEGER NOT NULL,     -- work requests launched (WR); -2 not known
  completions INTEGER NOT NULL,     -- work requests finished (WC); -2 not known
  peer        INTEGER NOT NULL,     -- rank to which they go; -1 not told
  recent_bytes INTEGER NOT NULL,    -- that the last five of them carried; 0 not told
  recent_ms   REAL NOT NULL         -- that those took; 0 not told
);

-- One row per operation on a group that is not known to be completed, and the last few that are.
CREATE TABLE collective (
  member_id    INTEGER NOT NULL REFERENCES member,
  line         INTEGER NOT NULL,
  byte_offset  INTEGER NOT NULL,
  length       INTEGER NOT NULL,
  time_raw     INTEGER NOT NULL,    -- when the host launched it
  clock        TEXT NOT NULL,
  source       TEXT NOT NULL,
  host         TEXT,
  rank         INTEGER,
  local_rank   INTEGER,
  pid          INTEGER,
  group_id     INTEGER NOT NULL REFERENCES process_group,
  record       INTEGER NOT NULL,    -- order of launch within the process
  sequence     INTEGER NOT NULL,    -- within the group
  operation    TEXT NOT NULL,
  backend      TEXT NOT NULL,
  p2p          INTEGER NOT NULL,
  peer         INTEGER NOT NULL,    -- other end of a send or receive, global rank
  state        TEXT NOT NULL,       -- scheduled, started, completed, timeout
  retired      INTEGER NOT NULL,
  sizes        TEXT NOT NULL,
  types        TEXT NOT NULL,
  bytes        INTEGER,
  started_ns   INTEGER,
  completed_ns INTEGER,
  duration_ms  REAL,
  timeout_ms   INTEGER,
  thread       TEXT NOT NULL,
  stack_id     INTEGER REFERENCES stack
);

-- One row per rank and group: all its operations in order of launch, packed. 40 bytes each, little-endian: int64
-- sequence, created_ns, completed_ns; float duration_ms (< 0 not known); uint32 signature (of operation, sizes and types),
-- operation (of its name); uint8 state (0 scheduled, 1 started, 2 completed), p2p; uint16 reserved.
CREATE TABLE collective_history (
  member_id INTEGER NOT NULL REFERENCES member,
  rank      INTEGER,
  group_id  INTEGER NOT NULL REFERENCES process_group,
  entries   INTEGER NOT NULL,
  data      BLOB NOT NULL
);

-- One row per dump of a flight recorder or snapshot of RAS: a rank without one shows.
CREATE TABLE recorder (
  member_id    INTEGER NOT NULL REFERENCES member,
  line         INTEGER NOT NULL,
  byte_offset  INTEGER NOT NULL,
  length       INTEGER NOT NULL,
  time_raw     INTEGER NOT NULL,
  clock        TEXT NOT NULL,
  source       TEXT NOT NULL,       -- recorder, ras, inspector
  encoding     TEXT NOT NULL,       -- pickle, json, text
  version      TEXT NOT NULL,
  library      TEXT NOT NULL,       -- NCCL version
  host         TEXT,
  rank         INTEGER,
  pid          INTEGER,
  entries      INTEGER NOT NULL,
  pending      INTEGER NOT NULL,    -- of which not completed
  has_status   INTEGER NOT NULL,
  only_active  INTEGER NOT NULL,
  truncated    INTEGER NOT NULL,
  unresponsive INTEGER NOT NULL
);

-- One row per node of the network that a file describes.
CREATE TABLE network_node (
  member_id   INTEGER NOT NULL REFERENCES member,
  line        INTEGER NOT NULL,
  byte_offset INTEGER NOT NULL,
  length      INTEGER NOT NULL,
  source      TEXT NOT NULL,
  kind        TEXT NOT NULL,        -- switch, block, pod, rail
  name        TEXT NOT NULL,
  level       INTEGER NOT NULL,     -- 0: hosts hang on it
  hosts       TEXT NOT NULL,        -- comma-separated
  children    TEXT NOT NULL         -- nodes below, comma-separated
);

-- One row per metric series of one member: what it measures and of what. The samples stand in sample_chunk.
CREATE TABLE series (
  series_id  INTEGER PRIMARY KEY,
  member_id  INTEGER NOT NULL REFERENCES member,
  name       TEXT NOT NULL,         -- as the source spells it
  unit       TEXT NOT NULL,         -- as printed; '' not said
  kind       TEXT NOT NULL,         -- gauge, counter; '' not said
  host       TEXT,                  -- as printed in the record; NULL: the member's
  gpu        TEXT,                  -- index, UUID or PCI address, as printed
  nic        TEXT,
  rank       INTEGER,               -- as printed; NULL: the member's
  local_rank INTEGER,
  labels     TEXT NOT NULL,         -- what else tells it from others, k=v, comma-separated
  clock      TEXT NOT NULL          -- of its times
);

-- The samples of a series, some thousand a row, packed (lib/model/series.hpp). Steps are training iterations, times
-- nanoseconds on the clock of the series.
CREATE TABLE sample_chunk (
  series_id   INTEGER NOT NULL REFERENCES series,
  axis_id     INTEGER REFERENCES series, -- whose chunk of the same number has the steps, times and places of these
                                    -- samples, too; NULL: this one has its own
  member_id   INTEGER NOT NULL REFERENCES member,
  line        INTEGER NOT NULL,     -- of its first sample
  byte_offset INTEGER NOT NULL,
  length      INTEGER NOT NULL,
  samples     INTEGER NOT NULL,
  first_step  INTEGER,
  last_step   INTEGER,
  first_raw   INTEGER,
  last_raw    INTEGER,
  data        BLOB NOT NULL
);

-- The manifest of the bundle (job.json), as JSON; at most one row counts, the first by path.
CREATE TABLE manifest (
  member_id INTEGER NOT NULL REFERENCES member,
  document  TEXT NOT NULL
);

-- Results. ---------------------------------------------------------------------------------------------------------

-- One row per host that the bundle names.
CREATE TABLE host (
  host         TEXT PRIMARY KEY,
  node_rank    INTEGER,
  addresses    TEXT NOT NULL,       -- IP addresses, comma-separated
  boot_ns      INTEGER,             -- when its kernel started, UTC
  boot_source  TEXT NOT NULL,       -- manifest, inline, twin, boot_time, uptime; '' not known
  boot_uncertainty_ns INTEGER NOT NULL,
  driver       TEXT NOT NULL,       -- NVIDIA driver version; '' not known
  has_log      INTEGER NOT NULL     -- 1: the bundle holds training output of it
) WITHOUT ROWID;

-- One row per global rank that the bundle names.
CREATE TABLE rank (
  rank       INTEGER PRIMARY KEY,
  host       TEXT,
  local_rank INTEGER,
  pid        INTEGER,
  gpu        TEXT,                  -- PCI address
  source     TEXT NOT NULL          -- what ties it to the host
);

-- One row per conclusion of an analysis.
CREATE TABLE finding (
  finding_id    TEXT PRIMARY KEY,   -- analysis/what/where, stable between runs
  position      INTEGER NOT NULL,   -- order in reports
  analysis      TEXT NOT NULL,      -- classify ...
  outcome       TEXT NOT NULL,      -- fired, ruled_out, not_enough_evidence
  subject_kind  TEXT NOT NULL,      -- host, gpu, rank, nic, switch, code, storage, job
  subject       TEXT NOT NULL,
  class         TEXT NOT NULL,
  symptom       TEXT NOT NULL,
  severity      TEXT NOT NULL,
  role          TEXT NOT NULL,
  scope         TEXT NOT NULL,
  confidence    REAL NOT NULL,      -- 0 to 1
  why           TEXT NOT NULL,
  title         TEXT NOT NULL,
  advice        TEXT NOT NULL,
  action        TEXT NOT NULL,
  start_ns      INTEGER,
  end_ns        INTEGER,
  uncertainty_ns INTEGER NOT NULL,
  count         INTEGER NOT NULL,   -- lines
  numbers       TEXT NOT NULL       -- JSON object
);

-- What a finding rests on: places in the bundle.
CREATE TABLE evidence (
  finding_id  TEXT NOT NULL REFERENCES finding,
  position    INTEGER NOT NULL,
  member_id   INTEGER NOT NULL REFERENCES member,
  path        TEXT NOT NULL,
  line        INTEGER NOT NULL,
  byte_offset INTEGER NOT NULL,
  length      INTEGER NOT NULL,
  excerpt     TEXT NOT NULL,        -- text that stands on that line
  reading     TEXT NOT NULL,        -- what is read there, where the bytes alone tell little; else empty
  PRIMARY KEY (finding_id, position)
) WITHOUT ROWID;

-- The verdict, as the JSON that `culprit report --format json` prints (schemas/diagnosis-v1.json). One row.
CREATE TABLE verdict (
  verdict_id INTEGER PRIMARY KEY,
  action     TEXT NOT NULL,
  summary    TEXT NOT NULL,
  document   TEXT NOT NULL
);

-- For people. ------------------------------------------------------------------------------------------------------

-- Events in order of time, copies left out: when, how long after the first, who, what, where it is written.
CREATE VIEW timeline AS
  SELECT strftime('%Y-%m-%dT%H:%M:%SZ', e.time_ns / 1000000000, 'unixepoch') AS time, e.host, e.rank, e.gpu, e.severity, e.role, e.class,
         e.count, e.message, m.path, e.line
  FROM event e JOIN member m USING (member_id)
  WHERE m.duplicate_of IS NULL
  ORDER BY e.time_ns IS NULL, e.time_ns, m.path, e.line;

-- Training steps in order, copies left out, with whose file reports them.
CREATE VIEW step AS
  SELECT m.rank, m.host, i.iteration, i.time_ns, strftime('%Y-%m-%dT%H:%M:%SZ', i.time_ns / 1000000000, 'unixepoch') AS time,
         i.iteration_ms, i.loss, i.grad_norm, i.loss_nan OR i.grad_norm_nan AS not_a_number, i.framework, i.total, m.attempt, m.path, i.line
  FROM iteration i JOIN member m USING (member_id)
  WHERE m.duplicate_of IS NULL
  ORDER BY i.iteration IS NULL, i.iteration, m.rank, m.path, i.line;

-- The job in one row: its name, id and size as far as they are known, how far it came, and the verdict.
CREATE VIEW job AS
  SELECT (SELECT value FROM meta WHERE key = 'job') AS job, (SELECT value FROM meta WHERE key = 'job_id') AS job_id,
         (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'world_size') AS world_size,
         (SELECT count(*) FROM host) AS hosts, (SELECT count(*) FROM rank) AS ranks,
         (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'job_start_ns') AS start_ns,
         (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'job_end_ns') AS end_ns,
         (SELECT max(iteration) FROM iteration) AS last_iteration, (SELECT max(total) FROM iteration) AS planned_iterations,
         (SELECT action FROM verdict) AS action, (SELECT summary FROM verdict) AS summary;

-- Findings with each piece of their evidence.
CREATE VIEW findings AS
  SELECT f.finding_id, f.outcome, f.subject_kind, f.subject, f.severity, f.class, f.title, f.confidence, v.path, v.line, v.excerpt, v.reading
  FROM finding f LEFT JOIN evidence v USING (finding_id)
  ORDER BY f.position, v.position;

-- Stacks as text, innermost first: one row per sampled thread.
CREATE VIEW stacks AS
  SELECT s.host, s.rank, s.pid, s.thread, s.main, s.source, s.problem, m.path, s.line,
         (SELECT group_concat(function || ' (' || file || ':' || line || ')', char(10))
            FROM (SELECT f.function, f.file, f.line FROM stack_frame k JOIN frame f USING (frame_id) WHERE k.stack_id = s.stack_id ORDER BY k.depth)) AS frames
  FROM stack_sample s JOIN member m USING (member_id);

-- How far every rank has come on every group.
CREATE VIEW frontiers AS
  SELECT g.description, g.name AS group_name, g.ranks, f.rank, f.host, f.source, f.p2p, f.enqueued, f.completed, f.operation, m.path
  FROM frontier f JOIN process_group g USING (group_id) JOIN member m USING (member_id)
  ORDER BY g.description, g.name, g.ranks, f.rank;

-- What became of every line of the bundle; the sums are checked after every ingest.
CREATE VIEW ledger AS
  SELECT path, format, size, lines, used, skipped, rejected, complete, duplicate_of IS NOT NULL AS duplicate
  FROM member ORDER BY path;
