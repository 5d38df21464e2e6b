// redact: a database or bundle that can be given away, and the map that stays here.
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.hpp"
#include "diagnose/redaction.hpp"
#include "incident.hpp"
#include "model/json.hpp"
#include "pack.hpp"
#include "report/terminal.hpp"

namespace culprit::cli {

namespace {

constexpr char kMap[] = "redaction-map.json";
constexpr std::size_t kMostMapBytes = 256u << 20;

Result<std::string> read_small(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail("cannot read this file").at({path, 0});
  std::string out;
  char buffer[1 << 16];
  while (file && out.size() <= kMostMapBytes) {
    file.read(buffer, sizeof buffer);
    out.append(buffer, static_cast<std::size_t>(file.gcount()));
  }
  if (out.size() > kMostMapBytes) return fail("this file is too large").at({path, 0});
  return out;
}

// For the owner alone: whoever has the map has the names.
Result<> write_map(const std::string& path, const std::string& text) {
  const std::string part = path + ".part";
  const auto failed = [&] {
    return fail(fmt::format("cannot write the map: {}", std::strerror(errno)))
        .at({path, 0})
        .hint("name a file that you may write to with --map");
  };
  const int fd = open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return failed();
  std::size_t at = 0;
  while (at < text.size()) {
    const ssize_t n = write(fd, text.data() + at, text.size() - at);
    if (n <= 0) break;
    at += static_cast<std::size_t>(n);
  }
  const bool good = at == text.size() && fsync(fd) == 0;
  close(fd);
  if (!good || rename(part.c_str(), path.c_str()) != 0) {
    const auto error = failed();
    unlink(part.c_str());
    return error;
  }
  return {};
}

Result<Exit> reveal(const Arguments& arguments, redact::Pseudonyms& names) {
  CULPRIT_TRY(text, read_small(arguments.get("reveal")));
  print(names.reveal(text));
  return Exit::finished;
}

Result<Exit> run_redact(const Arguments& arguments) {
  const std::string map = arguments.get("map", kMap);
  redact::Pseudonyms names;
  std::error_code error;
  if (std::filesystem::exists(map, error)) {
    CULPRIT_TRY(document, read_small(map));
    CULPRIT_CHECK(names.load(document, map));
  } else if (arguments.has("reveal")) {
    return usage_error("there is no map")
        .at({map, 0})
        .hint("name the file that `culprit redact --map` wrote");
  }
  if (arguments.has("reveal")) return reveal(arguments, names);
  const std::string out = arguments.get("out");
  if (out.empty())
    return usage_error("redact needs a file to write to")
        .hint("culprit redact -d incident.db -o shared.db");
  const bool bundle = arguments.has("bundle");
  if (bundle == arguments.has("db") || !arguments.positional().empty())
    return usage_error("redact takes a database or a bundle")
        .hint(
            "culprit redact -d incident.db -o shared.db, or culprit redact --bundle job.tar.gz -o "
            "shared.tar.gz");
  const std::string from = bundle ? arguments.get("bundle") : arguments.get("db");
  if (std::filesystem::equivalent(from, out, error))
    return usage_error("-o is what is to be redacted").at({out, 0});
  for (const std::string& word : arguments.all("name")) names.add_word(word);
  std::size_t members = 0;
  if (bundle) {
    CULPRIT_TRY(pack, load_pack(arguments));
    CULPRIT_TRY(db, diagnose::open_new(std::vector<std::string>{from}, ""));
    CULPRIT_CHECK(read_sources(arguments, {from}, pack, db));
    CULPRIT_TRY(resolved, diagnose::resolve(db, false));
    diagnose::name_known(resolved.facts, names);
    CULPRIT_TRY(written, diagnose::redact_bundle(from, out, {}, names));
    members = written.members;
    for (const std::string& path : written.left_out)
      remark(
          arguments,
          fmt::format(
              "{}: left out, because it is not text; a redacted database has what was read from it",
              path));
  } else {
    CULPRIT_TRY(db, store::Database::open(from, store::Access::read));
    CULPRIT_TRY(resolved, diagnose::resolve(db, false));
    diagnose::name_known(resolved.facts, names);
    CULPRIT_CHECK(diagnose::redact_database(from, out, names));
  }
  CULPRIT_CHECK(write_map(map, names.map_document()));
  std::map<std::string_view, std::size_t> count;
  for (const auto& pair : names.pairs()) ++count[name(pair.kind)];
  std::string said;
  for (const auto& [kind, n] : count)
    said += fmt::format("{}{} {}{}", said.empty() ? "" : ", ", n, kind, n == 1 ? "" : "s");
  print(fmt::format("{}{}\nnames replaced: {}\nmap, not to be given away: {}\n",
                    report::visible(out), bundle ? fmt::format(" ({} files)", members) : "",
                    said.empty() ? "none" : said, report::visible(map)));
  return Exit::finished;
}

constexpr auto kRedactOptions = joined(
    {{"db,d", "FILE", "the database to redact"},
     {"bundle", "BUNDLE", "the bundle to redact"},
     {"out,o", "FILE", "the redacted database, or archive (.tar, .tar.gz, .tar.zst, .tar.xz)"},
     {"map", "FILE",
      "where the names are kept (default redaction-map.json); one that exists is continued"},
     {"name", "WORD", "another word to replace, wherever it occurs (may be repeated)"},
     {"reveal", "FILE", "print a text with the names of the map put back"}},
    kRulesOption, kTimezoneOption, kThreadsOption, kLimitOptions);

}  // namespace

constinit const Command kRedact{
    "redact",
    "the same incident under pseudonyms, to be given away",
    "redact -d FILE | --bundle BUNDLE -o FILE [--map FILE]",
    "  culprit redact -d incident.db -o shared.db\n"
    "  culprit redact --bundle job.tar.gz -o shared.tar.gz --map ours.json\n"
    "  culprit redact --reveal answer.txt --map ours.json\n\n"
    "  Hosts, addresses, users, private folders, job names, serial numbers and secrets get "
    "pseudonyms, the same\n"
    "  everywhere. Look through the result before you give it away: no program knows every name.\n",
    kRedactOptions,
    run_redact};

}  // namespace culprit::cli
