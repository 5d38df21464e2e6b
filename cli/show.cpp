// show FINDING: from a claim down to the bytes it rests on.
#include <fmt/format.h>

#include "bundle/bundle.hpp"
#include "command.hpp"
#include "incident.hpp"
#include "report/terminal.hpp"
#include "schema/schema.hpp"
#include "store/database.hpp"

namespace culprit::cli {

namespace {

Result<Exit> run_show(const Arguments& arguments) {
  if (!arguments.has("db")) return usage_error("show needs a database").hint("culprit show FINDING -d incident.db");
  CULPRIT_TRY(db, open_database(arguments, store::Access::read));
  const auto findings = db.findings();
  CULPRIT_CHECK(db.read_to_the_end());
  if (arguments.positional().empty()) {
    std::string out;
    for (const Finding& f : findings) out += fmt::format("{:<19} {}\n", name(f.outcome), report::visible(f.id));
    print(out.empty() ? "this database has no findings\n" : out);
    return Exit::finished;
  }
  CULPRIT_TRY(context, arguments.number("context", 2));
  const auto members = db.members();
  const std::vector<std::string> bundles = arguments.all("bundle");
  for (const std::string& bundle : bundles) CULPRIT_CHECK(bundle::check_readable(bundle));
  for (const std::string& wanted : arguments.positional()) {
    std::vector<const Finding*> found;
    for (const Finding& f : findings)
      if (f.id == wanted) found = {&f};
    if (found.empty())
      for (const Finding& f : findings)
        if (f.id.find(wanted) != std::string::npos || f.event_class == wanted) found.push_back(&f);
    if (found.empty()) {
      std::vector<std::string> names;
      for (const Finding& f : findings) names.push_back(f.id);
      const std::string near = schema::nearest(wanted, names);
      return usage_error(fmt::format("there is no finding '{}'", wanted)).hint(near.empty() ? "`culprit show -d FILE` lists them" : fmt::format("did you mean '{}'?", near));
    }
    std::string out;
    for (const Finding* f : found) {
      out += fmt::format("{}\n  {}: {} {} ({}, {}, {:.0f} % sure)\n  {}\n", report::visible(f->id), name(f->outcome), name(f->subject.kind), report::visible(f->subject.id), name(f->severity), name(f->role), f->confidence * 100, report::visible(f->title));
      out += "  " + report::wrapped(report::visible(f->why), 96, 2) + "\n";
      if (f->start) out += fmt::format("  from {}{} (to within {})\n", iso_utc(*f->start), f->end ? " to " + iso_utc(*f->end) : "", human_duration(f->uncertainty));
      for (const auto& [key, value] : numbers_of(*f))
        if (!value.empty()) out += fmt::format("  {} = {}\n", key, report::visible(value));
      for (const Evidence& e : f->evidence) {
        if (e.line == 0) {   // a record of a binary file: its bytes tell a reader nothing
          out += fmt::format("\n  {} at byte {}, {} bytes\n", report::visible(e.path), e.offset, e.length);
          if (!e.excerpt.empty()) out += "    " + report::visible(e.excerpt) + "\n";
          continue;
        }
        out += fmt::format("\n  {}:{} (byte {})\n", report::visible(e.path), e.line, e.offset);
        std::string stored = e.path;
        for (const MemberRow& m : members)
          if (m.id == e.member) stored = m.stored_path;
        std::string bytes;
        for (const std::string& bundle : bundles) {
          // A few lines more than the claim needs, so that one can judge it.
          auto range = bundle::read_range(bundle, stored, e.offset, std::min<std::uint64_t>(e.length + 200 * (context + 1), 1 << 16), {});
          if (range) { bytes = std::move(*range); break; }
        }
        if (bytes.empty()) {
          if (!e.excerpt.empty()) out += "    " + report::visible(e.excerpt) + "\n";
          if (!bundles.empty()) out += fmt::format("    (not in {}: was the database made from another bundle?)\n", fmt::join(bundles, ", "));
          continue;
        }
        std::size_t at = 0;
        for (std::uint64_t n = 0; n <= context && at < bytes.size(); ++n) {
          const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
          out += fmt::format("  {} {:>7}  {}\n", n == 0 ? ">" : " ", e.line + n, report::visible(std::string_view(bytes).substr(at, std::min<std::size_t>(end - at, 400))));
          at = end + 1;
        }
      }
      out += "\n";
    }
    print(out);
  }
  return Exit::finished;
}

constexpr OptionSpec kShowOptions[] = {
    {"db,d", "FILE", "the database"},
    {"bundle", "BUNDLE", "the bundle it was read from: shows the raw lines, not only the kept excerpts (may be repeated)"},
    {"context", "N", "raw lines after the one named (default 2)"},
};

}  // namespace

extern const Command kShow;
constinit const Command kShow{"show", "a finding, down to the raw lines", "show [FINDING...] -d FILE [--bundle BUNDLE]",
                              "  culprit show -d incident.db                               lists the findings\n"
                              "  culprit show gpu_xid/79 -d incident.db --bundle job.tar.gz\n",
                              kShowOptions, run_show};

}  // namespace culprit::cli
