// Other names of machines in what kubectl prints: nodes and their addresses; pods and the nodes
// they ran on: kubectl get pods -o wide, kubectl describe pod, kubectl get pods -o yaml. A pod
// calls itself by its own name, its node by another: they are one machine.
#include <algorithm>
#include <span>

#include <re2/re2.h>

#include "ingest/engine/document.hpp"
#include "ingest/engine/recogniser.hpp"
#include "ingest/logs/container_image.hpp"
#include "ingest/engine/setting_lines.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

// Another name of a machine: a pod on it, an address.
void put_name(const Place& place, std::string_view name, std::string_view machine,
              Reading& reading) {
  if (machine.empty() || machine == "<none>" || name.empty() || name == "<none>" || name == machine)
    return;
  reading.sink.put(IdentityRow{.place = place,
                               .source = "pod",
                               .host = Host(machine.substr(0, 253)),
                               .address = std::string(name.substr(0, 253))});
}

// Names and addresses of machines in the columns of a table of kubectl. Columns stand where their
// headings do; "2 (3h ago)" has spaces of its own.
class MachineTable : public Assembler {
 public:
  MachineTable(std::string_view heading, std::string_view machine,
               std::span<const std::string_view> others)
      : headings_(words(heading).size()),
        plain_(!contains(heading, "NOMINATED")),
        machine_(place(heading, machine)) {
    for (const std::string_view other : others)
      if (column(heading, other) != std::string_view::npos)
        others_.push_back(place(heading, other));
  }

  // Of the heading that is this word; npos: there is none.
  static std::size_t column(std::string_view heading, std::string_view name) {
    for (std::size_t at = heading.find(name); at != std::string_view::npos;
         at = heading.find(name, at + 1))
      if ((at == 0 || heading[at - 1] == ' ') &&
          (at + name.size() == heading.size() || heading[at + name.size()] == ' '))
        return at;
    return std::string_view::npos;
  }

  Step feed(const TextLine& line, Reading& reading) override {
    const std::string_view text = line.raw;
    // Without blanks inside of its columns a row has a word for each heading, wherever it stands.
    const std::vector<std::string_view> all = words(text);
    const auto cell = [&](const Column& c) {
      return plain_ && all.size() == headings_ && !contains(text, '(') ? all[c.index]
                                                                       : word(text, c.at);
    };
    const std::string_view machine = cell(machine_);
    std::vector<std::string_view> others;
    for (const Column& other : others_) others.push_back(cell(other));
    if (machine.empty() || machine.find_first_not_of("0123456789./") == std::string_view::npos ||
        std::ranges::any_of(others, [](std::string_view one) { return one.empty(); }))
      return Step::finished;
    for (const std::string_view other : others) put_name(line.place, other, machine, reading);
    return Step::took;
  }
  std::uint64_t most_lines() const override { return 100'000; }

  static std::vector<std::string_view> words(std::string_view text) {
    std::vector<std::string_view> out;
    for (std::size_t at = 0; (at = text.find_first_not_of(" \r", at)) < text.size();) {
      const std::size_t end = std::min(text.find_first_of(" \r", at), text.size());
      out.push_back(text.substr(at, end - at));
      at = end;
    }
    return out;
  }

 private:
  struct Column {
    std::size_t at = 0, index = 0;  // where its heading begins, and its place among them
  };
  static Column place(std::string_view heading, std::string_view name) {
    const std::size_t at = column(heading, name);
    return {at, words(heading.substr(0, at)).size()};
  }

  // The word that begins there, or, in a table that was typed or cut, nearest to it; "": none.
  static std::string_view word(std::string_view text, std::size_t at) {
    constexpr std::size_t kShift = 3;
    const auto begins = [&](std::size_t i) {
      return i < text.size() && text[i] != ' ' && (i == 0 || text[i - 1] == ' ');
    };
    for (std::size_t off = 0; off <= kShift; ++off)
      for (const std::size_t i : {at - std::min(at, off), at + off})
        if (begins(i))
          return text.substr(i, std::min(text.find_first_of(" \r", i), text.size()) - i);
    return {};
  }

  std::size_t headings_;
  bool plain_;  // each heading is one word
  Column machine_;
  std::vector<Column> others_;
};

std::string_view heading_of(const TextLine& line) {
  std::string_view text = line.raw.substr(0, 1024);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

// kubectl get pods -o wide has an IP, columns that somebody chose need not.
Outcome read_pods(const TextLine& line, Reading&) {
  static constexpr std::string_view kNames[] = {"NAME", "IP"};
  const std::string_view text = heading_of(line);
  const auto has = [&](std::string_view name) {
    return MachineTable::column(text, name) != std::string_view::npos;
  };
  if (!has("NAME") || !has("NODE") || !(has("IP") || has("STATUS") || has("READY"))) return {};
  return {true, std::make_unique<MachineTable>(text, "NODE", kNames)};
}

// kubectl get nodes -o wide, with the columns that clouds' distributions or somebody's jsonpath
// add.
Outcome read_nodes(const TextLine& line, Reading&) {
  static constexpr std::string_view kNames[] = {"INTERNAL-IP", "EXTERNAL-IP", "HOSTNAME",
                                                "INSTANCE-ID", "INSTANCE"};
  const std::string_view text = heading_of(line);
  if (MachineTable::column(text, "NAME") != 0) return {};
  return {true, std::make_unique<MachineTable>(text, "NAME", kNames)};
}

// The scheduler's event: "Successfully assigned NAMESPACE/POD to NODE".
Outcome read_assignment(const TextLine& line, Reading& reading) {
  static const re2::RE2 kAssigned(
      R"(Successfully assigned (?:[^\s/]+/)?([^\s/]+) to (\S+?)[".,]?(?:\s|$))");
  std::string pod, node;
  const std::string_view text = std::string_view(line.raw).substr(0, 4096);
  if (!re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), kAssigned, &pod, &node))
    return {};
  put_name(line.place, pod, node, reading);
  return {true};
}

// A table with the node, the image and its digest of each pod, in columns that somebody chose.
class ImageTable : public Assembler {
 public:
  // The first column names the pod.
  ImageTable(std::size_t columns, std::size_t node, std::size_t image)
      : columns_(columns), node_(node), image_(image) {}
  Step feed(const TextLine& line, Reading& reading) override {
    const auto words = MachineTable::words(line.raw);
    const auto digest = std::ranges::find_if(
        words, [](std::string_view word) { return contains(word, "sha256:"); });
    if (words.size() != columns_ || digest == words.end()) return Step::finished;
    put_image(line.place, words[image_], digest->substr(digest->find("sha256:")), words[node_],
              reading);
    put_name(line.place, words.front(), words[node_], reading);
    return Step::took;
  }
  std::uint64_t most_lines() const override { return 100'000; }

 private:
  std::size_t columns_, node_, image_;
};

Outcome read_images(const TextLine& line, Reading&) {
  const auto words = MachineTable::words(line.raw.substr(0, 1024));
  const auto node = std::ranges::find(words, "NODE"), image = std::ranges::find(words, "IMAGE");
  if (node == words.end() || image == words.end() ||
      (words.front() != "POD" && words.front() != "NAME"))
    return {};
  return {true,
          std::make_unique<ImageTable>(words.size(), static_cast<std::size_t>(node - words.begin()),
                                       static_cast<std::size_t>(image - words.begin()))};
}

// The pod of which the lines speak: its name stands before its node.
class Description : public Kept {
 public:
  // One line; true when it told something.
  bool line(const Place& place, std::string_view text, Reading& reading) {
    static const re2::RE2 kImage(R"(^ +(?:Image ID|imageID): +(\S+)@(sha256:[0-9a-f]+))");
    if (std::string image, digest;
        !node_.empty() &&
        re2::RE2::PartialMatch({text.data(), text.size()}, kImage, &image, &digest)) {
      put_image(place, image, digest, node_, reading);
      return true;
    }
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
      put_name(place, name_, node_, reading);
      return true;
    } else if (((key == "IP" && indent.empty()) || key == "podIP") && !node_.empty()) {
      put_name(place, value, node_, reading);
      return true;
    }
    return false;
  }

 private:
  std::string name_, node_, last_name_;
  std::size_t last_indent_ = 0;
};

Outcome read_description(const TextLine& line, Reading& reading) {
  return {reading.keep<Description>().line(line.place, line.raw, reading)};
}

bool sniff_pods_yaml(const Head& head) {
  return (head.base().ends_with(".yaml") || head.base().ends_with(".yml")) &&
         (head.bytes.starts_with("apiVersion:") || head.bytes.starts_with("- metadata:") ||
          head.bytes.starts_with("items:")) &&
         (head.has("kind: Pod\n") || head.has("\n    nodeName: "));
}

std::string read_pods_yaml(std::string_view bytes, const MemberRow& member, Reading& reading) {
  Description description;
  each_text_line(bytes, [&](std::string_view text, std::uint64_t number, std::size_t offset) {
    description.line(line_place(member, number, offset, text), text, reading);
  });
  return {};
}

constexpr std::string_view kImageWords[] = {" IMAGE "};
constexpr std::string_view kPodWords[] = {"RESTARTS"};
constexpr std::string_view kNodeWords[] = {"INTERNAL-IP"};
constexpr std::string_view kAssignedWords[] = {"Successfully assigned "};
constexpr std::string_view kDescriptionWords[] = {"Node:   "};

}  // namespace

extern constinit const Recogniser kImageTable{
    "image-table", "kubectl get pods: node, image and digest of each pod", kImageWords,
    read_images};
extern constinit const Recogniser kPodTable{
    "pod-table", "kubectl get pods -o wide: the node of each pod", kPodWords, read_pods};
extern constinit const Recogniser kNodeTable{
    "node-table", "kubectl get nodes -o wide: addresses and instances of nodes", kNodeWords,
    read_nodes};
extern constinit const Recogniser kPodDescription{
    "pod-description", "kubectl describe pod: the node of each pod", kDescriptionWords,
    read_description, "kubernetes"};
extern constinit const Recogniser kPodAssignment{"pod-assignment",
                                                 "the Kubernetes scheduler's word of a pod's node",
                                                 kAssignedWords, read_assignment};
extern constinit const Document kPodsYaml{"pods-yaml",
                                          "kubectl get pods -o yaml: the node of each pod",
                                          64u << 20, sniff_pods_yaml, read_pods_yaml};

}  // namespace culprit::ingest
