// `culprit rules list --format html`: the rules as a reference.
#pragma once

#include <string>

#include "rules/pack.hpp"

namespace culprit::cli {

// One page without scripts: a section for each rule in the order of the pack, with its id as
// anchor, and a row for each of its numbers with its class as anchor (gpu_xid/79).
std::string rules_page(const rules::RulePack& pack);

}  // namespace culprit::cli
