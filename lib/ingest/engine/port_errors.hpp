// Of the ports of several machines, which takes errors of the wire where the others take none: in
// tables of counters that somebody read once of each.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "ingest/engine/recogniser.hpp"

namespace culprit::ingest {

class PortErrors final : public Kept {
 public:
  // name: as the catalogue of metrics knows it; what counts no errors of a link is left out.
  void add(const std::string& host, const std::string& nic, const std::string& name, double value,
           const Place& place);
  // An event of each port that stands out, at most two.
  void finish(Reading& reading) override;

 private:
  struct Port {
    double errors = 0;
    Place place;
  };
  using Ports = std::map<std::pair<std::string, std::string>, Port>;  // host, port
  std::map<std::string, Ports> columns_;
};

}  // namespace culprit::ingest
