// Takes changes from diffs, and compares the arguments of two runs of the job.
#include "analyze/faults/run_changes.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <tuple>

#include <fmt/format.h>
#include <re2/re2.h>

#include "analyze/facts/path_facts.hpp"
#include "model/confidence.hpp"
#include "model/contains.hpp"
#include "model/number.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"
#include "rules/changes.hpp"

namespace culprit::analyze {

namespace {

constexpr std::size_t kMostChanges = 40;
constexpr std::size_t kMostOfList = 100;
constexpr std::string_view kArgument = "job.", kChange = "change.";
constexpr std::string_view kPackagesFormat = "packages", kVersionsFormat = "versions";
constexpr std::string_view kOfPython = "pip.";

// Of a machine, or of a process that it names.
bool environment(const MemberRow& m) {
  return m.format == "environment" || m.format == "process-dump";
}

// All settings of a run, which says what is not set as well.
bool whole_list(const MemberRow& m) {
  constexpr std::array<std::string_view, 5> kLists{"job-config", "job-config-json", "launch-script",
                                                   kPackagesFormat, kVersionsFormat};
  return contains(kLists, std::string_view(m.format)) || environment(m);
}

// A value as it stands in the later run, and what it was.
struct Changed {
  std::string before, after;
  Place place;
};
using Changes = std::map<std::string, Changed>;  // by name

// By name: the argument as a log prints it last, or all values that a list in a configuration has.
using Arguments = std::map<std::string, std::vector<const ConfigRow*>>;

bool of_arguments(const ConfigRow& row, const MemberRow& m) {
  return row.name.starts_with(kArgument) || m.format == kPackagesFormat ||
         m.format == kVersionsFormat || (environment(m) && row.name.starts_with("env."));
}

// As a diff has it: "pip.flash-attn" is "package.flash_attn".
std::string name_of(const ConfigRow& row) {
  if (row.name.starts_with(kArgument)) return row.name.substr(kArgument.size());
  if (!row.name.starts_with(kOfPython)) return row.name;
  std::string out = "package." + row.name.substr(kOfPython.size());
  std::ranges::replace(out, '-', '_');
  return out;
}

// Rows of changes and of arguments, in the order of paths and lines: that in which files were read
// says nothing.
std::vector<const ConfigRow*> rows_in_order(const Facts& facts) {
  std::vector<const ConfigRow*> out;
  for (const ConfigRow& row : facts.configs) {
    const MemberRow* m = facts.member(row.place.member);
    if (facts.counts(m) && (row.before || of_arguments(row, *m))) out.push_back(&row);
  }
  sort_by(out, [&](const ConfigRow* a) {
    return std::pair(facts.order(a->place.member), a->place.line);
  });
  return out;
}

void from_diffs(const std::vector<const ConfigRow*>& rows, Changes& out) {
  for (const ConfigRow* row : rows) {
    if (!row->before || !row->name.starts_with(kChange)) continue;
    const std::string name = row->name.substr(kChange.size());
    // Of several files that changed each is told.
    out.try_emplace(name == "code" || name == "file" ? name + " " + row->value : name,
                    Changed{*row->before, row->value, row->place});
  }
}

// Two numbers in other words are one value: 3e-4 and 0.0003.
bool same_value(const std::string& a, const std::string& b) {
  if (a == b) return true;
  char* end_a = nullptr;
  char* end_b = nullptr;
  const double x = std::strtod(a.c_str(), &end_a), y = std::strtod(b.c_str(), &end_b);
  return !a.empty() && !b.empty() && *end_a == '\0' && *end_b == '\0' && x == y;
}

// When the steps of a log were made that also tells arguments.
struct Run {
  MemberId member = 0;
  Nanoseconds first = 0, last = 0;
};

// The last run and the one before it, which ended before that began: ranks of one run print the
// same arguments beside each other.
std::optional<std::pair<MemberId, MemberId>> last_two(
    const Facts& facts, const std::map<MemberId, Arguments>& arguments) {
  std::vector<Run> runs;
  for (const ProgressSpan& p : facts.progress)
    if (p.first.time_ns && p.last.time_ns && arguments.count(p.member) > 0)
      runs.push_back({p.member, *p.first.time_ns, *p.last.time_ns});
  sort_by(runs, [&](const Run& a) { return std::tuple(a.first, facts.order(a.member)); });
  for (std::size_t i = runs.size(); i-- > 1;)
    if (runs[i - 1].last <= runs.back().first)
      return std::pair(runs[i - 1].member, runs.back().member);
  return std::nullopt;
}

// Those of `all` that none of `others` equals.
std::vector<const ConfigRow*> without(const std::vector<const ConfigRow*>& all,
                                      const std::vector<const ConfigRow*>& others) {
  std::vector<const ConfigRow*> out;
  for (const ConfigRow* row : all)
    if (std::ranges::none_of(others,
                             [&](const ConfigRow* o) { return same_value(o->value, row->value); }))
      out.push_back(row);
  return out;
}

std::string first_values(const std::vector<const ConfigRow*>& rows) {
  constexpr std::size_t kMostValues = 3;
  std::string out;
  for (std::size_t i = 0; i < rows.size() && i < kMostValues; ++i)
    out += (i == 0 ? "" : ", ") + rows[i]->value;
  return rows.size() > kMostValues ? out + ", ..." : out;
}

void compare(const Arguments& before, const Arguments& now, Changes& out) {
  for (const auto& [name, rows] : now) {
    const auto was = before.find(name);
    if (was == before.end()) continue;
    const auto gone = without(was->second, rows), came = without(rows, was->second);
    if (gone.empty() && came.empty()) continue;
    out.insert_or_assign(name, Changed{first_values(gone), first_values(came),
                                       (came.empty() ? rows : came).front()->place});
  }
}

// "train_7b.sh": how large a model is, where it is told.
std::string model_size(const std::string& path) {
  static const re2::RE2 kSize(
      R"((?i)(?:^|[^a-z0-9])((?:[1-9]\d{0,3}|0)(?:\.\d+)?[bm])(?:[^a-z0-9]|$))");
  std::string out;
  re2::RE2::PartialMatch(path, kSize, &out);
  return out;
}

// Configurations that lie beside each other under one name but for its numbers and the words that
// tell runs apart, the last two: "run41.yaml", "run42.yaml". Many are of ranks or of a sweep.
std::vector<std::pair<MemberId, MemberId>> last_two_files(
    const Facts& facts, const std::map<MemberId, Arguments>& arguments) {
  constexpr std::size_t kMostFiles = 6, kFewestNames = 2;
  std::map<std::string, std::vector<MemberId>> alike;
  for (const auto& [member, names] : arguments) {
    const MemberRow& m = *facts.member(member);
    if (names.size() >= kFewestNames) alike[file_of_run(m.path).series].push_back(member);
  }
  const auto order = [&](MemberId member) {
    const std::string& path = facts.member(member)->path;
    return std::pair(file_of_run(path).age, path.c_str());
  };
  std::vector<std::pair<MemberId, MemberId>> out;
  for (auto& [name, files] : alike) {
    if (files.size() < 2 || files.size() > kMostFiles) continue;
    sort_rows(files, [&](MemberId a, MemberId b) {
      const auto [age_a, path_a] = order(a);
      const auto [age_b, path_b] = order(b);
      return age_a != age_b ? age_a < age_b : strverscmp(path_a, path_b) < 0;
    });
    const MemberRow &before = *facts.member(files[files.size() - 2]),
                    &now = *facts.member(files.back());
    if (before.host && now.host && *before.host != *now.host) continue;  // of two machines
    if (model_size(before.path) != model_size(now.path)) continue;
    out.emplace_back(before.id, now.id);
  }
  return out;
}

// What both runs print, with another value. A log that two runs wrote to has both, one behind the
// other.
void from_arguments(const Facts& facts, const std::vector<const ConfigRow*>& all, Changes& out) {
  std::map<MemberId, Arguments> last;
  for (const ConfigRow* row : all) {
    const MemberRow& m = *facts.member(row->place.member);
    if (row->before || !of_arguments(*row, m)) continue;
    std::vector<const ConfigRow*>& kept = last[m.id][name_of(*row)];
    if (whole_list(m) || kept.empty()) {
      if (kept.size() < kMostOfList) kept.push_back(row);
      continue;
    }
    if (!same_value(kept.front()->value, row->value))
      out.insert_or_assign(name_of(*row), Changed{kept.front()->value, row->value, row->place});
    kept.front() = row;
  }
  if (const auto two = last_two(facts, last)) compare(last[two->first], last[two->second], out);
  for (const auto& [earlier, later] : last_two_files(facts, last)) {
    const Arguments &before = last[earlier], &now = last[later];
    compare(before, now, out);
    // A whole list tells what is not in it, too.
    if (!whole_list(*facts.member(later))) continue;
    for (const auto& [name, rows] : now)
      if (before.count(name) == 0)
        out.insert_or_assign(name, Changed{"", first_values(rows), rows.front()->place});
    for (const auto& [name, rows] : before)
      if (now.count(name) == 0)
        out.insert_or_assign(name, Changed{first_values(rows), "", rows.front()->place});
  }
}

// "CPU limit of a task (limits.cpu)"; a name that says it alone stands alone.
std::string called(const std::string& name, const rules::ChangeRule& rule) {
  return rule.label.empty() ? name : fmt::format("{} ({})", rule.label, name);
}

// How many times what it was the number is; 0 where one is none.
double grown_by(const Changed& c) {
  const auto before = whole_number<double>(c.before), now = whole_number<double>(c.after);
  return before && now && *before > 0 && *now > 0 ? *now / *before : 0;
}

Text told(const std::string& label, const Changed& c) {
  if (c.after.empty()) return say(Phrase::was_and_is_gone, label, c.before);
  if (c.before.empty()) return say(Phrase::is_set_now, label, c.after);
  return say(Phrase::was_and_is, label, c.before, c.after);
}

}  // namespace

std::vector<Finding> run_changes(const Facts& facts) {
  Changes changes;
  const std::vector<const ConfigRow*> rows = rows_in_order(facts);
  from_diffs(rows, changes);
  from_arguments(facts, rows, changes);
  // A batch for more machines is no more work for each.
  const bool resized = std::ranges::any_of(
      changes, [](const auto& one) { return rules::change_rule(one.first).scales_machines; });
  std::vector<Finding> out;
  for (const auto& [key, c] : changes) {
    // "code train.py" is code, "file mix_v3.json" what a file of that name is.
    const bool code = key.starts_with("code ") || key.starts_with("file ");
    const std::string name = key.starts_with("code ") ? "code" : code ? key.substr(5) : key;
    const rules::ChangeRule& rule = rules::change_rule(name);
    if (rule.differs_by_right()) continue;
    Finding f{.id = "changes/" + key,
              .analysis = Analysis::changes,
              .subject = {SubjectKind::config, code ? c.after : name},
              .event_class = "setting_changed",
              .symptom = Symptom::none,
              .severity = Severity::info,
              .role = Role::confirmation,
              .scope = Scope::job_wide,
              .confidence = confidence::kSettingChanged,
              .why = code ? say(Phrase::code_changed, c.after) : told(called(name, rule), c),
              .title = say(Phrase::setting_changed, rule.label.empty() ? name : rule.label)};
    f.evidence.push_back(facts.evidence(c.place, ""));
    f.facts = ChangeFacts{.name = name,
                          .before = c.before,
                          .after = c.after,
                          .explains = rule.explains,
                          .label = rule.label,
                          .known = rule.known,
                          .work = rule.scales_work && !resized ? grown_by(c) : 0};
    out.push_back(std::move(f));
  }
  sort_rows(out, [](const Finding& a, const Finding& b) {
    const auto explains = [](const Finding& f) {
      return !std::get<ChangeFacts>(f.facts).explains.empty();
    };
    return explains(a) > explains(b);
  });
  if (out.size() > kMostChanges) out.resize(kMostChanges);
  return out;
}

}  // namespace culprit::analyze
