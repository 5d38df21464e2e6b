#!/usr/bin/env python3
"""likeness.py CULPRIT FOLDER [--most N] [--drop SHARE] [--seed N] [-v]

Does `culprit like` find the twin? Each bundle of FOLDER (a folder each) becomes a card. Its twin has the same files
without a share of their lines (drawn by the seed; JSON files stay whole), and other names of hosts, users and addresses
(`culprit redact`). Counted is how often the bundle's own card is the nearest to the twin among the cards of all, and
how many others count as such an incident. A row a bundle with -v: name, place of its card, likeness, first line.
"""
import argparse, json, os, random, subprocess, tempfile


def run(*words):
    return subprocess.run(words, capture_output=True, text=True)


def thinned(source, target, draw, share):
    for folder, _, names in os.walk(source):
        os.makedirs(os.path.join(target, os.path.relpath(folder, source)), exist_ok=True)
        for name in sorted(names):
            path = os.path.join(folder, name)
            with open(path, 'rb') as file:
                data = file.read()
            if not name.endswith('.json') and b'\0' not in data:
                data = b''.join(l for l in data.splitlines(keepends=True) if draw.random() >= share)
            put = os.path.join(target, os.path.relpath(path, source))
            with open(put, 'wb') as file:
                file.write(data)
            os.utime(put, (os.stat(path).st_atime, os.stat(path).st_mtime))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('culprit')
    parser.add_argument('folder')
    parser.add_argument('--most', type=int, default=200)
    parser.add_argument('--drop', type=float, default=0.15)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('-v', action='store_true')
    a = parser.parse_args()
    draw = random.Random(a.seed)
    bundles = sorted(n for n in os.listdir(a.folder) if os.path.isdir(os.path.join(a.folder, n)))
    with tempfile.TemporaryDirectory() as scratch:
        cards, ids = os.path.join(scratch, 'cards.jsonl'), {}
        with open(cards, 'w') as file:
            for name in bundles:
                line = run(a.culprit, 'export', 'card', os.path.join(a.folder, name), '-q').stdout
                if line:
                    ids[name] = json.loads(line)['id']
                    file.write(line)
        pairs = first = tied = at_all = strangers = 0
        for name in draw.sample(sorted(ids), min(a.most, len(ids))):
            twin, archive = os.path.join(scratch, name), os.path.join(scratch, name + '.tar')
            thinned(os.path.join(a.folder, name), twin, draw, a.drop)
            run(a.culprit, 'redact', '--bundle', twin, '-o', archive, '--map', archive + '.map', '-q')
            answer = run(a.culprit, 'like', cards, archive, '--json', '-q', '--top', str(len(ids)))
            if answer.returncode != 0:
                print(name, 'failed:', answer.stderr.strip())
                continue
            document = json.loads(answer.stdout)
            near = [row['id'] for row in document['nearest']]
            place = near.index(ids[name]) + 1 if ids[name] in near else 0
            share = document['nearest'][place - 1]['likeness'] if place else 0
            pairs += 1
            first += place == 1
            tied += place > 1 and share == document['nearest'][0]['likeness']
            at_all += share >= 0.5
            strangers += document['such']['count'] - (share >= 0.5)
            if a.v:
                print(name, place, share, document['nearest'][0]['line'] if near else '', sep='\t')
        print(f'{len(ids)} cards, {pairs} twins: own card first {first}, as near as the first {tied} '
              f'({100 * (first + tied) / max(1, pairs):.1f} % together), '
              f'counted as such {at_all}, others as such {strangers / max(1, pairs):.1f} a twin')


if __name__ == '__main__':
    main()
