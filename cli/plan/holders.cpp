// culprit plan holders: which rank, GPU and host holds which layers, experts and optimizer shards.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "command.hpp"
#include "incident.hpp"
#include "model/hostlist.hpp"
#include "model/json.hpp"
#include "model/ranges.hpp"
#include "plan/holders.hpp"
#include "report/terminal.hpp"
#include "shape.hpp"

namespace culprit::cli {

namespace {

using nlohmann::ordered_json;

constexpr std::int64_t kMostOfDimension = 1 << 24;
constexpr std::size_t kMostAsked = 1024;  // ranks; what each shares is a list of its own
constexpr std::size_t kMostLinesOfPlanHolders = 64;

constexpr auto kPlanHoldersOptions =
    joined(kShapeOptions,
           {{"ep", "N", "size of the expert-parallel groups (default 1)"},
            {"layers", "N", "layers of the model"},
            {"virtual-stages", "N", "chunks of layers of a stage, interleaved (default 1)"},
            {"experts", "N", "experts of a layer"},
            {"replicated-optimizer", nullptr, "each replica has all of the optimizer's state"},
            {"rank", "NAMES", "what these hold: ranks, hosts or groups (pp/3)"},
            {"layer", "N", "who holds this layer"},
            {"expert", "N", "who holds this expert; of --layer, when that is given, too"},
            {"shard", "N", "who holds this shard of the optimizer's state"}},
           kPlanDatabase, kPlanOptions);

std::string span_text(const plan::Span& s) {
  return s.first == s.second ? fmt::format("{}", s.first) : fmt::format("{}-{}", s.first, s.second);
}

std::string spans_text(const std::vector<plan::Span>& spans) {
  std::string out;
  for (const plan::Span& s : spans) out += (out.empty() ? "" : ",") + span_text(s);
  return out;
}

// The place of a rank among those of its host.
std::int64_t gpu_of(const JobShape& job, Rank rank) {
  if (job.shape.host.empty()) return 0;
  const std::int32_t host = job.shape.host[index_of(rank)];
  return std::count(job.shape.host.begin(),
                    job.shape.host.begin() + static_cast<std::ptrdiff_t>(index_of(rank)), host);
}

std::vector<std::string> hosts_holding(const JobShape& job, const std::vector<Rank>& ranks) {
  std::vector<std::string> out;
  for (const Rank r : ranks)
    if (std::string host = job.host_of(r); out.empty() || out.back() != host)
      out.push_back(std::move(host));
  return out;
}

std::string held_text(const JobShape& job, const plan::Held& held) {
  std::string out =
      fmt::format("Rank {} on {}, GPU {}: {}", held.rank, report::visible(job.host_of(held.rank)),
                  gpu_of(job, held.rank), job.place_of(held.rank));
  if (held.ep) out += fmt::format(" ep{}", *held.ep);
  out += "\n";
  const auto line = [&](const char* what, const std::string& has, const std::vector<Rank>& also) {
    out += report::paragraph(
        "  ",
        fmt::format("{}: {}; {}", what, has,
                    also.empty() ? std::string("nobody else has the same")
                                 : fmt::format("the same on rank{} {}", also.size() == 1 ? "" : "s",
                                               to_ranges(also))),
        76, 4);
  };
  line("weights",
       held.layers.empty() ? std::string("of its stage") : "layers " + spans_text(held.layers),
       held.weights);
  if (held.experts || held.ep)
    line("experts", held.experts ? span_text(*held.experts) : std::string("of its group"),
         held.ep ? held.expert_weights : held.weights);
  line("optimizer",
       held.shards == 1 ? std::string("all of its state")
                        : fmt::format("shard {} of {}", held.shard, held.shards),
       held.optimizer);
  return out;
}

ordered_json spans_json(const std::vector<plan::Span>& spans) {
  ordered_json out = ordered_json::array();
  for (const plan::Span& s : spans) out.push_back({s.first, s.second});
  return out;
}

ordered_json held_json(const JobShape& job, const plan::Held& held) {
  ordered_json place = ordered_json::object();
  for (std::size_t d = 0; d < job.shape.dimensions.size(); ++d)
    place[job.shape.dimensions[d].name] = job.shape.coordinate(held.rank, d);
  if (held.ep) place["ep"] = *held.ep;
  return {{"rank", number_of(held.rank)},
          {"host", job.host_of(held.rank)},
          {"gpu", gpu_of(job, held.rank)},
          {"place", std::move(place)},
          {"layers", spans_json(held.layers)},
          {"experts",
           held.experts ? ordered_json{held.experts->first, held.experts->second} : ordered_json()},
          {"shard", held.shard},
          {"shards", held.shards},
          {"same_weights", to_ranges(held.weights)},
          {"same_experts", to_ranges(held.ep ? held.expert_weights : held.weights)},
          {"same_optimizer", to_ranges(held.optimizer)}};
}

std::string found_text(const JobShape& job, const std::vector<Rank>& found,
                       const std::string& asked) {
  const auto hosts = hosts_holding(job, found);
  std::string out =
      report::paragraph("",
                        fmt::format("{} on {} rank{} of {} host{}: {}", asked, found.size(),
                                    found.size() == 1 ? "" : "s", hosts.size(),
                                    hosts.size() == 1 ? "" : "s", to_ranges(found)),
                        78, 2);
  for (std::size_t i = 0; i < found.size() && i < kMostLinesOfPlanHolders; ++i)
    out +=
        fmt::format("  {:>6}  {} GPU {}   {}\n", found[i], report::visible(job.host_of(found[i])),
                    gpu_of(job, found[i]), job.place_of(found[i]));
  if (found.size() > kMostLinesOfPlanHolders)
    out += fmt::format("  and {} more: --format json has all\n",
                       found.size() - kMostLinesOfPlanHolders);
  return out;
}

Result<plan::Holders> read_holders(const PlanInput& input, const Arguments& arguments,
                                   const JobShape& job) {
  plan::ModelSizes sizes{.ep = job.ep};
  CULPRIT_CHECK(input.set("ep", sizes.ep, 1, kMostOfDimension));
  CULPRIT_CHECK(input.set("layers", sizes.layers, 1, kMostOfDimension));
  CULPRIT_CHECK(input.set("virtual-stages", sizes.virtual_stages, 1, kMostOfDimension));
  CULPRIT_CHECK(input.set("experts", sizes.experts, 1, kMostOfDimension));
  sizes.sharded = !arguments.has("replicated-optimizer");
  return plan::Holders::make(job.shape, sizes);
}

Result<plan::HolderQuestion> question_of(const PlanInput& input, std::string& asked) {
  plan::HolderQuestion out;
  for (const auto& [name, place] :
       {std::pair{"layer", &out.layer}, {"expert", &out.expert}, {"shard", &out.shard}}) {
    if (!input.has(name)) continue;
    CULPRIT_TRY(value, input.integer(name, 0, 0, kMostOfDimension));
    *place = value;
    asked += fmt::format("{}{} {}", asked.empty() ? "" : ", ", name, value);
  }
  return out;
}

Result<Exit> run_plan_holders(const Arguments& arguments) {
  CULPRIT_TRY(input, PlanInput::read(arguments, kPlanHoldersOptions));
  CULPRIT_TRY(job, job_shape(input, arguments));
  CULPRIT_TRY(holders, read_holders(input, arguments, job));
  CULPRIT_TRY(ranks, ranks_named(input, "rank", job));
  if (ranks.size() > kMostAsked)
    return input.complaint("rank", fmt::format("names {} ranks", ranks.size()))
        .hint(fmt::format("{} at most: ask for a layer, an expert or a shard instead", kMostAsked));
  std::string asked;
  CULPRIT_TRY(question, question_of(input, asked));
  if (ranks.empty() && asked.empty())
    return usage_error("plan holders needs a question")
        .hint("--rank 5 (what it holds), or --layer, --expert, --shard (who holds it)");
  CULPRIT_TRY(found, holders.holders_of(question));
  ordered_json document{{"plan", "holders"},
                        {"version", 1},
                        {"ranks", job.shape.ranks()},
                        {"layout_from", job.source},
                        {"held", ordered_json::array()}};
  std::string text;
  for (const Rank rank : ranks) {
    const plan::Held held = holders.held_by(rank);
    if (input.wants_json())
      document["held"].push_back(held_json(job, held));
    else
      text += held_text(job, held);
  }
  if (!asked.empty()) {
    document["holders"] = {
        {"of", asked}, {"ranks", to_ranges(found)}, {"hosts", hosts_holding(job, found)}};
    text += found_text(job, found, asked);
  }
  text += fmt::format("  {} ranks, layout {}\n", job.shape.ranks(), report::visible(job.source));
  print(input.wants_json() ? identified(json_text(document, -1) + "\n") : text);
  return Exit::finished;
}

}  // namespace

constinit const Command kPlanHolders{
    "plan holders",
    "who holds which layers, experts and optimizer shards",
    "plan holders [BUNDLE...] [options]",
    "  culprit plan holders --tp 8 --pp 4 --dp 16 --layers 96 --rank 77\n"
    "  culprit plan holders --tp 8 --pp 4 --dp 16 --layers 96 --layer 30\n"
    "  culprit plan holders -d incident.db --layers 64 --rank node-07\n\n"
    "  From a rank or host to what it holds and who else has the same; and from a layer, an\n"
    "  expert or a shard of the optimizer's state to the ranks, GPUs and hosts.\n",
    kPlanHoldersOptions,
    run_plan_holders};

}  // namespace culprit::cli
