// Reports. The verdict is put into one JSON document once (schemas/diagnosis-v1.json), stored, and
// every format is made from that document: no two reports can disagree, and none computes a number.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/finding.hpp"
#include "model/picture.hpp"
#include "model/rows.hpp"
#include "model/text.hpp"
#include "report/identity.hpp"

namespace culprit::report {

struct Incident {
  Identity identity;
  Verdict verdict;
  std::vector<Finding> findings;
  std::span<const MemberRow> members;  // theirs who made it: a bundle may have 100,000
  std::vector<ProblemRow> problems;
  std::vector<std::string> hosts;  // their names
  std::size_t ranks = 0;           // how many are known
  std::vector<Text> notes;
  std::int64_t world_size = 0;
  bool complete = true;  // the whole bundle was read
  RankMap map;
  StepChart steps;
  std::vector<TimePart> time;  // where the job's time went
  WaitPicture waits;
  StackIcicle stacks;
  std::vector<MetricPanel> metrics;
  Settings settings;
};

// The document, indented, keys sorted, a line end at its end. The same incident gives the same
// bytes.
std::string to_json(const Incident& incident);

struct RenderOptions {
  bool color = false;
  bool explain = false;  // all kinds of cause, and why each was left
  bool verbose = false;  // every finding, the whole ledger
  std::size_t width = 100;
  std::string place = "-d incident.db";  // how commands name the database
  std::string show =
      {};  // what `culprit show` is given to print raw lines; "" = no database is kept
  std::string url = {};  // where reports are published, as is_report_url() takes it; "" = nowhere
};

// True of what may become a link: http:// or https://, a host, characters of a URL only, at most
// 1,000; {job} and {digest} (of the bundle) in braces are the only names that are replaced.
bool is_report_url(std::string_view url);

// A form of the report, made from the document alone. Adding one is one file that ends with a
// Format, named in formats.cpp.
struct Format {
  std::string_view name;  // of --format
  std::string_view file;  // what `-o` calls it; "" = made when it is asked for, only
  std::string (*render)(const std::string& document, const RenderOptions& options);
};

// The document is the same wherever the bundle lies, so its commands say "-d incident.db". For
// people they name the database, or the bundle when none is kept, so that they can be copied:
// `place` takes its place. "" changes nothing.
std::string with_place(std::string document, const std::string& place);

// The index page of a batch, made from its summary (schemas/batch-v1.json). It sorts and filters
// with a script of its own and is whole without it.
std::string batch_index(const std::string& summary);

// In the order in which help lists them; the first is what a terminal gets.
std::span<const Format* const> formats();
extern const char kFormatNames[];  // the same as help and completion print them
const Format* find_format(std::string_view name);

}  // namespace culprit::report
