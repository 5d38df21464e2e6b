-- What a shard (`culprit ingest --shard`) holds besides the tables of store.sql: who reads what, and in which order its facts came.
-- `culprit merge` makes an incident.db of shards, which has none of this. In meta: shard ('3/12'), shard_where (the label of a shard
-- whose part of the bundle lies on its own host; '' all shards share one bundle), shard_listing (digest of what the bundle consists of),
-- shard_limits, shard_entries (against --max-members, a number for each bundle), shard_digest (of all that was read). state is 'shard'
-- when it was read to its end.

-- One row per unit of the bundle: a file of a folder, or what was named on the command line. Of all shards.
CREATE TABLE shard_unit (
  unit   INTEGER PRIMARY KEY,  -- from 1, in the order of reading
  source INTEGER NOT NULL,     -- which BUNDLE of the command line, from 1
  path   TEXT NOT NULL,        -- as in member
  size   INTEGER NOT NULL,     -- bytes on disk
  mtime_s INTEGER NOT NULL,    -- seconds since 1970
  shard  INTEGER NOT NULL      -- who reads it, from 1
);

-- The facts of the units of this shard in the order in which they came, as entries (lib/store/tape.hpp).
CREATE TABLE shard_tape (
  tape_id INTEGER PRIMARY KEY,
  place   INTEGER NOT NULL,    -- of unit u: 2u - 1; of what is said of the folders before it: 2u - 2
  entries BLOB NOT NULL
);
