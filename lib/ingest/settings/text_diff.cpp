// What somebody changed between two runs: diff of launch scripts, configurations and arguments, in
// the unified and the old form, and git's. Each key that has another value is a row with what it
// was before; code that changed is named by its file.
#include <optional>
#include <set>
#include <vector>

#include "ingest/engine/setting_lines.hpp"
#include "ingest/engine/job_setting.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

using std::string_view;

constexpr std::size_t kMostPending = 400;  // lines of one side that wait for the other

enum class Side { none, removed, added };

struct DiffLine {
  Side side = Side::none;
  string_view text;
};

bool diff_header(string_view line) { return line.starts_with("--- ") || line.starts_with("+++ "); }

// Of the unified form ("-", "+") or of the old one ("< ", "> ").
DiffLine side_of(string_view line, bool old_form) {
  if (old_form) {
    if (line.starts_with("< ")) return {Side::removed, line.substr(2)};
    if (line.starts_with("> ")) return {Side::added, line.substr(2)};
    return {};
  }
  if (line.empty() || line == "---" || diff_header(line)) return {};
  if (line[0] == '-') return {Side::removed, line.substr(1)};
  if (line[0] == '+') return {Side::added, line.substr(1)};
  return {};
}

// The name of the file in a header: "+++ b/conf/3b.yaml\t2025-06-13 19:40".
string_view file_in(string_view header) {
  string_view name = header.substr(4);
  name = trimmed(name.substr(0, name.find('\t')));
  if (name.starts_with("a/") || name.starts_with("b/")) name.remove_prefix(2);
  const std::size_t blank = name.find_first_of(" (");
  return name.substr(0, blank);
}

// What a head has of a diff. People also cut the headings off and keep the lines.
struct DiffForm {
  bool unified = false, headings = false, old_form = false;
  std::size_t removed = 0, added = 0;
};

DiffForm diff_form_of(const Head& head) {
  DiffForm out;
  bool before_file = false;
  std::size_t old_removed = 0, old_added = 0, hunks = 0;
  each_text_line(head.bytes, [&](string_view line, std::uint64_t number, std::size_t) {
    if (line.starts_with("+++ ") && before_file) out.headings = true;
    before_file = line.starts_with("--- ");
    if (line.starts_with("diff --git ") || line.starts_with("commit ")) out.headings = true;
    if (line.starts_with("@@ ") || line == "@@") ++hunks;
    const Side side = side_of(line, false).side;
    out.removed += side == Side::removed;
    out.added += side == Side::added;
    old_removed += line.starts_with("< ");
    old_added += line.starts_with("> ");
    return number < 400;
  });
  out.unified = (out.headings || hunks > 0) && out.removed + out.added > 0;
  out.old_form = old_removed > 0 && old_added > 0 && out.removed == 0 && out.added == 0;
  return out;
}

bool called_diff(const Head& head) {
  const string_view base = head.base();
  const string_view first = trimmed(head.bytes.substr(0, head.bytes.find('\n')));
  return contains(base, "diff") || contains(base, "patch") || contains(base, "change") ||
         first.starts_with("$ diff ") || first.starts_with("diff ");
}

bool sniff_diff(const Head& head) {
  if (contains(head.bytes.substr(0, 4096), '\0')) return false;
  const string_view base = head.base();
  const bool asked = called_diff(head) || contains(base, "git");
  if (!asked && !head.has("\n+++ ")) return false;
  // Of a switch's configuration its own readers know the lines (switch_ports.cpp).
  if (head.has("interface Ethernet") || head.has(" mtu ") || head.has("switchport") ||
      head.has("priority-flow-control") || head.has("pfc_enable"))
    return false;
  const DiffForm form = diff_form_of(head);
  if (form.headings && form.unified) return true;
  return called_diff(head) &&
         (form.unified || form.old_form || (form.removed > 0 && form.added > 0));
}

class Diff {
 public:
  Diff(const MemberRow& member, Reading& reading, bool old_form)
      : member_(member), reading_(reading), old_form_(old_form) {}

  void take(string_view line, std::uint64_t number, std::size_t offset) {
    if (diff_header(line)) {
      flush();
      if (line[0] == '+') file_ = file_in(line);
      return;
    }
    const DiffLine one = side_of(line, old_form_);
    if (one.side == Side::none) {
      // In the old form the two sides are told apart by a rule.
      if (!(old_form_ && line == "---")) flush();
      return;
    }
    const string_view text = trimmed(one.text);
    if (text.empty() || text.starts_with("//") || (text[0] == '#' && !batch_directive(text)))
      return;
    const std::vector<JobSetting> settings = settings_of(text);
    if (settings.empty()) {
      code_changed(line_place(member_, number, offset, line));
      // Without a heading, code is what looks like it on both sides.
      if (file_.empty() && (contains(text, '(') || contains(text, " = "))) {
        (one.side == Side::added ? added_ : removed_) = true;
        if (!nameless_) nameless_ = line_place(member_, number, offset, line);
      }
    }
    for (const JobSetting& setting : settings) {
      if (pending_.size() >= kMostPending) flush();
      pending_.push_back({one.side, setting, line_place(member_, number, offset, line)});
    }
  }

  void finish() {
    flush();
    if (added_ && removed_ && told_.empty())
      reading_.sink.put(ConfigRow{.place = *nameless_,
                                  .name = "change.code",
                                  .value = member_.path.substr(member_.path.rfind('/') + 1),
                                  .before = ""});
  }

  // A hunk has ended: what stands on one side only came or went.
  void flush() {
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      if (pending_[i].side != Side::removed) continue;
      const std::size_t other = partner(i);
      if (other < pending_.size()) {
        put(pending_[other].setting, pending_[i].setting.value, pending_[other].place);
        pending_[other].done = true;
      } else {
        JobSetting gone = pending_[i].setting;
        gone.value.clear();
        put(gone, pending_[i].setting.value, pending_[i].place);
      }
    }
    for (const Pending& one : pending_)
      if (one.side == Side::added && !one.done) put(one.setting, "", one.place);
    pending_.clear();
  }

 private:
  struct Pending {
    Side side;
    JobSetting setting;
    Place place;
    bool done = false;
  };

  // A program's lines run no commands.
  std::vector<JobSetting> settings_of(string_view text) const {
    if (!program()) return job_settings(text);
    const auto one = job_setting(text);
    return one ? std::vector{*one} : std::vector<JobSetting>();
  }

  bool program() const {
    static constexpr string_view kPrograms[] = {".py", ".pyx", ".cu",   ".cuh", ".c",
                                                ".cc", ".cpp", ".h",    ".hpp", ".rs",
                                                ".go", ".jl",  ".ipynb"};
    return std::ranges::any_of(kPrograms,
                               [&](string_view ending) { return file_.ends_with(ending); });
  }

  std::size_t partner(std::size_t removed) const {
    for (std::size_t i = 0; i < pending_.size(); ++i)
      if (pending_[i].side == Side::added && !pending_[i].done &&
          pending_[i].setting.name == pending_[removed].setting.name)
        return i;
    return pending_.size();
  }

  void put(const JobSetting& now, std::string before, const Place& place) {
    if (now.value == before || kept_ >= kSettingsPerFile) return;
    ++kept_;
    reading_.sink.put(ConfigRow{.place = place,
                                .name = "change." + now.name,
                                .value = now.value,
                                .before = std::move(before)});
  }

  // A program is code; of another file (a list of data, a switch's configuration) its name says
  // what it is.
  void code_changed(const Place& place) {
    if (file_.empty() || !told_.insert(std::string(file_)).second || told_.size() > 64) return;
    reading_.sink.put(ConfigRow{.place = place,
                                .name = program() ? "change.code" : "change.file",
                                .value = std::string(file_),
                                .before = ""});
  }

  const MemberRow& member_;
  Reading& reading_;
  bool old_form_;
  string_view file_;
  std::vector<Pending> pending_;
  std::set<std::string> told_;
  std::size_t kept_ = 0;
  bool added_ = false, removed_ = false;  // lines of code below no heading
  std::optional<Place> nameless_;         // the first of them
};

std::string read_diff(string_view bytes, const MemberRow& member, Reading& reading) {
  Diff diff(member, reading, diff_form_of({member.path, bytes, true}).old_form);
  each_text_line(bytes, [&](string_view line, std::uint64_t number, std::size_t offset) {
    diff.take(line, number, offset);
  });
  diff.finish();
  return "";
}

}  // namespace

extern constinit const Document kTextDiff{
    "text-diff", "diff, git diff: settings and code that changed between two runs", kSettingBytes,
    sniff_diff, read_diff};

}  // namespace culprit::ingest
