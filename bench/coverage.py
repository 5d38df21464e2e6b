#!/usr/bin/env python3
"""How many of the error lines that a program can print does culprit know, and does it name the right speaker?

    coverage.py [--culprit BIN] [--show N] [--sample N] SOURCE=PATH...

SOURCE is one of the names of SOURCES below, PATH a checkout or a bare git directory of the program's source. The texts of its
error calls are taken out of the source, their placeholders filled, and each is put behind the prefix with which the program
prints it; `culprit rules match` is asked about every line. A line counts as recognised when a rule knows it (not only as an
exception of any kind) or when the grammar of error lines gives it a class of this speaker. Sources that are not named are
"not there". --show prints lines that are not recognised, --sample recognised ones with their titles, to be read.
"""
import argparse
import json
import os
import random
import re
import subprocess
import sys
from collections import Counter

C_FILES = ('.c', '.cc', '.cpp', '.cu', '.cuh', '.h', '.hpp')
NCCL = 'node-3:4431:4502 [2] 2026-11-20 03:00:01 {file}:231 NCCL WARN {text}'
GLOG = '[rank3]:[E1120 03:00:01.123456 {file}:231] [c10d] {text}'
KLOG = 'E1120 03:00:01.123456    1234 {file}:231] {text}'
LOGRUS = 'Nov 20 03:00:01 node-3 containerd[1234]: time="2026-11-20T03:00:01.123456789Z" level=error msg="{text}" error="{reason}"'

# name: speakers that are right, calls, folders, endings, the line; of some only texts in which a pattern is found
SOURCES = {
    'nccl': dict(right=r'nccl', calls=r'WARN', under=r'^(?:src|plugins|ext-\w+)/', ends=C_FILES, line=NCCL),
    'ofi': dict(right=r'nccl', calls=r'NCCL_OFI_WARN', under=r'^(?:src|include)/', ends=C_FILES, line=NCCL.replace('{text}', 'NET/OFI {text}')),
    'ucx': dict(right=r'ucx', calls=r'ucs_(?:error|fatal)', under=r'^src/', ends=C_FILES,
                line='[1763607601.123456] [node-3:4431 :0]      {file}:231  UCX  ERROR {text}'),
    'libfabric': dict(right=r'libfabric', calls=r'(?:FI|EFA)_WARN(?:_ONCE|_SPARSE)?', under=r'^(?:prov|src)/', ends=C_FILES,
                      line='libfabric:4431:1763607601:efa:ep_ctrl:efa_rdm_ep_open():231<warn> {text}'),
    'gloo': dict(right=r'gloo', calls=r'GLOO_(?:THROW\w*|ENFORCE\w*|ERROR)', under=r'^gloo/', ends=C_FILES,
                 line='RuntimeError: [/pytorch/third_party/gloo/{path}:81] {text}'),
    'c10d': dict(right=r'c10d|gloo', calls=r'(?:C10D_ERROR|LOG\(ERROR\) <<)', under=r'^torch/csrc/distributed/c10d/', ends=C_FILES, line=GLOG),
    'elastic': dict(right=r'elastic', calls=r'(?:log|logger)\.(?:error|exception|critical)', under=r'^torch/distributed/', ends=('.py',),
                    line='E1120 03:00:01.123000 4431 {path}:231] {text}'),
    'slurm': dict(right=r'slurm', calls=r'(?:error|fatal|fatal_abort)', ends=('.c',),
                  under=r'^src/(?:slurmd|slurmctld|slurmdbd|srun|sbatch|salloc|scancel|common|interfaces|conmgr|plugins|api|stepmgr)/',
                  line='[2026-11-20T03:00:01.123] error: {text}'),
    'nvrm': dict(right=r'nvrm', calls=r'(?:NV_PRINTF|NV_DEV_PRINTF|nv_printf)', under=r'^(?:src/nvidia/|kernel-open/nvidia/)', ends=('.c',),
                 line='[12345.678901] NVRM: {text}', only=r'(?i)NV_ERR_|(?:status|error|returned|failed|failure)\b[^a-z]{0,12}0x'),
    'kubelet': dict(right=r'kube', calls=r'(?:klog|logger|log)\.(?:ErrorS?|Errorf|Fatalf?)', under=r'^(?:pkg/kubelet|cmd|internal|pkg)/', ends=('.go',),
                    line=KLOG, quoted=True),
    'containerd': dict(right=r'containerd', calls=r'\.(?:Errorf?|Fatalf?)', under=r'^(?:core|plugins|internal|pkg|cmd|client|integration)/',
                       ends=('.go',), line=LOGRUS),
}
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"|\b(PRI\w+|LEVEL_\w+|NV_FMT_\w+)\b')
PLACE = re.compile(r'%[-+ #0]*\*?\d*(?:\.(?:\d+|\*))?(?:hh|h|ll|l|z|j|t)?[diuoxXfFeEgGaAcspvqTw%]|%\w+(?=[^\w]|$)|\{[\w.:!]*\}')
VALUES = {'s': 'mlx5_2', 'v': 'mlx5_2', 'q': '\\"mlx5_2\\"', 'p': '0x7f3a10', 'x': '1f', 'X': '1F', 'f': '2.5', 'g': '2.5', 'c': 'a', '%': '%'}
REASONS = ['connection refused', 'context deadline exceeded', 'no such file or directory', 'permission denied', 'not found']


def git(repository, *arguments):
    return subprocess.run(['git', '-C', repository, *arguments], capture_output=True, check=False).stdout.decode('utf8', 'replace')


def files(root, under, ends):
    """Paths of the sources and how to read them, of a git directory or of a plain folder."""
    head = git(root, 'rev-parse', 'HEAD').strip()
    if head:
        for path in git(root, 'ls-tree', '-r', '--name-only', 'HEAD').split('\n'):
            if path.endswith(ends) and re.search(under, path) and not re.search(r'(?:^|/|_)tests?(?:/|_|\.|$)|/mock|fake', path):
                yield path, git(root, 'show', 'HEAD:' + path)
        return
    for folder, _, names in os.walk(root):
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), root)
            if path.endswith(ends) and re.search(under, path) and 'test' not in path:
                with open(os.path.join(folder, name), encoding='utf8', errors='replace') as text:
                    yield path, text.read()


def texts(root, source):
    """The texts of error calls, each with the path of the first file that holds it."""
    literal = r'(?:"(?:[^"\\\n]|\\.)*"|PRI\w+|NV_FMT_\w+|LEVEL_\w+\s*,)'
    call = re.compile(r'(?:\b|(?<=\)))' + source['calls'] + r'\s*\(?\s*(?:[^"();]*(?:\([^"();]*\)[^"();]*)*,\s*)?[fFrR]?(' + literal + r'(?:\s*' + literal + r')*)')
    found = {}
    for path, text in files(root, source['under'], source['ends']):
        for match in call.finditer(text):
            words = ''.join(a or ('x' if 'x' in b.lower() and b.startswith(('PRI', 'NV_FMT')) else 'd' if b.startswith('PRI') else '')
                            for a, b in LITERAL.findall(match.group(1)))
            words = words.replace('\\n', ' ').replace('\\t', ' ').replace('\\"', '"').strip()
            if len(words) > 8:
                found.setdefault(words, path)
    return found


def filled(text):
    text = text.replace('%m', 'Connection refused')
    return PLACE.sub(lambda m: VALUES.get(m.group(0)[-1], 'mlx5_2' if m.group(0)[0] == '{' else '17'), text)


def lines_of(root, source):
    out = []
    for n, (text, path) in enumerate(texts(root, source).items()):
        text = filled(text)
        if 'only' in source and not re.search(source['only'], text):
            continue
        reason = REASONS[n % len(REASONS)]
        if source.get('quoted'):
            text = '"%s" err="%s"' % (text, reason)
        out.append(source['line'].format(file=os.path.basename(path), path=path, text=text, reason=reason))
    return out


def asked(culprit, lines):
    said = subprocess.run([culprit, 'rules', 'match', '-', '--format', 'json'], input='\n'.join(lines) + '\n', capture_output=True, text=True, check=True)
    return [json.loads(one) for one in said.stdout.splitlines()]


def is_known(source, row):
    grammar = row.get('grammar')
    if grammar is not None:
        return re.match(source['right'], grammar) is not None
    return row['class'] is not None and row['class'] != 'py_exception'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--culprit', default='culprit')
    parser.add_argument('--show', type=int, default=0, metavar='N', help='print so many lines that are not recognised')
    parser.add_argument('--sample', type=int, default=0, metavar='N', help='print so many recognised lines with class and title')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('source', nargs='+', metavar='SOURCE=PATH')
    arguments = parser.parse_args()
    paths = {}
    for one in arguments.source:
        name, _, path = one.partition('=')
        if name not in SOURCES or not path:
            parser.error('%s: SOURCE=PATH, SOURCE one of %s' % (one, ', '.join(SOURCES)))
        paths[name] = path
    for name, source in SOURCES.items():
        lines = lines_of(paths[name], source) if os.path.isdir(paths.get(name, '')) else []
        if not lines:
            print('%-11s not there' % name)
            continue
        rows = asked(arguments.culprit, lines)
        known = [i for i, row in enumerate(rows) if is_known(source, row)]
        classes = Counter((rows[i]['grammar'] or rows[i]['class']) for i in known)
        by_rule = sum(rows[i]['grammar'] is None for i in known)
        vague = sum(str(rows[i]['grammar']).endswith(('/other', '/failed')) for i in known)
        print('%-11s %5d texts, %5.1f %% recognised (%d by rules; %d without a reason); %s'
              % (name, len(rows), 100 * len(known) / len(rows), by_rule, vague, ', '.join('%s %d' % one for one in classes.most_common(5))))
        draw = random.Random(arguments.seed)
        rest = sorted(set(range(len(rows))) - set(known))
        for i in draw.sample(rest, min(arguments.show, len(rest))):
            print('  - ' + lines[i][:200])
        for i in draw.sample(known, min(arguments.sample, len(known))):
            print('  + %s | %s\n      %s' % (rows[i]['grammar'] or rows[i]['class'], rows[i]['title'], lines[i][:220]))
    return 0


if __name__ == '__main__':
    sys.exit(main())
