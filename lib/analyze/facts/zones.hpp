// Which zone the clocks of a bundle show where they print none. One job has several: containers run
// in UTC beside hosts and schedulers in local time.
#pragma once

#include <map>
#include <optional>

#include "analyze/facts/facts.hpp"
#include "line/zone.hpp"

namespace culprit::analyze {

struct ZoneChoice {
  line::Zone zone;
  Nanoseconds uncertainty = 0;
  bool known = false;  // somebody says so; else UTC, for want of anything better
};

class Zones {
 public:
  // REQUIRES: resolve_identity(). Adds notes, and clears facts.zone_known when times without a zone
  // stay a guess.
  explicit Zones(Facts& facts);

  const ZoneChoice& of(MemberId member) const;

 private:
  void read_words(const Facts& facts);
  void choose_for_job(Facts& facts);
  bool by_twice_recorded(Facts& facts);
  bool by_processes(Facts& facts);
  bool by_echoes(Facts& facts);
  bool by_recorders(Facts& facts);
  bool by_last_step(Facts& facts);
  void by_file_times(const Facts& facts);
  void by_faults_of_machines(Facts& facts);
  void guess(Facts& facts);
  void choose_for_members(const Facts& facts);
  // The zone that the manifest, a note or the file's own name gives it; nullptr: none does.
  const line::Zone* named(MemberId member) const;
  void read_names(const Facts& facts);
  // `later`: the job would have printed long after the last line of its machines' logs, which are
  // collected when it is over.
  enum class Fit { within, later, apart };
  const line::Zone* zone_of_all_hosts() const;  // nullptr: they say nothing, or differ
  Fit fit(const Facts& facts, const line::Zone& zone) const;

  ZoneChoice job_;                                             // where nothing nearer is known
  std::map<std::string, line::Zone> of_host_;                  // what hosts say of themselves
  std::vector<std::pair<std::string, line::Zone>> of_source_;  // the manifest's timezones, notes
  std::map<MemberId, line::Zone> of_name_;
  std::optional<Nanoseconds> written_by_job_,
      written_by_machines_;                               // offsets that the files' own times show
  std::optional<line::Zone> job_noted_, machines_noted_;  // by people
  bool job_is_local_ = false;                             // and nobody notes where
  bool machines_guessed_ = false;  // by faults that were taken for the job's end
  std::map<MemberId, ZoneChoice> of_member_;
};

}  // namespace culprit::analyze
