// The table of frames: it is as its schema says, its patterns fit what they should, and files of
// libraries are told from the user's own.
#include "rules/frames.hpp"

#include <gtest/gtest.h>

#include "model/json.hpp"
#include "schema/schema.hpp"

namespace culprit::rules {
namespace {

const FrameMarker* marker(std::string_view function, std::string_view file = {},
                          bool native = false) {
  return frame_marker({function, file, {}, native});
}

TEST(Frames, TableIsAsItsSchemaSays) {
  const auto schema = nlohmann::json::parse(schema::text("frames-v1.json"));
  const std::string_view table = embedded_rule("tables/frames.json");
  ASSERT_FALSE(table.empty());
  EXPECT_TRUE(schema::validate(nlohmann::json::parse(table), schema).empty());
}

TEST(Frames, NamesEndBeginOrHoldWhatARowSays) {
  ASSERT_NE(marker("all_reduce_coalesced", "torch/distributed/distributed_c10d.py"), nullptr);
  EXPECT_EQ(marker("all_reduce_coalesced", "torch/distributed/distributed_c10d.py")->operation,
            "all_reduce");
  EXPECT_EQ(marker("torch::__pthread_mutex_lock_full", "", true)->doing, Doing::lock);
  EXPECT_EQ(marker("<built-in method stat of posix module>")->doing, Doing::storage);
  EXPECT_EQ(marker("gloo::transport::tcp::Buffer::waitRecv", "", true)->doing, Doing::collective);
  EXPECT_EQ(marker("gloo::transport", "", true), nullptr);
  EXPECT_EQ(marker("train_step", "train.py"), nullptr);
}

TEST(Frames, ToolsThatPrintNoFileAreBelievedByTheName) {
  EXPECT_NE(marker("all_reduce"), nullptr);
  EXPECT_EQ(marker("all_reduce", "my/reducer.py"), nullptr);
  EXPECT_EQ(marker("all_reduce", "", true), nullptr);
}

TEST(Frames, ShardedModelsWaitForParametersInACollective) {
  const FrameMarker* m =
      marker("wait_for_unshard", "torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py");
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(m->doing, Doing::collective);
  EXPECT_EQ(m->dimension, "dp");
}

TEST(Frames, CallersTellTheGroup) {
  const GroupHint* hint = group_hint({"recv_forward", "megatron/schedules.py", {}, false});
  ASSERT_NE(hint, nullptr);
  EXPECT_EQ(hint->dimension, "pp");
  EXPECT_EQ(hint->toward, -1);
}

TEST(Frames, AFolderOfALibraryBeginsWhereANameBegins) {
  EXPECT_TRUE(library_file("/usr/lib/python3.11/threading.py"));
  EXPECT_TRUE(library_file("torch/nn/modules/module.py"));
  EXPECT_TRUE(library_file("/opt/venv/lib/python3.12/site-packages/wandb/sdk/run.py"));
  EXPECT_TRUE(library_file("<frozen runpy>"));
  EXPECT_TRUE(library_file("queue.py"));
  EXPECT_FALSE(library_file("/workspace/pytorch/examples/train.py"));
  EXPECT_FALSE(library_file("/work/app/queue.py"));
  EXPECT_FALSE(library_file("torchtitan/train.py"));
}

}  // namespace
}  // namespace culprit::rules
