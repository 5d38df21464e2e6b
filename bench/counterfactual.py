#!/usr/bin/env python3
"""counterfactual.py CULPRIT SIMULATOR [--seeds N] [--base N] [--jobs N] [-v]

Does culprit ask for the file that is missing? Of every simulated incident whose whole bundle is judged exactly, one source
is left out at a time. Where the verdict is then no longer exact, the first things that it asks for (verdict.wanted) are
held against what was left out. A machine's kernel log and a rank's output count only where they are asked of a machine at
fault, if a machine is.
"""
import argparse, collections, json, os, re, shutil, sys, tempfile
from multiprocessing.pool import Pool

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from reliability import DUMPS, KERNEL, leave_out

ANSWERS = {
    'manifest': ('manifest',),
    'kernel': ('kernel_log',),
    'kernel-of-one': ('kernel_log',),
    'half-logs': ('training_output',),
    'times': ('times',),
    'dumps': ('stacks', 'flight_recorder'),
    'metrics': ('metrics', 'gpu_metrics', 'nic_metrics', 'host_metrics'),
}
OF_A_MACHINE = ('kernel', 'kernel-of-one', 'half-logs', 'metrics')


def leave_out_more(folder, source, culprits):
    for root, _, files in os.walk(folder):
        for name in sorted(files):
            path = os.path.join(root, name)
            inside = os.path.relpath(path, folder)
            if source == 'metrics' and re.search(r'metric|smi|rdma|\.csv|\.prom', inside, re.I): os.remove(path)
            elif source == 'kernel-of-one' and KERNEL.search(name) and any(c in inside for c in culprits): os.remove(path)


def work(job):
    case, binary, simulator, keep = job
    sys.path.insert(0, simulator)
    import scorelib
    tmp = tempfile.mkdtemp(prefix='cf_')
    rows = []
    try:
        _, folder, bundle, _, _ = scorelib.generate_case(dict(case, tar=None), tmp)
        truth = json.load(open(folder + '.truth.json'))
        if not scorelib.judge(truth, scorelib.run_tool(binary, bundle, 120))['exact']: return rows
        culprits = [str(c) for c in truth.get('culprits') or []]
        hosts = [c for c in culprits if c in truth['node_order']]
        for source in ANSWERS:
            cut = os.path.join(tmp, 'cut')
            shutil.copytree(bundle, cut)
            if source in ('metrics', 'kernel-of-one'): leave_out_more(cut, source, hosts)
            else: leave_out(cut, source)
            result = scorelib.run_tool(binary, cut, 120)
            o = scorelib.judge(truth, result)
            if not o['exact']:
                wanted = result['json']['verdict'].get('wanted', []) if result['json'] else []
                place = None
                for i, w in enumerate(wanted):
                    of = w.get('of', {}).get('id', '')
                    good = w['source'] in ANSWERS[source]
                    if good and hosts and source in OF_A_MACHINE and w.get('of', {}).get('kind') == 'host':
                        good = any(h == of for h in hosts)
                    if good:
                        place = i + 1
                        break
                rows.append((case['scenario'], case['seed'], source, o['action'], bool(o['false']), place,
                             [(w['source'], w.get('of', {}).get('id', '')) for w in wanted[:4]], hosts))
                if keep:
                    to = os.path.join(keep, '%s-%d-%s' % (case['scenario'], case['seed'], source))
                    shutil.rmtree(to, ignore_errors=True)
                    shutil.copytree(cut, to)
            shutil.rmtree(cut)
        return rows
    finally:
        shutil.rmtree(tmp, ignore_errors=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('culprit')
    p.add_argument('simulator')
    p.add_argument('--seeds', type=int, default=4)
    p.add_argument('--base', type=int, default=0)
    p.add_argument('--jobs', type=int, default=2)
    p.add_argument('--keep')
    p.add_argument('-v', action='store_true')
    a = p.parse_args()
    sys.path.insert(0, a.simulator)
    import suites
    cases = suites.cases('full', None, a.seeds, a.base)
    rows = []
    with Pool(a.jobs, maxtasksperchild=40) as pool:
        for found in pool.imap(work, [(c, os.path.abspath(a.culprit), a.simulator, a.keep) for c in cases]):
            rows += found
            if a.v:
                for r in found: print(*r, flush=True)
    print('left out        not exact then   asked for first   among the first three')
    for source in list(ANSWERS) + ['all']:
        of = [r for r in rows if source in (r[2], 'all')]
        if not of: continue
        first, three = sum(r[5] == 1 for r in of), sum(r[5] is not None and r[5] <= 3 for r in of)
        print('%-15s %12d %10d (%3.0f %%) %14d (%3.0f %%)' % (source, len(of), first, 100 * first / len(of), three, 100 * three / len(of)))


if __name__ == '__main__':
    main()
