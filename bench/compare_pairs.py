#!/usr/bin/env python3
"""compare_pairs.py CULPRIT SIMULATOR [--pairs N] [--base SEED] [--keep DIR]

Does `culprit compare` find what was changed? Makes pairs of bundles out of clean runs of a simulator (a folder with
sim.py): both sides are copies of one run in which lines and samples were left out at random and metrics jittered, each side
for itself, so that much differs by chance. One side gets a planted change: a version, a kind of line (new, gone or more
frequent), a metric of all machines, or one machine (hot, with another setting, or replaced). Prints in which place the
change is told; the figure is the share among the first five.
"""
import argparse, csv, io, json, os, random, re, shutil, subprocess, sys, tempfile

LOG = re.compile(r'(std(out|err)\.log|\.out|dmesg.*|kmsg.*|messages|syslog|journal.*|rank.*\.log|.*\.log)$')
LINES = [
    'storage client {n}: falling back to synchronous reads on volume {n}',
    'tokenizer cache miss for shard {n}, rebuilding index in {n} ms',
    'W dataloader: prefetch queue drained, {n} batches behind',
    'expert router capacity exceeded on layer {n}: {n} tokens dropped',
    'ERROR checkpoint-agent: manifest {n} could not be verified, retrying',
    'fused kernel cache disabled: falling back to eager attention',
    'telemetry flush took {n} ms',
    'cpu affinity mask reset to 0-{n} by cgroup update',
]


def files(folder):
    for root, dirs, names in os.walk(folder):
        dirs.sort()
        for name in sorted(names): yield os.path.join(root, name)


def read(path): return open(path, encoding='utf-8', errors='surrogateescape').read()
def write(path, text): open(path, 'w', encoding='utf-8', errors='surrogateescape').write(text)


def is_log(path): return LOG.search(os.path.basename(path)) is not None


def columns(path, change):
    """change(column name, row) -> factor; of every number of a table with a header."""
    rows = list(csv.reader(io.StringIO(read(path))))
    if not rows: return
    head = [c.strip() for c in rows[0]]
    for row in rows[1:]:
        for i, cell in enumerate(row):
            if i >= len(head) or re.search(r'time|host|index|uuid|bus|name|pci', head[i], re.I): continue
            m = re.match(r'^(\s*)(-?\d+(?:\.\d+)?)(.*)$', cell)
            if not m: continue
            factor, offset = change(head[i], row)
            value = float(m[2]) * factor + offset
            row[i] = m[1] + (f'{value:.2f}' if '.' in m[2] else f'{value:.0f}') + m[3]
    out = io.StringIO()
    csv.writer(out, lineterminator='\n').writerows(rows)
    write(path, out.getvalue())


def by_chance(folder, rng):
    for path in files(folder):
        if is_log(path):
            lines = read(path).split('\n')
            write(path, '\n'.join(l for l in lines if rng.random() > 0.15 or not l))
        elif path.endswith('.csv'):
            columns(path, lambda name, row: (1 + rng.gauss(0, 0.004), 0) if not name.endswith('errors') else (1, 0))


def hosts_of(folder): return sorted(json.load(open(os.path.join(folder, 'job.json')))['hosts'])


def plant_version(folder, rng):
    texts = {p: read(p) for p in files(folder) if os.path.getsize(p) < 5_000_000}
    choices = []
    for name, pattern in (('nccl_version', r'(NCCL version )(\d+\.\d+\.\d+)'), ('driver_version', r'((?:NVRM version:[^\n]*?|[Dd]river[ _][Vv]ersion\s*[:=]\s*|driver[:=]\s*))(\d{3}\.\d+(?:\.\d+)?)'),
                          ('pip.torch', r'(torch==)(\d+\.\d+\.\d+)'), ('env.NCCL_IB_TIMEOUT', r'(NCCL_IB_TIMEOUT=)(\d+)'), ('env.NCCL_IB_TC', r'(NCCL_IB_TC=)(\d+)'),
                          ('env.NCCL_IB_QPS_PER_CONNECTION', r'(NCCL_IB_QPS_PER_CONNECTION=)(\d+)')):
        if any(re.search(pattern, t) for t in texts.values()): choices.append((name, pattern))
    name, pattern = rng.choice(choices)
    found = next(m for t in texts.values() for m in [re.search(pattern, t)] if m)
    old = found[2]
    new = re.sub(r'\d+$', lambda m: str(int(m[0]) + rng.randint(1, 4)), old)
    for p, t in texts.items():
        if old in t: write(p, t.replace(old, new) if '.' in old else re.sub(pattern, lambda m: m[1] + new, t))
    return name, lambda c: c['kind'] == 'setting' and (name.split('.')[-1] in c['what'] or name.split('.')[-1] in c['title'])


def prefix_of(path):
    """What stands before the message in this log: a line of its own that can be copied."""
    for line in read(path).split('\n'):
        m = re.match(r'^(\[[^\]]*\] |<\d+>\S+ |\w{3} [ \d]\d [\d:]{8} \S+ \S+: |\S+T[\d:.,+Z-]+ \S+ \S+: )', line)
        if m: return m[1]
    return ''


def plant_line(folder, rng):
    logs = [p for p in files(folder) if is_log(p) and os.path.getsize(p) > 500]
    how = rng.choice(['new', 'new', 'new', 'gone', 'rate'])
    if how == 'new':
        text = rng.choice(LINES)
        for path in rng.sample(logs, min(len(logs), rng.choice([1, 2, 8, 30]))):
            lines = read(path).split('\n')
            for _ in range(rng.choice([1, 3, 10])):
                lines.insert(rng.randrange(1, len(lines)), prefix_of(path) + re.sub(r'\{n\}', lambda m: str(rng.randint(1, 900)), text))
            write(path, '\n'.join(lines))
        words = [w for w in re.findall(r'[a-z]{4,}', text)][:3]
        return 'new: ' + text, lambda c: c['kind'] == 'new_lines' and all(w in (c['what'] + c['title']) for w in words)
    # A kind of line that is there often: two plain words that many logs have.
    counts = {}
    for path in logs:
        for line in set(re.findall(r'[A-Za-z]{4,} [a-z]{3,} [a-z]{3,}', read(path))): counts[line] = counts.get(line, 0) + 1
    common = sorted(w for w, n in counts.items() if n >= max(6, 0.25 * len(logs)))
    if not common: return None
    words = rng.choice(common)
    hit = 0
    for path in logs:
        lines, out = read(path).split('\n'), []
        for line in lines:
            if words not in line: out.append(line); continue
            hit += 1
            if how == 'rate': out += [line] * 12
        write(path, '\n'.join(out))
    kind = 'gone_lines' if how == 'gone' else 'rate_of_lines'
    return f'{how}: {words} ({hit})', lambda c: c['kind'] == kind and words in (c['what'] + c['title'] + c['good'] + c['bad'])


TABLES = (('gpu_temperature', r'temp', 1, 14), ('gpu_power', r'power', 0.72, 0), ('gpu_sm_clock', r'clocks?[._].*sm|sm_clock', 0.7, 0), ('load', r'load1', 4, 0), ('cpu', r'cpu_(user|sys)', 3, 0), ('mem', r'mem_available', 0.4, 0))


def shift(folder, rng, host=None):
    tables = [p for p in files(folder) if p.endswith('.csv') and (host is None or host in p)]
    usable = [t for t in TABLES if any(re.search(t[1], read(p).split('\n')[0], re.I) for p in tables)]
    if not usable: return None
    name, pattern, factor, offset = rng.choice(usable)
    for path in tables:
        columns(path, lambda column, row: (factor, offset) if re.search(pattern, column, re.I) else (1, 0))
    return name


def plant_metric(folder, rng):
    name = shift(folder, rng)
    return name and (name, lambda c: c['kind'] == 'metric' and name.split('_')[-1] in c['title'])


def plant_host(folder, rng):
    host = rng.choice(hosts_of(folder))
    how = rng.choice(['hot', 'setting', 'replaced'])
    if how == 'hot':
        name = shift(folder, rng, host)
        return name and (f'{host}: {name}', lambda c: c['kind'] == 'machine' and c['hosts'] == [host])
    if how == 'setting':
        name = None
        for path in files(folder):
            if host in path and path.endswith('env.txt'):
                text = read(path)
                m = rng.choice(re.findall(r'^(NCCL_\w+)=(?!INFO)', text, re.M) or [None])
                if m is None: return None
                name = m
                write(path, re.sub(rf'^{m}=.*$', f'{m}=77', text, flags=re.M))
        return name and (f'{host}: {name}', lambda c: c['kind'] == 'setting' and host in c['hosts'])
    new = re.sub(r'\d+$', lambda m: str(int(m[0]) + 611), host)
    for path in list(files(folder)):
        text = read(path)
        if host in text: write(path, text.replace(host, new))
    for root, dirs, names in os.walk(folder, topdown=False):
        for name in names + dirs:
            if host in name: os.rename(os.path.join(root, name), os.path.join(root, name.replace(host, new)))
    return f'{host} replaced by {new}', lambda c: c['kind'] == 'hosts' and new in c['title']


PLANTS = {'version': plant_version, 'line': plant_line, 'metric': plant_metric, 'host': plant_host}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('culprit')
    p.add_argument('simulator')
    p.add_argument('--pairs', type=int, default=50)
    p.add_argument('--base', type=int, default=1)
    p.add_argument('--keep', help='keep the pairs that were not found there')
    a = p.parse_args()
    found, total, first = {}, {}, 0
    for i in range(a.pairs):
        kind = list(PLANTS)[i % len(PLANTS)]
        tmp = tempfile.mkdtemp(prefix='pair_')
        try:
            subprocess.run([sys.executable, os.path.join(a.simulator, 'sim.py'), '--scenario', 'clean_run', '--seed', str(a.base + i), '--hosts', '8', '--gpus-per-host', '4', '--tp', '4', '--pp', '2',
                            '--out', tmp + '/run'], check=True, stdout=subprocess.DEVNULL)
            base = tmp + '/run'
            if os.path.isdir(base + '/bundle'): base += '/bundle'
            good, bad = tmp + '/good', tmp + '/bad'
            planted = None
            for attempt in range(8):       # not every run has what a plant needs
                rng = random.Random(f'{a.base + i}/{attempt}')
                for side in (good, bad):
                    shutil.rmtree(side, ignore_errors=True)
                    shutil.copytree(base, side, symlinks=True)
                    by_chance(side, rng)
                planted = PLANTS[kind](bad, rng)
                if planted: break
            if not planted: continue
            what, matches = planted
            said = subprocess.run([a.culprit, 'compare', good, bad, '--json', '-q'], capture_output=True, text=True)
            changes = json.loads(said.stdout)['changes'] if said.returncode == 0 else []
            place = next((n + 1 for n, c in enumerate(changes) if matches(c)), 0)
            total[kind] = total.get(kind, 0) + 1
            found[kind] = found.get(kind, 0) + (1 <= place <= 5)
            first += place == 1
            print(f'{a.base + i:5} {kind:8} place {place or "-":>3} of {len(changes):3}  {what}' + ('' if 1 <= place <= 5 else '   <-- ' + '; '.join(c['title'][:70] for c in changes[:5])), flush=True)
            if a.keep and not 1 <= place <= 5:
                shutil.copytree(tmp, os.path.join(a.keep, f'{a.base + i}'), dirs_exist_ok=True)
        finally:
            shutil.rmtree(tmp, ignore_errors=True)
    n = sum(total.values())
    print(f'{sum(found.values())} of {n} among the first five ({sum(found.values()) / max(1, n):.3f}), {first} in the first place; ' + ', '.join(f'{k} {found[k]}/{total[k]}' for k in total))


if __name__ == '__main__':
    main()
