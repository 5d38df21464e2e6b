// A bundle becomes rows. Members arrive as a stream; their text is cut into blocks, the blocks are
// scanned on several threads and consumed in order on one, so that the rows are the same for any
// number of threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bundle/bundle.hpp"
#include "model/result.hpp"
#include "model/sink.hpp"
#include "rules/pack.hpp"

namespace culprit::ingest {

struct Source {
  std::string path;   // what the user typed
  std::string label;  // prefix of its members' paths when there are several; "" for one
};

struct Options {
  bundle::Limits limits;
  int threads = 1;
  // Ctrl-C: reading stops, and the member that was being read is left without its end_member().
  const std::atomic<bool>* interrupted = nullptr;
  const std::atomic<bool>* sink_failed = nullptr;  // a full disk: there is no point in reading on
  // Of a shard: whether this process reads the n-th unit of the sources, counted from 0 over all of
  // them. path: with the label of its source.
  std::function<bool(std::uint64_t n, const std::string& path, const Unit& unit)> share;
  // Now and then: bytes of members, unpacked; of them as they lie on disk; and the member's path.
  std::function<void(std::uint64_t bytes, std::uint64_t taken, const std::string& path)> progress;
};

struct Summary {
  std::uint64_t members = 0;
  std::uint64_t bytes = 0;
  std::uint64_t problems = 0;
  std::vector<std::string>
      own_databases;  // of this program, in the bundle; they and what lies with them were left out
  std::vector<std::uint64_t> entries;  // of each source that was read to its end
  bool interrupted = false;
};

// Reads every member of every source into the sink. Fails when a source cannot be opened at all;
// what an earlier run finished (sink.finished) is read only to compare digests, and a difference is
// an error that names the member.
Result<Summary> ingest(const std::vector<Source>& sources, const rules::RulePack& pack,
                       MemberSink& sink, const Options& options);

// Labels that tell several bundles of one call apart: file names without archive endings, with a
// parent folder where those repeat. One bundle needs none.
std::vector<Source> label_sources(const std::vector<std::string>& paths);

}  // namespace culprit::ingest
