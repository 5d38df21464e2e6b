// Diagnostics of GPUs that were printed as JSON: dcgmi diag -j. Tests that failed, each with its
// GPU.
#include <algorithm>

#include <fmt/format.h>
#include <re2/re2.h>

#include "ingest/engine/document.hpp"
#include "ingest/engine/events.hpp"
#include "ingest/engine/lenient_json.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

bool sniff_dcgm_diag(const Head& head) {
  const std::size_t open = head.bytes.find_first_not_of(" \r\n\t");
  return open != std::string_view::npos && head.bytes[open] == '{' && head.has("\"DCGM") &&
         head.has("\"test_categories\"");
}

// "gpu_id": "5", "gpu_ids": "0", or, of newer releases, "entity_group": "GPU", "entity_id": 5. Of a
// list of all GPUs the warning says which: "GPU 5: ...".
std::string gpu_of(const Tree& tree, const Value& result, const std::string& reason) {
  static const re2::RE2 kNamed(R"(\bGPU (\d{1,3})\b)");
  std::string named;
  if (re2::RE2::PartialMatch(reason, kNamed, &named)) return named;
  if (const std::string_view group = tree.find(result, "entity_group").text();
      !group.empty() && group != "GPU")
    return {};
  for (const std::string_view key : {"gpu_id", "gpu_ids", "entity_id"}) {
    const Value id = tree.find(result, key);
    if (id.kind == Value::Kind::integer) return std::to_string(id.integer);
    if (!id.text().empty() && id.text().find(',') == std::string_view::npos)
      return std::string(id.text().substr(0, 64));
  }
  return {};
}

// Why: the first of "warnings", each a text or an object with one.
std::string reason_of(const Tree& tree, const Value& result) {
  std::string out;
  tree.each(tree.find(result, "warnings"), [&](const Value& warning) {
    const Value text = warning.is_dict() ? tree.find(warning, "warning") : warning;
    out = std::string(text.text().substr(0, 400));
    return out.empty();
  });
  return out;
}

// What keeps a test from being run is no fault of the GPU: software, other users, parts that are
// not installed, the processor's own tests.
bool of_no_gpu(const Tree& tree, std::string_view category, std::string_view test,
               const Value& result, const std::string& reason) {
  static const re2::RE2 kSetUp(
      R"((?i)persistence|permission|in use|busy|not (?:installed|found|supported|running)|environment|librar|denylist)");
  const std::string_view group = tree.find(result, "entity_group").text();
  return category == "Deployment" || category == "Software" || test == "software" ||
         (!group.empty() && group != "GPU") || re2::RE2::PartialMatch(reason, kSetUp);
}

class FailedTests {
 public:
  FailedTests(const Tree& tree, std::string_view bytes, MemberId member, Reading& reading)
      : tree_(tree), bytes_(bytes), member_(member), reading_(reading) {}

  void of_category(const Value& category) {
    tree_.each(tree_.find(category, "tests"), [&](const Value& test) {
      tree_.each(tree_.find(test, "results"), [&](const Value& result) {
        ++results_;
        if (const std::string_view status = tree_.find(result, "status").text();
            status.starts_with("Fail") || status.starts_with("FAIL") || status.starts_with("fail"))
          tell(tree_.find(category, "category").text(), tree_.find(test, "name").text(), result);
        return true;
      });
      return true;
    });
  }
  std::size_t results() const { return results_; }

 private:
  void tell(std::string_view category, std::string_view test, const Value& result) {
    const std::string reason = reason_of(tree_, result);
    if (of_no_gpu(tree_, category, test, result, reason)) return;
    const std::string gpu = gpu_of(tree_, result, reason);
    line::Line said;
    said.message =
        fmt::format("dcgm diag: test {} failed{}{}", test.substr(0, 64),
                    gpu.empty() ? "" : " on GPU " + gpu, reason.empty() ? "" : ": " + reason);
    const Tree::Node& node = tree_.nodes[result.node];
    const auto end = bytes_.begin() + std::min<std::ptrdiff_t>(
                                          node.offset, static_cast<std::ptrdiff_t>(bytes_.size()));
    const auto line = 1 + static_cast<std::uint64_t>(std::count(bytes_.begin(), end, '\n'));
    put_said({member_, line, node.offset, node.length}, said, "dcgm", reading_);
  }

  const Tree& tree_;
  std::string_view bytes_;
  MemberId member_;
  Reading& reading_;
  std::size_t results_ = 0;
};

std::string read_dcgm_diag(std::string_view bytes, const MemberRow& member, Reading& reading) {
  Tree tree;
  read_lenient_json(bytes, tree);
  FailedTests failed(tree, bytes, member.id, reading);
  tree.each_pair(tree.root, [&](const Value&, const Value& report) {
    if (report.is_dict())
      tree.each(tree.find(report, "test_categories"), [&](const Value& category) {
        failed.of_category(category);
        return true;
      });
    return true;
  });
  reading.cut = tree.truncated;
  return failed.results() == 0 ? "dcgm.no_results" : "";
}

}  // namespace

extern constinit const Document kDcgmDiagJson{"dcgm-diag-json",
                                              "dcgmi diag -j: tests of GPUs that failed", 16u << 20,
                                              sniff_dcgm_diag, read_dcgm_diag};

}  // namespace culprit::ingest
