#!/usr/bin/env bash
# Runs a program on configs/ with the tutorials' files among them, as somebody who follows the pages has them.
# usage: with_examples.sh SOURCE PROGRAM...
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$1/configs" "$work/configs"
cp "$1"/examples/{parity/parity,reverse/reverse}.textproto "$work/configs/tasks/"
cp "$1/examples/taylor_attention/taylor.textproto" "$work/configs/attentions/"
cp "$1/examples/average_block/average.textproto" "$work/configs/blocks/"
export LRA_CONFIGS=$work/configs
"${@:2}"
