#!/usr/bin/env bash
# Every listing of a documentation page under "<!-- file: PATH -->" must be that file, to the byte.
set -euo pipefail
cd "$1"
failed=0 listings=0
difference=$(mktemp)
trap 'rm -f "$difference"' EXIT
for page in docs/*.md; do
  while IFS=: read -r line marker; do
    file=$(sed -E 's/.*<!-- file: (.*) -->.*/\1/' <<<"$marker")
    listings=$((listings + 1))
    # The listing goes from the fence after the marker to the next fence.
    if ! diff <(tail -n +"$((line + 1))" "$page" | awk '/^```/ { if (inside) exit; inside = 1; next } inside') "$file" >"$difference"; then
      echo "$page:$line: the listing is not $file:"; head -20 "$difference"; failed=1
    fi
  done < <(grep -n '<!-- file: ' "$page" || true)
done

if [ "$listings" = 0 ]; then echo "no listing found: the check checks nothing"; exit 1; fi
echo "$listings listings"
exit $failed
