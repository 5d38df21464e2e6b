#!/usr/bin/env python3
"""proofs.py CULPRIT FOLDER [--time-limit SECONDS] [--removals N] [--seed N] [-v]

Do proofs prove? For every bundle of FOLDER (a folder each), `culprit prove` is held against `culprit diagnose`: the kept
lines, put into a folder by this script, give the same verdict; without one of them (N of them, chosen by the seed) it is
another; and the archive of -o names no host of the bundle. Bundles whose lines stand within archives are counted and not
held against anything. A row a bundle with -v: name, minimal, lines, of lines, runs, seconds, what is wrong.
"""
import argparse, json, os, random, shutil, subprocess, sys, tempfile, time


def verdict_of(culprit, bundle):
    out = subprocess.run([culprit, 'diagnose', bundle, '-q', '--json'], capture_output=True, text=True)
    document = json.loads(out.stdout)
    v = document['verdict']
    taken = [s['step'] for s in v['steps'] if s['outcome'] == 'taken'][:1]
    targets = sorted((t['kind'], t['id']) for t in v['targets'])
    return (v['action'], v['precision'], targets, taken), document['bundle']['hosts']


def put(bundle, lines, folder):
    """False where a line stands in a file that is no file of the folder."""
    files = {}
    for line in lines:
        files.setdefault(line['path'], []).append(line['line'])
    for path, numbers in files.items():
        source, target = os.path.join(bundle, path), os.path.join(folder, path)
        if not os.path.isfile(source):
            return False
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(source, 'rb') as file:
            text = file.read()
        if numbers != [0]:
            all_lines = text.splitlines(keepends=True) if b'\r' not in text else [
                l + b'\n' for l in text.split(b'\n')]
            text = b''.join(all_lines[n - 1] for n in numbers)
        with open(target, 'wb') as file:
            file.write(text)
        shutil.copystat(source, target)
    return True


def verdict_of_lines(culprit, bundle, lines):
    with tempfile.TemporaryDirectory() as folder:
        return verdict_of(culprit, folder)[0] if put(bundle, lines, folder) else None


def examine(culprit, bundle, arguments):
    with tempfile.TemporaryDirectory() as scratch:
        archive = os.path.join(scratch, 'proof.tar')
        begin = time.time()
        made = subprocess.run([culprit, 'prove', bundle, '--json', '-o', archive, '--time-limit',
                               str(arguments.time_limit)], capture_output=True, text=True)
        seconds = time.time() - begin
        if made.returncode != 0:
            return None, seconds, ['failed: ' + made.stderr.strip()[:200]]
        proof = json.loads(made.stdout)
        wanted, hosts = verdict_of(culprit, bundle)
        wrong = ['names replaced: another verdict'] if 'its verdict is' in made.stderr else []
        with open(archive, 'rb') as file:
            bytes_of = file.read()
        wrong += ['names ' + h for h in hosts if len(h) > 3 and h.encode() in bytes_of]
    lines = proof['lines']
    given = verdict_of_lines(culprit, bundle, lines)
    if given is None:
        return proof, seconds, wrong + ['within an archive']
    if given != wanted:
        wrong.append('another verdict')
    if proof['minimal']:
        choose = random.Random(arguments.seed)
        for line in choose.sample(lines, min(len(lines), arguments.removals)):
            others = [l for l in lines if l is not line]
            if others and verdict_of_lines(culprit, bundle, others) == wanted:
                wrong.append(f"{line['path']}:{line['line']} can go")
    return proof, seconds, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('culprit')
    parser.add_argument('folder')
    parser.add_argument('--time-limit', type=int, default=60)
    parser.add_argument('--removals', type=int, default=3)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('-v', action='store_true')
    arguments = parser.parse_args()
    names = sorted(os.listdir(arguments.folder))
    random.Random(arguments.seed).shuffle(names)  # stopped early, it is a sample
    minimal, sizes, bad, unseen = 0, [], 0, 0
    for n, name in enumerate(names, 1):
        proof, seconds, wrong = examine(arguments.culprit, os.path.join(arguments.folder, name), arguments)
        unseen += 'within an archive' in wrong
        bad += any(w != 'within an archive' for w in wrong)
        if proof:
            minimal += proof['minimal']
            sizes.append(len(proof['lines']))
        if arguments.v:
            row = [name, *([proof['minimal'], len(proof['lines']), proof['of']['lines'], proof['runs']] if proof else ['-'] * 4),
                   f'{seconds:.1f}', '; '.join(wrong)]
            print('\t'.join(map(str, row)), flush=True)
        print(f'{n} bundles: {minimal} minimal, median {sorted(sizes)[len(sizes) // 2] if sizes else 0} lines, {bad} wrong, '
              f'{unseen} within archives', file=sys.stderr if n < len(names) else sys.stdout, end='\r' if n < len(names) else '\n')


if __name__ == '__main__':
    main()
