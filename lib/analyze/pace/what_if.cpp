#include "analyze/pace/what_if.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "analyze/pace/pipeline_step.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

constexpr double kLongestStepMs = 86'400'000;

double lower_median(std::vector<double> v) {
  if (v.empty()) return 0;
  const auto m = v.begin() + static_cast<std::ptrdiff_t>((v.size() - 1) / 2);
  std::nth_element(v.begin(), m, v.end());
  return *m;
}

// What of the measured times is put back; everything else is ideal.
struct PutBack {
  bool all = false, nothing = false, micro = false;
  std::int64_t worker = -1, stage = -1;
  const std::vector<char>* workers = nullptr;
  bool kinds[kCosts] = {};

  bool takes(const Worker& w, std::size_t index, std::size_t kind) const {
    return all || worker == static_cast<std::int64_t>(index) ||
           stage == static_cast<std::int64_t>(w.stage) || (workers && (*workers)[index]) ||
           kinds[kind];
  }
};

class Analysis {
 public:
  Analysis(std::span<const OperationTime> operations, std::span<const WorkerPlace> places,
           const WhatIfParams& params)
      : operations_(operations), places_(places), params_(params) {}

  WhatIf run() {
    if (!arrange()) return std::move(out_);
    usual();
    const double measured = total(put_back_all()), ideal = total(PutBack{});
    const double n = static_cast<double>(steps_.size());
    out_.measured_ms = measured / n;
    out_.ideal_ms = ideal / n;
    if (!(ideal > 0)) return refuse(say(Phrase::durations_add_up_to_nothing));
    out_.slowdown = measured / ideal;
    lost_ = measured - ideal;
    ideal_ = ideal;
    shares();
    decide();
    return std::move(out_);
  }

 private:
  WhatIf refuse(Text why) {
    out_.answer = WhatIfAnswer::not_enough;
    out_.why = std::move(why);
    return std::move(out_);
  }
  static PutBack put_back_all() {
    PutBack p;
    p.all = true;
    return p;
  }

  // Numbers workers, steps and micro-batches; everything into dense tables a step.
  bool arrange() {
    std::map<std::int64_t, std::size_t> stage_ids, replica_ids, step_ids;
    std::map<Rank, const WorkerPlace*> place_of;
    for (const WorkerPlace& p : places_) place_of.try_emplace(p.rank, &p);
    std::map<Rank, std::size_t> worker_ids;
    std::map<std::int64_t, std::size_t> micro_ids;
    std::size_t left_out = 0, usable = 0;
    const auto good = [&](const OperationTime& o) {
      return std::isfinite(o.ms) && o.ms >= 0 && o.ms < kLongestStepMs && place_of.count(o.rank);
    };
    for (const OperationTime& o : operations_) {
      if (!good(o)) {
        ++left_out;
        continue;
      }
      ++usable;
      step_ids.try_emplace(o.step);
      worker_ids.try_emplace(o.rank);
      stage_ids.try_emplace(place_of[o.rank]->stage);
      replica_ids.try_emplace(place_of[o.rank]->replica);
      if (o.kind == OperationKind::forward || o.kind == OperationKind::backward)
        micro_ids.try_emplace(o.micro);
    }
    if (left_out) note_ = say(Phrase::operations_left_out, left_out);
    const auto number = [](auto& ids) {
      std::size_t i = 0;
      for (auto& [key, id] : ids) id = i++;
    };
    for (auto* ids : {&stage_ids, &replica_ids, &step_ids, &micro_ids}) number(*ids);
    number(worker_ids);
    shape_ = {stage_ids.size(), replica_ids.size(), micro_ids.size()};
    for (const auto& [stage, id] : stage_ids) stage_names_.push_back(stage);
    const std::size_t workers = shape_.stages * shape_.replicas;
    if (step_ids.size() < params_.least_steps)
      return refuse(say(Phrase::too_few_steps, step_ids.size())), false;
    if (workers < 2 || micro_ids.empty()) return refuse(say(Phrase::two_workers_needed)), false;
    // Many places and few durations: a table as large as it would be mostly empty.
    if (static_cast<double>(workers) * static_cast<double>(micro_ids.size()) *
            static_cast<double>(step_ids.size()) >
        2.0 * static_cast<double>(usable))
      return refuse(say(Phrase::durations_missing)), false;
    workers_.assign(workers, {});
    for (const auto& [rank, id] : worker_ids) {
      const WorkerPlace& p = *place_of[rank];
      const std::size_t at = shape_.worker(stage_ids[p.stage], replica_ids[p.replica]);
      // Two ranks in one place (a tensor-parallel group): the slower one of each operation counts.
      if (workers_[at].rank == kNoRank)
        workers_[at] = {rank, stage_ids[p.stage], replica_ids[p.replica]};
    }
    for (const Worker& w : workers_)
      if (w.rank == kNoRank) return refuse(say(Phrase::stage_without_durations)), false;
    steps_.assign(step_ids.size(), StepCosts(shape_));
    for (const OperationTime& o : operations_) {
      if (!good(o)) continue;
      const WorkerPlace& p = *place_of[o.rank];
      StepCosts& s = steps_[step_ids[o.step]];
      const std::size_t w = shape_.worker(stage_ids[p.stage], replica_ids[p.replica]);
      double* cell = nullptr;
      switch (o.kind) {
        case OperationKind::forward: cell = &s.at(kForward, w, micro_ids[o.micro]); break;
        case OperationKind::backward: cell = &s.at(kBackward, w, micro_ids[o.micro]); break;
        case OperationKind::send:
          if (const auto m = micro_ids.find(o.micro); m != micro_ids.end())
            cell = &s.at(kSend, w, m->second);
          break;
        case OperationKind::data: cell = &s.at(kData, w, 0); break;
        case OperationKind::sync: cell = &s.at(kSync, w, 0); break;
      }
      if (cell) *cell = std::isnan(*cell) ? o.ms : std::max(*cell, o.ms);
    }
    return true;
  }

  // Each worker's mean keeps its work, however it is cut into micro-batches; a transfer or a load
  // that takes long now and then is no work, so its median counts. The median over the workers is
  // what is usual. Missing cells get the worker's.
  void usual() {
    for (std::size_t k = 0; k < kCosts; ++k) {
      std::vector<double> means(workers_.size(), 0), present;
      for (std::size_t w = 0; w < workers_.size(); ++w) {
        double sum = 0;
        std::vector<double> values;
        for (StepCosts& s : steps_)
          for (std::size_t m = 0; m < s.width(k); ++m)
            if (const double v = s.at(k, w, m); !std::isnan(v)) {
              sum += v;
              values.push_back(v);
            }
        if (values.empty()) continue;
        means[w] =
            k == kData ? lower_median(std::move(values)) : sum / static_cast<double>(values.size());
        present.push_back(means[w]);
      }
      if (k == kSync || k == kSend) {
        without_waiting(k, means);
        present = means;
      }
      ideal_of_[k] = lower_median(present);
      for (std::size_t w = 0; w < workers_.size(); ++w)
        for (StepCosts& s : steps_)
          for (std::size_t m = 0; m < s.width(k); ++m)
            if (double& v = s.at(k, w, m); std::isnan(v))
              v = present.empty() ? 0 : means[w] > 0 ? means[w] : ideal_of_[k];
      means_[k] = std::move(means);
    }
    // How much longer than usual for its worker a micro-batch is, in all stages alike.
    factors_.assign(steps_.size(), std::vector<double>(shape_.replicas * shape_.micros, 1));
    for (std::size_t i = 0; i < steps_.size(); ++i)
      for (std::size_t r = 0; r < shape_.replicas; ++r)
        for (std::size_t m = 0; m < shape_.micros; ++m) {
          double sum = 0, usual_sum = 0;
          for (std::size_t stage = 0; stage < shape_.stages; ++stage)
            for (const std::size_t k : {kForward, kBackward}) {
              const std::size_t w = shape_.worker(stage, r);
              sum += steps_[i].at(k, w, m);
              usual_sum += means_[k][w];
            }
          if (usual_sum > 0) factors_[i][r * shape_.micros + m] = sum / usual_sum;
        }
  }

  // A collective takes as long as for the worker of its stage that waits least; of the transfers
  // between stages in one step, the shortest waited for nothing.
  void without_waiting(std::size_t k, std::vector<double>& means) {
    std::vector<std::vector<double>> lows(workers_.size());
    for (StepCosts& s : steps_)
      for (std::size_t w = 0; w < workers_.size(); ++w) {
        double low = std::numeric_limits<double>::infinity();
        if (k == kSend) {
          for (std::size_t m = 0; m < shape_.micros; ++m) low = std::fmin(low, s.at(k, w, m));
          for (std::size_t m = 0; m < shape_.micros && !std::isinf(low); ++m) s.at(k, w, m) = low;
        } else {
          for (std::size_t r = 0; r < shape_.replicas; ++r)
            low = std::fmin(low, s.at(k, shape_.worker(workers_[w].stage, r), 0));
          if (workers_[w].replica + 1 == shape_.replicas)  // all of the stage have been looked at
            for (std::size_t r = 0; r < shape_.replicas && !std::isinf(low); ++r)
              s.at(k, shape_.worker(workers_[w].stage, r), 0) = low;
        }
        if (!std::isinf(low)) lows[w].push_back(low);
      }
    for (std::size_t w = 0; w < workers_.size(); ++w) means[w] = lower_median(std::move(lows[w]));
  }

  double total(const PutBack& put) {
    double sum = 0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      std::vector<double> ready(shape_.stages, 0);
      for (std::size_t r = 0; r < shape_.replicas; ++r) merge(ready, replica(i, r, put));
      sum += finish(i, ready, put);
    }
    return sum;
  }

  // When each stage of a replica has done its last backward.
  std::vector<double> replica(std::size_t step, std::size_t r, const PutBack& put) const {
    const auto cost = [&](std::size_t k, std::size_t stage, std::size_t m) {
      const std::size_t w = shape_.worker(stage, r);
      if (put.takes(workers_[w], w, k)) return steps_[step].at(k, w, m);
      const bool scaled = put.micro && (k == kForward || k == kBackward);
      return ideal_of_[k] * (scaled ? factors_[step][r * shape_.micros + m] : 1.0);
    };
    return run_pipeline(shape_.stages, shape_.micros, cost);
  }

  double finish(std::size_t step, const std::vector<double>& ready, const PutBack& put) const {
    double last = 0;
    for (std::size_t stage = 0; stage < shape_.stages; ++stage) {
      const std::size_t w = shape_.worker(stage, 0);
      bool real = put.all || put.stage == static_cast<std::int64_t>(stage) || put.kinds[kSync];
      for (std::size_t r = 0; r < shape_.replicas && !real; ++r)
        real = put.takes(workers_[shape_.worker(stage, r)], shape_.worker(stage, r), kSync) &&
               shape_.replicas == 1;
      last =
          std::max(last, ready[stage] + (real ? steps_[step].at(kSync, w, 0) : ideal_of_[kSync]));
    }
    return last;
  }

  static void merge(std::vector<double>& ready, const std::vector<double>& other) {
    for (std::size_t i = 0; i < ready.size(); ++i) ready[i] = std::max(ready[i], other[i]);
  }

  double explained(const PutBack& put) { return lost_ > 0 ? (total(put) - ideal_) / lost_ : 0; }

  void shares() {
    // One worker changes its own replica only; the others stay ideal.
    const std::vector<double> ideal_ready = replica(0, 0, PutBack{});
    std::vector<Share> workers;
    for (std::size_t w = 0; w < workers_.size(); ++w) {
      PutBack put;
      put.worker = static_cast<std::int64_t>(w);
      double sum = 0;
      for (std::size_t i = 0; i < steps_.size(); ++i) {
        std::vector<double> ready = ideal_ready;
        merge(ready, replica(i, workers_[w].replica, put));
        sum += finish(i, ready, put);
      }
      workers.push_back({static_cast<std::int64_t>(w), lost_ > 0 ? (sum - ideal_) / lost_ : 0});
    }
    sort_rows(workers, [](const Share& a, const Share& b) { return a.explains > b.explains; });
    const std::size_t few = std::max<std::size_t>(
        1, static_cast<std::size_t>(params_.few * static_cast<double>(workers_.size())));
    std::vector<char> chosen(workers_.size(), 0);
    // Steps wait for the slowest: of two that are equally slow, each alone explains nearly all.
    const auto as_guilty = [&](const Share& s) {
      return s.explains >= params_.half && s.explains >= 0.7 * workers.front().explains;
    };
    for (std::size_t i = 0;
         i < workers.size() && (i < few || (i < workers.size() / 4 && as_guilty(workers[i])));
         ++i) {
      chosen[static_cast<std::size_t>(workers[i].id)] = 1;
      out_.few.push_back(workers_[static_cast<std::size_t>(workers[i].id)].rank);
    }
    top_ = workers.front();
    sort_rows(out_.few);
    PutBack together;
    together.workers = &chosen;
    out_.few_explain = explained(together);
    for (std::size_t i = 0; i < std::min<std::size_t>(workers.size(), 20); ++i)
      out_.workers.push_back(
          {number_of(workers_[static_cast<std::size_t>(workers[i].id)].rank), workers[i].explains});
    for (std::size_t s = 0; s < shape_.stages; ++s) {
      PutBack put;
      put.stage = static_cast<std::int64_t>(s);
      out_.stages.push_back({stage_names_[s], explained(put)});
    }
    const auto kind = [&](OperationKind id, std::initializer_list<std::size_t> costs) {
      PutBack put;
      for (const std::size_t k : costs) put.kinds[k] = true;
      out_.kinds.push_back({static_cast<std::int64_t>(id), explained(put)});
    };
    kind(OperationKind::data, {kData});
    kind(OperationKind::forward, {kForward, kBackward});
    kind(OperationKind::send, {kSend});
    kind(OperationKind::sync, {kSync});
    PutBack micro;
    micro.micro = true;
    out_.data_explain = explained(micro);
  }

  void decide() {
    if (out_.slowdown < params_.slowdown) {
      out_.answer = WhatIfAnswer::no_slowdown;
      out_.why = say(Phrase::nothing_to_explain, out_.ideal_ms, out_.measured_ms, note_);
      return;
    }
    const auto percent = [](double share) { return std::min(100.0, share * 100); };
    // A stage is too long when even its fastest worker is: otherwise it is one of its workers.
    std::size_t longest = 0;
    for (std::size_t s = 1; s < shape_.stages; ++s)
      if (out_.stages[s].explains > out_.stages[longest].explains) longest = s;
    double fastest = std::numeric_limits<double>::infinity();
    for (std::size_t r = 0; r < shape_.replicas; ++r) {
      const std::size_t w = shape_.worker(longest, r);
      fastest = std::min(fastest, means_[kForward][w] + means_[kBackward][w]);
    }
    const bool whole =
        fastest >= params_.stage_longer * (ideal_of_[kForward] + ideal_of_[kBackward]);
    if (shape_.stages > 1 && out_.stages[longest].explains >= params_.half && whole) {
      out_.answer = WhatIfAnswer::stage_too_long;
      out_.stage = stage_names_[longest];
      out_.last_stage = longest + 1 == shape_.stages;
      out_.why = say(out_.last_stage ? Phrase::last_stage_too_long : Phrase::stage_too_long,
                     percent(out_.stages[longest].explains), shape_.replicas, note_, out_.stage);
      return;
    }
    // Several workers by turns look like few in any single step; the micro-batches they had tell
    // better.
    if (out_.few_explain >= params_.half && out_.few_explain >= out_.data_explain * 0.9 &&
        out_.kinds[3].explains < params_.half) {
      out_.answer = WhatIfAnswer::few_workers;
      out_.why = say(Phrase::few_workers_explain, out_.few.size(), workers_.size(),
                     percent(out_.few_explain), note_);
      return;
    }
    if (out_.data_explain >= params_.half) {
      out_.answer = WhatIfAnswer::uneven_data;
      out_.why = say(Phrase::micro_batches_differ, percent(out_.data_explain), note_);
      return;
    }
    const Share* most = nullptr;
    for (const Share& k : out_.kinds)
      if (k.id != static_cast<std::int64_t>(OperationKind::forward) &&
          (!most || k.explains > most->explains))
        most = &k;
    if (most->explains >= params_.half) {
      out_.answer = WhatIfAnswer::one_kind;
      out_.kind = static_cast<OperationKind>(most->id);
      out_.why = say(Phrase::kind_explains, name(out_.kind), percent(most->explains), note_);
      return;
    }
    out_.answer = WhatIfAnswer::nobody;
    out_.why = say(Phrase::nobody_in_particular, percent(top_.explains),
                   percent(out_.stages[longest].explains), percent(out_.data_explain), note_);
  }

  std::span<const OperationTime> operations_;
  std::span<const WorkerPlace> places_;
  const WhatIfParams& params_;
  WhatIf out_;
  PipelineShape shape_;
  std::vector<Worker> workers_;
  std::vector<StepCosts> steps_;
  std::vector<std::int64_t> stage_names_;
  double ideal_of_[kCosts] = {};
  std::vector<double> means_[kCosts];
  std::vector<std::vector<double>> factors_;
  double lost_ = 0, ideal_ = 0;
  Share top_;
  Text note_;
};

}  // namespace

const char* name(OperationKind kind) {
  switch (kind) {
    case OperationKind::data: return "data loading";
    case OperationKind::forward: return "forward and backward";
    case OperationKind::backward: return "backward";
    case OperationKind::send: return "sending between stages";
    case OperationKind::sync: return "gradient synchronisation";
  }
  return "";
}

const char* name(WhatIfAnswer answer) {
  switch (answer) {
    case WhatIfAnswer::not_enough: return "not enough evidence";
    case WhatIfAnswer::no_slowdown: return "no slowdown";
    case WhatIfAnswer::few_workers: return "few workers";
    case WhatIfAnswer::stage_too_long: return "stage too long";
    case WhatIfAnswer::uneven_data: return "uneven data";
    case WhatIfAnswer::one_kind: return "one kind of operation";
    case WhatIfAnswer::nobody: return "nobody in particular";
  }
  return "";
}

WhatIf what_if(std::span<const OperationTime> operations, std::span<const WorkerPlace> places,
               const WhatIfParams& params) {
  return Analysis(operations, places, params).run();
}

}  // namespace culprit::analyze
