#include "analyze/hang/stack_stage.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace culprit::analyze {

namespace {

using enum Doing;

// How much a frame tells. A weak frame (a futex, a poll, a read) is believed only when no caller
// says what it is for; `generic` frames tell nothing and stand in every stack; `bound` ends the
// search: below it lie frames of another process (a forked worker keeps its parent's) or of a
// starter.
enum class Tells { strong, weak, generic, bound };

struct StageMarker {
  std::string_view function;  // "name", "prefix*", "*middle*"
  std::string_view file;      // part of the path or module; "" any
  Doing doing;
  std::string_view operation;
  Tells tells = Tells::strong;
  std::string_view dimension = {};
  int toward = 0;
};

constexpr std::string_view kC10d = "torch/distributed/";

// The first that fits wins.
constexpr StageMarker kStageMarkers[] = {
    // Decorators and wrappers that stand in stacks of all kinds.
    {"wrapper", "elastic/multiprocessing/errors", unknown, "", Tells::generic},
    {"wrapper", "c10d_logger", unknown, "", Tells::generic},
    {"decorate_*", "torch/", unknown, "", Tells::generic},
    {"inner", "torch/", unknown, "", Tells::generic},
    {"_call_impl", "", unknown, "", Tells::generic},
    {"_wrapped_call_impl", "", unknown, "", Tells::generic},
    {"_fn", "eval_frame.py", unknown, "", Tells::generic},
    {"__call__", "_inductor/", unknown, "", Tells::generic},
    {"run", "_inductor/", unknown, "", Tells::generic},
    {"_run_module_as_main", "", unknown, "", Tells::generic},
    {"_run_code", "", unknown, "", Tells::generic},
    {"_bootstrap", "", unknown, "", Tells::generic},
    {"_bootstrap_inner", "", unknown, "", Tells::generic},
    {"_PyEval*", "", unknown, "", Tells::generic},
    {"PyEval_Eval*", "", unknown, "", Tells::generic},
    {"_PyObject*", "", unknown, "", Tells::generic},
    {"PyObject_*", "", unknown, "", Tells::generic},
    {"_PyFunction*", "", unknown, "", Tells::generic},
    {"_PyVectorcall*", "", unknown, "", Tells::generic},
    {"PyVectorcall*", "", unknown, "", Tells::generic},
    {"cfunction_*", "", unknown, "", Tells::generic},
    {"method_vectorcall*", "", unknown, "", Tells::generic},
    {"slot_tp_*", "", unknown, "", Tells::generic},
    {"do_call_core", "", unknown, "", Tells::generic},
    {"run_eval_code_obj", "", unknown, "", Tells::generic},
    {"run_mod", "", unknown, "", Tells::generic},
    {"pyrun_*", "", unknown, "", Tells::generic},
    {"_PyRun_*", "", unknown, "", Tells::generic},
    {"pymain_*", "", unknown, "", Tells::generic},
    {"Py_RunMain", "", unknown, "", Tells::generic},
    {"Py_BytesMain", "", unknown, "", Tells::generic},
    {"__libc_start*", "", unknown, "", Tells::generic},
    {"_start", "", unknown, "", Tells::generic},
    {"start_thread", "", unknown, "", Tells::generic},
    {"clone", "", unknown, "", Tells::generic},
    {"clone3", "", unknown, "", Tells::generic},
    {"__clone*", "", unknown, "", Tells::generic},
    {"execute_native_thread_routine", "", unknown, "", Tells::generic},
    {"?", "", unknown, "", Tells::generic},
    {"??", "", unknown, "", Tells::generic},

    // Roles that a stack betrays: the search ends here.
    {"_worker_loop", "", idle, "worker", Tells::bound},
    {"_pin_memory_loop", "", idle, "pin memory", Tells::bound},
    {"_invoke_run", "elastic", idle, "agent", Tells::bound},
    {"_monitor_workers", "elastic", idle, "agent", Tells::bound},
    {"ncclProxyProgress", "", idle, "NCCL proxy", Tells::bound},
    {"ncclProxyService*", "", idle, "NCCL proxy", Tells::bound},
    {"ncclIbAsyncThreadMain", "", idle, "NCCL proxy", Tells::bound},
    {"persistentThread", "", idle, "NCCL proxy", Tells::bound},
    {"rasThreadMain", "", idle, "NCCL RAS", Tells::bound},
    {"c10d::ProcessGroupGloo::runLoop", "", idle, "gloo", Tells::bound},
    {"*WatchdogHandler", "", idle, "watchdog", Tells::bound},
    {"*watchdogHandler", "", idle, "watchdog", Tells::bound},
    {"*ncclCommWatchdog*", "", idle, "watchdog", Tells::bound},
    {"*heartbeatMonitor*", "", idle, "watchdog", Tells::bound},

    // Megatron and its relatives wait in these; the op itself is C and shows no Python frame of its
    // own.
    {"recv_forward", "", collective, "recv", Tells::strong, "pp", -1},
    {"recv_backward", "", collective, "recv", Tells::strong, "pp", +1},
    {"send_forward", "", collective, "send", Tells::strong, "pp", +1},
    {"send_backward", "", collective, "send", Tells::strong, "pp", -1},
    {"send_forward_recv_backward", "", collective, "sendrecv", Tells::strong, "pp", +1},
    {"send_backward_recv_forward", "", collective, "sendrecv", Tells::strong, "pp", -1},
    {"send_forward_recv_forward", "", collective, "sendrecv", Tells::strong, "pp"},
    {"send_backward_recv_backward", "", collective, "sendrecv", Tells::strong, "pp"},
    {"_communicate", "p2p_communication", collective, "sendrecv", Tells::strong, "pp"},
    {"_p2p_ops", "p2p_communication", collective, "sendrecv", Tells::strong, "pp"},
    {"_batched_p2p_ops", "p2p_communication", collective, "sendrecv", Tells::strong, "pp"},
    {"finish_grad_sync", "", collective, "grad_sync", Tells::strong, "dp"},
    {"finish_param_sync", "", collective, "param_sync", Tells::strong, "dp"},
    {"finalize_model_grads", "", collective, "grad_sync", Tells::weak, "dp"},

    // torch.distributed and what wraps it under the same names.
    {"all_reduce*", kC10d, collective, "all_reduce"},
    {"all_gather*", kC10d, collective, "all_gather"},
    {"_all_gather_base", kC10d, collective, "all_gather"},
    {"reduce_scatter*", kC10d, collective, "reduce_scatter"},
    {"_reduce_scatter_base", kC10d, collective, "reduce_scatter"},
    {"broadcast*", kC10d, collective, "broadcast"},
    {"batch_isend_irecv", kC10d, collective, "sendrecv"},
    {"isend", kC10d, collective, "send"},
    {"irecv", kC10d, collective, "recv"},
    {"send*", kC10d, collective, "send"},
    {"recv*", kC10d, collective, "recv"},
    {"all_to_all*", kC10d, collective, "all_to_all"},
    {"barrier", kC10d, collective, "barrier"},
    {"monitored_barrier", kC10d, collective, "barrier"},
    {"reduce", kC10d, collective, "reduce"},
    {"gather*", kC10d, collective, "gather"},
    {"scatter*", kC10d, collective, "scatter"},
    {"wait_tensor", kC10d, collective, ""},
    {"all_reduce", "deepspeed/comm", collective, "all_reduce"},
    {"all_gather*", "deepspeed/comm", collective, "all_gather"},
    {"reduce_scatter*", "deepspeed/comm", collective, "reduce_scatter"},
    {"broadcast", "deepspeed/comm", collective, "broadcast"},
    {"barrier", "deepspeed/comm", collective, "barrier"},
    {"_store_based_barrier", "", communicator, "barrier"},
    {"init_process_group", "", communicator, "init_process_group"},
    {"_new_process_group_helper", "", communicator, "new_group"},
    {"new_group", kC10d, communicator, "new_group"},
    {"split_group", kC10d, communicator, "new_group"},
    {"rendezvous", "", communicator, "rendezvous"},
    {"next_rendezvous", "", communicator, "rendezvous"},
    {"*TCPStore::*", "", communicator, "TCPStore"},
    {"ncclCommInitRank*", "", communicator, "ncclCommInitRank"},
    {"pncclCommInitRank*", "", communicator, "ncclCommInitRank"},
    {"ncclCommSplit", "", communicator, "ncclCommSplit"},
    {"pncclCommSplit", "", communicator, "ncclCommSplit"},
    {"bootstrap*", "", communicator, "bootstrap", Tells::weak},
    {"initTransportsRank", "", communicator, "ncclCommInitRank"},

    // The same from machine code. Work::wait does not know its operation: the callers do.
    {"c10d::Work::wait", "", collective, ""},
    {"c10d::ProcessGroupNCCL::WorkNCCL::*", "", collective, ""},
    {"c10d::ProcessGroupNCCL::allreduce*", "", collective, "all_reduce"},
    {"c10d::ProcessGroupNCCL::*allgather*", "", collective, "all_gather"},
    {"c10d::ProcessGroupNCCL::*reduce_scatter*", "", collective, "reduce_scatter"},
    {"c10d::ProcessGroupNCCL::broadcast*", "", collective, "broadcast"},
    {"c10d::ProcessGroupNCCL::send", "", collective, "send"},
    {"c10d::ProcessGroupNCCL::recv", "", collective, "recv"},
    {"c10d::ProcessGroupNCCL::alltoall*", "", collective, "all_to_all"},
    {"c10d::ProcessGroupNCCL::barrier", "", collective, "barrier"},
    {"c10d::ProcessGroupNCCL::*", "", collective, ""},
    {"c10d::ProcessGroupGloo::*", "", collective, ""},
    {"gloo::transport::*::wait*", "", collective, ""},
    {"ncclGroupEnd*", "", collective, ""},
    {"pncclGroupEnd*", "", collective, ""},
    {"ncclAllReduce", "", collective, "all_reduce"},
    {"pncclAllReduce", "", collective, "all_reduce"},
    {"ncclAllGather", "", collective, "all_gather"},
    {"pncclAllGather", "", collective, "all_gather"},
    {"ncclReduceScatter", "", collective, "reduce_scatter"},
    {"pncclReduceScatter", "", collective, "reduce_scatter"},
    {"ncclBroadcast", "", collective, "broadcast"},
    {"pncclBroadcast", "", collective, "broadcast"},
    {"ncclSend", "", collective, "send"},
    {"pncclSend", "", collective, "send"},
    {"ncclRecv", "", collective, "recv"},
    {"pncclRecv", "", collective, "recv"},

    // The host's own GPU. Weak: a blocking collective waits by the same calls.
    {"cudaStreamSynchronize*", "", gpu, "cudaStreamSynchronize", Tells::weak},
    {"cuStreamSynchronize*", "", gpu, "cudaStreamSynchronize", Tells::weak},
    {"cudaDeviceSynchronize*", "", gpu, "cudaDeviceSynchronize", Tells::weak},
    {"cuCtxSynchronize*", "", gpu, "cudaDeviceSynchronize", Tells::weak},
    {"cudaEventSynchronize*", "", gpu, "cudaEventSynchronize", Tells::weak},
    {"cuEventSynchronize*", "", gpu, "cudaEventSynchronize", Tells::weak},
    {"hipStreamSynchronize*", "", gpu, "hipStreamSynchronize", Tells::weak},
    {"hipDeviceSynchronize*", "", gpu, "hipDeviceSynchronize", Tells::weak},
    {"cudaMemcpy*", "", gpu, "cudaMemcpy", Tells::weak},
    {"cudaLaunchKernel*", "", gpu, "cudaLaunchKernel", Tells::weak},
    {"*_local_scalar_dense*", "", gpu, "item"},
    {"at::native::item", "", gpu, "item"},
    {"synchronize", "torch/cuda", gpu, "synchronize"},
    // Where Python's stack ends in C that waits for the device, when no code of the user's is
    // further in.
    {"_engine_run_backward", "", gpu, "backward", Tells::weak},
    {"run_backward", "torch/autograd", gpu, "backward", Tells::weak},
    {"get_grad_norm*", "", gpu, "item", Tells::weak},
    {"get_total_norm", "", gpu, "item", Tells::weak},
    {"item", "torch/", gpu, "item"},

    {"destroy_process_group", "", compute, "leaving"},
    {"_python_exit", "", compute, "leaving"},
    {"_exit_function", "", compute, "leaving"},

    {"take_gil", "", gil, "take_gil"},

    // Waiting for data, before storage: the queue is read by the same calls as a file.
    {"_try_get_data", "", data, "data loader"},
    {"_get_data", "dataloader.py", data, "data loader"},
    {"_next_data", "dataloader.py", data, "data loader"},
    {"__next__", "torch/utils/data/dataloader", data, "data loader"},
    {"get", "multiprocessing/queues", idle, "queue", Tells::weak},
    {"get", "queue.py", idle, "queue", Tells::weak},
    {"accept", "socket.py", idle, "accept", Tells::weak},

    // Answers of services, before storage: a socket is read by the same calls as a file.
    {"*", "requests/", service, "HTTP"},
    {"*", "httpx/", service, "HTTP"},
    {"*", "aiohttp/", service, "HTTP"},
    {"sync", "fsspec/asyn", service, "remote file system"},
    {"*", "slack_sdk/", service, "HTTP"},
    {"*", "wandb/", service, "experiment tracker"},
    {"*", "mlflow/", service, "experiment tracker"},
    {"*", "comet_ml/", service, "experiment tracker"},
    {"*", "neptune/", service, "experiment tracker"},
    {"*", "clearml/", service, "experiment tracker"},
    {"*", "swanlab/", service, "experiment tracker"},
    {"*", "huggingface_hub/", service, "model hub"},
    {"*", "smtplib.py", service, "mail"},
    {"*", "pymongo/", service, "database"},
    {"*", "redis/", service, "database"},

    // Storage.
    {"<built-in method open of *", "", storage, "open"},
    {"open", "", storage, "open", Tells::weak},
    {"<built-in method *stat of *", "", storage, "stat"},
    {"<built-in method scandir of *", "", storage, "readdir"},
    {"<built-in method listdir of *", "", storage, "readdir"},
    {"<built-in method fsync of *", "", storage, "fsync"},
    {"<built-in method read of *", "", storage, "read", Tells::weak},
    {"<built-in method write of *", "", storage, "write", Tells::weak},
    {"open", "pathlib", storage, "open"},
    {"open", "fsspec", storage, "open"},
    {"read_bytes", "pathlib", storage, "read"},
    {"read_text", "pathlib", storage, "read"},
    {"exists", "genericpath", storage, "stat"},
    {"*", "s3fs", storage, "object store", Tells::weak},
    {"*", "botocore", storage, "object store", Tells::weak},
    {"load", "torch/serialization", storage, "torch.load"},
    {"_load", "torch/serialization", storage, "torch.load"},
    {"save", "torch/serialization", storage, "torch.save"},
    {"_save", "torch/serialization", storage, "torch.save"},
    {"load_file", "safetensors", storage, "load_file"},
    {"__open", "", storage, "open"},
    {"__open64*", "", storage, "open"},
    {"__open_nocancel", "", storage, "open"},
    {"__libc_open*", "", storage, "open"},
    {"__GI___open*", "", storage, "open"},
    {"open64", "", storage, "open"},
    {"os_open*", "", storage, "open"},
    {"__openat*", "", storage, "open"},
    {"openat*", "", storage, "open"},
    {"__fopen*", "", storage, "open"},
    {"__xstat*", "", storage, "stat"},
    {"__lxstat*", "", storage, "stat"},
    {"__fxstat*", "", storage, "stat"},
    {"__GI___stat*", "", storage, "stat"},
    {"stat64", "", storage, "stat"},
    {"statx", "", storage, "stat"},
    {"getdents*", "", storage, "readdir"},
    {"__getdents*", "", storage, "readdir"},
    {"fsync", "", storage, "fsync"},
    {"fdatasync", "", storage, "fsync"},
    {"__GI_fsync", "", storage, "fsync"},
    {"pread*", "", storage, "read"},
    {"__pread*", "", storage, "read"},
    {"__libc_pread*", "", storage, "read"},
    {"pwrite*", "", storage, "write"},
    {"__pwrite*", "", storage, "write"},
    {"__libc_pwrite*", "", storage, "write"},
    {"read", "", storage, "read", Tells::weak},
    {"__read*", "", storage, "read", Tells::weak},
    {"__libc_read*", "", storage, "read", Tells::weak},
    {"__GI___libc_read*", "", storage, "read", Tells::weak},
    {"write", "", storage, "write", Tells::weak},
    {"__write*", "", storage, "write", Tells::weak},
    {"__libc_write*", "", storage, "write", Tells::weak},
    {"__GI___libc_write*", "", storage, "write", Tells::weak},
    {"nfs_*", "", storage, "NFS"},
    {"nfs4_*", "", storage, "NFS"},
    {"rpc_wait_bit_killable", "", storage, "NFS"},
    {"cl_sync_io_wait", "", storage, "Lustre"},
    {"ll_file_*", "", storage, "Lustre"},
    {"fuse_*", "", storage, "FUSE"},
    {"fifo_open", "", storage, "open"},

    // Compilation, then checkpoints: below what they call.
    {"*", "_dynamo/convert_frame", compile, "dynamo"},
    {"*", "_dynamo/symbolic_convert", compile, "dynamo"},
    {"*", "_inductor/compile_fx", compile, "inductor"},
    {"*", "_inductor/codegen", compile, "inductor"},
    {"*", "_inductor/codecache", compile, "inductor"},
    {"*", "_inductor/scheduler", compile, "inductor"},
    {"*", "triton/compiler", compile, "triton"},
    {"*", "triton/backends", compile, "triton"},
    {"*", "utils/cpp_extension", compile, "nvcc"},
    {"*save_checkpoint*", "", checkpoint, "save"},
    {"*load_checkpoint*", "", checkpoint, "load"},
    {"*", "dist_checkpointing", checkpoint, "dist_checkpointing"},
    {"*", "torch/distributed/checkpoint", checkpoint, "torch.distributed.checkpoint"},

    // Locks and sleeps.
    {"__futex_*", "", lock, "futex", Tells::weak},
    {"__GI___futex*", "", lock, "futex", Tells::weak},
    {"futex_*", "", lock, "futex", Tells::weak},
    {"__lll_lock_wait*", "", lock, "mutex", Tells::weak},
    {"*pthread_mutex_lock*", "", lock, "mutex", Tells::weak},
    {"*pthread_cond_*", "", lock, "condition", Tells::weak},
    {"*sem_wait*", "", lock, "semaphore", Tells::weak},
    {"*sem_timedwait*", "", lock, "semaphore", Tells::weak},
    {"std::condition_variable::*", "", lock, "condition", Tells::weak},
    {"std::this_thread::sleep*", "", lock, "sleep", Tells::weak},
    {"*nanosleep*", "", lock, "sleep", Tells::weak},
    {"pysleep", "", lock, "sleep", Tells::weak},
    {"time_sleep", "", lock, "sleep", Tells::weak},
    {"<built-in method sleep of *", "", lock, "sleep", Tells::weak},
    {"<built-in method acquire of *", "", lock, "lock", Tells::weak},
    {"acquire_*", "", lock, "lock", Tells::weak},
    {"*_lock", "", lock, "lock", Tells::weak},
    {"interaction", "pdb.py", lock, "debugger (pdb)"},
    {"wait", "threading.py", lock, "condition", Tells::weak},
    {"acquire", "threading.py", lock, "lock", Tells::weak},
    {"acquire", "logging/__init__.py", lock, "lock", Tells::weak},
    {"__enter__", "threading.py", lock, "lock", Tells::weak},
    {"join", "threading.py", lock, "join", Tells::weak},
    {"_wait_for_tstate_lock", "threading.py", lock, "join", Tells::weak},
    {"wait", "subprocess.py", lock, "child process", Tells::weak},
    {"_wait", "subprocess.py", lock, "child process", Tells::weak},
    {"communicate", "subprocess.py", lock, "child process", Tells::weak},
    {"select", "selectors.py", lock, "poll", Tells::weak},
    {"wait", "multiprocessing/connection", lock, "poll", Tells::weak},
    {"poll", "", lock, "poll", Tells::weak},
    {"__poll*", "", lock, "poll", Tells::weak},
    {"__GI___poll*", "", lock, "poll", Tells::weak},
    {"*epoll_wait*", "", lock, "poll", Tells::weak},
    {"__select*", "", lock, "poll", Tells::weak},
};

// What a caller's name or file says of the group an operation runs on.
struct Hint {
  std::string_view function, file, dimension;
  int toward = 0;
};
constexpr Hint kHints[] = {
    {"recv_forward", "", "pp", -1},
    {"recv_backward", "", "pp", +1},
    {"send_forward", "", "pp", +1},
    {"send_backward", "", "pp", -1},
    {"send_forward_recv_backward", "", "pp", +1},
    {"send_backward_recv_forward", "", "pp", -1},
    {"*", "p2p_communication", "pp"},
    {"*", "pipelining/", "pp"},
    {"tp_*", "", "tp"},
    {"*_tp_*", "", "tp"},
    {"*tensor_model_parallel*", "", "tp"},
    {"*tensor_parallel*", "", "tp"},
    {"*", "tensor_parallel/", "tp"},
    {"*", "distributed/tensor", "tp"},
    {"pp_*", "", "pp"},
    {"*", "token_dispatcher", "ep"},
    {"*", "/moe/", "ep"},
    {"ep_*", "", "ep"},
    {"cp_*", "", "cp"},
    {"*context_parallel*", "", "cp"},
    {"*ring_attention*", "", "cp"},
    {"dp_*", "", "dp"},
    {"*_grad_sync", "", "dp"},
    {"*_param_sync", "", "dp"},
    {"*allreduce_grad*", "", "dp"},
    {"*all_reduce_grad*", "", "dp"},
    {"*reduce_gradients*", "", "dp"},
    {"*", "param_and_grad_buffer", "dp"},
    {"*", "distrib_optimizer", "dp"},
    {"*", "finalize_model_grads", "dp"},
    {"*", "distributed/fsdp", "dp"},
    {"*", "_composable/fsdp", "dp"},
    {"*", "nn/parallel/distributed", "dp"},
    {"*", "runtime/zero", "dp"},
};

constexpr bool fits(std::string_view pattern, std::string_view text) {
  if (pattern == "*") return true;
  if (pattern.empty()) return text.empty();
  const bool front = pattern.front() == '*';
  const bool back = pattern.back() == '*';
  if (!front && !back) {
    const auto star = pattern.find('*');
    if (star == std::string_view::npos) return pattern == text;
    return text.size() >= pattern.size() - 1 && text.starts_with(pattern.substr(0, star)) &&
           text.ends_with(pattern.substr(star + 1));
  }
  if (front && back)
    return text.find(pattern.substr(1, pattern.size() - 2)) != std::string_view::npos;
  if (front) return text.ends_with(pattern.substr(1));
  pattern.remove_suffix(1);
  const auto star = pattern.find('*');
  if (star == std::string_view::npos) return text.starts_with(pattern);
  return text.starts_with(pattern.substr(0, star)) &&
         text.find(pattern.substr(star + 1), star) != std::string_view::npos;
}

bool in_file(std::string_view part, const Frame& frame) {
  return part.empty() || frame.file.find(part) != std::string::npos ||
         frame.module.find(part) != std::string::npos;
}

// Aggregates and stripped binaries give names without files: a name of torch's own is then believed
// by itself.
bool marker_fits(const StageMarker& m, const Frame& frame, std::string_view function) {
  if (!fits(m.function, function)) return false;
  if (in_file(m.file, frame)) return true;
  return m.file == kC10d && m.doing == collective && frame.file.empty() && frame.module.empty() &&
         !frame.native;
}

const StageMarker* marker_of(const Frame& frame, std::string_view function) {
  for (const StageMarker& m : kStageMarkers)
    if (marker_fits(m, frame, function)) return &m;
  return nullptr;
}

const Hint* hint_of(const Frame& frame, std::string_view function) {
  for (const Hint& h : kHints)
    if (fits(h.function, function) && in_file(h.file, frame)) return &h;
  return nullptr;
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
  const StageMarker* marker = nullptr;
  const Hint* hint = nullptr;
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

bool is_p2p(std::string_view operation) {
  return operation == "send" || operation == "recv" || operation == "sendrecv";
}

// The facts of a frame; null: the stack refers to one that there is not.
const FrameFacts* facts_of(std::uint32_t frame, const std::vector<FrameFacts>& facts) {
  return frame < facts.size() ? &facts[frame] : nullptr;
}

// The frame that tells what a stack does.
struct Deciding {
  const StageMarker* marker = nullptr;  // null: none
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

std::string_view name(Doing doing) {
  constexpr std::array<std::string_view, 13> kNames = {"unknown",
                                                       "collective",
                                                       "waiting for the GPU",
                                                       "making a communicator",
                                                       "storage",
                                                       "waiting for data",
                                                       "checkpoint",
                                                       "compiling",
                                                       "waiting for the GIL",
                                                       "waiting for a service",
                                                       "lock or sleep",
                                                       "idle",
                                                       "own code"};
  return kNames[static_cast<std::size_t>(doing)];
}

bool Stage::p2p() const { return doing == Doing::collective && is_p2p(operation); }

std::string_view base_name(std::string_view path) {
  const auto slash = path.find_last_of('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string place_of(const std::string& file, std::int64_t line) {
  return file.empty() || line <= 0 ? file : file + ":" + std::to_string(line);
}

bool library_file(std::string_view path) {
  if (path.empty() || path.starts_with('<')) return true;
  for (const std::string_view part :
       {"site-packages/", "dist-packages/", "/lib/python", "/usr/lib/", "torch/",
        "multiprocessing/", "concurrent/", "numpy/", "asyncio/", "urllib3/", "botocore/", "fsspec/",
        "s3fs/"})
    if (path.find(part) != std::string_view::npos) return true;
  // py-spy cuts the folder of Python's own modules, and of installed packages.
  for (const std::string_view package :
       {"re/",        "json/",     "xml/",         "html/",     "urllib/",   "ctypes/",
        "encodings/", "sqlite3/",  "collections/", "PIL/",      "pandas/",   "pyarrow/",
        "scipy/",     "cv2/",      "boto3/",       "ray/",      "wandb/",    "triton/",
        "http/",      "requests/", "httpx/",       "httpcore/", "aiohttp/",  "slack_sdk/",
        "pymongo/",   "redis/",    "email/",       "logging/",  "importlib/"})
    if (path.starts_with(package)) return true;
  for (const std::string_view file :
       {"threading.py",  "queue.py",     "socket.py",      "selectors.py", "ssl.py",
        "subprocess.py", "pathlib.py",   "shutil.py",      "os.py",        "pickle.py",
        "contextlib.py", "functools.py", "genericpath.py", "posixpath.py", "tempfile.py",
        "zipfile.py",    "tarfile.py",   "gzip.py",        "codecs.py",    "runpy.py",
        "re.py",         "random.py",    "copy.py",        "heapq.py",     "bisect.py",
        "cmd.py",        "pdb.py",       "bdb.py",         "smtplib.py"})
    if (path == file) return true;
  return false;
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
    if (const auto space = out.rfind(' '); space != std::string::npos &&
                                           out.find("operator") == std::string::npos &&
                                           out.find('(') == std::string::npos)
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
    f.marker = marker_of(frame, text);
    f.hint = hint_of(frame, text);
    f.extra = text.starts_with("<built-in");
    f.user = !frame.native && !library_file(frame.file) && !f.extra;
    f.exact = std::hash<std::string>{}(text);
    // Sources of machine code are printed only where debug data lies: no part of the name.
    if (!frame.native && !frame.file.empty()) {
      std::string_view file = base_name(frame.file);
      if (frame.file.find("torchinductor") != std::string::npos)
        file = "inductor";  // named after a digest
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
