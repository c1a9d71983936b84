#!/usr/bin/env bash
# 200 steps of every kind of task with two and with four processes against one: losses, exact bits, and kill -9 of any, after which
# half as many go on: one of two, two of four.
# usage: data_parallel_200_test.sh LRA
set -euo pipefail
unset CDPATH
lra=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export LRA_DATA=$work/data
source "$here/data_parallel.sh"

# Reviews and pictures of random content; both have something to learn.
python3 - <<'END'
import os, random, tarfile, io
random.seed(1)
for split, first in ("train", 0), ("test", 10000):
    for name, rating in ("neg", 3), ("pos", 8):
        folder = f"raw/aclImdb/{split}/{name}"
        os.makedirs(folder)
        for i in range(120):
            film = first + (60 if name == "pos" else 0) + i // 2
            words = [f"f{film}r{i}w{random.randrange(30)}" for _ in range(20)] + ["good" if rating > 5 else "bad"] * 2
            random.shuffle(words)
            with open(f"{folder}/{i}_{rating}.txt", "w") as review:
                review.write(" ".join(words))
        with open(f"raw/aclImdb/{split}/urls_{name}.txt", "w") as films:
            films.writelines(f"http://www.imdb.com/title/tt{first + (60 if name == 'pos' else 0) + i // 2}/usercomments\n"
                             for i in range(120))
END
{
  "$lra" data prepare listops --quiet --set min_length_tokens=20 --set max_length_tokens=200 --set train_examples=400 \
    --set validation_examples=60 --set test_examples=60
  "$lra" data prepare text --raw raw --quiet
  "$lra" data prepare review_halves --raw raw --quiet --set text_bytes=60 --set gap_bytes=10
  "$lra" data prepare pathfinder32 --quiet --set images=400
  "$lra" data prepare copy --quiet --set min_symbols=10 --set max_symbols=30 --set train_examples=400 \
    --set validation_examples=60 --set test_examples=60
} >prepared
python3 - <<'END'
import os, random
random.seed(2)
os.makedirs("cifar-10-batches-bin")
for name in [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]:
    with open(f"cifar-10-batches-bin/{name}.bin", "wb") as file:
        for _ in range(10000):
            label = random.randrange(10)
            file.write(bytes([label]) + bytes([20 * label + random.randrange(40)] * 1024) + random.randbytes(2048))
END
tar cf cifar.tar cifar-10-batches-bin
"$lra" data prepare image --raw cifar.tar --quiet >>prepared
common=(--preset smoke --set train.batch_examples=16 --set train.steps=200 --set train.log_every_steps=10 --set model.dropout=0.1
  --set train.eval_every_steps=100 --set train.validation_examples=32 --set evaluation.scored_examples=32 --checkpoint-every 10)

# try NAME TASK ATTENTION VICTIM2 VICTIM4 FLAG...: who is killed of two and of four processes, and what else the run is.
try() {
  local name=$1 victim2=$4 victim4=$5 flags count victim
  flags=(--task "$2" --attention "$3" "${common[@]}" "${@:6}")
  echo "$name, $3"
  train 1 "$name-1" "${flags[@]}"
  train 1 "$name-exact-1" "${flags[@]}" --exact-reduction
  for count in 2 4; do
    train $count "$name-$count" "${flags[@]}"
    close "$name-1" "$name-$count" 1e-5
    train $count "$name-exact-$count" "${flags[@]}" --exact-reduction
    same_bits "$name-exact-1" "$name-exact-$count" 200
    victim=$victim2
    if [ $count = 4 ]; then victim=$victim4; fi
    begin $count "$name-killed-$count" "${flags[@]}" --exact-reduction
    kill_one "$name-killed-$count" "$victim"
    train $((count / 2)) "$name-killed-$count" "${flags[@]}" --exact-reduction --resume
    same_bits "$name-exact-1" "$name-killed-$count" 200
  done
  # Without exact sums, the same number of processes goes on bit for bit.
  begin 2 "$name-again" "${flags[@]}"
  kill_one "$name-again" "$victim2"
  train 2 "$name-again" "${flags[@]}" --resume
  same_bits "$name-2" "$name-again" 200
}
try listops listops cosformer 0 0
try text text performer 1 1
try review_halves review_halves linear 0 2
try pathfinder32 pathfinder32 transformer 1 3
try image image local 0 1
try next_token copy linear 1 2
try hidden_tokens text cosformer 0 3 --set view.target=MASKED
end_test
echo "every kind of task: two and four processes train what one does"
