// generate_log SIZE_MB SEED [ERROR_EVERY [STEP_EVERY]]: the log of a training job on standard
// output, as such logs are: Megatron and DeepSpeed steps, NCCL INFO, tqdm bars, warnings of
// libraries, memory reports; one line in ERROR_EVERY (10000) is an error that a rule knows. With
// STEP_EVERY one line in so many is a step, and the others are of NCCL's set-up and of data
// loaders. The same arguments give the same bytes.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>

#include <fmt/format.h>

namespace {

std::uint64_t state;
std::uint64_t random_number() {  // splitmix64
  std::uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}
std::uint64_t below(std::uint64_t most) { return random_number() % most; }

std::uint64_t clock_us = 0;
std::uint64_t calls_of[256];  // of a rank on its communicator: NCCL's opCount counts them
std::string hms() {
  const std::uint64_t s = clock_us / 1'000'000;
  return fmt::format("{:02}:{:02}:{:02}", s / 3600 % 24, s / 60 % 60, s % 60);
}
std::string day() { return fmt::format("2026-02-{:02}", 1 + clock_us / 86'400'000'000 % 28); }

void error(std::string& out) {
  const auto rank = below(256);
  const auto host = rank / 8;
  switch (below(6)) {
    case 0:
      out += fmt::format(
          "[rank{}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {}.00 GiB. GPU "
          "{} has a total capacity of 79.10 GiB of which 1.21 GiB is free.\n",
          rank, 1 + below(9), rank % 8);
      break;
    case 1:
      out += fmt::format(
          "[{} {}] NVRM: Xid (PCI:0000:{:02x}:00): 79, pid={}, name=python3, GPU has fallen off "
          "the bus.\n",
          day(), hms(), 0x1b + rank % 8, 4000 + rank);
      break;
    case 2:
      out += fmt::format(
          "[rank{0}]:[E211 {1}.{2:06} ProcessGroupNCCL.cpp:616] [Rank {0}] Watchdog caught "
          "collective operation timeout: WorkNCCL(SeqNum={3}, OpType=ALLREDUCE, NumelIn=1048576, "
          "NumelOut=1048576, Timeout(ms)=600000) ran for 600012 milliseconds before timing out.\n",
          rank, hms(), clock_us % 1'000'000, below(1'000'000));
      break;
    case 3:
      out += fmt::format(
          "gpu-{:03}:{}:{} [{}] transport/net_ib.cc:1890 NCCL WARN NET/IB: Got completion from "
          "peer 10.0.0.{}<47010> with status=12 opcode=0 len=0 vendor err 129 (Recv) hca mlx5_2\n",
          host, 4000 + rank, 5000 + rank, rank % 8, below(32));
      break;
    case 4:
      out += fmt::format(
          "[rank{0}]: Traceback (most recent call last):\n[rank{0}]:   File \"/job/train.py\", "
          "line 212, in train_step\n[rank{0}]:     loss = model(batch)\n[rank{0}]: RuntimeError: "
          "CUDA error: an illegal memory access was encountered\n",
          rank);
      break;
    default:
      out += fmt::format("srun: error: gpu-{:03}: task {}: Exited with exit code {}\n", host, rank,
                         1 + below(2));
      break;
  }
}

void line(std::string& out, std::uint64_t step, std::uint64_t kind) {
  const auto rank = below(256);
  const auto host = rank / 8;
  const auto us = clock_us % 1'000'000;
  switch (kind) {
    case 0:
      out += fmt::format(
          " [{} {}.{:06}] iteration {:8}/  500000 | consumed samples: {:12} | elapsed time per "
          "iteration (ms): {}.{} | throughput per GPU (TFLOP/s/GPU): {}.{} | learning rate: "
          "1.500000E-04 | global batch size:  1024 | lm loss: 2.{:06}E+00 | loss scale: 1.0 | grad "
          "norm: 0.{:03} | num zeros: 0 | params norm: 811.2 | number of skipped iterations:   0 | "
          "number of nan iterations:   0 |\n",
          day(), hms(), us, step, step * 1024, 4300 + below(200), below(10), 380 + below(50),
          below(10), below(1'000'000), below(1000));
      break;
    case 1:
      out += fmt::format(
          "[{} {},{:03}] [INFO] [logging.py:96:log_dist] [Rank 0] step={}, skipped=0, "
          "lr=[0.00015], mom=[[0.9, 0.95]]\n",
          day(), hms(), us / 1000, step);
      break;
    case 2:
      out += fmt::format(
          "[{} {},{:03}] [INFO] [timer.py:215:stop] epoch=0/micro_step={}/global_step={}, "
          "RunningAvgSamplesPerSec=233.{}, CurrSamplesPerSec=234.{}, MemAllocated=41.2GB, "
          "MaxMemAllocated=67.8GB\n",
          day(), hms(), us / 1000, step, step, below(100), below(100));
      break;
    case 3: {
      const auto done = below(10'000);
      for (int i = 0; i < 3; ++i)
        out += fmt::format(
            "\r {:2}%|{:10}| {}/10000 [1:{:02}:{:02}<10:42:24,  4.{:02}s/it, loss=2.{:02}, "
            "lr=0.00015]",
            done / 100, std::string(done / 1000, '#'), done + static_cast<std::uint64_t>(i),
            below(60), below(60), below(100), below(100));
      out += '\n';
      break;
    }
    case 4:
    case 5:
    case 6:
      out += fmt::format(
          "gpu-{:03}:{}:{} [{}] NCCL INFO Channel {:02}/0 : {}[{}] -> {}[{}] via P2P/CUMEM/read\n",
          host, 4000 + rank, 5000 + rank, rank % 8, below(16), rank, rank % 8, (rank + 1) % 256,
          (rank + 1) % 8);
      break;
    case 7:
    case 8:
      out += fmt::format(
          "gpu-{:03}:{}:{} [{}] NCCL INFO Channel {:02}/0 : {}[{}] -> {}[{}] [receive] via "
          "NET/IB/{}/GDRDMA\n",
          host, 4000 + rank, 5000 + rank, rank % 8, below(16), rank, rank % 8, (rank + 8) % 256,
          rank % 8, below(8));
      break;
    case 9:
    case 10:
      out += fmt::format(
          "gpu-{:03}:{}:{} [{}] NCCL INFO AllReduce: opCount {:x} sendbuff 0x7f{:010x} recvbuff "
          "0x7f{:010x} count {} datatype 9 op 0 root 0 comm 0x55d0c8 [nranks=256] stream "
          "0x55e1{:04x}\n",
          host, 4000 + rank, 5000 + rank, rank % 8, calls_of[rank]++, below(1ULL << 40),
          below(1ULL << 40), 1 + below(1 << 24), below(1 << 16));
      break;
    case 11:
      out += fmt::format(
          "[rank{}]: /usr/local/lib/python3.12/dist-packages/torch/utils/checkpoint.py:{}: "
          "FutureWarning: `torch.cpu.amp.autocast(args...)` is deprecated. Please use "
          "`torch.amp.autocast('cpu', args...)` instead.\n",
          rank, 80 + below(20));
      break;
    case 12:
      out += fmt::format(
          "(min, max) time across ranks (ms):\n    forward-backward "
          "...............................: ({}.{:02}, {}.{:02})\n",
          4000 + below(50), below(100), 4100 + below(50), below(100));
      break;
    case 13:
      out += fmt::format(
          "DEBUG:urllib3.connectionpool:https://api.wandb.ai:443 \"POST "
          "/files/team/run-{:08x}/file_stream HTTP/1.1\" 200 None\n",
          below(1ULL << 32));
      break;
    case 14:
      out += fmt::format(
          "[default{}]:[Rank {}] (after {} iterations) memory (MB) | allocated: {}.{:04} | max "
          "allocated: {}.{:04} | reserved: {}.0 | max reserved: {}.0\n",
          rank % 8, rank, step, 40'000 + below(1000), below(10'000), 60'000 + below(1000),
          below(10'000), 70'000 + below(1000), 71'000 + below(1000));
      break;
    default:
      out += fmt::format(
          "INFO:__main__:[{} {}] rank {} reader {} prefetched shard-{:06}.tar ({} samples)\n",
          day(), hms(), rank, below(8), below(1'000'000), below(10'000));
      break;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: generate_log SIZE_MB SEED [ERROR_EVERY [STEP_EVERY]]\n");
    return 2;
  }
  const std::uint64_t bytes = std::strtoull(argv[1], nullptr, 10) * 1'000'000;
  state = std::strtoull(argv[2], nullptr, 10);
  const std::uint64_t every = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 10'000;
  const std::uint64_t steps = argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 0;
  constexpr std::uint64_t kBetweenSteps[] = {4, 5, 7, 8, 13, 15, 15, 15};
  std::string block;
  std::uint64_t written = 0, lines = 0;
  while (written < bytes) {
    block.clear();
    while (block.size() < (1 << 20) && written + block.size() < bytes) {
      clock_us += below(40'000);
      if (++lines % every == 0)
        error(block);
      else
        line(block, 1 + clock_us / 4'400'000,
             steps == 0           ? below(16)
             : lines % steps == 0 ? 0
                                  : kBetweenSteps[below(std::size(kBetweenSteps))]);
    }
    if (std::fwrite(block.data(), 1, block.size(), stdout) != block.size()) return 1;
    written += block.size();
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}
