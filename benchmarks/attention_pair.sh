#!/usr/bin/env bash
# Times every attention of two builds, forward and backward, one build after the other for each method, and prints both
# with their ratio.
#
#   [TOKENS=1024] [REPETITIONS=5] benchmarks/attention_pair.sh OLD NEW [METHOD...]
#
# OLD and NEW are built lra_attention_benchmark programs. Without methods, all that the configurations name.
set -euo pipefail
old=$(realpath "${1:?usage: attention_pair.sh OLD NEW [METHOD...]}") new=$(realpath "${2:?usage: attention_pair.sh OLD NEW [METHOD...]}")
shift 2
cd "$(dirname "$0")/.."
if [ $# -eq 0 ]; then
  for file in configs/attentions/*.textproto; do set -- "$@" "$(basename "$file" .textproto)"; done
fi

# times PROGRAM METHOD: "label, N: milliseconds" of its rows, which hold 9 cells.
times() {
  "$1" --skip-growth --max-tokens "${TOKENS:-1024}" --repetitions "${REPETITIONS:-5}" --only "$2" 2>/dev/null |
    awk -F '|' 'NF == 11 && $4 + 0 > 0 {gsub(/^ +| +$/, "", $2); printf "%s, N = %d\t%s\n", $2, $4, $7}'
}

echo "| attention | old ms | new ms | ratio |"
echo "|---|---|---|---|"
for method in "$@"; do
  join -t $'\t' <(times "$old" "$method" | sort -t $'\t' -k1,1) <(times "$new" "$method" | sort -t $'\t' -k1,1) |
    awk -F '\t' '{printf "| %s |%s|%s| %.3f |\n", $1, $2, $3, $3 / $2}'
done
