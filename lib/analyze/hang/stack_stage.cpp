#include "analyze/hang/stack_stage.hpp"

#include <algorithm>
#include <unordered_map>

#include "model/contains.hpp"

namespace culprit::analyze {

namespace {

using enum Doing;

using rules::FrameMarker;
using rules::GroupHint;
using rules::Tells;

rules::FrameName named(const Frame& frame, std::string_view function) {
  return {function, frame.file, frame.module, frame.native};
}

void cut_from(std::string& text, std::string_view what) {
  const auto at = text.find(what);
  if (at != std::string::npos && at > 0) text.resize(at);
}

// What the names of generated code end with: torch_dynamo_resume_in_forward_at_123.
void drop_trailing_number(std::string& text, std::string_view before) {
  std::size_t n = text.size();
  while (n > 0 && text[n - 1] >= '0' && text[n - 1] <= '9') --n;
  if (n < text.size() && n >= before.size() &&
      std::string_view(text).substr(0, n).ends_with(before))
    text.resize(n);
}

struct FrameFacts {
  std::uint32_t name = 0;
  const FrameMarker* marker = nullptr;
  const GroupHint* hint = nullptr;
  bool drop = false;   // not in the normal stack
  bool extra = false;  // printed by some tools only
  bool user = false;   // the user's own code
  std::uint64_t exact = 0;
};

constexpr std::uint64_t fold(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15ull + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccdull;
  return hash ^ (hash >> 32);
}

struct StackHash {
  std::size_t operator()(const std::vector<std::uint32_t>& stack) const {
    std::uint64_t h = stack.size();
    for (const std::uint32_t f : stack) h = fold(h, f);
    return h;
  }
};

// The facts of a frame; null: the stack refers to one that there is not.
const FrameFacts* facts_of(std::uint32_t frame, const std::vector<FrameFacts>& facts) {
  return frame < facts.size() ? &facts[frame] : nullptr;
}

// The frame that tells what a stack does.
struct Deciding {
  const FrameMarker* marker = nullptr;  // null: none
  std::size_t at = 0;                   // in the stack
  bool at_work = false;                 // of a worker's loop that waits for nothing
};

Deciding deciding_frame(const std::vector<std::uint32_t>& stack,
                        const std::vector<FrameFacts>& facts) {
  Deciding told, weak;
  bool own_code_before = false;  // of the user's, further in than the frame that told
  for (std::size_t i = 0; i < stack.size() && told.marker == nullptr && !told.at_work; ++i) {
    const FrameFacts* f = facts_of(stack[i], facts);
    if (f == nullptr) continue;
    if (f->marker == nullptr || f->marker->tells == Tells::generic) {
      own_code_before = own_code_before || f->user;
      continue;
    }
    switch (f->marker->tells) {
      case Tells::strong: told = {f->marker, i}; break;
      case Tells::weak:
        // The outermost of the weak ones tells most: poll <- get (queues.py). Code of the user's in
        // between ends that.
        if (!own_code_before) weak = {f->marker, i};
        break;
      case Tells::bound:
        // A worker that waits for its queue is idle; one that does not is at work, in storage or in
        // code.
        if (weak.marker != nullptr && weak.marker->doing == lock &&
            f->marker->operation != "worker")
          weak = {};
        if (weak.marker != nullptr && weak.marker->doing != idle)
          told = weak;
        else
          told = {f->marker, i, f->marker->operation == "worker" && weak.marker == nullptr};
        break;
      case Tells::generic: break;
    }
  }
  if (told.at_work) return told;
  // The caller of a wait is what the wait is for; unless it is a collective's wrapper and the
  // innermost code is one's own: a timer around all_reduce is past it.
  const bool wraps_only = told.marker != nullptr && told.marker->file.empty() && own_code_before &&
                          told.marker->doing == collective;
  return told.marker == nullptr || wraps_only ? weak : told;
}

// Of a collective what its marker does not tell: operation, dimension and direction by the frames
// further out.
void complete_collective(const std::vector<std::uint32_t>& stack, std::size_t told_at,
                         const std::vector<FrameFacts>& facts, Stage& s) {
  for (std::size_t i = told_at + 1; i < stack.size(); ++i) {
    const FrameFacts* f = facts_of(stack[i], facts);
    if (f == nullptr) continue;
    if (s.operation.empty() && f->marker != nullptr && f->marker->doing == collective)
      s.operation = f->marker->operation;
    if (f->hint == nullptr) continue;
    if (s.dimension.empty()) s.dimension = f->hint->dimension;
    if (s.dimension == f->hint->dimension && s.toward == 0) s.toward = f->hint->toward;
    if (s.dimension != "pp" || s.toward != 0) break;
  }
  if (is_p2p(s.operation) && s.dimension.empty()) s.dimension = "pp";
}

// Finds the frame to show, s.where: the user's own innermost, else Python's, else any. A stack with
// frames and no telling one is code at work.
void show_frame(const std::vector<std::uint32_t>& stack, const std::vector<FrameFacts>& facts,
                const StackTable& table, Stage& s) {
  std::int32_t innermost = -1, python = -1;
  for (const std::uint32_t frame : stack) {
    const FrameFacts* f = facts_of(frame, facts);
    if (f == nullptr || f->drop) continue;
    const auto index = static_cast<std::int32_t>(frame);
    if (innermost < 0) innermost = index;
    if (python < 0 && !table.frames[frame].native) python = index;
    if (f->user) {
      s.where = index;
      break;
    }
    // Beyond the loop stand the frames of the process that forked.
    if (f->marker != nullptr && f->marker->tells == Tells::bound) break;
  }
  if (s.where < 0) s.where = python >= 0 ? python : innermost;
  if (s.doing == unknown && innermost >= 0) s.doing = compute;
}

Stage stage_of(const std::vector<std::uint32_t>& stack, const std::vector<FrameFacts>& facts,
               const StackTable& table) {
  Stage s;
  const Deciding told = deciding_frame(stack, facts);
  if (told.marker != nullptr) s.decided = static_cast<std::int32_t>(stack[told.at]);
  if (told.at_work) {
    s.doing = compute;
    s.loads_data = true;
  } else if (told.marker != nullptr) {
    s.doing = told.marker->doing;
    s.operation = told.marker->operation;
    s.dimension = told.marker->dimension;
    s.toward = told.marker->toward;
    if (s.doing == collective) complete_collective(stack, told.at, facts, s);
  }
  show_frame(stack, facts, table, s);
  return s;
}

}  // namespace

bool is_p2p(std::string_view operation) {
  return operation == "send" || operation == "recv" || operation == "sendrecv";
}

bool Stage::p2p() const { return doing == Doing::collective && is_p2p(operation); }

std::string_view base_name(std::string_view path) {
  const auto slash = path.find_last_of('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string place_of(const std::string& file, std::int64_t line) {
  return file.empty() || line <= 0 ? file : file + ":" + std::to_string(line);
}

std::string normal_function(std::string_view function, bool native) {
  std::string out;
  out.reserve(function.size());
  if (native && !function.starts_with("<built-in")) {
    // Template arguments, then argument lists; operator< and operator() keep theirs.
    int depth = 0;
    for (std::size_t i = 0; i < function.size(); ++i) {
      const char c = function[i];
      const bool after_operator = out.ends_with("operator") || out.ends_with("operator<") ||
                                  out.ends_with("operator>") || out.ends_with("operator-");
      if (c == '<' && !(depth == 0 && after_operator))
        ++depth;
      else if (c == '>' && depth > 0) {
        if (function[i - 1] != '-') --depth;
      } else if (depth == 0)
        out += c;
    }
    if (depth > 0 || out.empty()) out = function;
    cut_from(out, " [clone");
    cut_from(out, "@");
    cut_from(out, " - 1");
    for (const std::string_view suffix :
         {".lto_priv.", ".isra.", ".part.", ".constprop.", ".cold", ".llvm.", ".localalias"})
      cut_from(out, suffix);
    std::size_t open = out.find('(');
    while (open != std::string::npos &&
           (open == 0 || out.compare(open, 21, "(anonymous namespace)") == 0 ||
            (open >= 8 && out.compare(open - 8, 10, "operator()") == 0)))
      open = out.find('(', open + 1);
    if (open != std::string::npos) out.resize(open);
    // A return type in front of a template's name.
    if (const auto space = out.rfind(' ');
        space != std::string::npos && !contains(out, "operator") && !contains(out, '('))
      out.erase(0, space + 1);
  } else {
    out = function;
    for (const std::string_view at : {" at remote 0x", " at 0x"})
      if (const auto p = out.find(at); p != std::string::npos) {
        std::size_t end = p + at.size();
        while (end < out.size() && std::isxdigit(static_cast<unsigned char>(out[end])) != 0) ++end;
        out.erase(p, end - p);
      }
    if (out.starts_with("<eval_with_key>")) out = "<eval_with_key>";
    drop_trailing_number(out, "_at_");
    drop_trailing_number(out, "forward_");
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out.empty() ? "?" : out;
}

NormalStacks normal_stacks(const StackTable& table, bool keep_lines) {
  NormalStacks out;
  std::vector<FrameFacts> facts(table.frames.size());
  std::unordered_map<std::string, std::uint32_t> names;
  for (std::size_t i = 0; i < table.frames.size(); ++i) {
    const Frame& frame = table.frames[i];
    FrameFacts& f = facts[i];
    std::string text = normal_function(frame.function, frame.native);
    f.marker = rules::frame_marker(named(frame, text));
    f.hint = rules::group_hint(named(frame, text));
    f.extra = text.starts_with("<built-in");
    f.user = !frame.native && !rules::library_file(frame.file) && !f.extra;
    f.exact = std::hash<std::string>{}(text);
    // Sources of machine code are printed only where debug data lies: no part of the name.
    if (!frame.native && !frame.file.empty()) {
      std::string_view file = base_name(frame.file);
      if (contains(frame.file, "torchinductor")) file = "inductor";  // named after a digest
      f.exact = fold(fold(f.exact, std::hash<std::string_view>{}(file)),
                     static_cast<std::uint64_t>(frame.line));
      text += " (";
      text += file;
      if (keep_lines && frame.line > 0) text += ":" + std::to_string(frame.line);
      text += ")";
    }
    f.drop = f.marker != nullptr && f.marker->tells == Tells::generic;
    const auto [entry, fresh] =
        names.try_emplace(std::move(text), static_cast<std::uint32_t>(out.names.size()));
    if (fresh) out.names.push_back(entry->first);
    f.name = entry->second;
  }

  out.of.reserve(table.stacks.size());
  out.exact.reserve(table.stacks.size());
  out.stages.reserve(table.stacks.size());
  out.python.reserve(table.stacks.size());
  std::unordered_map<std::vector<std::uint32_t>, std::uint32_t, StackHash> known;
  known.reserve(table.stacks.size());
  std::vector<std::uint32_t> normal;
  for (const auto& stack : table.stacks) {
    normal.clear();
    std::uint64_t exact = stack.size() == 0 ? 0 : 1;
    bool python = false;
    for (auto frame = stack.rbegin(); frame != stack.rend(); ++frame) {
      if (*frame >= facts.size()) continue;
      const FrameFacts& f = facts[*frame];
      python = python || !table.frames[*frame].native;
      if (!f.drop) normal.push_back(f.name);
      if (!f.drop && !f.extra) exact = fold(exact, f.exact);
    }
    if (normal.empty() && !stack.empty() && stack.front() < facts.size())
      normal.push_back(facts[stack.front()].name);
    auto entry = known.find(normal);
    if (entry == known.end()) {
      entry = known.emplace(normal, static_cast<std::uint32_t>(out.stacks.size())).first;
      out.stacks.push_back(normal);
    }
    out.of.push_back(entry->second);
    out.exact.push_back(exact);
    out.python.push_back(python);
    out.stages.push_back(stage_of(stack, facts, table));
  }
  return out;
}

}  // namespace culprit::analyze
