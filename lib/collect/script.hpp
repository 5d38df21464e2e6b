// A collector: a POSIX shell script that people run where the hosts of a job can be reached. It is
// printed, never run. Names from outside are checked strictly, for they stand in it.
#pragma once

#include <string>
#include <vector>

#include "collect/collectors.hpp"
#include "model/result.hpp"

namespace culprit::collect {

// One thing that an open verdict asks for.
struct Wish {
  Source source = Source::none;
  std::vector<std::string> hosts;  // empty: of all
  std::string text;                // as the report says it
};

struct Request {
  std::string place;               // slurm, kubernetes, hosts, here
  std::string job, name_space;     // its number or name there
  std::vector<std::string> hosts;  // where the place does not list them
  std::string via;                 // "": the first way of the place
  std::string tier = "quick";
  std::vector<Wish> wishes;  // from a verdict: they take the place of a tier
};

// Letters, digits, "-", "_" and ".", a letter or digit first.
bool host_name(std::string_view text);
// 41207, 41207_3 of an array, 41207+1 of a heterogeneous job.
bool slurm_job(std::string_view text);

// Errors (usage): what is no name of a host, job or namespace; a way that does not lead there.
Result<std::string> collector(const Request& request);

}  // namespace culprit::collect
