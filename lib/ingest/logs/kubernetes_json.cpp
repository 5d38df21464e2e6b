// kubectl cluster-info dump: pods.json and events.json (or `kubectl get -o json`). What a container
// ended with and what the kubelet said about it.
#include <algorithm>
#include <unordered_map>
#include <vector>

#include "ingest/engine/document.hpp"
#include "ingest/engine/events.hpp"
#include "ingest/engine/lenient_json.hpp"
#include "ingest/logs/container_image.hpp"
#include "line/timestamp.hpp"
#include "model/contains.hpp"
#include "rules/restart_parts.hpp"

namespace culprit::ingest {

namespace {

bool sniff_kubernetes_json(const Head& head) {
  const std::string_view name = head.base();
  if (!name.ends_with(".json")) return false;
  const std::string_view top = head.bytes.substr(0, 4096);
  const auto holds = [&](std::string_view word) { return contains(top, word); };
  if (!holds("\"kind\"")) return false;
  return holds("\"PodList\"") || holds("\"EventList\"") || holds("\"involvedObject\"") ||
         (holds("\"apiVersion\"") && (contains(name, "pod") || contains(name, "event")));
}

Timestamp stamp_of(std::string_view iso) {
  Timestamp stamp;
  if (line::parse_iso(iso, stamp) == 0) stamp = {};
  return stamp;
}

class KubernetesRecords {
 public:
  KubernetesRecords(std::string_view bytes, const Tree& tree, const MemberRow& member,
                    Reading& reading)
      : bytes_(bytes), tree_(tree), member_(member), reading_(reading) {
    for (std::size_t at = bytes.find('\n'); at != std::string_view::npos;
         at = bytes.find('\n', at + 1))
      line_ends_.push_back(at);
  }

  // Events carry no line of their own: the place is where `needle` stands first. It is looked for
  // in the item that says it, since a dump holds as many items as a cluster has pods.
  Place place(const std::string& needle) {
    const auto [known, fresh] = places_.try_emplace(needle, Place{member_.id, 1, 0, 0});
    Place& out = known->second;
    const std::size_t at = !fresh || needle.empty() ? std::string_view::npos : item_.find(needle);
    if (at == std::string_view::npos) return out;
    const std::size_t offset = static_cast<std::size_t>(item_.data() - bytes_.data()) + at;
    const auto next = std::ranges::lower_bound(line_ends_, offset);
    const std::size_t begin = next == line_ends_.begin() ? 0 : *(next - 1) + 1;
    const std::size_t end = next == line_ends_.end() ? bytes_.size() : *next;
    out.line = 1 + static_cast<std::uint64_t>(next - line_ends_.begin());
    out.offset = begin;
    out.length = static_cast<std::uint32_t>(std::min<std::size_t>(end - begin, 1u << 20));
    return out;
  }

  void say(const std::string& message, const Timestamp& time, const std::string& host,
           const Place& where, std::uint64_t count) {
    line::Line line;
    line.prefix.time = time;
    if (!host.empty()) line.prefix.host = Host(host);
    line.message = message;
    const auto match = reading_.pack.match(message, "kubernetes");
    if (!match || !reading_.pack.is_event(*match)) return;
    EventRow row = make_event({where, message, line}, *match, reading_);
    row.count = std::max<std::uint64_t>(1, count);
    reading_.sink.put(row);
  }

  void ended(const Value& container, const std::string& host) {
    if (!container.is_dict()) return;
    const std::string reason = text(container, "reason");
    const Timestamp time = stamp_of(text(container, "finishedAt"));
    const std::string id = text(container, "containerID");
    const Place where = place(id.empty() ? reason : id);
    if (!reason.empty()) say("Reason:       " + reason, time, host, where, 1);
    const auto code = tree_.integer(container, "exitCode");
    if (!code) return;
    ExitRow row{.place = where,
                .time = time,
                .source = "kubernetes",
                .code = *code > 128 && *code < 160 ? -(*code - 128) : *code};
    if (!host.empty()) row.host = Host(host);
    reading_.sink.put(row);
  }

  void pod(const Value& item) {
    const std::string host = text(child(item, "spec"), "nodeName");
    if (const std::string name = text(child(item, "metadata"), "name"); !host.empty())
      reading_.sink.put(
          StartMarkRow{.place = place(name),
                       .time = stamp_of(text(child(item, "metadata"), "creationTimestamp")),
                       .part = "allocation",
                       .edge = "begin",
                       .about = name});
    // A pod calls itself by its own name and address: they are the node's, too.
    for (const std::string& other :
         {text(child(item, "metadata"), "name"), text(child(item, "status"), "podIP")})
      if (!host.empty() && !other.empty() && other != host) {
        reading_.sink.put(IdentityRow{
            .place = place(other), .source = "pod", .host = Host(host), .address = other});
      }
    constexpr std::string_view kMain = "containerStatuses";
    for (const std::string_view kind : {std::string_view("initContainerStatuses"), kMain})
      tree_.each(child(child(item, "status"), kind), [&](const Value& status) {
        for (const char* which : {"state", "lastState"})
          ended(child(child(status, which), "terminated"), host);
        const std::string build = text(status, "imageID");
        if (const std::size_t digest = build.find("sha256:");
            kind == kMain && digest != std::string::npos && !host.empty())
          put_image(place(build), text(status, "image"), std::string_view(build).substr(digest),
                    host, reading_);
        return true;
      });
    const std::string message = text(child(item, "status"), "message");
    if (!message.empty()) say(message, {}, host, place(message.substr(0, 40)), 1);
  }

  void event(const Value& item) {
    const std::string message = text(item, "message");
    if (message.empty()) return;
    std::string when = text(item, "lastTimestamp");
    if (when.empty()) when = text(item, "eventTime");
    const std::int64_t count = tree_.integer(item, "count").value_or(1);
    // A node, or a pod, which is another name of its node.
    const Value object = child(item, "involvedObject");
    const std::string kind = text(object, "kind");
    std::string host = text(child(item, "source"), "host");
    if (host.empty() && (kind == "Node" || kind == "node" || kind == "Pod"))
      host = text(object, "name");
    if (const auto mark = rules::restart_line(message))
      reading_.sink.put(StartMarkRow{.place = place(message.substr(0, 40)),
                                     .time = stamp_of(when),
                                     .part = mark->part,
                                     .edge = mark->edge,
                                     .about = text(object, "name"),
                                     .seconds = mark->seconds});
    say(text(item, "type") + "   " + text(item, "reason") + "   " + message, stamp_of(when), host,
        place(message.substr(0, 40)), static_cast<std::uint64_t>(std::max<std::int64_t>(1, count)));
  }

  void item(const Value& one) {
    const Tree::Node& node = tree_.nodes[one.node];
    item_ = bytes_.substr(std::min<std::size_t>(node.offset, bytes_.size()),
                          node.length > 0 ? node.length : std::string_view::npos);
    const std::string kind = text(one, "kind");
    if (kind == "Pod" || (kind.empty() && has(one, "spec")))
      pod(one);
    else if (kind == "Event" || (kind.empty() && has(one, "involvedObject")))
      event(one);
  }

 private:
  std::string text(const Value& object, std::string_view key) const {
    return std::string(tree_.text(object, key));
  }
  Value child(const Value& object, std::string_view key) const { return tree_.find(object, key); }
  bool has(const Value& object, std::string_view key) const {
    return child(object, key).kind != Value::Kind::none;
  }

  std::string_view bytes_;
  const Tree& tree_;
  const MemberRow& member_;
  Reading& reading_;
  std::string_view item_;  // that is being read
  std::vector<std::size_t> line_ends_;
  std::unordered_map<std::string, Place> places_;  // of needles
};

std::string read_kubernetes_json(std::string_view bytes, const MemberRow& member,
                                 Reading& reading) {
  Tree tree;
  read_lenient_json(bytes, tree);
  if (!tree.root.is_dict()) return "kubernetes.not_json";
  reading.cut = tree.truncated;
  KubernetesRecords records(bytes, tree, member, reading);
  if (const Value items = tree.find(tree.root, "items"); items.is_list())
    tree.each(items, [&](const Value& one) {
      if (one.is_dict()) records.item(one);
      return true;
    });
  else
    records.item(tree.root);
  return {};
}

}  // namespace

extern constinit const Document kKubernetesJson{
    "kubernetes-json", "pods.json and events.json of kubectl cluster-info dump", 64u << 20,
    sniff_kubernetes_json, read_kubernetes_json};

}  // namespace culprit::ingest
