#!/usr/bin/env bash
# Uses every task's data as a user does: check, prepare, parts, join, verify, show, a picture, baselines, training.
# usage: data_cli_test.sh LRA
set -euo pipefail
unset CDPATH
lra=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export LRA_DATA=$work/data TMPDIR=$work
source "$here/expect.sh"

expect 0 '"passed": true' "$lra" check --all tasks --json
if grep -q '"passed": false' out; then echo "FAILED: a check failed"; failures=$((failures + 1)); fi
[ -z "$(ls -d lra-check-* 2>/dev/null)" ] || { echo "FAILED: lra check left its scratch folder"; failures=$((failures + 1)); }
expect 2 'did you mean "?listops' "$lra" check listop

# Reviews come from folders, an archive on standard input, or tables.
for split in train test; do
  for id in $(seq 0 19); do
    mkdir -p tree/aclImdb/$split/{pos,neg}
    echo "a good film, number $id of $split" >tree/aclImdb/$split/pos/${id}_9.txt
    echo "a bad film, number $id of $split" >tree/aclImdb/$split/neg/${id}_2.txt
  done
done
expect 2 'give --raw .aclImdb' "$lra" data prepare text
expect 0 'text +missing' "$lra" data list
expect 0 'curl -sL http.* . lra data prepare text --raw -' "$lra" data list
expect 0 '40 examples' "$lra" data prepare text --raw tree --quiet
tar czf reviews.tar.gz -C tree aclImdb
expect 0 'nothing was done' bash -c "cat reviews.tar.gz | '$lra' data prepare text --raw - --quiet"
expect 0 'valid, canonical: no$' "$lra" data verify text --quiet
expect 0 'a bad film, number 0 of train' "$lra" data show text --n 1
expect 0 '"split": "test"' "$lra" data show text --split test --n 1 --json
expect 2 'validation is cut from train by the view: --split train shows .*run reads$' "$lra" data show text --split validation
expect 2 'not about images' "$lra" data show text --png x.png
expect 0 'bag_of_units +[0-9.]+ %' "$lra" baseline text --quiet
expect 0 'ngram_linear +100.00 %' "$lra" baseline text --quiet
expect 0 'ngram_linear' "$lra" baseline text --quiet --set unit=CODE_POINT --set min_code_point_count=1 --out code-points
expect 2 'says nothing about' "$lra" baseline text --quiet --set grey=PILLOW
expect 2 'did you mean "?split' "$lra" baseline text --quiet --set splt=SLICES
smoke=(--preset smoke --quiet --attention linear --set train.steps=2 --set train.eval_every_steps=2)
expect 0 'text linear seed 0: .*test' "$lra" train --task text "${smoke[@]}" --out text-run
# The model on perturbed inputs: as they are, the score is the record's.
expect 0 'blocks of 1 shuffled +40 ' "$lra" profile text-run --perturb --quiet
expect 0 '^equal$' python3 -c '
import json, subprocess, sys
profile = json.loads(subprocess.check_output([sys.argv[1], "profile", "text-run", "--perturb", "--json", "--quiet"]))
rows = profile["tables"][-1]["rows"]
print("equal" if rows[0]["name"] == "as they are" and rows[0] | {"name": "all"} == profile["whole"] else profile)' "$lra"
expect 0 'lra profile text-run --perturb' cat text-run/record.textproto
expect 2 'holds task "text", not "listops"' "$lra" train --task listops --data data/text --out refused "${smoke[@]}"
expect 2 'holds task "text", not "listops"' "$lra" baseline listops --data data/text --quiet
expect 1 'SLICES|HOLDOUT' "$lra" train --task text "${smoke[@]}" --set view.split=OFFICIAL --out refused
rm tree/aclImdb/test/pos/*
expect 2 'has no reviews in test/pos' "$lra" data prepare text --raw tree --out other --quiet
expect 2 'task copy cannot be imported: leave --raw out' "$lra" data prepare copy --raw tree --out other --quiet
[ ! -e other ] && [ ! -e refused ] || { echo "FAILED: a refused command left something"; failures=$((failures + 1)); }

# Pairs are made of the ends of reviews, by the films that they are about.
python3 - <<'END'
import os
for split, first in ("train", 0), ("test", 1000):
    for name, rating, film in ("neg", 3, first), ("pos", 8, first + 500):
        folder = f"pairs/aclImdb/{split}/{name}"
        os.makedirs(folder)
        for i in range(40):
            with open(f"{folder}/{i}_{rating}.txt", "w") as review:
                review.write(" ".join(f"f{film + i // 2}r{i}w{word}" for word in range(20)))
        with open(f"pairs/aclImdb/{split}/urls_{name}.txt", "w") as films:
            films.writelines(f"http://www.imdb.com/title/tt{film + i // 2}/usercomments\n" for i in range(40))
END
small=(--set text_bytes=60 --set gap_bytes=10 --quiet)
expect 2 'give --raw .aclImdb' "$lra" data prepare review_halves
expect 2 'seed is for generated data' "$lra" data prepare review_halves --raw pairs --seed 1
expect 2 'text_bytes.* 16 to 65536|16.*65536' "$lra" data prepare review_halves --raw pairs --set text_bytes=1
expect 0 'review_halves, imported' "$lra" data prepare review_halves --raw pairs "${small[@]}"
expect 0 'nothing was done' "$lra" data prepare review_halves --raw pairs "${small[@]}"
expect 2 'holds other data' "$lra" data prepare review_halves --raw pairs "${small[@]}" --set seed=1
expect 0 'valid' "$lra" data verify review_halves --quiet
expect 0 'label 1 .*tokens' "$lra" data show review_halves --n 1
expect 0 'lengths +50.00 %' "$lra" baseline review_halves --quiet --split train
expect 0 'overlap +9[0-9.]+ %' "$lra" baseline review_halves --quiet --split train
expect 0 'review_halves linear seed 0: .*test' "$lra" train --task review_halves "${smoke[@]}" --out pairs-run
rm pairs/aclImdb/test/urls_pos.txt
expect 2 'there is no test/urls_pos.txt' "$lra" data prepare review_halves --raw pairs "${small[@]}" --out refused
[ ! -e refused ] || { echo "FAILED: a refused command left something"; failures=$((failures + 1)); }

# Pictures are generated in parts and joined; the bytes must equal those made in one piece.
small=(--set images=60 --quiet)
expect 0 'pathfinder32, generated' "$lra" data prepare pathfinder32 "${small[@]}"
expect 0 'part 0/2' "$lra" data prepare pathfinder32 "${small[@]}" --shard 0/2 --out parts/0
expect 0 'part 1/2' "$lra" data prepare pathfinder32 "${small[@]}" --shard 1/2 --out parts/1
expect 2 'k/n with 0 <= k < n' "$lra" data prepare pathfinder32 "${small[@]}" --shard 2/2 --out parts/2
expect 2 'these are missing: 1' "$lra" data join parts/0 --out joined --quiet
expect 0 '60 examples' "$lra" data join parts/1 parts/0 --out joined --quiet
expect 2 'train is cut from all by the view: --split all shows .*run reads$' "$lra" data show pathfinder32 --split train
mkdir elsewhere && ln -s elsewhere dataset
expect 0 '60 examples' "$lra" data join parts/1 parts/0 --out dataset/. --quiet
[ -L dataset ] || { echo "FAILED: a link was replaced by data"; failures=$((failures + 1)); }
diff -r data/pathfinder32 elsewhere || { echo "FAILED: data behind a link differs"; failures=$((failures + 1)); }
diff -r data/pathfinder32 joined || { echo "FAILED: parts do not join to the whole"; failures=$((failures + 1)); }
for out in parts/0 parts/0/whole ./parts/1/../0/whole link/whole; do
  ln -sfn parts/1 link
  expect 2 "out: is \"$out\", must lie outside of the part parts/[01]," "$lra" data join parts/1 parts/0 --out "$out" --quiet --remove-parts
done
[ ! -e parts/0/whole ] || { echo "FAILED: a refused join left something"; failures=$((failures + 1)); }
echo mine >parts/0/notes.txt
expect 2 'holds "notes.txt", which is no part of a data set, and --remove-parts would remove it' "$lra" data join parts/1 parts/0 --out joined-too --quiet --remove-parts
[ ! -e joined-too ] && rm parts/0/notes.txt || { echo "FAILED: a part with a note was joined or removed"; failures=$((failures + 1)); }
ln -sfn parts/1 link
expect 0 '60 examples' "$lra" data join link/ parts/0/ --out joined-too --quiet --remove-parts
[ ! -e parts/1 ] || { echo "FAILED: --remove-parts left a part"; failures=$((failures + 1)); }
expect 0 'part 0/2' "$lra" data prepare pathfinder32 "${small[@]}" --shard 0/2 --out parts/0
# tests/slurm_suite_test.sh has a cluster.
expect 2 'wants --parts' "$lra" data prepare pathfinder32 "${small[@]}" --out far --executor slurm
expect 2 'add --executor slurm' "$lra" data prepare pathfinder32 "${small[@]}" --out far --parts 2
expect 2 'has only 60 examples' "$lra" data prepare pathfinder32 "${small[@]}" --out far --executor slurm --parts 61
expect 2 'time "1m" is too short, must be at least 3m' "$lra" data prepare pathfinder32 "${small[@]}" --out far --executor slurm --parts 2 --time 1m
expect 2 'did you mean "?images' "$lra" data prepare pathfinder32 --set image=60 --out far --executor slurm --parts 2
expect 0 "'--shard' ''..item.'/2'" "$lra" data prepare pathfinder32 "${small[@]}" --out far --executor slurm --parts 2 --dry-run
expect 0 "^'/package/bin/lra' 'data' 'prepare'" env LRA_PROGRAM=/package/bin/lra "$lra" data prepare pathfinder32 "${small[@]}" --out far --executor slurm --parts 2 --dry-run
expect 0 'dependency=afterok:JOB' "$lra" data prepare pathfinder32 "${small[@]}" --out far --executor slurm --parts 2 --dry-run
expect 0 'nothing was done' "$lra" data prepare pathfinder32 "${small[@]}" --executor slurm --parts 2
[ ! -e far ] && [ ! -e far.parts ] || { echo "FAILED: a plan or a refused command left something"; failures=$((failures + 1)); }
# Two at once would submit the same parts: here the first sbatch begins a second command.
mkdir cluster
cat >cluster/sbatch <<END
#!/bin/sh
if mkdir begun 2>/dev/null; then
  "$lra" data prepare pathfinder32 ${small[*]} --out far --executor slurm --parts 2 >second 2>&1
fi
echo 11
END
printf '#!/bin/sh\n' >cluster/squeue
chmod +x cluster/*
expect 0 'scancel 11 11$' env PATH="$work/cluster:$PATH" "$lra" data prepare pathfinder32 "${small[@]}" --out far --executor slurm --parts 2
expect 0 'far.parts/slurm/.lock. is held by another process, which submits jobs of this folder' cat second
# Where there are several clusters, sbatch names the one that took the job.
printf '#!/bin/sh\necho "12;other"\n' >cluster/sbatch
cp cluster/squeue cluster/sacct
expect 0 'scancel --clusters=other 12 12$' env PATH="$work/cluster:$PATH" "$lra" data prepare pathfinder32 "${small[@]}" --out far --executor slurm --parts 2
expect 0 '"clusters": \[' env PATH="$work/cluster:$PATH" "$lra" data prepare pathfinder32 "${small[@]}" --out far --executor slurm --parts 2 --json
# Asked again while parts are queued, the join waits for these and the new ones, not for the others of their job, which may have
# failed. Parts of other data have the same numbers.
printf '#!/bin/sh\necho >>"$0.n"; echo $((42 + $(wc -l <"$0.n")))\n' >cluster/sbatch
printf '#!/bin/sh\ncat queue 2>/dev/null; true\n' >cluster/squeue
again=(env PATH="$work/cluster:$PATH" "$lra" data prepare pathfinder32 "${small[@]}" --out again/ --executor slurm)
expect 0 'scancel 43 44$' "${again[@]}" --parts 3
grep -qx '#SBATCH --dependency=afterok:43' again.parts/slurm/2.sh || { echo "FAILED: a join of new parts"; failures=$((failures + 1)); }
name=$(sed -n 's/^job_name: "\(.*\)"/\1/p' again.parts/slurm/1.textproto)
printf "$name|%s\n" '0|43|RUNNING|None' '2|43|PENDING|Resources' >queue
expect 0 'dependency=afterok:43_0:43_2:JOB$' "${again[@]}" --parts 3 --dry-run
expect 0 'scancel 43 45 46$' "${again[@]}" --parts 3
grep -qx '#SBATCH --dependency=afterok:43_0:43_2:45' again.parts/slurm/4.sh || { echo "FAILED: a join of old and new parts"; failures=$((failures + 1)); }
expect 0 'in Slurm.s queue' "${again[@]}" --parts 3 --threads 2
for other in '--parts 3 --seed 1' '--parts 2'; do
  # shellcheck disable=SC2086
  expect 1 'Slurm job 43_0 makes other data in .*/again.parts: .*scancel 43.* or use another --out' "${again[@]}" $other
done
rm queue
expect 1 'lra data join' "$lra" train --task pathfinder32 "${smoke[@]}" --data parts/0 --out refused
expect 0 'labels evaluated anew: 60' "$lra" data verify pathfinder32 --quiet
expect 0 '^sheet.png$' "$lra" data show pathfinder32 --n 60 --png sheet.png
expect 0 '^  "png": "sheet.png"$' "$lra" data show pathfinder32 --n 60 --png sheet.png --json
[ "$(head -c 4 sheet.png | tail -c 3)" = PNG ] || { echo "FAILED: sheet.png is no PNG"; failures=$((failures + 1)); }
expect 0 'pixel_linear' "$lra" baseline pathfinder32 --quiet
expect 0 'pathfinder32 linear seed 0: .*test' "$lra" train --task pathfinder32 "${smoke[@]}" --out paths
expect 0 'By contour reach: .*a target contour of 14 dashes' "$lra" profile paths
expect 0 'patches of 16 x 16 shuffled +3 ' "$lra" profile paths --perturb --examples 3 --quiet
expect 0 'pathfinder32 linear seed 0: .*test' "$lra" train --task pathfinder32 "${smoke[@]}" --set view.pixels=IDS --out ids

for command in check 'data join'; do
  # shellcheck disable=SC2086
  expect 0 'Examples:' "$lra" $command --help
done
[ "$failures" = 0 ] || { echo "$failures checks failed"; exit 1; }
