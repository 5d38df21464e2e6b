#include "line/wrapper.hpp"

#include <array>
#include <span>

#include <fmt/format.h>

#include "line/digit.hpp"
#include "line/loose_time.hpp"
#include "line/timestamp.hpp"
#include "model/contains.hpp"
#include "model/json.hpp"
#include "model/number.hpp"
#include "model/word_list.hpp"

namespace culprit::line {

namespace {

std::optional<std::string> text_of(const nlohmann::json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end()) return std::nullopt;
  if (it->is_string()) return it->get<std::string>();
  if (it->is_number_integer()) return std::to_string(it->get<std::int64_t>());
  if (it->is_array()) {  // journald writes a field that is not UTF-8 as an array of bytes
    std::string bytes;
    for (const auto& byte : *it) {
      if (!byte.is_number_unsigned() || byte.get<std::uint64_t>() > 255) return std::nullopt;
      bytes.push_back(static_cast<char>(byte.get<std::uint64_t>()));
    }
    return bytes;
  }
  return std::nullopt;
}

std::optional<std::int64_t> integer_of(const nlohmann::json& object, const char* key) {
  const auto text = text_of(object, key);
  if (!text) return std::nullopt;
  std::size_t used = 0;
  std::int64_t value = 0;
  if (!parse_digits(*text, used, value) || used != text->size()) return std::nullopt;
  return value;
}

// A member of nested objects, "kubernetes.node.name"; also where the key itself has the dots.
const nlohmann::json* at_path(const nlohmann::json& object, std::string_view path) {
  if (!object.is_object()) return nullptr;
  if (const auto it = object.find(std::string(path)); it != object.end()) return &*it;
  const std::size_t dot = path.find('.');
  if (dot == std::string_view::npos) return nullptr;
  const auto it = object.find(std::string(path.substr(0, dot)));
  return it == object.end() ? nullptr : at_path(*it, path.substr(dot + 1));
}

std::string first_text(const nlohmann::json& object, std::span<const std::string_view> paths) {
  for (const std::string_view path : paths)
    if (const nlohmann::json* found = at_path(object, path);
        found != nullptr && found->is_string() && !found->get_ref<const std::string&>().empty())
      return found->get<std::string>();
  return {};
}

// Seconds, milliseconds, microseconds or nanoseconds since 1970: their sizes tell them apart until
// the year 5138.
Timestamp of_epoch(double value) {
  if (!(value >= 1e8) || value >= 9.2e18) return {};
  const double unit = value < 1e11 ? 1e9 : value < 1e14 ? 1e6 : value < 1e17 ? 1e3 : 1;
  return {Clock::utc, static_cast<Nanoseconds>(value * unit),
          unit >= 1e9 ? kSecond : static_cast<Nanoseconds>(unit)};
}

Timestamp of_digits(std::string_view text) {
  std::int64_t value = 0;
  if (!parse_whole(text, value) || value < 100'000'000) return {};
  std::int64_t unit = 1;
  if (value < 100'000'000'000)
    unit = kSecond;
  else if (value < 100'000'000'000'000)
    unit = 1'000'000;
  else if (value < 100'000'000'000'000'000)
    unit = 1'000;
  return {Clock::utc, value * unit, unit};
}

Timestamp stamp_of(const nlohmann::json& value) {
  if (value.is_number_integer()) return of_digits(std::to_string(value.get<std::int64_t>()));
  if (value.is_number_float()) return of_epoch(value.get<double>());
  if (!value.is_string()) return {};
  const std::string& text = value.get_ref<const std::string&>();
  Timestamp stamp = of_digits(text);
  if (stamp.clock == Clock::none && parse_iso(text, stamp) == 0) {
    const LooseTime loose = parse_loose(text, stamp);  // "11.09.2025 11:52:35"
    if (!loose.sure || loose.used != text.size()) stamp = {};
  }
  return stamp;
}

Timestamp export_time(const nlohmann::json& object) {
  static constexpr auto kTimes = list_of([] {
    return "timestamp @timestamp time ts Timestamp date _source.@timestamp _source.timestamp "
           "attributes.timestamp EventTimestamp Created receiveTimestamp";
  });
  for (const std::string_view path : kTimes)
    if (const nlohmann::json* found = at_path(object, path))
      if (const Timestamp stamp = stamp_of(*found); stamp.clock != Clock::none) return stamp;
  for (const auto& [key, value] : object.items())
    if (names_moment(key))
      if (const Timestamp stamp = stamp_of(value); stamp.clock != Clock::none) return stamp;
  return {};
}

// Where the exports of log stores keep what, the most reliable place first.
constexpr auto kExportTexts = list_of([] {
  return "line textPayload jsonPayload.message jsonPayload.MESSAGE jsonPayload.log @message "
         "message Message log msg body _source.message _source.log attributes.message "
         "content.message text meldung nachricht mensaje mensagem";
});
constexpr auto kExportHosts = list_of([] {
  return "resource.labels.node_name labels.compute.googleapis.com/resource_name "
         "labels.k8s.io/node-name kubernetes.node.name kubernetes.node_name kubernetes.host "
         "labels.node_name labels.node labels.hostname labels.host stream.node_name "
         "stream.node stream.hostname stream.host _source.kubernetes.node.name "
         "_source.host.name _source.host.hostname _source.hostname _source.agent.hostname "
         "host.name host.hostname hostname host agent.hostname attributes.host "
         "jsonPayload._HOSTNAME node labels.instance stream.instance rechner knoten nodo noeud "
         "servidor machine";
});
constexpr auto kExportPods = list_of([] {
  return "resource.labels.pod_name kubernetes.pod.name kubernetes.pod_name labels.pod "
         "labels.pod_name stream.pod stream.pod_name _source.kubernetes.pod.name pod";
});
constexpr auto kExportStreams = list_of([] {
  return "resource.labels.container_name kubernetes.container.name kubernetes.container_name "
         "labels.container stream.container labels.filename stream.filename log.file.path "
         "_source.log.file.path logStreamName @logStream logName stream";
});
constexpr auto kExportUnits = list_of([] {
  return "jsonPayload.SYSLOG_IDENTIFIER syslog.identifier syslog.appname process.name "
         "labels.unit stream.unit labels.transport stream.transport journald.transport "
         "_source.journald.transport labels.job stream.job";
});
constexpr auto kExportClusters = list_of([] {
  return "labels.cluster labels.cluster_name stream.cluster stream.cluster_name "
         "resource.labels.cluster_name kubernetes.cluster orchestrator.cluster.name "
         "attributes.cluster cluster cluster_name";
});
constexpr std::string_view kExportRanks[] = {
    "rank",       "global_rank",       "labels.rank",  "stream.rank", "attributes.rank",
    "extra.rank", "record.extra.rank", "context.rank", "fields.rank", "jsonPayload.rank"};
constexpr std::string_view kEvents[] = {"event", "evt"};
// When and by which process a record was written.
constexpr std::string_view kRecordKeys[] = {"time", "ts", "timestamp", "@timestamp", "date", "pid"};
constexpr std::string_view kExportLogStreams[] = {"logStreamName", "@logStream"};

// The machine of a record: as its labels name it, else its pod, else the stream of CloudWatch's
// agent, which is named after the machine unless it was configured otherwise.
std::string export_host(const nlohmann::json& object, const std::string& pod) {
  std::string host = first_text(object, kExportHosts);
  if (const std::size_t colon = host.rfind(':');
      colon != std::string::npos && host.find(':') == colon)
    host.resize(colon);  // "10.0.0.7:9100" of an instance
  if (host.empty()) host = pod;
  if (!host.empty()) return host;
  std::string stream = first_text(object, kExportLogStreams);
  if (stream.size() <= 64 && stream.find_first_of("/ []") == std::string::npos &&
      stream.find_first_of("0123456789") != std::string::npos)
    return stream;
  return {};
}

// A number, or one in quotes, as labels are.
std::optional<Rank> export_rank(const nlohmann::json& object) {
  constexpr std::int64_t kLargest = 10'000'000;
  for (const std::string_view path : kExportRanks) {
    const nlohmann::json* found = at_path(object, path);
    if (found == nullptr) continue;
    std::int64_t rank = -1;
    if (found->is_number_integer())
      rank = found->get<std::int64_t>();
    else if (!found->is_string() || !parse_whole(found->get_ref<const std::string&>(), rank))
      continue;
    if (rank >= 0 && rank < kLargest) return Rank(rank);
  }
  return std::nullopt;
}

// An audit record of Google Cloud has no text: what was done, to what, and how that went.
std::string audited(const nlohmann::json& object) {
  std::string out;
  for (const std::string_view path :
       {"protoPayload.methodName", "protoPayload.resourceName", "protoPayload.status.message"}) {
    const nlohmann::json* part = at_path(object, path);
    if (part == nullptr || !part->is_string()) continue;
    if (!out.empty()) out += ' ';
    out += part->get_ref<const std::string&>();
  }
  return out;
}

constexpr std::size_t kLongestField = 4096, kLongestLines = 65'536;

// A text, or a list of lines, as programs write a traceback. Empty: neither.
std::string lines_of(const nlohmann::json& value) {
  std::string out;
  if (value.is_string() && value.get_ref<const std::string&>().size() <= kLongestLines)
    return value.get<std::string>();
  if (!value.is_array()) return {};
  for (const auto& line : value) {
    if (!line.is_string() || out.size() > kLongestLines) return {};
    if (!out.empty() && !out.ends_with('\n')) out += '\n';
    out += line.get_ref<const std::string&>();
  }
  return out;
}

// " key=value"; of an object its members, "error.type=OSError".
void add_field(const std::string& key, const nlohmann::json& value, std::string& out) {
  constexpr std::size_t kMostMembers = 8;
  if (value.is_string() && value.get_ref<const std::string&>().size() <= kLongestField) {
    out += fmt::format(" {}={}", key, value.get_ref<const std::string&>());
  } else if (value.is_number() || value.is_boolean()) {
    out += fmt::format(" {}={}", key, value.dump());
  } else if (value.is_object() && value.size() <= kMostMembers) {
    for (const auto& [name, member] : value.items())
      if (!member.is_structured()) add_field(key + "." + name, member, out);
  }
}

// What a logger keeps of an exception beside its message: the lines of the traceback.
constexpr auto kExceptions = list_of([] {
  return "exc_info exc_text exception traceback stack_trace stacktrace error.stack_trace "
         "exc.stack error.stack trace jsonPayload.exc_info attributes.exception.stacktrace "
         "_source.error.stack_trace record.exception.text";
});
// Without its traceback it is one line, under whatever key: "exc": "OSError: [Errno 28] No space".
constexpr std::string_view kErrors[] = {"error", "err", "exc", "cause", "error_message"};
bool is_exception(std::string_view text) {
  const std::size_t colon = text.find(": ");
  const std::string_view name = text.substr(0, colon);
  return colon != std::string_view::npos &&
         std::ranges::all_of(name,
                             [](char c) { return alpha(c) || digit(c) || c == '.' || c == '_'; }) &&
         (name.ends_with("Error") || name.ends_with("Exception") || name.ends_with("Failure"));
}
// A record of an error; others tell of what was tried again, or of what a model wrote.
bool is_of_error(const nlohmann::json& object) {
  constexpr std::string_view kLevels[] = {"level", "lvl", "levelname", "severity", "log_level"};
  constexpr std::string_view kErrorLevels[] = {"err",   "error", "crit",  "critical",
                                               "fatal", "emerg", "alert", "panic"};
  for (const std::string_view key : kLevels)
    if (const auto at = object.find(key); at != object.end() && at->is_string()) {
      std::string level = at->get<std::string>();
      for (char& c : level)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
      return contains(kErrorLevels, std::string_view(level));
    }
  return false;
}
bool tells_of_before(std::string_view key) {
  return key.starts_with("last") || key.starts_with("prev") || key.starts_with("old");
}
void add_exception(const nlohmann::json& object, std::string& message) {
  for (const std::string_view path : kExceptions)
    if (const nlohmann::json* found = at_path(object, path))
      if (const std::string lines = lines_of(*found); !lines.empty() && !contains(message, lines)) {
        message += '\n' + lines;
        return;
      }
  if (!is_of_error(object)) return;
  for (const auto& [key, value] : object.items()) {
    if (tells_of_before(key) || !value.is_string() ||
        value.get_ref<const std::string&>().size() > kLongestField)
      continue;
    const std::string& text = value.get_ref<const std::string&>();
    if (!text.empty() && (is_exception(text) || contains(kErrors, std::string_view(key))) &&
        !contains(message, text))
      message += '\n' + text;
  }
}

// What happened is a word, as structlog and home-made loggers record it, and its fields stand
// beside:
// {"event": "step", "n": 9000, "loss": 2.58}, {"event": "exception", "exc": "OSError: ..."}.
std::string happened(const nlohmann::json& object) {
  constexpr std::size_t kMostFields = 48;
  constexpr std::array<std::string_view, 6> kSteps{"step",      "train_step", "training_step",
                                                   "iteration", "iter",       "train_iter"};
  constexpr std::array<std::string_view, 5> kNumbers{"n", "num", "number", "index", "i"};
  std::string out = first_text(object, kEvents);
  if (out.empty() || out.size() > kLongestField) return {};
  if (contains(kSteps, std::string_view(out)))
    for (const std::string_view key : kNumbers)
      if (const auto at = object.find(key); at != object.end() && at->is_number_integer()) {
        out = fmt::format("step {}", at->get<std::int64_t>());
        break;
      }
  std::size_t fields = 0;
  std::string behind;
  for (const auto& [key, value] : object.items()) {
    const std::string_view name = key;
    if (contains(kEvents, name) || contains(kRecordKeys, name) || contains(kExportRanks, name) ||
        contains(kExportHosts, name) || ++fields > kMostFields)
      continue;
    if (std::string lines = lines_of(value); contains(lines, '\n'))
      behind += '\n' + lines;
    else
      add_field(key, value, out);
  }
  return out + behind;
}

// "step 120" of a logger that keeps its figures beside the message: with them, as others print it.
void add_figures(const nlohmann::json& object, std::string& message) {
  constexpr std::size_t kLongest = 40, kMostFigures = 12;
  std::size_t at = 0;
  for (const std::string_view word : {"step", "Step", "iteration", "Iteration", "iter", "Iter"})
    if (message.starts_with(word)) at = word.size();
  if (at == 0 || message.size() > kLongest || message.find_first_of("0123456789", at) > at + 2)
    return;
  std::size_t figures = 0;
  for (const auto& [key, value] : object.items()) {
    if (!value.is_number() || key.size() > kLongest || figures == kMostFigures) continue;
    if (contains(kExportRanks, std::string_view(key)) ||
        contains(kRecordKeys, std::string_view(key)))
      continue;
    message += fmt::format(" {}={}", key, value.dump());
    ++figures;
  }
}

// One record of a log store's export: Loki, CloudWatch, Cloud Logging, Elasticsearch, Fluent Bit,
// Vector, Datadog, or a program that logs in JSON. There must be a text and a time.
std::optional<std::string> unwrap_export(const nlohmann::json& object, Prefix& prefix) {
  std::string message = first_text(object, kExportTexts);
  if (message.empty()) message = audited(object);
  const bool event = message.empty();
  if (event) message = happened(object);
  const Timestamp time = export_time(object);
  if (message.empty() || time.clock == Clock::none) return std::nullopt;
  prefix.time = time;
  const std::string pod = first_text(object, kExportPods);
  const std::string host = export_host(object, pod);
  if (!host.empty() && host.size() <= 253) prefix.host = Host(host);
  prefix.rank = export_rank(object);
  prefix.cluster = first_text(object, kExportClusters);
  if (!event) {
    add_figures(object, message);
    add_exception(object, message);
  }
  prefix.stream = (pod.empty() ? host : pod) + "/" + first_text(object, kExportStreams);
  const std::string unit = first_text(object, kExportUnits);
  if (unit == "kernel" || unit == "kern" || unit == "dmesg") {
    prefix.kernel = true;
    prefix.unit = "kernel";
  }
  return message;
}

// What an API server of Kubernetes or Nomad was asked, by whom: the record itself is the message.
std::optional<std::string> unwrap_audit(std::string_view text, Prefix& prefix) {
  const nlohmann::json object = parse_json(text);
  if (!object.is_object()) return std::nullopt;
  for (const char* key : {"requestReceivedTimestamp", "stageTimestamp", "created_at"})
    if (const auto time = text_of(object, key); time && parse_iso(*time, prefix.time) > 0)
      return std::string(text);
  prefix.time = {};
  return std::nullopt;
}

}  // namespace

bool may_be_export(std::string_view text) {
  const auto has = [&](std::string_view word) { return contains(text, word); };
  return (has("\"message\"") || has("\"Message\"") || has("\"line\"") || has("\"textPayload\"") ||
          has("\"log\"") || has("\"msg\"") || has("Payload\"") || has("\"@message\"") ||
          has("\"body\"") || has("\"event\"") || has("\"evt\"") || has("\"text\"") ||
          has("\"meldung\"") || has("\"nachricht\"") || has("\"mensaje\"") ||
          has("\"mensagem\"")) &&
         (has("time") || has("\"Created\"") || has("\"ts\"") || has("\"date\"") || has("Time") ||
          has("\"zeit") || has("\"uhrzeit") || has("\"hora\"") || has("\"fecha") ||
          has("\"heure\"") || has("\"horodatage\""));
}

std::optional<std::string> unwrap(std::string_view text, Prefix& prefix) {
  if (contains(text, "\"audit.k8s.io/") ||
      (contains(text, "\"event_type\": \"audit\"") && contains(text, "\"created_at\"")))
    return unwrap_audit(text, prefix);
  const bool docker = contains(text, "\"log\"") && contains(text, "\"stream\"");
  const bool journald = !docker && contains(text, "\"MESSAGE\"");
  const bool exported = docker || journald || may_be_export(text);
  if (!exported && !contains(text, "\"host") && !contains(text, "\"node\"") &&
      !contains(text, "\"rank\""))
    return std::nullopt;
  const nlohmann::json object = parse_json(text);
  if (!object.is_object()) return std::nullopt;
  if (!exported) {  // whose it is, it says all the same
    if (const std::string host = export_host(object, {}); !host.empty() && host.size() <= 253)
      prefix.host = Host(host);
    prefix.rank = export_rank(object);
    return std::nullopt;
  }
  if (!docker && (!journald || !object.contains("MESSAGE"))) return unwrap_export(object, prefix);
  if (docker) {
    auto log = text_of(object, "log");
    if (auto stream = text_of(object, "stream"); stream && stream->size() <= 16)
      prefix.stream = std::move(*stream);
    Timestamp stamp;
    if (const auto time = text_of(object, "time"); time && parse_iso(*time, stamp) > 0)
      prefix.time = stamp;
    return log;
  }
  auto message = text_of(object, "MESSAGE");
  if (!message) return std::nullopt;
  // The source's own time is nearer to the event than the time of reception.
  auto us = integer_of(object, "_SOURCE_REALTIME_TIMESTAMP");
  if (!us) us = integer_of(object, "__REALTIME_TIMESTAMP");
  if (us && *us < 9'000'000'000'000'000LL) prefix.time = {Clock::utc, *us * 1'000, 1'000};
  if (const auto boot = integer_of(object, "_SOURCE_MONOTONIC_TIMESTAMP");
      boot && *boot < 9'000'000'000'000'000LL)
    prefix.boot = Timestamp{Clock::boot, *boot * 1'000, 1'000};
  if (auto host = text_of(object, "_HOSTNAME"); host && !host->empty())
    prefix.host = Host(std::move(*host));
  if (auto pid = integer_of(object, "_PID")) prefix.pid = *pid;
  if (auto unit = text_of(object, "SYSLOG_IDENTIFIER")) prefix.unit = std::move(*unit);
  if (auto transport = text_of(object, "_TRANSPORT")) prefix.kernel = *transport == "kernel";
  return message;
}

}  // namespace culprit::line
