// The ledger of a database: what became of every line of the bundle.
#pragma once

#include "arguments.hpp"
#include "store/database.hpp"

namespace culprit::cli {

// Prints it, as text or with --json as an object a file, and what stands behind it in one answer;
// what could not be read is told besides.
void print_ledger(const Arguments& arguments, const store::Database& db,
                  const std::string& behind = {});

}  // namespace culprit::cli
