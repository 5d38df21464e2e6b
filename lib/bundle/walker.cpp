#include "bundle/walker.hpp"

#include "bundle/inflated.hpp"
#include "bundle/paths.hpp"
#include "bundle/sections.hpp"

namespace culprit::bundle {
namespace {

// After so many members of one archive that had to be cut for their expansion, the archive is left.
constexpr int kMaxBurstMembers = 3;

MemberHead head_of(const Place& place) {
  return MemberHead{.path = place.path,
                    .mtime_s = place.mtime_s,
                    .container = place.container,
                    .rooted = place.rooted};
}

}  // namespace

void Walker::only(const std::string& member) {
  // A shortened path is no prefix of what is below it any more.
  if (member.size() + 64 < limits_.path_bytes) only_ = member;
}

bool Walker::may_hold(std::string_view path) const {
  if (only_.empty() || path.empty() || only_ == path) return true;
  return only_.size() > path.size() && only_.starts_with(path) &&
         (only_[path.size()] == '/' || only_[path.size()] == '#');
}

std::string Walker::path_for(std::string path) {
  if (path.size() <= limits_.path_bytes) return path;
  std::string shortened = shorten(path, limits_.path_bytes);
  teller_.problem(
      shortened,
      {"bundle.path_too_long", "the path has " + std::to_string(path.size()) +
                                   " bytes, more than " + std::to_string(limits_.path_bytes) +
                                   ": it is shown shortened; the contents are read"},
      false);
  return shortened;
}

void Walker::stream(ByteSource& source, const Place& place) {
  if (teller_.over()) return;
  if (!place.top && !may_hold(place.path)) {
    teller_.count(place.path);
    return;
  }
  Peeked peeked(source);
  const std::string_view head = peeked.head();
  const Shape shape = recognise(head, place.path, place.top);
  switch (shape) {
    case Shape::gzip:
    case Shape::zstd:
    case Shape::xz:
    case Shape::bzip2:
    case Shape::lz4: return compressed(peeked, shape, place);
    case Shape::tar:
    case Shape::zip: return archive(peeked, shape, place);
    case Shape::bug_report:
    case Shape::kubectl: return sections(peeked, shape, place);
    case Shape::empty_tar: {
      bool complete = true;
      for (std::uint64_t zeros = 0; !teller_.over();) {
        const std::string_view block = peeked.next();
        if (block.empty() || !goes_on(block.size(), place, place.path, complete)) break;
        if ((zeros += block.size()) > std::min(limits_.member_bytes, limits_.total_bytes)) {
          teller_.problem(place.path, {"bundle.member_too_large",
                                       "the tar archive has more than " + std::to_string(zeros) +
                                           " bytes of nothing; what follows them was not read"});
          break;
        }
        if (block.find_first_not_of('\0') == std::string_view::npos) continue;
        teller_.problem(place.path,
                        {"bundle.damaged",
                         "the tar archive begins with empty blocks; what follows them was "
                         "not read"});
        break;
      }
      if (peeked.trouble().any()) teller_.problem(place.path, peeked.trouble());
      MemberHead none = head_of(place);
      none.kind = MemberKind::other;
      return teller_.note(none);
    }
    case Shape::plain: break;
  }
  if (named_like_tar_or_zip(place.path) && !peeked.trouble().any())
    teller_.problem(
        place.path,
        {head.empty() ? "bundle.damaged" : "bundle.no_archive",
         head.empty() ? "named like an archive, but empty"
                      : "named like an archive, but it does not begin like one; read as an "
                        "ordinary file"},
        head.empty());
  plain(peeked, place);
}

void Walker::whole(ByteSource& source, const Place& place, std::uint64_t size) {
  if (!teller_.unit({place.path, size, place.mtime_s})) return;
  stream(source, place);
  teller_.unit_end();
}

void Walker::unread(const Place& place, const Trouble& trouble) {
  teller_.begin(head_of(place));
  if (teller_.over()) return teller_.end(false);
  teller_.problem(place.path, trouble);
  teller_.end(false);
}

void Walker::compressed(Peeked& source, Shape shape, const Place& place) {
  Place inner = place;
  inner.depth = place.depth + 1;
  inner.within_compressed = true;
  if (inner.depth > limits_.depth)
    return unread(place, {"bundle.depth",
                          "not opened: more than " + std::to_string(limits_.depth) +
                              " archives stand within each other; --max-depth raises this limit"});
  Layer layer;
  layer.parent = place.layer;
  layer.path = place.path;
  inner.layer = &layer;
  if (shape == Shape::gzip) {
    Inflated bytes(source, layer, limits_);
    return stream(bytes, inner);
  }
  Decompressed bytes(source, shape, layer, limits_);
  stream(bytes, inner);
}

void Walker::archive(ByteSource& source, Shape shape, const Place& place) {
  const int depth = place.depth + (place.within_compressed ? 0 : 1);
  if (depth > limits_.depth)
    return unread(place, {"bundle.depth",
                          "not opened: more than " + std::to_string(limits_.depth) +
                              " archives stand within each other; --max-depth raises this limit"});
  Layer layer;
  layer.parent = place.layer;
  layer.path = place.path;
  Place around = place;
  around.depth = depth;
  const std::uint64_t entries_before = teller_.entries();
  int bursts = 0;
  Names names;
  ArchiveReader reader(source, shape, layer, limits_);
  for (ArchiveEntry item; !teller_.over();) {
    const ArchiveReader::Step step = reader.next(item);
    if (auto warning = reader.take_warning()) teller_.problem(place.path, *warning);
    if (step == ArchiveReader::Step::end) break;
    if (step == ArchiveReader::Step::trouble) {
      teller_.problem(place.path, reader.trouble());
      break;
    }
    const std::uint64_t out = layer.out, leaf = layer.leaf;
    entry(reader, item, around, layer, names);
    if (reader.dead()) break;  // told with the member
    if (burst_layer(layer.parent, limits_)) break;
    if (layer.burst(limits_)) {
      if (++bursts == kMaxBurstMembers) {
        Trouble trouble = expansion_trouble(layer, limits_);
        trouble.reason = "the members that follow were " + trouble.reason;
        teller_.problem(place.path, trouble);
        break;
      }
      layer.out = out;
      layer.leaf = leaf;
    }
  }
  // What stands behind the last member can show that an outer stream is damaged.
  if (!source.has_size() && !reader.dead() && !teller_.over() && !layer.burst(limits_) &&
      !burst_layer(place.layer, limits_)) {
    while (!teller_.over() && !source.next().empty()) {}
    if (source.trouble().any()) teller_.problem(place.path, source.trouble());
  }
  if (teller_.entries() == entries_before && !teller_.over()) {
    MemberHead none = head_of(place);
    none.kind = MemberKind::other;
    teller_.note(none);
  }
}

void Walker::entry(ArchiveReader& reader, const ArchiveEntry& entry, const Place& around,
                   Layer& layer, Names& names) {
  SafeName safe = safe_name(entry.name);
  if (entry.type == ArchiveEntry::Type::directory) {
    teller_.count(around.prefix + safe.name);
    return;
  }
  const bool nameless = safe.name.empty();
  if (nameless) safe.name = "__";
  Place place;
  // tar appends a file anew when it is updated: two members of one name must be told apart in
  // evidence.
  const auto count = [&](const std::string& name) -> std::uint32_t& {
    return names[std::hash<std::string>{}(name)];
  };
  if (std::uint32_t& before = count(safe.name); ++before > 1) {
    std::string next;
    do next = safe.name + "~" + std::to_string(before);
    while (count(next)++ > 0 && ++before > 0);
    safe.name = next;
  }
  place.path = path_for(around.prefix + safe.name);
  if (safe.changed || nameless)
    teller_.problem(
        place.path,
        {"bundle.path_unsafe", nameless ? "stored without a usable name: shown as '__'"
                                        : "stored with '..' in its name: shown with '__' instead"},
        false);
  place.prefix = place.path + "/";
  place.container = around.top ? "" : around.path;
  place.mtime_s = entry.mtime_s;
  place.rooted = around.rooted || entry.name.starts_with("./");
  place.depth = around.depth;
  place.layer = &layer;
  if (entry.type != ArchiveEntry::Type::file) {
    MemberHead head = head_of(place);
    head.kind = entry.type == ArchiveEntry::Type::link     ? MemberKind::link
                : entry.type == ArchiveEntry::Type::device ? MemberKind::device
                                                           : MemberKind::other;
    head.link_target = entry.link_target;
    return teller_.note(head);
  }
  if (entry.encrypted)
    return unread(
        place, {"bundle.encrypted", "encrypted: unpack it with its password and give the result"});
  ArchiveReader::Data data(reader);
  stream(data, place);
}

// After each block: false when the member has to end here.
bool Walker::goes_on(std::uint64_t bytes, const Place& place, const std::string& told_path,
                     bool& complete) {
  count_leaf(place.layer, bytes);
  if (const Layer* burst = burst_layer(place.layer, limits_)) {
    teller_.problem(told_path, expansion_trouble(*burst, limits_));
    return complete = false;
  }
  if (teller_.over()) return complete = false;
  return true;
}

void Walker::plain(ByteSource& source, const Place& place) {
  bool complete = true;
  const bool wanted = teller_.begin(head_of(place));
  if (!wanted) return teller_.end(true);
  for (std::string_view block; !(block = source.next()).empty();) {
    const std::uint64_t size = block.size();
    if (!teller_.data(block)) {
      complete = false;
      break;
    }
    if (!goes_on(size, place, place.path, complete)) break;
  }
  if (complete && source.trouble().any()) {
    teller_.problem(place.path, source.trouble());
    complete = false;
  }
  teller_.end(complete);
}

namespace {

// Tells each section as a member.
class SectionTeller : public SectionSink {
 public:
  SectionTeller(Teller& teller, const Place& place, std::size_t path_bytes)
      : teller_(teller), place_(place), path_bytes_(path_bytes), path_(place.path) {}

  void section(const std::string& name, std::uint64_t offset, std::uint64_t line) override {
    teller_.end(true);
    MemberHead head = head_of(place_);
    head.container = place_.path;
    head.path = path_ = shorten(place_.path + "#" + name, path_bytes_);
    head.section = true;
    head.origin_offset = offset;
    head.origin_line = line;
    wanted_ = teller_.begin(head);
  }
  void bytes(std::string_view bytes) override {
    if (wanted_) wanted_ = teller_.data(bytes);
  }
  const std::string& path() const { return path_; }

 private:
  Teller& teller_;
  const Place& place_;
  std::size_t path_bytes_;
  std::string path_;
  bool wanted_ = false;
};

}  // namespace

void Walker::sections(ByteSource& source, Shape shape, const Place& place) {
  bool complete = true;
  SectionTeller teller(teller_, place, limits_.path_bytes);
  BugReportSplitter bug_report(teller);
  KubectlSplitter kubectl(teller);
  Splitter& splitter = shape == Shape::bug_report ? static_cast<Splitter&>(bug_report) : kubectl;
  for (std::string_view block; !(block = source.next()).empty();) {
    const std::uint64_t size = block.size();
    splitter.feed(block);
    if (!goes_on(size, place, teller.path(), complete)) break;
  }
  if (!teller_.over()) splitter.finish();
  if (complete && source.trouble().any()) {
    teller_.problem(teller.path(), source.trouble());
    complete = false;
  }
  teller_.end(complete);
}

}  // namespace culprit::bundle
