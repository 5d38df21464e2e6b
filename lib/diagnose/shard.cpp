// Reads shards and merges them.
#include "shard.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "bundle/own_files.hpp"
#include "bundle/units.hpp"
#include "diagnose/resolve.hpp"
#include "model/shell.hpp"
#include "store/merge.hpp"
#include "store/shard.hpp"

namespace culprit::diagnose {

namespace {

namespace fs = std::filesystem;

// What a shard says of itself, in meta.
constexpr char kShard[] = "shard", kWhere[] = "shard_where", kListing[] = "shard_listing",
               kLimits[] = "shard_limits", kEntries[] = "shard_entries",
               kFolders[] = "shard_folders", kDigest[] = "shard_digest";

// Smaller ones are read in a second, however they lie.
constexpr std::uint64_t kLargeUnit = 64 << 20;

// The bundles as all shards see them.
struct Division {
  std::vector<ingest::Source> sources;
  std::vector<bundle::Listing> listings;  // of each
  std::vector<store::ListedUnit> units;   // of all, in the order of reading
  std::string digest;
};

void mix(XXH3_state_t& state, std::string_view text) {
  const std::uint64_t size = text.size();
  XXH3_128bits_update(&state, &size, sizeof size);
  XXH3_128bits_update(&state, text.data(), text.size());
}

std::string digest_of(const Division& division) {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                       &XXH3_freeState);
  if (state == nullptr) throw std::bad_alloc();
  XXH3_128bits_reset(state.get());
  for (std::size_t i = 0; i < division.sources.size(); ++i) {
    const bundle::Listing& listing = division.listings[i];
    mix(*state, division.sources[i].label);
    mix(*state, fmt::format("{} {}", listing.entries, listing.units.size()));
    mix(*state, listing.told);
    for (const Unit& unit : listing.units) {
      mix(*state, unit.path);
      mix(*state, fmt::format("{} {}", unit.size, unit.mtime_s));
    }
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(state.get());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

Result<Division> division_of(const ReadRequest& request, const ShardRequest& shard) {
  Division out;
  out.sources = ingest::label_sources(request.sources);
  if (!shard.where.empty()) out.sources.front().label = shard.where;
  std::vector<Unit> all;
  for (std::uint32_t i = 0; i < out.sources.size(); ++i) {
    const ingest::Source& source = out.sources[i];
    CULPRIT_TRY(listing, bundle::list_units(source.path, request.options.limits));
    if (listing.cut)
      return fail("this bundle has more entries than --max-members allows")
          .at({source.path, 0})
          .hint("raise --max-members, in all shards alike");
    for (const Unit& unit : listing.units) {
      store::ListedUnit one{unit, i, 0};
      if (!source.label.empty()) one.unit.path = source.label + "/" + unit.path;
      all.push_back(one.unit);
      out.units.push_back(std::move(one));
    }
    out.listings.push_back(std::move(listing));
  }
  const auto readers = bundle::divide(all, shard.where.empty() ? shard.count : 1);
  for (std::size_t i = 0; i < out.units.size(); ++i)
    out.units[i].shard = shard.where.empty() ? readers[i] : shard.number - 1;
  out.digest = digest_of(out);
  return out;
}

// Entries count against --max-members in the walk over all of a bundle. Of a shard: those of its
// own units; folders are the same for all.
std::string own_entries(const Division& division, std::uint32_t shard,
                        const std::vector<std::uint64_t>& walked) {
  std::vector<std::uint64_t> out;
  for (std::size_t i = 0; i < walked.size(); ++i)
    out.push_back(walked[i] - division.listings[i].entries);
  for (const store::ListedUnit& unit : division.units)
    if (unit.shard == shard && unit.source < out.size()) ++out[unit.source];
  return fmt::format("{}", fmt::join(out, ","));
}
std::string folders_of(const Division& division) {
  std::vector<std::uint64_t> out;
  for (const bundle::Listing& one : division.listings)
    out.push_back(one.entries - one.units.size());
  return fmt::format("{}", fmt::join(out, ","));
}

std::string limits_of(const bundle::Limits& limits) {
  return fmt::format("{},{},{},{},{}", limits.members, limits.member_bytes, limits.total_bytes,
                     limits.expansion, limits.depth);
}

std::vector<std::uint64_t> numbers_of(std::string_view text) {
  std::vector<std::uint64_t> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    std::uint64_t number = 0;
    std::from_chars(text.data(), text.data() + end, number);
    out.push_back(number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// All machines list the bundle: what one of them writes must not be part of it.
Result<> check_outside(const std::vector<std::string>& sources, const std::string& path) {
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(path, error);
  for (const std::string& source : sources) {
    if (source == "-")
      return usage_error("standard input cannot be divided into shards")
          .hint("name a folder, or several archives");
    const fs::path folder = fs::weakly_canonical(source, error);
    const auto parted = std::mismatch(folder.begin(), folder.end(), whole.begin(), whole.end());
    if (fs::is_directory(folder, error) && parted.first == folder.end())
      return usage_error(
                 "the database of a shard cannot lie in its bundle: other shards would "
                 "list it")
          .at({path, 0})
          .hint("name a file outside of " + source + " with -d");
  }
  return {};
}

// Whether the shard is there already. Errors: another file is, which must not be lost.
Result<bool> already_there(const std::string& path,
                           const std::map<std::string, std::string>& meta) {
  std::error_code error;
  if (!fs::exists(path, error)) return false;
  const auto head = store::read_shard_head(path);
  if (head)
    return std::ranges::all_of(meta,
                               [&](const auto& one) { return head->get(one.first) == one.second; });
  const bool ours = bundle::own_file(path) == bundle::OwnFile::database;
  if (head.error().kind != ErrorKind::usage && (ours || fs::file_size(path, error) == 0))
    return false;  // cut off, or of an older layout
  return usage_error("this file is not a shard, and is not written over")
      .at({path, 0})
      .hint("name another file with -d");
}

// A database that is written beside its place and then renamed. Whatever fails leaves nothing.
class Part {
 public:
  explicit Part(const std::string& path) : whole_(path), part_(path + ".part") {}
  ~Part() {
    std::error_code ignored;
    if (!ours_) return;
    for (const char* ending : {"", "-wal", "-shm", "-journal"}) fs::remove(part_ + ending, ignored);
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  const std::string& path() const { return part_; }
  Result<store::Database> open() {
    CULPRIT_CHECK(store::make_way(part_));  // or another process is writing it
    ours_ = true;
    return store::Database::open(part_, store::Access::create);
  }
  Result<> rename() const {
    std::error_code error;
    fs::rename(part_, whole_, error);
    if (!error) return {};
    return fail("cannot write this database: " + error.message())
        .at({whole_, 0})
        .hint("is the folder writable?");
  }

 private:
  std::string whole_, part_;
  bool ours_ = false;
};

// The rows of meta that say which shard of what this is; all but what reading finds out.
std::map<std::string, std::string> identity_of(const ReadRequest& request,
                                               const ShardRequest& shard, const Division& division,
                                               const rules::RulePack& pack,
                                               const std::string& paths) {
  return {{kShard, fmt::format("{}/{}", shard.number, shard.count)},
          {kWhere, shard.where},
          {kListing, division.digest},
          {kLimits, limits_of(request.options.limits)},
          {kFolders, folders_of(division)},
          {"tool", request.tool},
          {"rules", pack.digest()},
          {"sources", paths}};
}

Result<ingest::Summary> read_units(const ReadRequest& request, const ShardRequest& shard,
                                   const Division& division, const rules::RulePack& pack,
                                   store::Database& db) {
  store::ShardSink sink(db, shard.number == 1 || !shard.where.empty());
  std::vector<const Unit*> listed;
  for (const bundle::Listing& listing : division.listings)
    for (const Unit& unit : listing.units) listed.push_back(&unit);
  std::optional<std::string> changed;
  std::uint64_t seen = 0;
  CULPRIT_TRY(summary, read_members(request, db, [&](ingest::Options options) {
                options.share = [&](std::uint64_t n, const std::string& path, const Unit& unit) {
                  ++seen;
                  if (n >= listed.size() || *listed[n] != unit) changed = changed.value_or(path);
                  return !changed && division.units[n].shard == shard.number - 1;
                };
                return ingest::ingest(division.sources, pack, sink, options);
              }));
  std::uint64_t problems = 0;  // a folder that could be listed only now, or then
  for (const bundle::Listing& listing : division.listings) problems += listing.problems;
  if (!changed && (seen != listed.size() || problems != sink.folder_problems()))
    changed = division.sources.front().path;
  if (changed)
    return fail("this bundle changed while it was being read")
        .at({*changed, 0})
        .hint("wait until nothing writes to it, then read all shards");
  CULPRIT_CHECK(db.set_meta(kDigest, sink.finish()));
  CULPRIT_CHECK(db.health());
  return summary;
}

// A limit of the bundle as a whole stops the walk, and no shard knows where one machine would have
// stopped.
Result<> check_no_limit(const std::vector<ProblemRow>& problems) {
  for (const ProblemRow& problem : problems)
    if (problem.code == "bundle.too_many_members" || problem.code == "bundle.total_too_large")
      return fail("this shard alone goes beyond a limit of the bundle: " + problem.reason)
          .at({problem.path, 0})
          .hint("raise --max-members or --max-total-bytes, in all shards alike");
  return {};
}

}  // namespace

Result<ShardOutcome> read_shard(const ReadRequest& request, const ShardRequest& shard,
                                const rules::RulePack& pack, const std::string& path) {
  CULPRIT_CHECK(check_outside(request.sources, path));
  CULPRIT_TRY(division, division_of(request, shard));
  ShardOutcome out;
  for (const store::ListedUnit& one : division.units) {
    ++out.all_units;
    out.all_bytes += one.unit.size;
    if (one.shard != shard.number - 1) continue;
    ++out.units;
    out.bytes += one.unit.size;
  }
  if (shard.where.empty())
    for (const store::ListedUnit& one : division.units)
      if (one.shard == shard.number - 1 && shard.count > 1 && one.unit.size >= kLargeUnit &&
          one.unit.size > out.all_bytes / shard.count)
        out.large.push_back(one.unit);
  CULPRIT_TRY(paths, whole_paths(request.sources));
  const auto identity = identity_of(request, shard, division, pack, paths);
  CULPRIT_TRY(there, already_there(path, identity));
  if (there && request.manifest.empty() && request.timezone.empty()) {
    CULPRIT_TRY(db, store::Database::open(path, store::Access::read));
    const auto problems = db.problems();
    // What the disk refused last time it may give now.
    out.already = std::ranges::none_of(
        problems, [](const ProblemRow& problem) { return problem.code == "bundle.unreadable"; });
    out.incomplete = std::ranges::any_of(problems, loses_input);
    if (out.already) return out;
  }
  Part part(path);
  {
    CULPRIT_TRY(db, part.open());
    CULPRIT_CHECK(store::lay_out_shard(db, division.units));
    CULPRIT_CHECK(begin_reading(request, paths, pack, db));
    for (const auto& [key, value] : identity) CULPRIT_CHECK(db.set_meta(key, value));
    CULPRIT_TRY(summary, read_units(request, shard, division, pack, db));
    const auto problems = db.problems();
    if (shard.where.empty()) CULPRIT_CHECK(check_no_limit(problems));
    out.incomplete = std::ranges::any_of(problems, loses_input);
    CULPRIT_CHECK(db.set_meta(kEntries, own_entries(division, shard.number - 1, summary.entries)));
    CULPRIT_CHECK(
        db.set_meta("own_databases", fmt::format("{}", fmt::join(summary.own_databases, ", "))));
    CULPRIT_CHECK(db.finish_shard());
  }
  CULPRIT_CHECK(part.rename());
  return out;
}

namespace {

// What shards of one incident have in common, in words for who mixed them up.
constexpr std::pair<const char*, const char*> kCommon[] = {
    {"tool", "it was read by another version of culprit"},
    {"rules", "it was read with other rules"},
    {"sources", "it is of another bundle"},
    {kListing, "its bundle had other files then, or other sizes or times of them"},
    {kLimits, "it was read with other limits (--max-...)"},
    {"manifest", "it was read with another --manifest"},
    {"timezone", "it was read with another --timezone"}};

bool apart(const store::ShardHead& head) { return !head.get(kWhere).empty(); }

// Of --where each has its own bundle.
bool common_key(const store::ShardHead& head, std::string_view key) {
  return !apart(head) || (key != "sources" && key != kListing);
}

std::string common_of(const store::ShardHead& head) {
  std::string out = fmt::format("{} {}", head.count, apart(head));
  for (const auto& [key, words] : kCommon)
    if (common_key(head, key)) out += '\0' + head.get(key);
  return out;
}

std::string difference(const store::ShardHead& from, const store::ShardHead& head) {
  if (head.count != from.count)
    return fmt::format("it is of a division into {}, not into {}", head.count, from.count);
  if (apart(head) != apart(from)) return "of --where and without it shards do not fit together";
  for (const auto& [key, words] : kCommon)
    if (common_key(head, key) && head.get(key) != from.get(key)) return words;
  return "it is of another bundle";
}

// How to read shards again, as a command for one of them.
std::string again(const store::ShardHead& any, std::uint32_t number) {
  std::string sources = any.get("sources"), out = "culprit ingest";
  for (std::size_t at = 0, end; (end = sources.find('\n', at)) != std::string::npos; at = end + 1)
    out += " " + shell_quoted(sources.substr(at, end - at));
  return fmt::format("{} --shard {}/{} -d FILE", out, number, any.count);
}

// The shards, one a number; those of nothing are missing.
struct Shards {
  std::vector<store::ShardHead> heads;  // by number - 1; path "": missing
  std::uint32_t first = 0;              // the first that is there
  const store::ShardHead& any() const { return heads[first]; }
  std::vector<std::uint32_t> missing() const {
    std::vector<std::uint32_t> out;
    for (std::uint32_t i = 0; i < heads.size(); ++i)
      if (heads[i].path.empty()) out.push_back(i + 1);
    return out;
  }
};

// Files that can be read as shards. Each of the others is told; with --partial they are missing.
Result<std::vector<store::ShardHead>> readable(const MergeRequest& request) {
  std::vector<store::ShardHead> heads;
  std::optional<Error> first;
  for (const std::string& path : request.shards) {
    auto head = store::read_shard_head(path);
    if (head) {
      heads.push_back(std::move(head).value());
      continue;
    }
    if (head.error().kind == ErrorKind::usage) return std::move(head).error();
    request.remark(fmt::format("{}: not merged: {}", path, head.error().what));
    if (!first) first = std::move(head).error();
  }
  if (first && (!request.partial || heads.empty())) {
    first->help = "run its `culprit ingest --shard` again, then merge; --partial merges without it";
    return std::move(*first);
  }
  return heads;
}

// Most agree on what the incident is: who does not is foreign.
Result<> check_common(const MergeRequest& request, const std::vector<store::ShardHead>& heads) {
  std::map<std::string, std::size_t> votes;
  for (const store::ShardHead& head : heads) ++votes[common_of(head)];
  const store::ShardHead* reference = nullptr;
  for (const store::ShardHead& head : heads)
    if (reference == nullptr || votes[common_of(head)] > votes[common_of(*reference)])
      reference = &head;
  std::optional<Error> first;
  for (const store::ShardHead& head : heads) {
    if (common_of(head) == common_of(*reference)) continue;
    const std::string why = fmt::format("this shard does not belong to {}: {}", reference->path,
                                        difference(*reference, head));
    request.remark(fmt::format("{}: {}", head.path, why));
    if (!first)
      first = usage_error(why)
                  .at({head.path, 0})
                  .hint("leave it out, or read it again as the others were read");
  }
  if (first) return std::move(*first);
  if (reference->get("tool") != request.tool)
    return usage_error(fmt::format("these shards were read by {}, and this is {}",
                                   reference->get("tool"), request.tool))
        .at({reference->path, 0})
        .hint("merge with the program that read them, or read all again");
  return {};
}

Result<Shards> chosen(const MergeRequest& request) {
  CULPRIT_TRY(heads, readable(request));
  if (heads.empty()) return usage_error("there are no shards to merge");
  CULPRIT_CHECK(check_common(request, heads));
  Shards out;
  out.heads.resize(heads.front().count);
  std::map<std::string, std::string> labels;
  for (store::ShardHead& head : heads) {
    store::ShardHead& place = out.heads[head.number - 1];
    const std::string shard = head.get(kShard);
    if (place.path.empty()) {
      if (const auto [other, fresh] = labels.emplace(head.get(kWhere), head.path);
          !fresh && apart(head))
        return usage_error(fmt::format("two shards are of --where {}", head.get(kWhere)))
            .at({head.path, 0})
            .hint("the other one is " + other->second + ": give each host its own label");
      place = std::move(head);
    } else if (place.get(kDigest) == head.get(kDigest) && place.get(kWhere) == head.get(kWhere)) {
      request.remark(fmt::format("{}: shard {} again, the same as {}: left out", head.path, shard,
                                 place.path));
    } else {
      return fail(fmt::format("shard {} is there twice, and they differ", shard))
          .at({head.path, 0})
          .hint("the other one is " + place.path +
                ": leave out the one that is not of this bundle");
    }
  }
  while (out.any().path.empty()) ++out.first;
  const auto missing = out.missing();
  if (!missing.empty() && !request.partial)
    return fail(fmt::format("of {} shards {} missing: {}", out.heads.size(),
                            missing.size() == 1 ? "one is" : fmt::format("{} are", missing.size()),
                            fmt::join(missing, ", ")))
        .hint(again(out.any(), missing.front()) + "; --partial merges without");
  return out;
}

// Whether one machine would have stopped at a limit of the whole bundle: nobody knows where.
Result<> check_limits(const Shards& shards, const std::vector<std::uint64_t>& bytes) {
  const auto limits = numbers_of(shards.any().get(kLimits));
  if (apart(shards.any()) || limits.size() != 5) return {};
  auto entries = numbers_of(shards.any().get(kFolders));
  for (const store::ShardHead& head : shards.heads) {
    const auto own = numbers_of(head.get(kEntries));
    for (std::size_t i = 0; i < std::min(own.size(), entries.size()); ++i) entries[i] += own[i];
  }
  const auto most = [](const std::vector<std::uint64_t>& of) {
    return of.empty() ? 0 : *std::ranges::max_element(of);
  };
  if (most(entries) <= limits[0] && most(bytes) <= limits[2]) return {};
  return fail(
             "the shards together go beyond --max-members or --max-total-bytes, where one machine "
             "stops reading")
      .hint("raise the limit, in all shards alike");
}

// The order in which one machine reads: unit by unit, and what it says of folders in between.
struct Order {
  std::vector<store::ListedUnit> units;
  std::vector<store::MergeStep> steps;
};
Result<Order> order_of(const Shards& shards) {
  Order out;
  if (!apart(shards.any())) {
    CULPRIT_TRY(units, store::listed_units(shards.any()));
    out.units = std::move(units);
    for (std::size_t i = 0; i < out.units.size(); ++i) {
      out.steps.push_back({0, 2 * i, nullptr});
      out.steps.push_back({out.units[i].shard, 2 * i + 1, &out.units[i]});
    }
    out.steps.push_back({0, 2 * out.units.size(), nullptr});
    return out;
  }
  std::vector<std::uint64_t> places;
  for (std::uint32_t i = 0; i < shards.heads.size(); ++i) {
    if (shards.heads[i].path.empty()) {
      // What it would have read nobody else knows.
      store::ListedUnit unknown;
      unknown.unit.path = fmt::format("shard-{}-of-{}", i + 1, shards.heads.size());
      unknown.source = unknown.shard = i;
      out.units.push_back(std::move(unknown));
      places.push_back(1);
      continue;
    }
    CULPRIT_TRY(units, store::listed_units(shards.heads[i]));
    for (std::size_t n = 0; n < units.size(); ++n) {
      units[n].source = units[n].shard = i;
      out.units.push_back(std::move(units[n]));
      places.push_back(2 * n + 1);
    }
    out.units.push_back({{}, i, i});  // behind its last unit
    places.push_back(2 * units.size());
  }
  for (std::size_t i = 0; i < out.units.size(); ++i) {
    const store::ListedUnit& unit = out.units[i];
    if (places[i] % 2 == 1) out.steps.push_back({unit.shard, places[i] - 1, nullptr});
    out.steps.push_back({unit.shard, places[i], places[i] % 2 == 1 ? &unit : nullptr});
  }
  return out;
}

std::string sources_of(const Shards& shards) {
  if (!apart(shards.any())) return shards.any().get("sources");
  std::string out;
  for (const store::ShardHead& head : shards.heads) out += head.get("sources");
  return out;
}

// As begin_reading(), of what the shards say.
Result<> begin_merge(const Shards& shards, store::Database& db) {
  CULPRIT_CHECK(db.begin_ingest());
  const store::ShardHead& any = shards.any();
  CULPRIT_CHECK(db.set_meta("tool", any.get("tool")));
  CULPRIT_CHECK(db.set_meta("sources", sources_of(shards)));
  for (const char* key : {"manifest_path", "manifest", "timezone"})
    if (any.meta.count(key) != 0) CULPRIT_CHECK(db.set_meta(key, any.get(key)));
  return db.set_meta("rules", any.get("rules"));
}

Result<> finish_merge(const Shards& shards, store::Database& db) {
  std::vector<std::string> own;
  for (const store::ShardHead& head : shards.heads)
    if (std::string names = head.get("own_databases"); !names.empty()) own.push_back(names);
  if (!apart(shards.any()) && own.size() > 1) own.resize(1);  // all saw the same
  CULPRIT_CHECK(db.set_meta("own_databases", fmt::format("{}", fmt::join(own, ", "))));
  CULPRIT_CHECK(db.finish_ingest());
  const auto missing = shards.missing();
  if (!missing.empty()) {
    CULPRIT_CHECK(db.set_meta(
        "shards_missing", fmt::format("{} of {}", fmt::join(missing, ","), shards.heads.size())));
    CULPRIT_CHECK(db.set_meta("state", "ingesting"));
  }
  CULPRIT_CHECK(resolve(db, true));
  return missing.empty() ? db.set_meta("state", "done") : Result<>();
}

// One try: a shard that turns out to be damaged, or the database.
Result<std::optional<std::pair<std::uint32_t, Error>>> try_merge(const Shards& shards, Part& part) {
  CULPRIT_TRY(order, order_of(shards));
  CULPRIT_TRY(db, part.open());
  CULPRIT_CHECK(begin_merge(shards, db));
  std::vector<std::string> paths;
  for (const store::ShardHead& head : shards.heads) paths.push_back(head.path);
  CULPRIT_TRY(merged, store::merge_shards(
                          paths, order.steps,
                          [&](std::uint32_t shard) {
                            return fmt::format(
                                "shard {}/{}, which reads it, was not merged: run it again, and "
                                "merge all",
                                shard + 1, paths.size());
                          },
                          db));
  if (merged.damaged) return std::move(merged.damaged);
  CULPRIT_CHECK(check_limits(shards, merged.bytes));
  CULPRIT_CHECK(finish_merge(shards, db));
  return std::optional<std::pair<std::uint32_t, Error>>();
}

// What is written over: a merge that lacked shards, or one of the same bundle.
Result<> check_target(const std::string& path, const Shards& shards) {
  std::error_code error;
  if (!fs::exists(path, error) || fs::file_size(path, error) == 0) return {};
  CULPRIT_TRY(db, store::Database::open(path, store::Access::read));
  if (db.meta("shard"))
    return usage_error("this file is a shard, and is not written over")
        .at({path, 0})
        .hint("name a new file with -d");
  if (db.meta("sources").value_or("") == sources_of(shards) ||
      (apart(shards.any()) && db.meta("shards_missing")))
    return {};
  return usage_error("this database holds another incident, and is not written over")
      .at({path, 0})
      .hint("name a new file with -d");
}

}  // namespace

Result<MergeOutcome> merge(const MergeRequest& request, const std::string& path) {
  CULPRIT_TRY(shards, chosen(request));
  CULPRIT_CHECK(check_target(path, shards));
  Part part(path);
  for (;;) {
    CULPRIT_TRY(damaged, try_merge(shards, part));
    if (!damaged) break;
    if (!request.partial) return std::move(damaged->second);
    store::ShardHead& head = shards.heads[damaged->first];
    request.remark(fmt::format("{}: not merged: {}", head.path, damaged->second.what));
    head = {};
    while (shards.first < shards.heads.size() && shards.any().path.empty()) ++shards.first;
    if (shards.first == shards.heads.size()) return std::move(damaged->second);
  }
  MergeOutcome out;
  out.missing = shards.missing();
  {
    CULPRIT_TRY(db, store::Database::open(part.path(), store::Access::read));
    const auto problems = db.problems();
    out.incomplete = std::ranges::any_of(problems, loses_input);
  }
  CULPRIT_CHECK(part.rename());
  return out;
}

}  // namespace culprit::diagnose
