// claim INCIDENT --host NAME: what a vendor asks for before a machine or a GPU is exchanged.
#include <fmt/format.h>

#include "command.hpp"
#include "diagnose/claim.hpp"
#include "diagnosed.hpp"
#include "incident.hpp"
#include "model/hostlist.hpp"
#include "pack.hpp"
#include "report/fields.hpp"
#include "report/terminal.hpp"
#include "schema/schema.hpp"

namespace culprit::cli {

namespace {

constexpr std::size_t kClaimWidth = 100;

std::string claim_place(const nlohmann::json& row) {
  const std::uint64_t line = report::count(row, "line");
  return line == 0 ? report::text(row, "path")
                   : fmt::format("{}:{}", report::text(row, "path"), line);
}

std::string claim_facts(const nlohmann::json& rows) {
  std::string out;
  for (const nlohmann::json& row : rows)
    out += fmt::format("  {:<20} {:<32} {}\n", report::text(row, "what"),
                       report::text(row, "value"), claim_place(row));
  return out;
}

std::string claim_lines(const nlohmann::json& rows) {
  std::string out;
  for (const nlohmann::json& row : rows)
    out += fmt::format("  {}  {}\n      {}{}\n",
                       report::text(row, "time").empty() ? "(no time)" : report::text(row, "time"),
                       report::shortened(report::text(row, "text"), kClaimWidth), claim_place(row),
                       report::count(row, "count") > 1
                           ? fmt::format(", {} times", report::count(row, "count"))
                           : "");
  return out;
}

std::string claim_readings(const nlohmann::json& rows) {
  std::string out;
  for (const nlohmann::json& row : rows)
    out +=
        fmt::format("  {:<36} {} at {}, {} at {}  {}\n", report::text(row, "field"),
                    report::member(row, "first").dump(), report::text(row, "from"),
                    report::member(row, "last").dump(), report::text(row, "to"), claim_place(row));
  return out;
}

std::string claim_absent(const nlohmann::json& rows) {
  std::string out;
  for (const nlohmann::json& row : rows)
    out += fmt::format("  not in the bundle: {}: {}\n", report::text(row, "what"),
                       report::text(row, "command"));
  return out;
}

std::string claim_job(const nlohmann::json& job) {
  const auto known = [&](const char* key) {
    const std::string value = report::text(job, key);
    return value.empty() ? std::string("(not known)") : value;
  };
  const std::uint64_t gpus = report::count(job, "gpus");
  std::string out = fmt::format("  job {}{}\n  {:<20} {} to {}\n", known("id"),
                                gpus == 0 ? "" : ", " + report::counted(gpus, "GPU"), "incident",
                                known("start"), known("end"));
  if (const double hours = report::number(job, "failing_hours"); hours > 0)
    out += fmt::format(
        "  {:<20} {:.2f} h{}\n", "failing", hours,
        gpus == 0 ? "" : fmt::format(", {:.2f} GPU hours", hours * static_cast<double>(gpus)));
  for (const nlohmann::json& part : report::list(job, "lost"))
    out += fmt::format("  {:<20} {:.2f} h{}\n", report::text(part, "part"),
                       report::number(part, "hours"),
                       report::member(part, "gpu_hours").is_null()
                           ? ""
                           : fmt::format(", {:.2f} GPU hours", report::number(part, "gpu_hours")));
  return out;
}

std::string claim_text(const nlohmann::json& claim) {
  std::string out = fmt::format("CLAIM  {}\n", report::text(claim, "host"));
  if (const std::string verdict = report::text(claim, "verdict"); !verdict.empty())
    out += fmt::format("  the verdict names {}\n", verdict);
  out += "\nMACHINE\n" + claim_facts(report::list(claim, "machine")) +
         claim_lines(report::list(claim, "lines"));
  for (const nlohmann::json& gpu : report::list(claim, "gpus")) {
    const nlohmann::json& rank = report::member(gpu, "rank");
    out += fmt::format("\nGPU {}{}\n", report::text(gpu, "gpu"),
                       rank.is_null() ? "" : "  (rank " + rank.dump() + ")");
    out += claim_facts(report::list(gpu, "facts")) + claim_lines(report::list(gpu, "lines")) +
           claim_readings(report::list(gpu, "readings")) +
           claim_absent(report::list(gpu, "absent"));
  }
  if (const auto left = report::count(claim, "left_out"); left > 0)
    out += fmt::format("\n  and {} more\n", report::counted(left, "line"));
  return out + "\nNOT TRAINING\n" + claim_job(report::member(claim, "job")) +
         claim_absent(report::list(claim, "absent"));
}

Result<Exit> run_claim(const Arguments& arguments) {
  if (!arguments.has("host"))
    return usage_error("claim needs a host").hint("culprit claim report/incident.db --host gpu-07");
  CULPRIT_CHECK(check_format(arguments, {"text", "json"}));
  CULPRIT_TRY(pack, load_pack(arguments));
  CULPRIT_TRY(incident, open_diagnosed(arguments, arguments.positional(), pack));
  const nlohmann::json document = report::without_ledger(incident.document);
  const std::string host = arguments.get("host");
  const auto claim = diagnose::claim_of(incident.db, incident.resolved, document, host);
  CULPRIT_CHECK(incident.db.read_to_the_end());
  if (!claim) {
    std::vector<std::string> names;
    for (const HostRow& h : incident.resolved.facts.hosts) names.push_back(h.host);
    const std::string near = schema::nearest(host, names);
    return usage_error(fmt::format("the bundle names no host '{}'", host))
        .hint(!near.empty()   ? fmt::format("did you mean {}?", near)
              : names.empty() ? "it names none: `culprit help ingest` tells how hosts are found"
                              : "it names " + fold_hostlist(names));
  }
  print(wants_json(arguments) ? identified(json_text(*claim) + "\n")
                              : claim_text(nlohmann::json(*claim)));
  return Exit::finished;
}

constexpr auto kClaimOptions = with_read_options({
    {"host", "NAME", "the machine"},
    {"db,d", "FILE", "the database of the incident"},
    {"format", "FORMAT", "text or json"},
    {"json", nullptr, "the same as --format json"},
});

}  // namespace

constinit const Command kClaim{
    "claim",
    "what a vendor asks for before a part is exchanged",
    "claim INCIDENT --host NAME [options]",
    "  culprit claim report/incident.db --host gpu-07 > rma.txt\n"
    "  culprit claim job.tar.gz --host gpu-07 --json\n\n"
    "  Serial numbers, versions, Xid lines, ECC and DCGM readings, hours lost: each with its file "
    "and line.\n"
    "  What the bundle does not have is listed with the command that tells it.\n",
    kClaimOptions,
    run_claim};

}  // namespace culprit::cli
