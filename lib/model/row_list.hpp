// The row types that readers put, each with the name of its rows where they are held together.
//
// A new row type is four edits: its struct (model/rows.hpp or beside what it belongs to), a line
// here, its columns (store/tables.hpp) and its table (schemas/store.sql). Sink, queue, database,
// facts and the tests' sink are made from this list.
#pragma once

#include <vector>

#include "model/collective.hpp"
#include "model/rows.hpp"
#include "model/series.hpp"
#include "model/stack.hpp"

// Rows that the analyses see as they were read.
#define CULPRIT_FACT_ROWS(X)  \
  X(EventRow, events)         \
  X(TracebackRow, tracebacks) \
  X(ExitRow, exits)           \
  X(IdentityRow, identities)  \
  X(ConfigRow, configs)       \
  X(ClockRow, clocks)         \
  X(ProcessRow, processes)    \
  X(FrontierRow, frontiers)   \
  X(RecorderRow, recorders)   \
  X(NetworkRow, networks)     \
  X(OutcomeRow, outcomes)

// All: besides them those that are too many to be held at once, or that point into other tables.
#define CULPRIT_ROWS(X)         \
  CULPRIT_FACT_ROWS(X)          \
  X(ProgressRow, progress)      \
  X(CheckpointRow, checkpoints) \
  X(StartMarkRow, start_marks)  \
  X(LastLineRow, last_lines)    \
  X(RejectRow, rejects)         \
  X(StackRow, stacks)           \
  X(CollectiveRow, collectives) \
  X(HistoryRow, histories)      \
  X(ChunkRow, chunks)

namespace culprit {

struct FactRows {
#define CULPRIT_HOLD(Row, name) std::vector<Row> name;
  CULPRIT_FACT_ROWS(CULPRIT_HOLD)
#undef CULPRIT_HOLD
};

}  // namespace culprit
