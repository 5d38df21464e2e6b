// formats, schema, version, help: commands that only print what is compiled in.
#include <set>

#include <fmt/format.h>

#include "bundle/archive_stream.hpp"
#include "command.hpp"
#include "incident.hpp"
#include "ingest/engine/document.hpp"
#include "ingest/engine/record_text.hpp"
#include "ingest/engine/recogniser.hpp"
#include "model/json.hpp"
#include "pack.hpp"
#include "rules/pack.hpp"
#include "rules/search.hpp"
#include "schema/schema.hpp"
#include "store/database.hpp"
#include "version.hpp"

namespace culprit::cli {

namespace {

using Json = nlohmann::ordered_json;

Result<Exit> formats_as_json() {
  const auto listed = [](const auto& range, const auto& entry) {
    Json out = Json::array();
    for (const auto& one : range) {
      const auto& [name, summary] = entry(one);
      out.push_back({{"name", std::string(name)}, {"summary", std::string(summary)}});
    }
    return out;
  };
  const auto pointed = [](const auto* one) { return std::pair(one->name, one->summary); };
  Json out;
  out["schema"] = "culprit.formats/1";
  out["bundles"] = {"folder",  "tar", "tar.gz", "tar.zst", "tar.xz",
                    "tar.bz2", "zip", "file",   "stdin"};
  out["documents"] = listed(ingest::documents(), pointed);
  out["metrics"] = listed(ingest::record_texts(), pointed);
  out["lines"] = listed(ingest::recognisers(), pointed);
  out["text_kinds"] = listed(ingest::text_kinds(),
                             [](const auto& one) { return std::pair(one.name, one.summary); });
  print(identified(json_text(out) + "\n"));
  return Exit::finished;
}

Result<Exit> run_formats(const Arguments& arguments) {
  CULPRIT_CHECK(check_format(arguments, {"text", "json"}));
  if (wants_json(arguments)) return formats_as_json();
  std::string out =
      "Bundles\n  folder, tar, tar.gz, tar.zst, tar.xz, tar.bz2, zip, one file, - (standard "
      "input);\n"
      "  compressed members, archives in archives, nvidia-bug-report and kubectl log dumps split "
      "into sections\n\n"
      "Documents, read as a whole\n";
  for (const auto* one : ingest::documents())
    out += fmt::format("  {:<18} {}\n", one->name, one->summary);
  out += "\nMetrics: texts whose every line is a record\n";
  for (const auto* one : ingest::record_texts())
    out += fmt::format("  {:<18} {}\n", one->name, one->summary);
  out += "\nLines, recognised in any text\n";
  for (const auto* one : ingest::recognisers())
    out += fmt::format("  {:<18} {}\n", one->name, one->summary);
  out += "  rules              every line against the rule pack: `culprit rules list`\n";
  out += "\nKinds of text, recognised by the head of a file\n";
  for (const auto& one : ingest::text_kinds())
    out += fmt::format("  {:<18} {}\n", one.name, one.summary);
  print(out);
  return Exit::finished;
}

Result<Exit> run_schema(const Arguments& arguments) {
  if (arguments.positional().empty()) {
    std::string out;
    for (const auto& file : embedded_schemas()) out += fmt::format("{}\n", file.name);
    print(out);
    return Exit::finished;
  }
  std::vector<std::string> names;
  for (const auto& file : embedded_schemas()) names.emplace_back(file.name);
  for (const std::string& name : arguments.positional()) {
    const std::string_view text = schema::text(name);
    if (text.empty()) {
      const std::string near = schema::nearest(name, names);
      return usage_error(fmt::format("there is no schema '{}'", name))
          .hint(near.empty() ? "`culprit schema` lists them"
                             : fmt::format("did you mean {}?", near));
    }
    print(text);
  }
  return Exit::finished;
}

// The first line is for scripts; the others are for reports of bugs.
Result<Exit> run_version(const Arguments& arguments) {
  std::string out = fmt::format("{}\n", kProgram);
  CULPRIT_TRY(pack, load_pack(arguments));
  std::set<std::string_view> families;
  for (const rules::Rule& rule : pack.rules()) families.insert(rule.family);
  out += fmt::format("rules      {} in {} families, digest {}\n", pack.rules().size(),
                     families.size(), pack.digest());
  out += fmt::format("schemas    {} documents; database layout {}\n", embedded_schemas().size(),
                     store::layout_version());
  out += fmt::format("search     {}\n", rules::search_instructions());
  out += fmt::format("built      {}, libraries {}\n", kCompiler, kLinked);
  out += fmt::format("libraries  {}, SQLite {}, fmt {}.{}.{}\n", bundle::unpacking_libraries(),
                     store::sqlite_version(), FMT_VERSION / 10000, FMT_VERSION / 100 % 100,
                     FMT_VERSION % 100);
  print(out);
  return Exit::finished;
}

Result<Exit> run_help(const Arguments& arguments) {
  if (!arguments.positional().empty()) {
    const Command* command = find_command(arguments.positional()[0]);
    if (command == nullptr) {
      std::vector<std::string> names;
      for (const Command* one : commands()) names.emplace_back(one->name);
      const std::string near = schema::nearest(arguments.positional()[0], names);
      return usage_error(fmt::format("there is no command '{}'", arguments.positional()[0]))
          .hint(near.empty() ? "`culprit help` lists them" : fmt::format("did you mean {}?", near));
    }
    if (arguments.positional().size() > 1 && !command->subcommands.empty()) {
      CULPRIT_TRY(chosen, find_subcommand(*command, arguments.positional()[1]));
      command = chosen;
    }
    print(help_of(*command));
    return Exit::finished;
  }
  std::string out =
      "culprit: who broke the training job, how one can check that, and what to do next\n\n"
      "  culprit diagnose job.tar.gz                    the verdict\n"
      "  culprit diagnose node*.tar.gz -o report/       several bundles of one incident; database "
      "and reports\n"
      "  culprit show FINDING -d report/incident.db     down to the raw lines\n\ncommands:\n";
  for (const Command* command : commands())
    out += fmt::format("  {:<11} {}\n", command->name, command->summary);
  out += "\n`culprit help COMMAND` tells more; culprit(1) is the manual.\n";
  print(out);
  return Exit::finished;
}

constexpr OptionSpec kFormatsOptions[] = {
    {"format", "FORMAT", "text or json"},
    {"json", nullptr, "the same as --format json"},
};

}  // namespace

constinit const Command kFormats{"formats",          "what can be read",
                                 "formats [--json]", "  culprit formats\n",
                                 kFormatsOptions,    run_formats};
constinit const Command kSchema{"schema",
                                "print the schemas of our documents",
                                "schema [NAME...]",
                                "  culprit schema                    lists them\n  culprit schema "
                                "diagnosis-v1.json  prints one\n",
                                {},
                                run_schema};
constinit const Command kVersion{"version", "print the version, and what it was built of",
                                 "version", "  culprit version\n",
                                 {},        run_version};
constinit const Command kHelp{"help",
                              "this list, or the help of a command",
                              "help [COMMAND]",
                              "  culprit help diagnose\n",
                              {},
                              run_help};

}  // namespace culprit::cli
