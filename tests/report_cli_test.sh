#!/usr/bin/env bash
# Makes pages, tables and figures from records as a user types it: the same bytes wherever the records lie; what cannot be
# read is named and left out.
# usage: report_cli_test.sh LRA
set -euo pipefail
unset CDPATH
lra=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
source "$here/expect.sh"

same() { cmp "$1" "$2" || { echo "FAILED: $3"; failures=$((failures + 1)); }; }
has() { grep -qF -- "$2" "$1" || { echo "FAILED: $1 does not say: $2"; failures=$((failures + 1)); }; }

expect 2 'no/where: does not exist' "$lra" report no/where
expect 2 'unknown published table|did you mean' "$lra" report "$here/../docs/records" --published cosformer202
[ ! -e report.html ] || { echo "FAILED: a page was written after wrong use"; failures=$((failures + 1)); }

# Two copies, named in different ways: equal bytes in every format.
mkdir -p deep/er
cp -r "$here/../docs/records/labels" one
cp -r "$here/../docs/records/labels" deep/er/two
expect 0 'a.html: [0-9]+ bytes' "$lra" report one --out a.html
"$lra" report "$work/deep/er/two/" --out deep/er/b.html --quiet
sed 's|"link":"[^"]*",||g' a.html >a.bare; sed 's|"link":"[^"]*",||g' deep/er/b.html >b.bare
same a.bare b.bare "the page depends on where the records lie"
has a.html '"link":"one/listops-cosformer-s0/"'
has deep/er/b.html '"link":"two/listops-cosformer-s0/"'
! grep -qF "$work" a.html deep/er/b.html || { echo "FAILED: a page names a folder of this machine"; failures=$((failures + 1)); }
for format in md csv tex html; do
  "$lra" table one --format $format --out a.$format
  "$lra" table deep/er/two --out b.$format
  same a.$format b.$format "the table as $format depends on where the records lie"
done
expect 0 '"tables"' "$lra" table one --format json

# A suite that is not finished says how far it is.
cp -r one half
cat >half/suite.textproto <<END
description: "of this test"
group {
  task: "listops" attention: "linear" seeds: "0-1" preset: "smoke"
  factor {
    name: "positions"
    level { name: "absolute" set: "model.positions=SINUSOID" }
    level { name: "none" set: "model.positions=NO_POSITIONS" }
  }
}
END
expect 0 'half.html' "$lra" report half --out half.html
has half.html '<li>half: 0 of 4 runs finished, 4 waiting</li>'
has half.html '<li>half: no effects: runs are missing; `lra ablate` names them</li>'

# The effects of a suite are computed from its records, and are those that `lra ablate` writes. A file of them is shown in their place.
! grep -qF 'id="ablations"' a.html || { echo "FAILED: a page shows effects of no suite"; failures=$((failures + 1)); }
cp -r "$here/../docs/records/near_majority_control" designed
expect 0 'computed.html: [0-9]+ bytes' "$lra" report designed --out computed.html
has computed.html '<h3>designed</h3>'
has computed.html '<th scope="row">reweighting: decay - none</th><td>main</td><td>near_majority</td>'
"$lra" ablate designed --out designed/effects.json
"$lra" report designed --out read.html --quiet
same computed.html read.html "the effects of a page are not those of lra ablate"
sed -i 's/"suite": "designed"/"suite": "of the file"/' designed/effects.json
"$lra" report designed --out read.html --quiet
has read.html '<h3>of the file</h3>'
! grep -qF '<h3>designed</h3>' read.html || { echo "FAILED: effects that a file has are shown twice"; failures=$((failures + 1)); }
# One of other runs, such as those of before, is named, and the effects are computed.
sed -i 's/"runs_fingerprint": "[0-9a-f]*"/"runs_fingerprint": "0"/' designed/effects.json
"$lra" report designed --out stale.html --quiet
has stale.html '<h3>designed</h3>'
has stale.html 'effects.json: not shown: its effects are of other runs, or other records of them, than those here'
! grep -qF '<h3>of the file</h3>' stale.html || { echo "FAILED: effects of other runs are shown"; failures=$((failures + 1)); }

# Truncated, changed, foreign and newer records are named and left out, and the exit code says so.
cp -r one bad
head -c 500 one/listops-cosformer-s0/record.textproto >bad/listops-cosformer-s0/record.textproto
sed -i 's/^seed: 1$/seed: 7/' bad/listops-cosformer-s1/record.textproto
echo 'hello' >bad/listops-cosformer-s2/record.textproto
sed '$d' one/listops-transformer-s0/record.textproto | sed 's/^schema_version: 2$/schema_version: 3/' >newer
{ cat newer; printf '# sha256: %s\n' "$(sha256sum <newer | cut -d' ' -f1)"; } >bad/listops-transformer-s0/record.textproto
expect 1 '4 records cannot be read and are not in the report' "$lra" report bad --out bad.html
has bad.html '4 records could not be read'
for run in listops-cosformer-s0 listops-cosformer-s1 listops-cosformer-s2 listops-transformer-s0; do
  has bad.html "<li>$run/record.textproto"
  ! grep -qF "\"name\":\"$run\"" bad.html || { echo "FAILED: bad.html shows $run"; failures=$((failures + 1)); }
done
has bad.html 'schema version 3'
has bad.html '"name":"listops-transformer-s1"'

[ "$failures" = 0 ] && echo "lra report: as expected" || exit 1
