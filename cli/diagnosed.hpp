// An incident with its verdict: a database that has one, or bundles that are diagnosed for it.
#pragma once

#include <string>
#include <vector>

#include "arguments.hpp"
#include "diagnose/resolve.hpp"
#include "rules/pack.hpp"
#include "store/database.hpp"

namespace culprit::cli {

struct Diagnosed {
  store::Database db;
  diagnose::Resolved resolved;
  std::string document;              // schemas/diagnosis-v1.json
  std::string path;                  // of the database; "" of bundles
  std::vector<std::string> bundles;  // what it was read from, where that is still there
  bool incomplete = false;
};

// sources: one database, one folder with an incident.db in it, or bundles; of none, -d names the
// database. Nothing is written beside a temporary database. Errors: those of reading; a database
// without a verdict (usage).
Result<Diagnosed> open_diagnosed(const Arguments& arguments,
                                 const std::vector<std::string>& sources,
                                 const rules::RulePack& pack);

// The same of a database alone.
Result<Diagnosed> open_with_verdict(const Arguments& arguments, const std::string& path);

// Its report alone (schemas/diagnosis-v1.json): of a database as it is stored, of a file
// report.json as it is, else of bundles that are diagnosed for it.
Result<std::string> diagnosis_of(const Arguments& arguments,
                                 const std::vector<std::string>& sources);

// What a later command is given to find an incident again: its database, else the bundles on the
// command line; "" of standard input.
std::string place_of(const Arguments& arguments, const std::string& database);

}  // namespace culprit::cli
