// kubectl cluster-info dump: pods.json and events.json (or `kubectl get -o json`). What a container
// ended with and what the kubelet said about it.

#include "ingest/engine/document.hpp"
#include "ingest/engine/events.hpp"
#include "line/timestamp.hpp"
#include "model/json.hpp"

namespace culprit::ingest {

namespace {

using nlohmann::json;

bool sniff(const Head& head) {
  const std::string_view name = head.base();
  if (!name.ends_with(".json")) return false;
  const std::string_view top = head.bytes.substr(0, 4096);
  return top.find("\"kind\"") != std::string_view::npos &&
         top.find("\"apiVersion\"") != std::string_view::npos &&
         (name.find("pod") != std::string_view::npos ||
          name.find("event") != std::string_view::npos ||
          top.find("\"PodList\"") != std::string_view::npos ||
          top.find("\"EventList\"") != std::string_view::npos);
}

std::string text(const json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string{};
}

const json& child(const json& object, const char* key) {
  static const json kNone;
  if (!object.is_object()) return kNone;
  const auto it = object.find(key);
  return it == object.end() ? kNone : *it;
}

Timestamp stamp_of(const std::string& iso) {
  Timestamp stamp;
  if (line::parse_iso(iso, stamp) == 0) stamp = {};
  return stamp;
}

class Records {
 public:
  Records(std::string_view bytes, const MemberRow& member, Reading& reading)
      : bytes_(bytes), member_(member), reading_(reading) {}

  // Events carry no line of their own: the place is where `needle` stands first.
  Place place(const std::string& needle) const {
    const std::size_t at = needle.empty() ? std::string_view::npos : bytes_.find(needle);
    if (at == std::string_view::npos) return {member_.id, 1, 0, 0};
    const std::size_t begin =
        bytes_.rfind('\n', at) == std::string_view::npos ? 0 : bytes_.rfind('\n', at) + 1;
    const std::size_t end = std::min(bytes_.find('\n', at), bytes_.size());
    return {member_.id,
            1 + static_cast<std::uint64_t>(std::count(
                    bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(at), '\n')),
            begin, static_cast<std::uint32_t>(std::min<std::size_t>(end - begin, 1u << 20))};
  }

  void say(const std::string& message, const Timestamp& time, const std::string& host,
           const Place& where, std::uint64_t count) {
    line::Line line;
    line.prefix.time = time;
    if (!host.empty()) line.prefix.host = host;
    line.message = message;
    const auto match = reading_.pack.match(message, "kubernetes");
    if (!match || !reading_.pack.is_event(*match)) return;
    EventRow row = make_event({where, message, line}, *match, reading_);
    row.count = std::max<std::uint64_t>(1, count);
    reading_.sink.put(row);
  }

  void pod(const json& item) {
    const std::string host = text(child(item, "spec"), "nodeName");
    // A pod calls itself by its own name and address: they are the node's, too.
    for (const std::string& other :
         {text(child(item, "metadata"), "name"), text(child(item, "status"), "podIP")})
      if (!host.empty() && !other.empty() && other != host) {
        IdentityRow row;
        row.place = place(other);
        row.source = "pod";
        row.host = host;
        row.address = other;
        reading_.sink.put(row);
      }
    for (const char* kind : {"initContainerStatuses", "containerStatuses"})
      for (const json& status : child(child(item, "status"), kind))
        for (const char* which : {"state", "lastState"}) {
          const json& ended = child(child(status, which), "terminated");
          if (!ended.is_object()) continue;
          const std::string reason = text(ended, "reason");
          const Timestamp time = stamp_of(text(ended, "finishedAt"));
          const std::string id = text(ended, "containerID");
          const Place where = place(id.empty() ? reason : id);
          if (!reason.empty()) say("Reason:       " + reason, time, host, where, 1);
          const json& code = child(ended, "exitCode");
          if (!code.is_number_integer()) continue;
          ExitRow row;
          row.place = where;
          row.time = time;
          row.source = "kubernetes";
          row.code = code.get<std::int64_t>();
          if (row.code > 128 && row.code < 160) row.code = -(row.code - 128);
          if (!host.empty()) row.host = host;
          reading_.sink.put(row);
        }
    const std::string message = text(child(item, "status"), "message");
    if (!message.empty()) say(message, {}, host, place(message.substr(0, 40)), 1);
  }

  void event(const json& item) {
    const std::string message = text(item, "message");
    if (message.empty()) return;
    std::string when = text(item, "lastTimestamp");
    if (when.empty()) when = text(item, "eventTime");
    const json& count = child(item, "count");
    say(text(item, "type") + "   " + text(item, "reason") + "   " + message, stamp_of(when),
        text(child(item, "source"), "host"), place(message.substr(0, 40)),
        count.is_number_unsigned() ? count.get<std::uint64_t>() : 1);
  }

  void item(const json& one) {
    const std::string kind = text(one, "kind");
    if (kind == "Pod" || (kind.empty() && one.contains("spec")))
      pod(one);
    else if (kind == "Event" || (kind.empty() && one.contains("involvedObject")))
      event(one);
  }

 private:
  std::string_view bytes_;
  const MemberRow& member_;
  Reading& reading_;
};

std::string read(std::string_view bytes, const MemberRow& member, Reading& reading) {
  const json document = json::parse(bytes.begin(), bytes.end(), nullptr, false);
  if (!document.is_object()) return "kubernetes.not_json";
  Records records(bytes, member, reading);
  if (const json& items = child(document, "items"); items.is_array()) {
    for (const json& one : items)
      if (one.is_object()) records.item(one);
  } else {
    records.item(document);
  }
  return {};
}

}  // namespace

extern const Document kKubernetesJson;
constinit const Document kKubernetesJson{"kubernetes-json",
                                         "pods.json and events.json of kubectl cluster-info dump",
                                         64u << 20, sniff, read};

}  // namespace culprit::ingest
