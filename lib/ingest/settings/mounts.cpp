// Mounted file systems, as mount(8), /proc/mounts and fstab(5) print them: which machine serves
// them, under which address.
//
//   filer2:/export/ckpt on /nfs/ckpt type nfs4 (rw,hard,proto=tcp,addr=10.20.0.12)
//   filer2:/export/ckpt /nfs/ckpt nfs4 rw,hard,proto=tcp,addr=10.20.0.12 0 0
#include <re2/re2.h>

#include "ingest/engine/recogniser.hpp"

namespace culprit::ingest {

namespace {

Outcome read_mount(const TextLine& line, Reading& reading) {
  static const re2::RE2 kMount(
      R"(^([A-Za-z0-9][\w.-]*):/\S* (?:on )?/\S+ +(?:type )?nfs4? +(?:.*\baddr=([\d.]+))?)");
  std::string server, address;
  if (!re2::RE2::PartialMatch({line.raw.data(), line.raw.size()}, kMount, &server, &address) ||
      server == "localhost" || server.starts_with("127."))
    return {};
  reading.sink.put(ConfigRow{line.place, "storage.server", server});
  if (!address.empty() && address != server)
    reading.sink.put(IdentityRow{
        .place = line.place, .source = "mount", .host = Host(server), .address = address});
  return {true};
}

constexpr std::string_view kMountWords[] = {" type nfs", " nfs4 rw", " nfs4 ro", " nfs rw,"};

}  // namespace

extern constinit const Recogniser kMounts{
    "mounts", "mount, /proc/mounts, fstab: which machines serve the file systems", kMountWords,
    read_mount};

}  // namespace culprit::ingest
