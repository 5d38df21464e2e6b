// mcp INCIDENT: the incident for assistants, over standard input and output.
#include <array>
#include <cerrno>

#include <unistd.h>

#include "command.hpp"
#include "incident.hpp"
#include "mcp/server.hpp"
#include "mcp_tools.hpp"
#include "pack.hpp"

namespace culprit::cli {

namespace {

// Messages out of a stream of bytes; of one that is too long the rest is passed over.
class MessageReader {
 public:
  // take: called with each message; false when it was too long.
  void feed(std::string_view bytes, auto take) {
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
      if (!skipping_) line_.append(bytes, at, end - at);
      if (line_.size() > mcp::kMostMessageBytes) {
        if (!skipping_) take(std::string_view(), false);
        skipping_ = true;
        line_.clear();
      }
      if (end < bytes.size()) {
        if (!skipping_) take(std::string_view(line_), true);
        skipping_ = false;
        line_.clear();
      }
      at = end + 1;
    }
  }
  // What stands behind the last line end.
  void finish(auto take) {
    if (!skipping_ && !line_.empty()) take(std::string_view(line_), true);
  }

 private:
  std::string line_;
  bool skipping_ = false;
};

void serve(mcp::Server& server) {
  MessageReader reader;
  const auto take = [&](std::string_view message, bool whole) {
    if (const auto answer = whole ? server.answer(message) : std::optional(mcp::Server::too_long()))
      print(*answer + "\n");
  };
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t got = read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    reader.feed({buffer.data(), static_cast<std::size_t>(got)}, take);
  }
  reader.finish(take);
}

Result<Exit> run_mcp(const Arguments& arguments) {
  const std::vector<std::string>& sources = arguments.positional();
  if (sources.empty() && !arguments.has("db"))
    return usage_error("mcp needs an incident: a database, or a bundle")
        .hint("culprit mcp report/incident.db");
  for (const std::string& source : sources)
    if (source == "-")
      return usage_error("mcp reads its messages from standard input, not a bundle")
          .hint("culprit mcp report/incident.db");
  CULPRIT_TRY(pack, load_pack(arguments));
  CULPRIT_TRY(incident, open_diagnosed(arguments, sources, pack));
  // Files that a database names as its sources are not opened: it may be a stranger's.
  std::vector<std::string> bundles = arguments.all("bundle");
  if (incident.path.empty()) bundles.insert(bundles.end(), sources.begin(), sources.end());
  const Served served{arguments, pack, incident, sources, bundles, arguments.get("baseline")};
  mcp::Server server(service_of(served));
  serve(server);
  return Exit::finished;
}

constexpr auto kMcpOptions = with_read_options({
    {"db,d", "FILE", "the database"},
    {"bundle", "BUNDLE",
     "the bundle that the database was read from: shows raw lines (may be repeated)"},
    {"baseline", "GOOD", "the bundle or database of a run that worked, for the tool compare"},
});

}  // namespace

constinit const Command kMcp{
    "mcp",
    "the incident for assistants, by the Model Context Protocol",
    "mcp INCIDENT [--baseline GOOD] [options]",
    "  culprit mcp report/incident.db --bundle job.tar.gz\n"
    "  claude mcp add incident -- culprit mcp $PWD/report/incident.db\n\n"
    "  INCIDENT is a database, a folder of `diagnose -o`, or a bundle. Reads requests from "
    "standard "
    "input and\n"
    "  answers on standard output, a JSON-RPC message a line, until the input ends. Nothing is "
    "written, and\n"
    "  nothing is read but what the command line names.\n",
    kMcpOptions,
    run_mcp};

}  // namespace culprit::cli
