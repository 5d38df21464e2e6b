// What a diff says was changed, in the forms in which people collect one.
#include "kit.hpp"

namespace culprit::ingest {
namespace {

std::string changes(const std::string& name, const std::string& bytes) {
  const test::Folder folder;
  folder.write(name, bytes);
  std::string out;
  for (const ConfigRow& r : test::read_folder(folder.path()).configs)
    if (r.before) out += r.name + ": " + *r.before + " -> " + r.value + "\n";
  return out;
}

TEST(TextDiff, KeysOfAConfiguration) {
  EXPECT_EQ(changes("config.diff",
                    "--- runs/a/args.yaml\t2025-06-11\n+++ runs/b/args.yaml\t2025-06-20\n"
                    "@@ -41,9 +41,9 @@\n num_experts: 64\n-moe_aux_loss_coeff: 0.01\n"
                    "+moe_aux_loss_coeff: 0.0   # try without\n lr: 1.6e-4\n"),
            "change.moe_aux_loss_coeff: 0.01 -> 0.0\n");
}

TEST(TextDiff, ArgumentsVariablesAndVersions) {
  EXPECT_EQ(changes("launch.diff",
                    "--- run_a.sh\n+++ run_b.sh\n@@ -4,9 +4,10 @@\n export NCCL_DEBUG=WARN\n"
                    "-export NCCL_IB_DISABLE=0\n+export NCCL_IB_DISABLE=1\n"
                    "-   --moe-aux-loss-coeff 1e-2 \\\n+   --moe-aux-loss-coeff 0.0 \\\n"
                    "-trainer==1.8.2\n+trainer==1.9.0\n+  \"lr\": 0.003,\n"),
            "change.env.NCCL_IB_DISABLE: 0 -> 1\nchange.moe_aux_loss_coeff: 1e-2 -> 0.0\n"
            "change.package.trainer: 1.8.2 -> 1.9.0\nchange.lr:  -> 0.003\n");
}

// What people cut the headings off: code by its looks, on both sides.
TEST(TextDiff, DirectivesOfABatchScript) {
  EXPECT_EQ(changes("submit.diff",
                    "--- submit.sh.3044\n+++ submit.sh\n@@ -2,9 +2,8 @@\n #SBATCH --nodes=2\n"
                    "-#SBATCH --cpus-per-task=14\n-# as before\n #SBATCH --mem=0\n"),
            "change.cpus_per_task: 14 -> \n");
}

TEST(TextDiff, CodeBelowNoHeading) {
  EXPECT_EQ(changes("code/change.txt",
                    "commit 5d1\n-        wav = decode(self.items[i].path)\n"
                    "+            self._cache[i] = decode(self.items[i].path)\n"),
            "change.code:  -> change.txt\n");
  EXPECT_EQ(changes("change_log.txt", "commit 5d1\n- moved the job\n+ asked the users\n"), "");
}

// A command that runs others: each option is a setting.
TEST(TextDiff, CommandsAndTheirOptions) {
  EXPECT_EQ(changes("launch.diff",
                    "--- launch_a.sh\n+++ launch_b.sh\n@@ -1,2 +1,2 @@\n"
                    "-srun --mem-bind=local numactl --membind=0 python train.py --lr 1e-4\n"
                    "+srun python train.py --lr 2e-4\n"),
            "change.mem_bind: local -> \nchange.membind: 0 -> \nchange.lr: 1e-4 -> 2e-4\n");
}

TEST(TextDiff, TheOldFormAndOneWithoutHeadings) {
  EXPECT_EQ(changes("args_yesterday_vs_today.diff",
                    "< save_interval ............ 2000\n---\n> save_interval ............ 100\n"),
            "change.save_interval: 2000 -> 100\n");
  EXPECT_EQ(changes("job_diff.txt", "-  memory: 900Gi\n+  memory: 90Gi\n"),
            "change.memory: 900Gi -> 90Gi\n");
}

TEST(TextDiff, CodeIsNamedByItsFile) {
  EXPECT_EQ(changes("git_log.txt",
                    "commit 9fc02ad71\nAuthor: jl\n\n    sweep\n\ndiff --git a/eval.py b/eval.py\n"
                    "--- a/eval.py\n+++ b/eval.py\n@@ -104,4 +104,9 @@ def evaluate(model):\n"
                    "+    if dist.get_rank() == 0:\n+        preds = gather_preds(samples)\n"),
            "change.code:  -> eval.py\n");
}

TEST(TextDiff, WhatOnlyMovedIsNoChangeAndSecretsAreNotKept) {
  EXPECT_EQ(changes("a.diff", "--- a\n+++ b\n@@ -1 +1 @@\n-lr: 0.1\n+lr: 0.1\n"), "");
  EXPECT_EQ(changes("a.diff", "--- a\n+++ b\n@@ -1 +1 @@\n-HF_TOKEN=abc\n+HF_TOKEN=def\n"), "");
  EXPECT_EQ(changes("a.diff", "--- a\n+++ b\n@@ -1 +1 @@\n-max_tokens: 8\n+max_tokens: 9\n"),
            "change.max_tokens: 8 -> 9\n");
}

TEST(TextDiff, AListInALogIsNone) {
  EXPECT_EQ(changes("train.log", "step 1\n- lr: 0.1\n+ lr: 0.2\nstep 2\n"), "");
  EXPECT_EQ(changes("changes.txt", "2025-01-26 21:40 dgx-22 back from vendor: BIOS flashed\n"), "");
}

TEST(MegatronArguments, EachIsKeptAndATimerIsNone) {
  const test::Folder folder;
  folder.write("run.out",
               "------------------------ arguments ------------------------\n"
               "  async_save ...................................... False\n"
               "  save_interval ................................... 25\n"
               "    forward-backward ...............................: (1.0, 2.0)\n");
  std::string out;
  for (const ConfigRow& r : test::read_folder(folder.path()).configs)
    out += r.name + "=" + r.value + "\n";
  EXPECT_EQ(out, "job.async_save=False\njob.save_interval=25\n");
}

TEST(JobConfig, KeysByTheirPath) {
  const test::Folder folder;
  folder.write("run41.yaml",
               "# of run 41\nmodel:\n  moe:\n    aux_loss_coeff: 1.0e-2\n  layers: 32\n"
               "optim:\n  lr: 3.e-4\n  name: adamw\n");
  folder.write("pod.yaml", "apiVersion: v1\nkind: Pod\nspec:\n  nodeName: n1\n");
  std::string out;
  for (const ConfigRow& r : test::read_folder(folder.path()).configs)
    if (r.name.starts_with("job.")) out += r.name + "=" + r.value + "\n";
  EXPECT_EQ(out,
            "job.model.moe.aux_loss_coeff=1.0e-2\njob.model.layers=32\njob.optim.lr=3.e-4\n"
            "job.optim.name=adamw\n");
}

TEST(ExpertLoads, OneThatTakesManyTimesTheUsualInMostLists) {
  const auto said = [](const std::string& lines) {
    const test::Folder folder;
    folder.write("run.log", lines);
    std::string out;
    for (const EventRow& e : test::read_folder(folder.path()).events) out += e.event_class + "\n";
    return out;
  };
  const std::string uneven = "tokens_per_expert layer=2: [10, 11, 9, 10, 200, 10, 12, 8]\n",
                    even = "tokens_per_expert layer=2: [10, 11, 9, 10, 20, 10, 12, 8]\n";
  EXPECT_EQ(said(uneven + uneven), "expert_overloaded\n");
  EXPECT_EQ(said(even + even), "");
  EXPECT_EQ(said(uneven), "") << "one list is a batch";
  EXPECT_EQ(said(uneven + uneven + even + even + even), "");
}

}  // namespace
}  // namespace culprit::ingest
