// Reads one shard, and says which part of the bundle that is.
#include "shard.hpp"

#include <charconv>

#include <fmt/format.h>

#include "diagnose/shard.hpp"
#include "incident.hpp"
#include "ledger.hpp"
#include "model/json.hpp"
#include "pack.hpp"
#include "report/terminal.hpp"
#include "store/shard.hpp"

namespace culprit::cli {

namespace {

Result<diagnose::ShardRequest> asked_shard(const Arguments& arguments) {
  diagnose::ShardRequest out;
  const std::string text = arguments.get("shard");
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, out.number);
  const bool slash = first.ec == std::errc{} && first.ptr != end && *first.ptr == '/';
  const auto second = slash ? std::from_chars(first.ptr + 1, end, out.count) : first;
  if (!slash || second.ec != std::errc{} || second.ptr != end || out.number < 1 ||
      out.number > out.count || out.count > store::kMostShards)
    return usage_error(fmt::format("--shard takes K/N, with K from 1 to N and N at most {}, not "
                                   "'{}'",
                                   store::kMostShards, text))
        .hint("--shard 3/12 reads the third of twelve parts");
  out.where = arguments.get("where");
  if (!arguments.has("where")) return out;
  if (arguments.positional().size() != 1)
    return usage_error("--where takes one bundle: the part that lies on this host");
  if (out.where.empty() || out.where == "." || out.where == ".." ||
      out.where.find_first_of("/\n") != std::string::npos)
    return usage_error("--where takes a label without '/', such as the name of the host");
  return out;
}

std::string size_words(std::uint64_t bytes) {
  return bytes < 1'000'000 ? fmt::format("{} kB", (bytes + 999) / 1000)
                           : fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

}  // namespace

Result<Exit> ingest_shard(const Arguments& arguments, const rules::RulePack& pack) {
  if (!arguments.has("shard"))
    return usage_error("--where needs --shard").hint("--shard 3/12 --where node-03");
  CULPRIT_TRY(shard, asked_shard(arguments));
  diagnose::ShardOutcome outcome;
  CULPRIT_CHECK(with_read_request(
      arguments, arguments.positional(), [&](const diagnose::ReadRequest& request) -> Result<> {
        CULPRIT_TRY(read, diagnose::read_shard(request, shard, pack, arguments.get("db")));
        outcome = std::move(read);
        return {};
      }));
  CULPRIT_TRY(db, store::Database::open(arguments.get("db"), store::Access::read));
  if (outcome.already) remark(arguments, "this shard is there already, of the same bundle");
  std::string out;
  if (wants_json(arguments)) {
    nlohmann::ordered_json line{{"shard", shard.number},
                                {"shards", shard.count},
                                {"units", outcome.units},
                                {"bytes", outcome.bytes},
                                {"all_units", outcome.all_units},
                                {"all_bytes", outcome.all_bytes},
                                {"undivided", nlohmann::ordered_json::array()}};
    for (const Unit& unit : outcome.large)
      line["undivided"].push_back({{"path", unit.path}, {"bytes", unit.size}});
    out = json_text(line, -1) + "\n";
  } else {
    out = fmt::format("shard {}/{}: {} of {} units, {} of {} on disk\n", shard.number, shard.count,
                      outcome.units, outcome.all_units, size_words(outcome.bytes),
                      size_words(outcome.all_bytes));
    for (const Unit& unit : outcome.large)
      out += fmt::format(
          "{} is one unit of {}, more than an even share: an archive or a file is never divided\n",
          report::visible(unit.path), size_words(unit.size));
  }
  print_ledger(arguments, db, out);
  return outcome.incomplete && arguments.has("strict") ? Exit::incomplete : Exit::finished;
}

}  // namespace culprit::cli
