#include "redaction.hpp"

#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "bundle/tar_writer.hpp"
#include "ingest/collectives/pickle.hpp"
#include "model/contains.hpp"
#include "model/json.hpp"
#include "store/rewrite.hpp"

namespace culprit::diagnose {

namespace {

constexpr std::size_t kMostLine = 1u << 20;  // bytes of a line that are changed at a time
constexpr std::size_t kMostPickle = 256u << 20;
constexpr std::size_t kHead = 64u << 10;  // of a file, to tell whether it is text

// Lines of a text as they come, each with its end.
class Lines {
 public:
  explicit Lines(std::function<void(std::string_view)> tell) : tell_(std::move(tell)) {}
  void add(std::string_view bytes) {
    rest_.append(bytes);
    std::size_t at = 0;
    for (std::size_t end; (end = rest_.find('\n', at)) != std::string::npos; at = end + 1)
      tell_(std::string_view(rest_).substr(at, end + 1 - at));
    rest_.erase(0, at);
    if (rest_.size() > kMostLine) finish();
  }
  void finish() {
    if (!rest_.empty()) tell_(rest_);
    rest_.clear();
  }

 private:
  std::function<void(std::string_view)> tell_;
  std::string rest_;
};

// A pickle without a NUL in its head is one all the same.
bool is_binary(std::string_view head) {
  return (!head.empty() && head[0] == '\x80') || contains(head.substr(0, kHead), '\0');
}

// A pickle of numbers and names as JSON, which the readers of pickles take as well: names in it can
// change their length. A container may stand in many places: what would be far longer than the
// pickle is none.
class AsJson {
 public:
  AsJson(const ingest::Tree& tree, std::size_t most) : tree_(tree), most_(most) {}
  std::optional<std::string> operator()() {
    put(tree_.root, 0);
    return out_.size() > most_ || !good_ ? std::nullopt : std::optional(out_ + "\n");
  }

 private:
  static constexpr int kMostDepth = 64;
  void put(const ingest::Value& v, int depth) {
    using Kind = ingest::Value::Kind;
    if (depth > kMostDepth || out_.size() > most_) {
      good_ = false;
      return;
    }
    switch (v.kind) {
      case Kind::none: out_ += "null"; return;
      case Kind::boolean: out_ += v.integer != 0 ? "true" : "false"; return;
      case Kind::integer: out_ += std::to_string(v.integer); return;
      case Kind::real: out_ += std::isfinite(v.real) ? fmt::format("{}", v.real) : "null"; return;
      case Kind::text: text(v.text()); return;
      case Kind::list: {
        out_ += '[';
        bool first = true;
        tree_.each(v, [&](const ingest::Value& one) {
          if (!first) out_ += one.is_dict() ? ",\n" : ", ";
          first = false;
          put(one, depth + 1);
          return good_;
        });
        out_ += ']';
        return;
      }
      case Kind::dict: {
        out_ += '{';
        bool first = true;
        tree_.each_pair(v, [&](const ingest::Value& key, const ingest::Value& value) {
          if (!first) out_ += ", ";
          first = false;
          if (key.kind == Kind::text)
            text(key.text());
          else if (key.kind == Kind::integer)
            text(std::to_string(key.integer));
          else
            good_ = false;
          out_ += ": ";
          put(value, depth + 1);
          return good_;
        });
        out_ += '}';
        return;
      }
    }
  }
  void text(std::string_view text) {
    out_ += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  const ingest::Tree& tree_;
  std::size_t most_;
  std::string out_;
  bool good_ = true;
};

std::optional<std::string> pickle_as_json(std::string_view bytes) {
  ingest::Tree tree;
  ingest::read_pickle(bytes, tree);
  if (tree.truncated || !tree.problem.empty() || !(tree.root.is_dict() || tree.root.is_list()))
    return std::nullopt;
  return AsJson(tree, 64 * bytes.size() + 4096)();
}

// The members of a bundle as texts; sections are put together again.
class Walker : public bundle::Visitor {
 public:
  bool begin(const bundle::MemberHead& head) override {
    const std::string path = head.section ? head.container : head.path;
    if (!open_ || !head.section || path != path_) {
      close();
      open_ = true;
      path_ = path;
      head_.clear();
      known_ = false;
      start(path, head.mtime_s);
    }
    section_ = head.section;
    return true;
  }
  void data(std::string_view bytes) override {
    if (known_) {
      if (!binary_)
        text(bytes);
      else if (!pickle_.empty() && pickle_.size() < kMostPickle)
        pickle_.append(bytes);
      return;
    }
    head_.append(bytes);
    if (head_.size() >= kHead) decide();
  }
  void end(const bundle::MemberEnd&) override {
    if (!section_) close();
  }
  void note(const bundle::MemberHead&) override {}
  void problem(const bundle::Problem&) override {}
  void close() {
    if (!open_) return;
    if (!known_) decide();
    if (binary_ && !pickle_.empty() && pickle_.size() < kMostPickle)
      if (const auto converted = pickle_as_json(pickle_)) {
        text(*converted);
        binary_ = false;
      }
    pickle_.clear();
    closed(binary_);
    open_ = false;
  }

 protected:
  virtual void start(const std::string& path, std::int64_t mtime_s) = 0;
  virtual void text(std::string_view bytes) = 0;
  virtual void closed(bool binary) = 0;

 private:
  void decide() {
    known_ = true;
    binary_ = is_binary(head_);
    if (binary_ && head_[0] == '\x80') pickle_ = head_;
    if (!binary_ && !head_.empty()) text(head_);
    head_.clear();
  }
  bool open_ = false, known_ = false, binary_ = false, section_ = false;
  std::string path_, head_, pickle_;
};

class Collector : public Walker {
 public:
  explicit Collector(redact::Pseudonyms& names)
      : names_(names), lines_([this](std::string_view line) { names_.collect(line); }) {}

 protected:
  void start(const std::string& path, std::int64_t) override { names_.collect(path); }
  void text(std::string_view bytes) override { lines_.add(bytes); }
  void closed(bool) override { lines_.finish(); }

 private:
  redact::Pseudonyms& names_;
  Lines lines_;
};

// How long a member becomes is known when it has been changed: it waits in a file of its own until
// then.
class Writer : public Walker {
 public:
  Writer(const redact::Pseudonyms& names, bundle::TarWriter& tar, RedactedBundle& out)
      : names_(names), tar_(tar), out_(out), lines_([this](std::string_view line) {
          const std::string changed = names_.text(line);
          if (spool_ &&
              std::fwrite(changed.data(), 1, changed.size(), spool_.get()) != changed.size())
            fault("cannot write a temporary file");
          size_ += changed.size();
        }) {}
  Result<> health() const {
    return fault_.empty() ? Result<>{}
                          : Result<>(fail(fault_).hint(
                                "is there room in the folder of temporary files (TMPDIR)?"));
  }
  bool stop() override { return !fault_.empty(); }

 protected:
  void start(const std::string& path, std::int64_t mtime_s) override {
    path_ = path;
    mtime_s_ = mtime_s;
    size_ = 0;
    spool_.reset(std::tmpfile());
    if (!spool_) fault("cannot make a temporary file");
  }
  void text(std::string_view bytes) override { lines_.add(bytes); }
  void closed(bool binary) override {
    lines_.finish();
    if (binary) {
      out_.left_out.push_back(path_);
      return;
    }
    if (!spool_ || !fault_.empty()) return;
    const auto check = [&](const Result<>& r) {
      if (!r) fault(r.error().what);
      return r.has_value();
    };
    if (!check(tar_.add(names_.text(path_), mtime_s_, size_))) return;
    std::rewind(spool_.get());
    char buffer[1 << 16];
    for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, spool_.get())) > 0;)
      if (!check(tar_.data({buffer, n}))) return;
    ++out_.members;
    spool_.reset();
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  void fault(std::string what) {
    if (fault_.empty()) fault_ = std::move(what);
  }
  const redact::Pseudonyms& names_;
  bundle::TarWriter& tar_;
  RedactedBundle& out_;
  Lines lines_;
  std::string path_, fault_;
  std::int64_t mtime_s_ = 0;
  std::uint64_t size_ = 0;
  std::unique_ptr<std::FILE, Close> spool_;
};

}  // namespace

void name_known(const analyze::Facts& facts, redact::Pseudonyms& names) {
  for (const HostRow& h : facts.hosts) names.add_host(h.host);
  for (const IdentityRow& row : facts.identities)
    if (row.host) names.add_host(*row.host);
  for (const MemberRow& m : facts.members)
    if (m.host) names.add_host(*m.host);
  if (facts.manifest) {
    names.add_job(facts.manifest->job);
    for (const Host& host : facts.manifest->hosts) names.add_host(host);
    for (const auto& [host, addresses] : facts.manifest->addresses) names.add_host(host);
  }
  for (const ConfigRow& row : facts.configs) names.collect_setting(row.name, row.value);
}

Result<> redact_database(const std::string& from, const std::string& to,
                         redact::Pseudonyms& names) {
  CULPRIT_CHECK(store::visit_texts(
      from, [&](const store::StoredText& t) { names.collect_setting(t.name, t.text); }));
  names.seal();
  return store::copy_changed(from, to, [&](const store::StoredText& t) {
    return t.name.empty() ? names.text(t.text) : names.setting(t.name, t.text);
  });
}

Result<RedactedBundle> redact_bundle(const std::string& from, const std::string& to,
                                     const bundle::Limits& limits, redact::Pseudonyms& names) {
  if (from == "-")
    return usage_error("standard input cannot be redacted: a bundle is read twice")
        .hint("name a file or a folder");
  Collector collector(names);
  CULPRIT_CHECK(bundle::walk(from, limits, collector));
  collector.close();
  names.seal();
  RedactedBundle out;
  CULPRIT_TRY(tar, bundle::TarWriter::create(to));
  Writer writer(names, tar, out);
  CULPRIT_CHECK(bundle::walk(from, limits, writer));
  writer.close();
  CULPRIT_CHECK(writer.health());
  CULPRIT_CHECK(tar.finish());
  return out;
}

}  // namespace culprit::diagnose
