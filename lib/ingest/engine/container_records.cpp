// Wrappers of container runtimes. The line layer takes them apart; what is left is to see the
// records whose text goes on in the next one (CRI "P"), in which no search word need stand whole.
#include "ingest/engine/recogniser.hpp"

namespace culprit::ingest {

namespace {

Outcome read_container_records(const TextLine&, Reading&) {
  return {};
}  // the reader joins what the line layer marked as partial

constexpr std::string_view kContainerRecordsWords[] = {" stdout P ", " stderr P "};

}  // namespace

extern constinit const Recogniser kCriPartial{
    "cri", "Kubernetes CRI and docker json-file records, partial records joined",
    kContainerRecordsWords, read_container_records};

}  // namespace culprit::ingest
