// Where readers put what they find. A reader has never heard of SQLite: its tests collect into
// vectors.
#pragma once

#include <optional>
#include <string>

#include "model/collective.hpp"
#include "model/rows.hpp"
#include "model/series.hpp"
#include "model/stack.hpp"

namespace culprit {

class Sink {
 public:
  virtual ~Sink() = default;
  virtual void put(const EventRow& row) = 0;
  virtual void put(const TracebackRow& row) = 0;
  virtual void put(const ExitRow& row) = 0;
  virtual void put(const ProgressRow& row) = 0;
  virtual void put(const IdentityRow& row) = 0;
  virtual void put(const ConfigRow& row) = 0;
  virtual void put(const ClockRow& row) = 0;
  virtual void put(const RejectRow& row) = 0;
  virtual void put(const Manifest& manifest, const Place& place) = 0;
  virtual void put(const StackRow& row) = 0;
  virtual void put(const ProcessRow& row) = 0;
  virtual GroupId group(
      const GroupRow& row) = 0;  // the id that equal rows share, in the whole incident
  virtual void put(const FrontierRow& row) = 0;
  virtual void put(const CollectiveRow& row) = 0;
  virtual void put(const HistoryRow& row) = 0;
  virtual void put(const RecorderRow& row) = 0;
  virtual void put(const NetworkRow& row) = 0;
  virtual SeriesId series(const SeriesRow& row) = 0;  // a new id: two members never share a series
  virtual void put(const ChunkRow& row) = 0;
};

// Forgets everything.
class NullSink : public Sink {
 public:
  void put(const EventRow&) override {}
  void put(const TracebackRow&) override {}
  void put(const ExitRow&) override {}
  void put(const ProgressRow&) override {}
  void put(const IdentityRow&) override {}
  void put(const ConfigRow&) override {}
  void put(const ClockRow&) override {}
  void put(const RejectRow&) override {}
  void put(const Manifest&, const Place&) override {}
  void put(const StackRow&) override {}
  void put(const ProcessRow&) override {}
  GroupId group(const GroupRow&) override { return 0; }
  void put(const FrontierRow&) override {}
  void put(const CollectiveRow&) override {}
  void put(const HistoryRow&) override {}
  void put(const RecorderRow&) override {}
  void put(const NetworkRow&) override {}
  SeriesId series(const SeriesRow&) override { return 0; }
  void put(const ChunkRow&) override {}
};

// Facts arrive member by member, between begin and end.
class MemberSink : public Sink {
 public:
  // The digest of the member of this path when an earlier run finished it.
  virtual std::optional<std::string> finished(const std::string& path) = 0;
  virtual MemberId begin_member(
      const MemberRow& row) = 0;  // the id that the facts of the member carry
  // All facts of the member are in; counts and digest are set. After this the member survives a
  // kill.
  virtual void end_member(const MemberRow& row) = 0;
  // Something of the bundle could not be read: path, stable code, sentence.
  virtual void problem(const std::string& path, const std::string& code,
                       const std::string& reason) = 0;
};

}  // namespace culprit
