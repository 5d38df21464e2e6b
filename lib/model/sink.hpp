// Where readers put what they find. A reader has never heard of SQLite: its tests collect into
// vectors.
#pragma once

#include <optional>
#include <string>

#include "model/row_list.hpp"

namespace culprit {

class Sink {
 public:
  virtual ~Sink() = default;
#define CULPRIT_PUT(Row, name) virtual void put(const Row& row) = 0;
  CULPRIT_ROWS(CULPRIT_PUT)
#undef CULPRIT_PUT
  virtual void put(const Manifest& manifest, const Place& place) = 0;
  virtual GroupId group(
      const GroupRow& row) = 0;  // the id that equal rows share, in the whole incident
  virtual SeriesId series(const SeriesRow& row) = 0;  // a new id: two members never share a series
};

// Forgets everything.
class NullSink : public Sink {
 public:
#define CULPRIT_PUT(Row, name) \
  void put(const Row&) override {}
  CULPRIT_ROWS(CULPRIT_PUT)
#undef CULPRIT_PUT
  void put(const Manifest&, const Place&) override {}
  GroupId group(const GroupRow&) override { return GroupId::none; }
  SeriesId series(const SeriesRow&) override { return 0; }
};

// Facts arrive member by member, between begin and end.
class MemberSink : public Sink {
 public:
  // Of a shard: what follows belongs to this place of the walk. The n-th unit, counted from 0 over
  // all bundles, is at 2n + 1; what is told of the folders before it, at 2n.
  virtual void begin_place(std::uint64_t) {}
  // The digest of the member of this path when an earlier run finished it. Asked by one thread,
  // which may be another than the one that calls the rest at the same time.
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
