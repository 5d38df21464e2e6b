// Puts an incident together and writes it.
#include "simulate/bundle.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "simulate/words.hpp"

namespace culprit::simulate {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;
namespace fs = std::filesystem;

// Each line goes to the file that the layout has for who printed it, behind the prefix of its log.
void lay_out(const Cast& cast, const std::vector<Line>& lines, Dice dice, Files& files) {
  for (const Line& line : lines) {
    json place;
    if (cast.layout.contains(line.place)) {
      place = cast.layout[line.place];
    } else if (line.place == "kernel") {
      if (cast.kernel.is_null()) continue;
      place = {cast.kernel["file"], cast.kernel["prefix"]};
    } else if (world()["places"].contains(line.place)) {
      place = world()["places"][line.place];
    } else {
      continue;  // the agent, where the scheduler starts the ranks itself
    }
    const Moment moment{line.who, line.time, nullptr, line.boot};
    std::string& file = files[fill(cast, place[0].get<std::string>(), moment, dice)];
    std::string_view rest = line.text;
    for (bool more = true; more;) {
      const auto end = rest.find('\n');
      more = end != rest.npos;
      file += fill(cast, place[1].get<std::string>(), moment, dice);
      file += rest.substr(0, end);
      file += '\n';
      if (more) rest.remove_prefix(end + 1);
    }
  }
}

void add_manifest(const Cast& cast, Files& files) {
  ordered_json out{{"job", cast.words.at("job")},
                   {"world_size", cast.world()},
                   {"gpus_per_node", cast.per_host},
                   {"hosts", json::array()}};
  for (const Machine& host : cast.hosts) out["hosts"].push_back(host.name);
  Dice none(0);
  const std::string stamp = fill(cast, "{t.tz}", {{}, cast.begin}, none);
  out["timezone"] = stamp.substr(stamp.size() - 6);
  files["job.json"] = json_text(out) + "\n";
}

struct FreeArchive {
  void operator()(archive* a) const { archive_write_free(a); }
  void operator()(archive_entry* e) const { archive_entry_free(e); }
};

la_ssize_t append(archive*, void* out, const void* bytes, std::size_t size) {
  static_cast<std::string*>(out)->append(static_cast<const char*>(bytes), size);
  return static_cast<la_ssize_t>(size);
}

std::string tar_gz(const Files& files, Nanoseconds changed) {
  std::string bytes;
  const std::unique_ptr<archive, FreeArchive> tar(archive_write_new());
  archive_write_set_format_ustar(tar.get());
  archive_write_add_filter_gzip(tar.get());
  archive_write_set_options(tar.get(), "gzip:!timestamp");
  archive_write_open(tar.get(), &bytes, nullptr, append, nullptr);
  for (const auto& [path, text] : files) {
    const std::unique_ptr<archive_entry, FreeArchive> entry(archive_entry_new());
    archive_entry_set_pathname(entry.get(), path.c_str());
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(text.size()));
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), 0644);
    archive_entry_set_mtime(entry.get(), changed / kSecond, 0);
    archive_write_header(tar.get(), entry.get());
    archive_write_data(tar.get(), text.data(), text.size());
  }
  archive_write_close(tar.get());
  return bytes;
}

// How people keep what they collected: a folder for each machine, as laid out; all in one folder,
// where the names of files have those of machines; or a folder for each thing that was collected.
enum class Arrangement { by_host, flat, by_collector };

std::string arranged(const std::string& path, Arrangement how) {
  const auto first = path.find('/'), last = path.rfind('/');
  if (how == Arrangement::by_host || first == path.npos) return path;
  std::string rest = path.substr(first + 1);
  if (how == Arrangement::flat) {
    std::ranges::replace(rest, '/', '_');
    return rest;
  }
  if (!path.starts_with("hosts/") || first == last) return path;
  const std::string host = path.substr(first + 1, last - first - 1), file = path.substr(last + 1);
  const auto dot = file.rfind('.');
  return file.substr(0, dot) + "/" + host + (dot == file.npos ? "" : file.substr(dot));
}

void arrange(Files& files, Arrangement how) {
  Files out;
  for (auto& [path, bytes] : files) {
    const std::string name = arranged(path, how);
    // Two files of one name would be one: the second stays where it was.
    (out.contains(name) ? out[path] : out[name]) = std::move(bytes);
  }
  files = std::move(out);
}

// hosts/NAME/... as hosts/NAME.tar.gz, as collectors that run on each host leave it.
void pack_hosts(Files& files, Nanoseconds collected) {
  std::map<std::string, Files> hosts;
  for (auto it = files.begin(); it != files.end();) {
    const auto end = it->first.find('/', 6);
    if (!it->first.starts_with("hosts/") || end == std::string::npos) {
      ++it;
      continue;
    }
    hosts[it->first.substr(0, end)][it->first.substr(6)] = std::move(it->second);
    it = files.erase(it);
  }
  for (const auto& [host, inside] : hosts) files[host + ".tar.gz"] = tar_gz(inside, collected);
}

ordered_json truth_of(const Cast& cast, std::uint64_t seed) {
  const json& data = cast.data();
  const json& guilty = data["guilty"];
  Dice dice(seed);
  const auto say = [&](std::string_view text) {
    return fill(cast, text, {cast.guilty, cast.onset}, dice);
  };
  ordered_json hosts = json::array(), ranks = json::array(), gpus = json::array(),
               nics = json::array();
  ordered_json innocent = json::array(), aliases = json::object();
  if (guilty != "none") hosts.push_back(say("{host}"));
  if (guilty == "gpu" || guilty == "rank") ranks.push_back(cast.guilty.rank);
  if (guilty == "gpu") gpus.push_back(say("{pci}"));
  if (guilty == "nic") nics.push_back(say("{nic}"));
  for (const Speaker who : cast.speakers("hosts")) {
    const std::string name = fill(cast, "{host}", {who}, dice);
    if (guilty == "none" || who.host != cast.guilty.host) innocent.push_back(name);
    if (cast.scheduler() == "kubernetes") aliases[fill(cast, "{pod}", {who}, dice)] = name;
  }
  return {{"schema", "culprit.truth/1"},
          {"kind", cast.kind->name},
          {"cause", data["cause"]},
          {"right", data["right"]},
          {"guilty", {{"hosts", hosts}, {"ranks", ranks}, {"gpus", gpus}, {"nics", nics}}},
          {"innocent", innocent},
          {"aliases", aliases},
          {"why", say(data["why"].get<std::string>())},
          {"source", data["source"]},
          {"time", iso_utc(cast.onset / kSecond * kSecond)},
          {"drawn",
           {{"seed", seed},
            {"layout", cast.layout["name"]},
            {"hosts", cast.hosts.size()},
            {"ranks", cast.world()},
            {"attempts", cast.attempt + 1}}}};
}

Result<> write_file(const fs::path& path, const std::string& bytes, Nanoseconds changed) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  std::ofstream out(path, std::ios::binary);
  out << bytes;
  out.close();
  const timespec time{static_cast<time_t>(changed / kSecond), 0};
  const timespec both[2] = {time, time};
  if (!out || utimensat(AT_FDCWD, path.c_str(), both, 0) != 0)
    return fail(fmt::format("cannot write this file: {}", std::strerror(errno)))
        .at({path.string(), 0})
        .hint("is there room, and may you write there?");
  return {};
}

}  // namespace

Result<Incident> simulate(const Kind& kind, const Size& size, std::uint64_t seed) {
  const Dice dice = Dice(seed).fork(kind.name);
  CULPRIT_TRY(cast, draw_cast(kind, size, dice));
  Incident out;
  if (kind.data.contains("before")) {
    const Dice own = dice.fork("before");
    Cast before = cast_before(cast, own);
    const std::vector<Line> lines = tell(before, steps_of(before, own), own);
    go_on_from(before, lines.back().time, cast);
    lay_out(before, lines, own.fork("prefixes"), out.files);
  }
  const std::vector<Step> steps = steps_of(cast, dice);
  lay_out(cast, tell(cast, steps, dice), dice.fork("prefixes"), out.files);
  collect(cast, steps, dice, out.files);
  dump_recorders(cast, dice, out.files);
  dump_stacks(cast, dice, out.files);
  count_requests(cast, dice, out.files);
  Dice form = dice.fork("form");
  if (form.chance(0.3)) add_manifest(cast, out.files);
  const bool packed = form.chance(0.2);
  Dice arrangement = dice.fork("arrangement");
  static constexpr Arrangement kArrangements[] = {Arrangement::by_host, Arrangement::by_host,
                                                  Arrangement::flat, Arrangement::by_collector};
  arrange(out.files, arrangement.pick(kArrangements));
  if (packed) pack_hosts(out.files, cast.collected);
  out.archived = arrangement.chance(0.2);
  out.truth = truth_of(cast, seed);
  out.collected = cast.collected;
  return out;
}

Result<> write(const Incident& incident, const fs::path& folder) {
  if (incident.archived)
    CULPRIT_CHECK(write_file(folder / "bundle.tar.gz", tar_gz(incident.files, incident.collected),
                             incident.collected));
  else
    for (const auto& [path, bytes] : incident.files)
      CULPRIT_CHECK(write_file(folder / "bundle" / path, bytes, incident.collected));
  return write_file(folder / "truth.json", json_text(incident.truth) + "\n", incident.collected);
}

}  // namespace culprit::simulate
