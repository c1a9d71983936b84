#!/usr/bin/env bash
# Sets tables of `lra table --style paper` in one column and in two, and demands that nothing is wider or higher than its place. Skipped
# (exit code 77) where there is no pdflatex.
# usage: paper_table_test.sh LRA
set -euo pipefail
unset CDPATH
lra=$1
here=$(cd "$(dirname "$0")" && pwd)
if ! command -v pdflatex >/dev/null; then
  echo "skipped: pdflatex is not installed; Debian: apt-get install --no-install-recommends texlive-latex-base texlive-latex-recommended"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
source "$here/expect.sh"
records=$here/../docs/records

expect 2 'unknown style "papr"; did you mean "paper"' "$lra" table "$records" --style papr
expect 2 'is LaTeX: leave out --format' "$lra" table "$records" --style paper --format md
"$lra" table "$records/labels" --style paper >labels.tex
"$lra" table "$records" --style paper --cost --published lra2020 --published cosformer2022 --out all.tex
"$lra" table "$records" --style paper --metric nats --split validation --out nats.tex
# Names as long as nobody has them.
sed -E 's/^(cosformer|transformer) &/\1 (attention.options.an_option_with_a_long_name=SOME\\_LONG\\_VALUE, dropout=0.1) \&/' labels.tex >long.tex
grep -q 'long' long.tex || { echo "FAILED: no row has a long name"; failures=$((failures + 1)); }
sed -i 's/an_option_with_a_long_name/an\\_option\\_with\\_a\\_long\\_name/' long.tex

# sets CLASS_OPTIONS FILE: compiles the table between paragraphs and looks at the log.
sets() {
  cat >paper.tex <<TEX
\\documentclass[$1]{article}
\\usepackage{booktabs,graphicx}
\\maxdeadcycles=1000 % all records are more tables than a paper has
\\extrafloats{200}
\\begin{document}
As tables show.
\\input{$2}
It ends here.
\\end{document}
TEX
  for _ in 1 2; do  # the second time labels are known
    pdflatex -interaction=nonstopmode -halt-on-error paper.tex >/dev/null || { echo "FAILED: $2 ($1) does not compile"; grep -A3 '^!' paper.log; failures=$((failures + 1)); return; }
  done
  if grep -E 'Overfull|Float too large|LaTeX Warning|Missing character' paper.log; then
    echo "FAILED: $2 ($1) does not fit"
    failures=$((failures + 1))
  fi
}
for table in labels all nats long; do
  sets twocolumn "$table"
  sets a4paper "$table"
done
# The test finds what is too wide.
sed 's/\\ifdim\\wd2>\\linewidth.*/\\usebox2/' long.tex >wide.tex
(sets twocolumn wide) >wide.txt
grep -q 'Overfull' wide.txt || { echo "FAILED: a table that is too wide is not noticed"; failures=$((failures + 1)); }
# What is too high, as well: all records in one table have more rows than a page.
sed 's/\\ifdim\\dimexpr.*/\\usebox4/' all.tex >high.tex
(sets twocolumn high) >high.txt
grep -q 'Float too large' high.txt || { echo "FAILED: a table that is too high is not noticed"; failures=$((failures + 1)); }

[ "$failures" = 0 ] && echo "tables for papers: as expected" || exit 1
