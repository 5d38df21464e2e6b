// `culprit ingest --shard`: one of several machines that read a bundle together.
#pragma once

#include "arguments.hpp"
#include "command.hpp"
#include "rules/pack.hpp"

namespace culprit::cli {

Result<Exit> ingest_shard(const Arguments& arguments, const rules::RulePack& pack);

}  // namespace culprit::cli
