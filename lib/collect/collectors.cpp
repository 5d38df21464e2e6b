#include "collect/collectors.hpp"

#include "model/contains.hpp"
#include "model/json.hpp"
#include "schema/embedded.hpp"

namespace culprit::collect {

namespace {

using nlohmann::json;

std::vector<std::string> texts(const json& row, const char* key) {
  return row.value(key, std::vector<std::string>{});
}

std::string lines(const json& row, const char* key) {
  std::string out;
  for (const std::string& line : texts(row, key)) out += (out.empty() ? "" : "\n") + line;
  return out;
}

Each each_named(const std::string& word) {
  return word == "rank"   ? Each::rank
         : word == "file" ? Each::file
         : word == "host" ? Each::host
                          : Each::once;
}

Observation observation(const json& row) {
  Observation out{.file = row["file"],
                  .tier = row["tier"],
                  .on_job = row["on"] == "job",
                  .places = texts(row, "places")};
  for (const std::string& source : texts(row, "source"))
    if (const auto known = term_named<Source>(source)) out.sources.push_back(*known);
  out.always = row.value("always", false);
  for (const std::string& how : texts(row, "how")) (how == "root" ? out.root : out.mask) = true;
  out.each = each_named(row.value("each", ""));
  out.twice = row.value("twice", false);
  out.seconds = row["seconds"];
  out.megabytes = row["megabytes"];
  out.command = lines(row, "command");
  out.answers = row["answers"];
  out.means = texts(row, "means");
  return out;
}

Table read_table() {
  Table out;
  const json document = parse_json(embedded_rule("tables/collectors.json"));
  for (const json& row : document["tiers"])
    out.tiers.push_back({row["name"], row["means"], row["seconds"], row.value("urgent", false)});
  for (const json& row : document["ways"]) out.ways.push_back({row["name"], lines(row, "reach")});
  for (const json& row : document["places"])
    out.places.push_back({row["name"], texts(row, "ways"), row["ordered"], lines(row, "hosts")});
  for (const json& row : document["observations"]) out.observations.push_back(observation(row));
  return out;
}

}  // namespace

const Table& table() {
  static const Table kTable = read_table();
  return kTable;
}

bool applies(const Observation& o, std::string_view place) {
  return o.places.empty() || contains(o.places, place);
}

std::vector<const Observation*> observations_of(Source source, std::string_view place) {
  std::vector<const Observation*> out;
  for (const Observation& o : table().observations)
    if (contains(o.sources, source) && applies(o, place)) out.push_back(&o);
  return out;
}

}  // namespace culprit::collect
