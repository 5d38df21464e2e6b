#include "ingest/metrics/metric_labels.hpp"

#include <optional>
#include <string_view>

#include "line/instance.hpp"
#include "model/contains.hpp"
#include "model/number.hpp"
#include "model/sort.hpp"
#include "model/word_list.hpp"

namespace culprit::ingest {

namespace {

enum class Says {
  gpu_index,
  gpu_uuid,
  gpu_pci,
  gpu_device,
  host,
  instance,
  address,
  nic,
  port,
  rank,
  local_rank,
  description,
  user,
  xid
};

struct KnownLabels {
  Says says;
  std::string_view names;
};
// dcgm-exporter spells its labels differently by version and by kind of row; the others are those
// of xpu_timer, the NCCL Inspector, node_exporter, and of what Prometheus and Kubernetes add.
constexpr KnownLabels kKnownLabels[] = {
    {Says::gpu_index, "gpu gpu_id gpu_index"},
    {Says::gpu_device, "minor_number"},
    {Says::gpu_uuid, "UUID uuid gpu_uuid gpu_UUID"},
    {Says::gpu_pci, "pci_bus_id gpu_bus_id bus_id"},
    {Says::host,
     "hostname Hostname host host_name node nodename node_name kubernetes_node "
     "exported_node exported_hostname"},
    {Says::instance, "instance exported_instance"},
    {Says::address, "ip host_ip node_ip"},
    {Says::nic, "nic hca interface ifname iface"},
    {Says::port, "port"},
    {Says::rank, "rank global_rank"},
    {Says::local_rank, "local_rank"},
    {Says::description,
     "modelName model_name gpu_name driver_version GPU_I_PROFILE brand serial vbios "
     "err_msg slurm_job_id slurm_job"},
    {Says::user,
     "job endpoint service job_name pod pod_name container container_name namespace "
     "exported_pod exported_container exported_namespace hpc_job exported_job pod_uid"},
    {Says::xid, "err_code"},
};

std::optional<Says> says(std::string_view label) {
  for (const KnownLabels& one : kKnownLabels)
    if (has_word(one.names, label)) return one.says;
  if (label.starts_with("DCGM_FI_"))
    return Says::description;  // fields of the kind "label" in dcgm-exporter's list of counters
  return std::nullopt;
}

bool integer(std::string_view text, std::int64_t& value) {
  return parse_whole(text, value) && value >= 0;
}

bool of_network(std::string_view metric) {
  for (const std::string_view word : {"infiniband", "network_", "ethtool", "rdma", "roce"})
    if (contains(metric, word)) return true;
  return false;
}

bool rdma_device(std::string_view device) {
  for (const std::string_view start : {"mlx4_", "mlx5_", "bnxt_re", "irdma", "hfi1_", "qib", "efa_",
                                       "rocep", "roceo", "ibp", "ibs"})
    if (device.starts_with(start)) return true;
  return false;
}

// What the labels of a series name, by their words; empty: no label names it.
struct NamedByLabels {
  std::string_view index, uuid, pci, host, instance, address, nic, port, device;
  bool device_is_nic = false;
  bool port_in_nic = false;  // the series' NIC says the port, too
};

// Ranks go into the key at once. Of labels that say the same, the first counts.
NamedByLabels read_labels(const std::vector<MetricLabel>& labels, SeriesRow& key) {
  NamedByLabels out;
  const auto keep_first = [](std::string_view& slot, const std::string& value) {
    if (slot.empty()) slot = value;
  };
  for (const MetricLabel& one : labels) {
    if (one.name == "device") out.device = one.value;
    const auto known = says(one.name);
    if (!known) continue;
    switch (*known) {
      case Says::gpu_index: keep_first(out.index, one.value); break;
      case Says::gpu_uuid: keep_first(out.uuid, one.value); break;
      case Says::gpu_pci: keep_first(out.pci, one.value); break;
      case Says::host: keep_first(out.host, one.value); break;
      case Says::instance: keep_first(out.instance, one.value); break;
      case Says::address: keep_first(out.address, one.value); break;
      case Says::nic: keep_first(out.nic, one.value); break;
      case Says::port: keep_first(out.port, one.value); break;
      case Says::rank:
        if (std::int64_t v = 0; !key.rank && integer(one.value, v)) key.rank = Rank(v);
        break;
      case Says::local_rank:
        if (std::int64_t v = 0; !key.local_rank && integer(one.value, v))
          key.local_rank = LocalRank(v);
        break;
      default: break;
    }
  }
  return out;
}

// Host, GPU and NIC of the series.
void name_entity(NamedByLabels& named, bool one_host, SeriesRow& key) {
  if (!named.host.empty())
    key.host = Host(named.host);
  else if (const std::string_view from = line::without_port(named.instance); !from.empty())
    key.host = Host(from);
  else if (!named.address.empty())
    key.host = Host(named.address);

  const bool index_enough = one_host || key.host.has_value();
  for (const std::string_view name :
       {index_enough ? named.index : named.uuid, named.uuid, named.pci, named.index})
    if (!name.empty() && !key.gpu) key.gpu = std::string(name);

  std::string_view& nic = named.nic;
  named.device_is_nic =
      nic.empty() && !named.device.empty() && (of_network(key.name) || rdma_device(named.device));
  if (named.device_is_nic) nic = named.device;
  if (!nic.empty())
    key.nic = named.port.empty() || (!named.device_is_nic && !rdma_device(nic))
                  ? std::string(nic)
                  : std::string(nic) + "/" + std::string(named.port);
  named.port_in_nic = key.nic && key.nic->size() > nic.size();
}

// Whether the entity of the key already says what the label does.
bool repeats_entity(const MetricLabel& label, const NamedByLabels& named, const SeriesRow& key) {
  if (label.name == "device")
    return named.device_is_nic || (key.gpu && named.device.starts_with("nvidia"));
  const auto known = says(label.name);
  if (!known) return false;
  switch (*known) {
    case Says::gpu_device: return key.gpu.has_value();
    case Says::gpu_index: return key.gpu == label.value || (key.gpu && named.uuid == *key.gpu);
    case Says::nic: return key.nic.has_value() && label.value == named.nic;
    case Says::port: return named.port_in_nic;
    case Says::rank: return key.rank.has_value();
    case Says::local_rank: return key.local_rank.has_value();
    // Whose work it is: of a GPU or a rank it only tells who uses it, of anything else it is
    // the very name.
    case Says::user: return key.gpu.has_value() || key.rank.has_value();
    // A gauge of the last Xid: its value says the same.
    case Says::xid: return key.name == "DCGM_FI_DEV_XID_ERRORS";
    case Says::instance:
      return !named.host.empty() || line::without_port(label.value).empty() ||
             line::without_port(label.value) == key.host;
    default: return true;
  }
}

}  // namespace

void name_series(std::vector<MetricLabel>& labels, bool one_host, SeriesRow& key) {
  std::erase_if(labels, [](const MetricLabel& one) {
    return one.value.empty();
  });  // the same as no label, says Prometheus
  sort_rows(labels);
  NamedByLabels named = read_labels(labels, key);
  name_entity(named, one_host, key);
  for (const MetricLabel& one : labels) {
    if (repeats_entity(one, named, key)) continue;
    if (!key.labels.empty()) key.labels += ',';
    key.labels += one.name;
    key.labels += '=';
    key.labels += one.value;
  }
}

}  // namespace culprit::ingest
