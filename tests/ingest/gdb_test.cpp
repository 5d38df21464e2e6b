#include "kit.hpp"

namespace culprit::ingest {
namespace {

using test::read_dump;
using test::spell;
using namespace std::string_literals;

TEST(Gdb, HeadsOfEveryKind) {
  const std::string text =
      "[New LWP 902]\n[Thread debugging using libthread_db enabled]\nUsing host libthread_db "
      "library \"/lib/libthread_db.so.1\".\n0x00007f874236f090 in poll () from /lib/libc.so.6\n\n"
      "Thread 3 (Thread 0x7f870ffff6c0 (LWP 903) \"pt_autograd_0\"):\n#0  0x00007f01 in poll () "
      "from /lib/libc.so.6\n#1  0x00007f02 in ?? () from /usr/lib/libcuda.so.1\n\n"
      "Thread 2 (Thread 0x7f870ffff700 (LWP 902)):\n#0  futex_wait (private=<optimized out>, "
      "word=0x7f) at ../nptl/futex.h:183\n#1  ncclProxyProgress (proxyState_=0x55d847bc00c0) at "
      "proxy.cc:868\n\n"
      "Thread 1 (LWP 901):\n#0  0x0000 in c10d::Work::wait(std::chrono::duration<long, "
      "std::ratio<1l, 1000l> >) () from /lib/libtorch.so\n#1  0x0000000000000000 in ?? "
      "()\nBacktrace stopped: previous frame inner to this frame (corrupt stack?)\n[Inferior 1 "
      "(process 901) detached]\n";
  const auto rows = read_dump(text);
  test::check_places(rows, text);
  ASSERT_EQ(rows.stacks.size(), 3u);
  EXPECT_EQ(rows.stacks[0].thread, "pt_autograd_0");
  EXPECT_EQ(rows.stacks[0].thread_id, "0x7f870ffff6c0");
  EXPECT_EQ(rows.stacks[0].tid, 903);
  EXPECT_EQ(rows.stacks[0].pid, 901);
  EXPECT_FALSE(rows.stacks[0].main);
  EXPECT_EQ(spell(rows.stacks[0].frames), "!poll[/lib/libc.so.6] !?[/usr/lib/libcuda.so.1]");
  EXPECT_EQ(spell(rows.stacks[1].frames),
            "!futex_wait@../nptl/futex.h:183 !ncclProxyProgress@proxy.cc:868");
  EXPECT_TRUE(rows.stacks[2].main);
  EXPECT_EQ(rows.stacks[2].tid, 901);
  EXPECT_EQ(spell(rows.stacks[2].frames),
            "!c10d::Work::wait(std::chrono::duration<long, std::ratio<1l, 1000l> "
            ">)[/lib/libtorch.so] !?");
  const auto old =
      read_dump("Thread 1 (process 55):\n#0  0x00007f01 in read () from /lib/libc.so.6\n");
  EXPECT_EQ(old.stacks.at(0).pid, 55);
}

TEST(Gdb, TheSignalAtWhichItStopped) {
  const auto rows = read_dump(
      "[New LWP 4411]\n[Thread debugging using libthread_db enabled]\nThread 1 \"python\" received "
      "signal SIGSEGV, Segmentation fault.\n0x00007f1122334455 in ?? () from "
      "/usr/lib/libx.so\n(gdb) where\n#0  0x00007f1122334455 in ?? () from /usr/lib/libx.so\n#1  "
      "0x00007f1122334466 in run (n=3) at x.c:7\n");
  ASSERT_EQ(rows.events.size(), 1u);
  EXPECT_EQ(rows.events[0].event_class, "proc_sigsegv");
}

TEST(Gdb, NamesAndArguments) {
  struct Case {
    const char* line;
    const char* frame;
  };
  for (const Case& c :
       {Case{"#0  0x01 in at::native::_local_scalar_dense_cuda(at::Tensor "
             "const&)::{lambda()#1}::operator()() const [clone .isra.100] () from "
             "/l/libtorch_cuda.so",
             "!at::native::_local_scalar_dense_cuda(at::Tensor const&)::{lambda()#1}::operator()() "
             "const [clone .isra.100][/l/libtorch_cuda.so]"},
        {"#1  0x01 in (anonymous namespace)::Reader::run (this=0x7f, cb=...) at reader.cc:7",
         "!(anonymous namespace)::Reader::run@reader.cc:7"},
        {"#2  method_vectorcall (func=<method_descriptor at remote 0x7f>, args=(1, <Queue(a=False, "
         "b=(2))>), kw={'at': ' at x:3'}) at ../Objects/descrobject.c:364",
         "!method_vectorcall@../Objects/descrobject.c:364"},
        {"#3  0x01 in std::function<void (int)>::operator()(int) const (this=0x7f, __args#0=1) at "
         "functional.h:9",
         "!std::function<void (int)>::operator()(int) const@functional.h:9"},
        {"#4  0x01 in run (text=0x7f \"import x from y) (\") at a.c:5", "!run@a.c:5"},
        {"#5  0x01 in pthread_cond_wait@@GLIBC_2.3.2 () from /lib/libc.so.6",
         "!pthread_cond_wait[/lib/libc.so.6]"},
        {"#6  0x01 in epoll_wait@plt () from /lib/libgloo.so", "!epoll_wait[/lib/libgloo.so]"},
        {"#7  <signal handler called>", "!<signal handler called>"},
        {"#8  0x00007f", "!?"},
        {"#9  0x01 in ncclDevKernel_AllReduce_Sum_f32_RING_LL<<<(24,1,1),(640,1,1)>>> (args=...) "
         "in all_reduce.cu",
         "!ncclDevKernel_AllReduce_Sum_f32_RING_LL"},
        {"#99999999999999999999  0x01 in f () at a.c:99999999999999999999", "!f"},
        {"#10 0x01 in f (x=1) at /a dir/with at in it/b.c:3", "!f@/a dir/with at in it/b.c:3"}}) {
    const auto rows = read_dump(std::string("Thread 1 (LWP 5):\n") + c.line + "\n");
    ASSERT_EQ(rows.stacks.size(), 1u) << c.line;
    if (std::string(c.line).find("with at in it") != std::string::npos) {
      EXPECT_EQ(rows.stacks[0].frames.at(0).function, "f");
      continue;
    }
    EXPECT_EQ(spell(rows.stacks[0].frames), c.frame) << c.line;
  }
}

TEST(Gdb, WrappedLinesPagersAndLocals) {
  const auto rows = read_dump(
      "Thread 2 (LWP 6):\n#0  0x00007f01 in at::f(at::Tensor const&) ()\n   from "
      "/very/long/libtorch.so\n#1  0x00007f02 in g (a=1,\n    b=2) at\n    g.cc:4\n--Type <RET> "
      "for more, q to quit, c to continue without paging--\n#2  0x00007f03 in h ()\n    at "
      "h.cc:8\n        local = 5\n        other = (1\nNo locals.\n"
      "Thread 1 (LWP 5):\n#0  0x00007f01 in main () at m.c:1\n");
  ASSERT_EQ(rows.stacks.size(), 2u);
  EXPECT_EQ(spell(rows.stacks[0].frames),
            "!at::f(at::Tensor const&)[/very/long/libtorch.so] !g@g.cc:4 !h@h.cc:8");
  EXPECT_EQ(rows.stacks[0].pid, 5);
}

TEST(Gdb, DumpsOneAfterAnother) {
  const auto rows = read_dump(
      "Thread 2 (LWP 12):\n#0  0x01 in a () at a.c:1\nThread 1 (LWP 11):\n#0  0x01 in b () at "
      "a.c:2\n===== next =====\nThread 2 (LWP 22):\n#0  0x01 in c () at a.c:3\nThread 1 (LWP "
      "21):\n#0  0x01 in d () at a.c:4\n"
      "Thread 1 (LWP 31):\n#0  0x01 in e () at a.c:5\nThread 2 (LWP 32):\n#0  0x01 in f () at "
      "a.c:6\n");
  std::string told;
  for (const auto& row : rows.stacks)
    told +=
        row.frames.at(0).function + std::to_string(row.pid.value_or(0)) + (row.main ? "* " : " ");
  EXPECT_EQ(told, "a11 b11* c21 d21* e31* f31 ");
  // A process with one thread: pstack prints no head. A dump that was torn off begins anywhere.
  const auto bare = read_dump(
      "#0  0x00007f01 in read () from /lib/libc.so.6\n#1  0x00007f02 in main () at m.c:3\n",
      "pstack/4711.txt");
  ASSERT_EQ(bare.stacks.size(), 1u);
  EXPECT_EQ(bare.stacks[0].pid, 4711);
  EXPECT_TRUE(bare.stacks[0].main);
  const auto torn = read_dump(
      "#7  0x00007fd0b2a9e42b in ?? () from /lib64/libcuda.so.1\n#8  0x00007fd0b2a9e42b in clone "
      "() from /lib64/libc.so.6\n\nThread 4 (Thread 0x7fd09a759000 (LWP 44) "
      "\"cuda-EvtHandlr\"):\n#0  0x00007fd0 in poll () from /lib64/libc.so.6\n");
  ASSERT_EQ(torn.stacks.size(), 2u);
  EXPECT_FALSE(torn.stacks[0].main);
  EXPECT_EQ(torn.stacks[1].thread, "cuda-EvtHandlr");
}

TEST(Gdb, PythonFrames) {
  const auto rows = read_dump(
      "Thread 2 (Thread 0x7f870ffff6c0 (LWP 12) \"python3\"):\nUnable to locate python "
      "frame\n\nThread 1 (Thread 0x7f8742276040 (LWP 11) \"python3\"):\nTraceback (most recent "
      "call first):\n  <built-in method open of module object at remote 0x7f87421c9d50>\n"
      "  File \"/w/data.py\", line 27, in refresh\n    fd = os.open(self.path, os.O_RDONLY)\n  "
      "File \"/w/train.py\", line ?, in main\n    (failed to get frame line number)\n  File "
      "\"/w/train.py\", line 9, in <module>\n    main()\n[Inferior 1 (process 11) detached]\n");
  ASSERT_EQ(rows.stacks.size(), 2u);
  EXPECT_EQ(rows.stacks[0].problem, "Unable to locate python frame");
  EXPECT_EQ(rows.stacks[1].source, "gdb-py");
  EXPECT_TRUE(rows.stacks[1].main);
  EXPECT_EQ(spell(rows.stacks[1].frames),
            "!open refresh@/w/data.py:27 main@/w/train.py <module>@/w/train.py:9");
  const auto both = read_dump(
      "Thread 1 (LWP 11):\n#0  0x01 in poll () at p.c:1\nTraceback (most recent call first):\n  "
      "File \"a.py\", line 1, in f\n    x\n");
  ASSERT_EQ(both.stacks.size(), 2u);
  EXPECT_EQ(both.stacks[0].source, "gdb");
  EXPECT_EQ(both.stacks[1].source, "gdb-py");
  EXPECT_EQ(both.stacks[1].tid, 11);
}

TEST(Gdb, CudaKernels) {
  const auto rows = read_dump(
      "[Switching focus to CUDA kernel 0, grid 13, block (0,0,0), thread (0,0,0), device 0, sm 0, "
      "warp 0, lane 0]\n  Kernel Parent Dev Grid Status   SMs Mask     GridDim  BlockDim "
      "Invocation\n"
      "*      0      -   0   13 Active 0x00ffffff (24,1,1) (640,1,1) "
      "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)\n       1      - "
      "  1   15 Active 0x00ffffff (24,1,1) (640,1,1) gemm<float, (int)4>(a=1)\n",
      "cuda-gdb/rank2_pid66.txt");
  ASSERT_EQ(rows.stacks.size(), 2u);
  EXPECT_EQ(rows.stacks[0].source, "cuda-gdb");
  EXPECT_EQ(rows.stacks[0].thread, "cuda kernel");
  EXPECT_EQ(rows.stacks[0].state, "active focus");
  EXPECT_EQ(rows.stacks[0].pid, 66);
  EXPECT_EQ(spell(rows.stacks[0].frames), "!ncclDevKernel_AllReduce_Sum_bf16_RING_LL");
  EXPECT_EQ(spell(rows.stacks[1].frames), "!gemm<float, (int)4>");
}

TEST(Gdb, RefusalsAndForeignLines) {
  const auto refused = read_dump("ptrace: Operation not permitted.\n", "gdb/31446.txt");
  ASSERT_EQ(refused.stacks.size(), 1u);
  EXPECT_EQ(refused.stacks[0].pid, 31446);
  EXPECT_EQ(refused.stacks[0].problem, "ptrace: Operation not permitted.");
  const auto log = test::read_text(
      "step 1\nThread 1 (Thread 0x7f8742276040 (LWP 11) \"python3\"):\n#0  0x01 in poll () at "
      "p.c:1\nRuntimeError: CUDA error: an illegal memory access was encountered\n   indented and "
      "nobody's\n");
  ASSERT_EQ(log.stacks.size(), 1u);
  EXPECT_EQ(log.stacks[0].pid, 11);
  EXPECT_EQ(log.members[0].skipped, 2u);
  EXPECT_FALSE(log.events.empty());
}

TEST(Gdb, Hostile) {
  EXPECT_EQ(read_dump("Thread 1 (LWP 5):\n#0  f (" + std::string(1'000'000, '(') + "\n    " +
                      std::string(70'000, 'x') + "\n#1  g () at a.c:1\n")
                .stacks.size(),
            1u);
  EXPECT_EQ(read_dump("Thread 99999999999999999999 (LWP 5):\n#0  f () at a.c:1\n").stacks.size(),
            1u);  // frames without a head that can be read
  EXPECT_EQ(read_dump("Thread 1 (LWP 5):\n#0  0x01 in f (a=\"cut").stacks.size(), 1u);
  EXPECT_EQ(read_dump("Thread 1 (LWP 5):\n#0\0  0x01 in f ()\n#1  \0\n"s).members[0].lines, 3u);
}

TEST(Lldb, Threads) {
  const auto rows = read_dump(
      "* thread #1, name = 'python3', stop reason = signal SIGSTOP\n  * frame #0: "
      "0x00007fff20391f0a libc.so.6`__poll(fds=0x7f, nfds=1, timeout=-1) + 29 at poll.c:29:10\n    "
      "frame #1: 0x0000000100003f84 libtorch.so`c10d::Work::wait(std::chrono::duration<long>) + "
      "99\n"
      "  thread #2, tid = 4243, name = 'pt_autograd_0'\n    frame #0: 0x00007fff20391f0a "
      "libc.so.6`pthread_cond_wait + 1\n",
      "lldb/4242.txt");
  ASSERT_EQ(rows.stacks.size(), 2u);
  EXPECT_TRUE(rows.stacks[0].main);
  EXPECT_EQ(rows.stacks[0].pid, 4242);
  EXPECT_EQ(
      spell(rows.stacks[0].frames),
      "!__poll@poll.c:29[libc.so.6] !c10d::Work::wait(std::chrono::duration<long>)[libtorch.so]");
  EXPECT_EQ(rows.stacks[1].tid, 4243);
  EXPECT_EQ(rows.stacks[1].thread, "pt_autograd_0");
  EXPECT_TRUE(test::read_text("worker thread #1, started\nthread #4: hello\n").stacks.empty());
}

TEST(EuStack, ThreadsAndErrors) {
  const std::string text =
      "PID 700 - process\nTID 700:\n#0  0x00007f272b621f16 __futex_abstimed_wait_common\n#1  "
      "0x00007f272b6245d8 pthread_cond_wait@@GLIBC_2.3.2\n#2  0x00007f27270c2843 "
      "c10d::Work::wait(std::chrono::duration<long, std::ratio<1l, 1000l> >)\n#3  "
      "0x00007f272a9a9b4e\n#4  0x00007f272a9a9b4f - 1 main - /usr/lib/libx.so\n    "
      "/src/main.c:12:5\n"
      "TID 701:\neu-stack: dwfl_thread_getframes tid 701 at 0x7f in <unknown>: No DWARF "
      "information found\n";
  const auto rows = read_dump(text);
  test::check_places(rows, text);
  ASSERT_EQ(rows.stacks.size(), 2u);
  EXPECT_EQ(rows.stacks[0].pid, 700);
  EXPECT_TRUE(rows.stacks[0].main);
  EXPECT_EQ(spell(rows.stacks[0].frames),
            "!__futex_abstimed_wait_common !pthread_cond_wait "
            "!c10d::Work::wait(std::chrono::duration<long, std::ratio<1l, 1000l> >) !? "
            "!main@/src/main.c:12[/usr/lib/libx.so]");
  EXPECT_NE(rows.stacks[1].problem.find("No DWARF"), std::string::npos);
  EXPECT_EQ(read_dump("eu-stack: dwfl_linux_proc_attach pid 700: Operation not permitted\n",
                      "eu-stack/all.txt")
                .stacks.at(0)
                .pid,
            700);
  EXPECT_EQ(read_dump("TID 5:\n#0  0x01 f\n", "eu-stack/5.txt").stacks.at(0).main, true);
}

}  // namespace
}  // namespace culprit::ingest
