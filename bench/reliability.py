#!/usr/bin/env python3
"""reliability.py CULPRIT SIMULATOR [--seeds N] [--base N] [--without SOURCE] [--jobs N]

How often is a verdict right that is printed as so sure? Runs culprit over incidents of a simulator (a folder with
suites.py, scorelib.py and sim.py) and prints, for each bin of the printed confidence, how many verdicts were right; and
the totals. A verdict's confidence is that of its first target; right means exact.

--without leaves a source out of every bundle before it is judged: manifest, kernel, half-logs, times, dumps. The table of
such runs says how the answer degrades: exact may fall, false accusations must not rise.
"""
import argparse, collections, json, os, re, shutil, sys, tempfile
from multiprocessing.pool import Pool

KERNEL = re.compile(r'dmesg|kmsg|messages|syslog|journal|kern\.log')
DUMPS = re.compile(r'nccl_trace|flight|fr_|_dump_|stack|py-?spy|gdb|faulthandler|trace_rank', re.I)
TIME = re.compile(rb'\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,]?\d*(?:Z|[+-]\d\d:?\d\d)?|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d')


def leave_out(folder, source):
    n = 0
    for root, _, files in os.walk(folder):
        for name in sorted(files):
            path = os.path.join(root, name)
            inside = os.path.relpath(path, folder)
            if source == 'manifest' and name == 'job.json': os.remove(path)
            elif source == 'kernel' and KERNEL.search(name): os.remove(path)
            elif source == 'dumps' and DUMPS.search(inside): os.remove(path)
            elif source == 'half-logs' and re.search(r'std(out|err)|\.log$|\.out$', name) and not KERNEL.search(name):
                n += 1
                if n % 2: os.remove(path)
            elif source == 'times' and os.path.getsize(path) < 50_000_000 and not DUMPS.search(inside) and name != 'job.json':
                data = open(path, 'rb').read()
                open(path, 'wb').write(TIME.sub(b'', data))


def work(job):
    case, binary, source, simulator = job
    sys.path.insert(0, simulator)
    import scorelib
    tmp = tempfile.mkdtemp(prefix='rel_')
    try:
        _, folder, bundle, _, _ = scorelib.generate_case(dict(case, tar=None), tmp)
        truth = json.load(open(folder + '.truth.json'))
        if source: leave_out(bundle, source)
        result = scorelib.run_tool(binary, bundle, 120)
        o = scorelib.judge(truth, result)
        targets = result['json']['verdict']['targets'] if result['json'] else []
        sure = targets[0].get('confidence') if targets else None
        return case['scenario'], o['exact'], o['false'], o['action'], sure
    finally:
        shutil.rmtree(tmp, ignore_errors=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('culprit')
    p.add_argument('simulator')
    p.add_argument('--seeds', type=int, default=10)
    p.add_argument('--base', type=int, default=0)
    p.add_argument('--without', choices=('manifest', 'kernel', 'half-logs', 'times', 'dumps'))
    p.add_argument('--jobs', type=int, default=2)
    a = p.parse_args()
    sys.path.insert(0, a.simulator)
    import suites
    cases = suites.cases('full', None, a.seeds, a.base)
    bins = collections.defaultdict(list)
    rows = []
    with Pool(a.jobs, maxtasksperchild=40) as pool:
        for row in pool.imap(work, [(c, os.path.abspath(a.culprit), a.without, a.simulator) for c in cases]):
            rows.append(row)
            if row[4] is not None: bins[min(int(row[4] * 10), 9)].append(row[1])
    print('printed      n   right   printed-right')
    for b in sorted(bins):
        n, right = len(bins[b]), sum(bins[b]) / len(bins[b])
        print('%3d-%3d %% %5d  %5.1f %%  %+.2f' % (b * 10, b * 10 + 9, n, 100 * right, (b + 0.5) / 10 - right))
    isolated = [r for r in rows if r[3] == 'isolate']
    print('%d incidents%s: exact %.1f %%, false accusations %d (%.2f %%), isolated %d, least sure %.0f %%' % (
        len(rows), ' without ' + a.without if a.without else '', 100 * sum(r[1] for r in rows) / len(rows), sum(r[2] for r in rows),
        100 * sum(r[2] for r in rows) / len(rows), len(isolated), 100 * min([r[4] for r in isolated if r[4] is not None] or [0])))


if __name__ == '__main__':
    main()
