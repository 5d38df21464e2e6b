#!/usr/bin/env python3
"""journal_noise.py CULPRIT KEPT SIMULATOR

KEPT: a folder of incidents that the simulator's score.py --keep left.

Does what other programs write into machines' journals change a verdict? Every incident is judged twice: as it is, and
with forty lines a host, over ten hours around the failure, of services that ran out of something, were refused
something, or did not find something. Nobody may be accused because of them.
"""
import argparse, datetime, json, os, random, shutil, sys, tempfile

NOISE = (
    'kernel: cgroup: fork rejected by pids controller in /user.slice/user-{}.slice',
    "nscd[1{}]: checking for monitored file `/etc/passwd': Stale file handle",
    'sshd[{}]: error: fork: Resource temporarily unavailable',
    "rsyslogd[9{}]: action 'files' write error: No space left on device",
    'snmpd[77{}]: Too many open files',
    'node_exporter[2{}]: level=error err="open /srv/textfile/{}: permission denied"',
    "cron[{}]: PermissionError: [Errno 13] Permission denied: '/var/spool/x'",
    'nslcd[4{}]: socket.gaierror: [Errno -2] Name or service not known',
    'telegraf[88{}]: dial tcp 10.0.0.9:8086: connect: no route to host',
    'fluent-bit[11{}]: [Errno 98] Address already in use',
    'kernel: nf_conntrack: table full, dropping packet',
)


def add_noise(folder, hosts, moment, seed):
    pick = random.Random(seed)
    for host in hosts:
        lines = []
        for _ in range(40):
            at = moment + datetime.timedelta(minutes=pick.uniform(-600, 30))
            text = pick.choice(NOISE).replace('{}', str(pick.randint(10, 99)))
            lines.append('%s %s %s\n' % (at.strftime('%Y-%m-%dT%H:%M:%S+00:00'), host, text))
        os.makedirs(os.path.join(folder, 'journal', host), exist_ok=True)
        with open(os.path.join(folder, 'journal', host, 'messages'), 'w') as out:
            out.writelines(sorted(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('culprit')
    parser.add_argument('kept', help='a folder of incidents as score.py --keep leaves them')
    parser.add_argument('simulator')
    options = parser.parse_args()
    sys.path.insert(0, options.simulator)
    import scorelib
    count = {'exact before': 0, 'exact': 0, 'false before': 0, 'false': 0, 'incidents': 0}
    names = sorted(f[:-11] for f in os.listdir(options.kept) if f.endswith('.truth.json'))
    for seed, name in enumerate(names):
        with open(os.path.join(options.kept, name + '.truth.json')) as f:
            truth = json.load(f)
        inside = os.path.join(options.kept, name)
        bundle = os.path.join(inside, os.listdir(inside)[0])
        if not os.path.isdir(bundle):
            continue
        plain = scorelib.run_tool(options.culprit, bundle, 120)
        incident = (plain['json'] or {}).get('incident', {})
        begin = incident.get('start') or incident.get('end')
        if not begin:
            continue
        moment = datetime.datetime.fromisoformat(begin[:19])
        with tempfile.TemporaryDirectory() as work:
            noisy = os.path.join(work, 'bundle')
            shutil.copytree(bundle, noisy)
            add_noise(noisy, truth['node_order'], moment, seed)
            after = scorelib.judge(truth, scorelib.run_tool(options.culprit, noisy, 120))
        before = scorelib.judge(truth, plain)
        count['incidents'] += 1
        for what in ('exact', 'false'):
            count[what + ' before'] += bool(before[what])
            count[what] += bool(after[what])
        if after['false'] or (before['exact'] and not after['exact']):
            print(name, after['why'])
    print(count)


main()
