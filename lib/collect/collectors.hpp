// What can be collected of hosts and schedulers, as rules/tables/collectors.json has it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/terms.hpp"

namespace culprit::collect {

enum class Each { once, rank, file, host };

struct Observation {
  std::string file;  // in the folder of a host, or in that of the bundle
  std::string tier;
  bool on_job = false;              // once, beside the collector; else on each host
  std::vector<std::string> places;  // where it applies; empty: everywhere
  std::vector<Source> sources;      // what it is, as far as a verdict asks for that
  bool always = false;              // also where a verdict asks for something else
  bool root = false, mask = false;
  Each each = Each::once;
  bool twice = false;  // some seconds apart
  int seconds = 0, megabytes = 0;
  std::string command, answers;
  std::vector<std::string> means;  // what a result says
};

struct Tier {
  std::string name, means;
  int seconds = 0;      // for all of a host
  bool urgent = false;  // it goes first
};

struct Way {
  std::string name, reach;  // the body of a function of a shell, with the host as $1
};

struct PlaceOfJob {
  std::string name;
  std::vector<std::string> ways;  // the first is taken without a choice
  bool ordered = false;           // its hosts come in the order of node ranks
  std::string hosts;              // a command that prints them
};

struct Table {
  std::vector<Tier> tiers;  // each holds the ones before
  std::vector<Way> ways;
  std::vector<PlaceOfJob> places;
  std::vector<Observation> observations;
};

// The one that is built in.
const Table& table();
// What gives files of this kind where a job ran, in the order of the table.
std::vector<const Observation*> observations_of(Source source, std::string_view place);
bool applies(const Observation& o, std::string_view place);

}  // namespace culprit::collect
