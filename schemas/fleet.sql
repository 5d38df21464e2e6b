-- fleet.db: what is remembered of many incidents. Made by `culprit batch` and `culprit fleet import`; read by
-- `culprit fleet`. Made for being queried: SQLite keeps these comments, `.schema incident` is the manual.
-- Times ending in _ns are nanoseconds since 1970-01-01 UTC; NULL means not known.
-- Readable by SQLite 3.8 and later. The same incidents and events give the same bytes.

PRAGMA application_id = 1129662028;  -- 'CUFL'
PRAGMA user_version = 1;

-- One row per diagnosed bundle. Two bundles with the same contents are one incident.
CREATE TABLE incident (
  incident_id TEXT PRIMARY KEY,     -- digest of the bundle's contents: bundle.digest of its report
  name        TEXT NOT NULL,        -- what `culprit batch` calls the bundle
  source      TEXT NOT NULL,        -- where the bundle lay
  job         TEXT NOT NULL,        -- name of the job; '' not known
  job_id      TEXT NOT NULL,        -- the scheduler's id; '' not known
  start_ns    INTEGER,              -- first failure
  end_ns      INTEGER,              -- end of the incident: most often of the job
  ran_s       REAL,                 -- seconds from the start of the job (its last attempt) to the first failure
  symptom     TEXT NOT NULL,        -- CUDA Error, Job Hang ...; None when nothing failed
  action      TEXT NOT NULL,        -- the verdict's: isolate, repair, rollback ... none
  precision   TEXT NOT NULL,        -- exact, group, candidates
  restart     TEXT NOT NULL,        -- yes, no, after_repair
  class       TEXT NOT NULL,        -- gpu_xid/79 ...: of the finding that the verdict rests on; '' none
  component   TEXT NOT NULL,        -- of that finding's rule: gpu, nic ...; '' none
  confidence  REAL NOT NULL,        -- of the first target
  gpus        INTEGER NOT NULL,     -- ranks of the job; 0 not known
  complete    INTEGER NOT NULL,     -- 0: not all of the bundle could be read
  summary     TEXT NOT NULL,        -- the verdict in a sentence
  report      TEXT NOT NULL         -- path of the report beside this file; '' none
) WITHOUT ROWID;

-- One row per thing that a verdict names.
CREATE TABLE target (
  incident_id TEXT NOT NULL REFERENCES incident,
  position    INTEGER NOT NULL,     -- 0: the first
  kind        TEXT NOT NULL,        -- host, gpu, nic, switch, code ...
  id          TEXT NOT NULL,        -- as the report names it
  host        TEXT NOT NULL,        -- the machine that it is, or is a part of; '' not known
  confidence  REAL NOT NULL,
  blamed      INTEGER NOT NULL,     -- 1: the verdict acts on it; 0: a candidate, counted nowhere
  PRIMARY KEY (incident_id, position)
) WITHOUT ROWID;

-- The machines of an incident: those that could have failed.
CREATE TABLE incident_host (
  incident_id TEXT NOT NULL REFERENCES incident,
  host        TEXT NOT NULL,
  PRIMARY KEY (incident_id, host)
) WITHOUT ROWID;

-- Versions, serial numbers and switches of machines, as the bundle tells them.
CREATE TABLE attribute (
  incident_id TEXT NOT NULL REFERENCES incident,
  host        TEXT NOT NULL,
  device      TEXT NOT NULL,        -- '' the machine itself
  name        TEXT NOT NULL,        -- switch, driver_version, nic.firmware, gpu.serial ...
  value       TEXT NOT NULL,
  PRIMARY KEY (incident_id, host, device, name, value)
) WITHOUT ROWID;

-- Where the time of a job went.
CREATE TABLE time_part (
  incident_id TEXT NOT NULL REFERENCES incident,
  part        TEXT NOT NULL,        -- training, start-up, after the last step ...
  seconds     REAL NOT NULL,
  PRIMARY KEY (incident_id, part)
) WITHOUT ROWID;

-- One row per event of another system: `culprit fleet import`.
CREATE TABLE event (
  event_id    TEXT PRIMARY KEY,     -- digest of what the row says
  system      TEXT NOT NULL,        -- who recorded it
  kind        TEXT NOT NULL,        -- failure, reboot, repair
  host        TEXT NOT NULL,
  device      TEXT NOT NULL,        -- '' the machine itself, or not known
  level       TEXT NOT NULL,        -- Hardware Failure ...; '' not told
  class       TEXT NOT NULL,        -- GPU, NIC ...
  description TEXT NOT NULL,
  start_ns    INTEGER,
  end_ns      INTEGER,              -- NULL: open, or not told
  place       TEXT NOT NULL         -- file:line
) WITHOUT ROWID;

-- What was watched, where the events themselves cannot tell: machines without an event leave no trace.
CREATE TABLE scope (
  system        TEXT PRIMARY KEY,   -- '' the whole fleet
  from_ns       INTEGER,
  to_ns         INTEGER,
  hosts         INTEGER,
  gpus_per_host INTEGER
) WITHOUT ROWID;

-- For people. ------------------------------------------------------------------------------------------------------

-- Machines by how often a verdict acted on them.
CREATE VIEW blamed_hosts AS
  SELECT t.host, COUNT(DISTINCT t.incident_id) AS incidents, group_concat(DISTINCT i.symptom) AS symptoms
  FROM target t JOIN incident i USING (incident_id)
  WHERE t.blamed = 1 AND t.host <> ''
  GROUP BY t.host ORDER BY incidents DESC, t.host;

-- Incidents in order of time.
CREATE VIEW incidents AS
  SELECT strftime('%Y-%m-%dT%H:%M:%SZ', start_ns / 1000000000, 'unixepoch') AS start, name, job, symptom, action, class, summary
  FROM incident ORDER BY start_ns IS NULL, start_ns, name;
