// A database that somebody hands over, damaged: the input is a list of changes, three bytes where
// and one byte what, to a database that this target makes of a small bundle. Nothing may crash: it
// is refused, or everything is analysed and reported again.
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>

#include "any_rows.hpp"
#include "diagnose/analyse.hpp"
#include "diagnose/conclude.hpp"
#include "diagnose/read.hpp"
#include "diagnose/resolve.hpp"
#include "whole_path.hpp"

namespace {

using namespace culprit;
using test::hold;

const rules::RulePack& pack() {
  static const rules::RulePack the = [] {
    auto loaded = rules::load_rules({});
    if (!loaded) std::exit(70);
    auto compiled = rules::RulePack::compile(std::move(loaded).value());
    if (!compiled) std::exit(70);
    return std::move(compiled).value();
  }();
  return the;
}

constexpr char kKernel[] =
    "Nov 03 07:00:01 gpu-u01 kernel: NVRM: Xid (PCI:0000:1b:00): 79, pid=811, GPU has fallen off "
    "the bus.\nNov 03 07:00:02 gpu-u01 kernel: NVRM: Xid (PCI:0000:1b:00): 154, GPU recovery "
    "action changed from 0x0 (None) to 0x2 (Node Reboot Required)\n";
constexpr char kRank[] =
    "[2026-11-03 07:00:03] iteration 12/ 500 | elapsed time per iteration (ms): 410.2 | lm loss: "
    "2.1\n[rank1]: Traceback (most recent call last):\n[rank1]:   File \"/w/run.py\", line 9, in "
    "<module>\n[rank1]: RuntimeError: CUDA error: unspecified launch failure\nThread 71 (idle): "
    "\"MainThread\"\n    step (run.py:7)\n";

std::string made(const test::Scratch& scratch) {
  scratch.write("b/gpu-u01/dmesg", kKernel, sizeof kKernel - 1);
  scratch.write("b/rank_1.log", kRank, sizeof kRank - 1);
  diagnose::ReadRequest request;
  request.sources = {scratch.path() + "/b"};
  request.tool = "test";
  request.options.threads = 1;
  const std::string path = scratch.path() + "/made.db";
  {
    auto db = store::Database::open(path, store::Access::create);
    hold(db && diagnose::read_bundles(request, pack(), *db), "a database");
    auto incident = diagnose::resolve(*db, true);
    hold(static_cast<bool>(incident), "a resolution");
    auto findings = diagnose::analyse(*db, *incident, pack());
    hold(findings && diagnose::conclude(*db, *incident, *findings), "a verdict");
  }
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Errors are answers.
Result<> look_at(const std::string& path) {
  CULPRIT_TRY(db, store::Database::open(path, store::Access::write));
  CULPRIT_CHECK(db.check());
  static_cast<void>(db.verdict());
  static_cast<void>(db.findings());
  CULPRIT_TRY(incident, diagnose::resolve(db, true));
  CULPRIT_TRY(findings, diagnose::analyse(db, incident, pack()));
  CULPRIT_TRY(conclusion, diagnose::conclude(db, incident, findings));
  hold(!conclusion.document.empty(), "a document");
  return {};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const test::Scratch scratch;
  static const std::string sound = made(scratch);
  std::string bytes = sound;
  for (std::size_t at = 0; at + 4 <= size; at += 4) {
    const std::size_t where = (static_cast<std::size_t>(data[at]) << 16 |
                               static_cast<std::size_t>(data[at + 1]) << 8 | data[at + 2]) %
                              bytes.size();
    bytes[where] = static_cast<char>(data[at + 3]);
  }
  const std::string path = scratch.path() + "/changed.db";
  for (const char* beside : {"", "-journal", "-wal", "-shm"}) std::remove((path + beside).c_str());
  scratch.write("changed.db", bytes.data(), bytes.size());
  const auto looked = look_at(path);
  hold(looked || !looked.error().what.empty(), "why");
  return 0;
}
