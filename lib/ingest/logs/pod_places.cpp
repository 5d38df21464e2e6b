// Which node each pod ran on: kubectl get pods -o wide, kubectl describe pod, kubectl get pods -o
// yaml. A pod calls itself by its own name, its node by another: they are one machine.
#include <algorithm>

#include <re2/re2.h>

#include "ingest/engine/document.hpp"
#include "ingest/engine/recogniser.hpp"
#include "ingest/engine/setting_lines.hpp"

namespace culprit::ingest {

namespace {

void put_pod(const Place& place, std::string_view pod, std::string_view ip, std::string_view node,
             Reading& reading) {
  if (node.empty() || node == "<none>") return;
  for (const std::string_view other : {pod, ip}) {
    if (other.empty() || other == "<none>" || other == node) continue;
    IdentityRow row;
    row.place = place;
    row.source = "pod";
    row.host = std::string(node.substr(0, 253));
    row.address = std::string(other.substr(0, 253));
    reading.sink.put(row);
  }
}

// Columns stand where their headings do; "2 (3h ago)" has spaces of its own.
class PodTable : public Assembler {
 public:
  explicit PodTable(std::string_view heading)
      : name_(heading.find("NAME ")),
        ip_(heading.find(" IP ") + 1),
        node_(heading.find(" NODE") + 1) {}

  Step feed(const TextLine& line, Reading& reading) override {
    const std::string_view text = line.raw;
    if (text.size() <= node_ || text[name_] == ' ' || (ip_ > 0 && text[ip_ - 1] != ' ') ||
        text[node_ - 1] != ' ')
      return Step::finished;
    const auto word = [&](std::size_t at) {
      return text.substr(at, std::min(text.find_first_of(" \r", at), text.size()) - at);
    };
    put_pod(line.place, word(name_), ip_ > 0 ? word(ip_) : std::string_view(), word(node_),
            reading);
    return Step::took;
  }
  void finish(Reading&) override {}
  std::uint64_t most_lines() const override { return 100'000; }

 private:
  std::size_t name_, ip_, node_;
};

Outcome read_table(const TextLine& line, Reading&) {
  std::string_view text = line.raw.substr(0, 1024);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  const std::size_t node = text.find(" NODE");
  // -o wide has an IP, columns that somebody chose need not.
  const auto has = [&](std::string_view heading) {
    return text.find(heading) != std::string_view::npos;
  };
  if (!has("NAME ") || !(has(" IP ") || has(" STATUS ") || has(" READY ")) ||
      node == std::string_view::npos || (node + 5 < text.size() && text[node + 5] != ' '))
    return {};
  return {true, std::make_unique<PodTable>(text), {}};
}

// The scheduler's event: "Successfully assigned NAMESPACE/POD to NODE".
Outcome read_assignment(const TextLine& line, Reading& reading) {
  static const re2::RE2 kAssigned(
      R"(Successfully assigned (?:[^\s/]+/)?([^\s/]+) to (\S+?)[".,]?(?:\s|$))");
  std::string pod, node;
  const std::string_view text = std::string_view(line.raw).substr(0, 4096);
  if (!re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), kAssigned, &pod, &node))
    return {};
  put_pod(line.place, pod, {}, node, reading);
  return {true, nullptr, {}};
}

// The pod of which the lines speak: its name stands before its node.
class Description : public Kept {
 public:
  // One line; true when it told something.
  bool line(const Place& place, std::string_view text, Reading& reading) {
    static const re2::RE2 kPair(
        R"(^( *)(?:- )?(Name|Node|IP|name|namespace|nodeName|podIP):\s+"?([^\s"/]+))");
    std::string indent, key, value;
    text = text.substr(0, 1024);
    if (!re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), kPair, &indent, &key,
                                &value))
      return false;
    if (key == "Name" && indent.empty()) {
      name_ = value;
      node_.clear();
    } else if (key == "name") {
      last_name_ = value;
      last_indent_ = indent.size();
    }
    // In YAML the keys of `metadata` come by the alphabet: its name right before its namespace.
    else if (key == "namespace" && indent.size() == last_indent_) {
      name_ = last_name_;
      node_.clear();
    } else if ((key == "Node" && indent.empty()) || key == "nodeName") {
      if (name_.empty() || value == "<none>") return false;
      node_ = value;
      put_pod(place, name_, {}, node_, reading);
      return true;
    } else if (((key == "IP" && indent.empty()) || key == "podIP") && !node_.empty()) {
      put_pod(place, {}, value, node_, reading);
      return true;
    }
    return false;
  }
  void finish(Reading&) override {}

 private:
  std::string name_, node_, last_name_;
  std::size_t last_indent_ = 0;
};

Outcome read_description(const TextLine& line, Reading& reading) {
  return {reading.keep<Description>().line(line.place, line.raw, reading), nullptr, {}};
}

bool sniff_pods_yaml(const Head& head) {
  return (head.base().ends_with(".yaml") || head.base().ends_with(".yml")) &&
         head.bytes.starts_with("apiVersion:") &&
         (head.bytes.find("kind: Pod\n") != std::string_view::npos ||
          head.bytes.find("\n    nodeName: ") != std::string_view::npos);
}

std::string read_pods_yaml(std::string_view bytes, const MemberRow& member, Reading& reading) {
  Description description;
  each_text_line(bytes, [&](std::string_view text, std::uint64_t number, std::size_t offset) {
    description.line(line_place(member, number, offset, text), text, reading);
  });
  return {};
}

constexpr std::string_view kTableWords[] = {"RESTARTS"};
constexpr std::string_view kAssignedWords[] = {"Successfully assigned "};
constexpr std::string_view kDescriptionWords[] = {"Node:   "};

}  // namespace

extern const Recogniser kPodTable, kPodDescription, kPodAssignment;
extern const Document kPodsYaml;
constinit const Recogniser kPodTable{"pod-table", "kubectl get pods -o wide: the node of each pod",
                                     kTableWords, read_table};
constinit const Recogniser kPodDescription{"pod-description",
                                           "kubectl describe pod: the node of each pod",
                                           kDescriptionWords, read_description, "kubernetes"};
constinit const Recogniser kPodAssignment{"pod-assignment",
                                          "the Kubernetes scheduler's word of a pod's node",
                                          kAssignedWords, read_assignment};
constinit const Document kPodsYaml{"pods-yaml", "kubectl get pods -o yaml: the node of each pod",
                                   64u << 20, sniff_pods_yaml, read_pods_yaml};

}  // namespace culprit::ingest
